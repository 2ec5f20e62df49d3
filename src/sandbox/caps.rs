//! Capabilities: the debugger needs none, so it keeps none, and neither does anything it starts.

use super::error::{Error, Result};
use crate::os::privileges;
use caps::CapSet;

/// Empties the capability sets of this thread and forbids new privileges.
///
/// The order matters (capabilities(7)): the bounding set can only be emptied while `CAP_SETPCAP` is effective, so
/// it goes before the effective set. Without that capability it stays as it is, which is harmless: with nothing
/// permitted and no new privileges it bounds nothing.
pub(super) fn drop_all() -> Result<(), String> {
    // A kernel before 4.3 has no ambient set, and then nothing to clear.
    let _ = caps::clear(None, CapSet::Ambient);
    let _ = caps::clear(None, CapSet::Bounding);
    privileges::forbid_new_privileges().map_err(|error| format!("no_new_privs: {error}"))?;
    for set in [CapSet::Effective, CapSet::Inheritable, CapSet::Permitted] {
        caps::clear(None, set).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What is left, asked afresh from the kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct Left {
    /// Effective, permitted, inheritable and ambient capabilities together.
    pub capabilities: usize,
    /// Those that an exec could still hand out if new privileges were allowed.
    pub bounding: usize,
    pub new_privileges_forbidden: bool,
}

impl Left {
    pub fn read() -> Result<Self> {
        let count = |set| {
            caps::read(None, set)
                .map(|held| held.len())
                .map_err(|error| Error::System {
                    action: "reading the capability sets",
                    source: std::io::Error::other(error),
                })
        };
        Ok(Self {
            capabilities: count(CapSet::Effective)?
                + count(CapSet::Permitted)?
                + count(CapSet::Inheritable)?
                + count(CapSet::Ambient)?,
            bounding: count(CapSet::Bounding)?,
            new_privileges_forbidden: privileges::new_privileges_forbidden().map_err(|source| {
                Error::System {
                    action: "reading no_new_privs",
                    source,
                }
            })?,
        })
    }
}
