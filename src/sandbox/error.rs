//! What can go wrong while the sandbox closes.

use crate::base::code::Code;
use std::io;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("sandbox: refusing to run as root (use --allow-root)")]
    Root,
    #[error(
        "sandbox: {count} threads are running already; privileges are given up by a single one"
    )]
    Threads { count: usize },
    #[error("sandbox: {action}: {source}")]
    System {
        action: &'static str,
        source: io::Error,
    },
    /// A layer did not close and `--sandbox=require` wants all of them.
    #[error("sandbox: {layer} unavailable ({detail}) and --sandbox=require")]
    Missing { layer: &'static str, detail: String },
    #[error("sandbox: the {filter} filter does not compile: {source}")]
    Filter {
        filter: &'static str,
        source: seccompiler::BackendError,
    },
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Self::Root | Self::Missing { .. } | Self::System { .. } => Code::Kernel,
            Self::Threads { .. } | Self::Filter { .. } => Code::Internal,
        }
    }
}
