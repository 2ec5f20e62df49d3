//! What can go wrong in a session; `code` is the stable part.

use crate::base::code::Code;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("nothing is being debugged")]
    NoProcess,
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Self::NoProcess => Code::NoProcess,
        }
    }

    /// The next step, when there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoProcess => Some("spawn('/path/to/program')".to_owned()),
        }
    }
}

pub type Result<T> = std::result::Result<T, Error>;
