//! What ends a front end before its time.

use std::io;
use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{action}: {source}")]
    System {
        action: &'static str,
        source: io::Error,
    },
    #[error("read {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} is a program, not a script; use llmdbg -- {}", path.display(), path.display())]
    FileIsProgram { path: PathBuf },
    #[error("{}: not UTF-8 at byte {at}", path.display())]
    FileIsNoText { path: PathBuf, at: usize },
    #[error("{}: larger than {limit} bytes", path.display())]
    FileIsLarge { path: PathBuf, limit: u64 },
}

impl Error {
    /// The exit status of a process that this ended.
    pub const fn exit_status(&self) -> u8 {
        match self {
            Self::System { .. } => 1,
            Self::File { .. }
            | Self::FileIsProgram { .. }
            | Self::FileIsNoText { .. }
            | Self::FileIsLarge { .. } => 2,
        }
    }
}
