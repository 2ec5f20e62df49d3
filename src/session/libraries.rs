//! Libraries that come and go: the dynamic linker has a function it calls after every change, and a
//! structure that tells where it is (r_debug in <link.h>). An internal trap there hears of each.

use super::breakpoints::Internal;
use super::event::Reason;
use super::session::Session;
use crate::base::addr::VirtAddr;
use crate::base::memory::ReadMemory;
use std::collections::BTreeMap;

/// <elf.h>
const DT_NULL: u64 = 0;
const DT_DEBUG: u64 = 21;
/// A dynamic section has a few dozen entries.
const MAX_ENTRIES: u64 = 1000;
/// Offsets of r_brk and r_state in struct r_debug, and the state in which the list is whole.
const R_BRK: u64 = 16;
const R_STATE: u64 = 24;
const RT_CONSISTENT: u32 = 0;

/// What is known of the dynamic linker of this process.
#[derive(Debug, Default)]
pub(super) struct Linker {
    /// Where its r_debug is.
    debug: Option<VirtAddr>,
    /// Names of the modules at the last look, by where they are.
    known: BTreeMap<VirtAddr, String>,
}

impl Session {
    /// The program's entry is reached, or a process was attached: the start-up libraries are there.
    pub(super) fn libraries_loaded(&mut self) {
        self.clear_internal(|internal| matches!(internal, Internal::Loaded(_)));
        self.forget_modules();
        self.linker = Linker {
            debug: self.find_r_debug(),
            known: self.module_names(),
        };
        // A process that outlives this debugger gets no trap that nobody asked for.
        if self.is_spawned()
            && let Some(at) = self.linker.debug
            && let Some(brk) = self.read_word(at, R_BRK)
        {
            let trap = Internal::Libraries(VirtAddr::new(brk));
            if let Err(error) = self.set_internal(trap) {
                log::warn!(target: "session", "libraries are not followed: {error}");
            }
        }
        self.rebind_pending();
    }

    /// The dynamic linker has changed its list, or is about to.
    pub(super) fn libraries_changed(&mut self) -> Vec<Reason> {
        let state = self.linker.debug.and_then(|at| self.read_word(at, R_STATE));
        if state.is_some_and(|state| state & 0xffff_ffff != u64::from(RT_CONSISTENT)) {
            return Vec::new();
        }
        self.forget_modules();
        let now = self.module_names();
        let before = std::mem::replace(&mut self.linker.known, now);
        let gone = before
            .iter()
            .filter(|(at, _)| !self.linker.known.contains_key(at));
        let came = self
            .linker
            .known
            .iter()
            .filter(|(at, _)| !before.contains_key(at));
        let mut reasons: Vec<Reason> = Vec::new();
        reasons.extend(gone.map(|(_, name)| Reason::Library {
            name: name.clone(),
            loaded: false,
        }));
        let unloaded = !reasons.is_empty();
        reasons.extend(came.map(|(_, name)| Reason::Library {
            name: name.clone(),
            loaded: true,
        }));
        if unloaded {
            let ranges = self.module_ranges();
            self.unbind_unmapped(|addr| ranges.iter().any(|range| range.contains(addr)));
        }
        if !reasons.is_empty() {
            self.rebind_pending();
        }
        reasons
    }

    /// The dynamic linker's r_debug, looked up again when it was not there at first.
    pub(super) fn linker_debug(&mut self) -> Option<VirtAddr> {
        if self.linker.debug.is_none() {
            self.linker.debug = self.find_r_debug();
        }
        self.linker.debug
    }

    fn find_r_debug(&mut self) -> Option<VirtAddr> {
        let dynamic = self.program_dynamic()?;
        for index in 0..MAX_ENTRIES {
            let tag = self.read_word(dynamic, index * 16)?;
            if tag == DT_NULL {
                return None;
            }
            if tag == DT_DEBUG {
                let at = self.read_word(dynamic, index * 16 + 8)?;
                return (at != 0).then(|| VirtAddr::new(at));
            }
        }
        None
    }

    fn read_word(&mut self, addr: VirtAddr, offset: u64) -> Option<u64> {
        let at = addr.checked_add(offset)?;
        self.stopped().ok()?.read_u64(at).ok()
    }
}
