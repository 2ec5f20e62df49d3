//! What can go wrong with files and names; `code` is the stable part.

use crate::base::code::Code;
use crate::os::mmap;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read '{}': {source}", path.display())]
    Open { path: PathBuf, source: mmap::Error },
    #[error("'{}' is {what}, not an x86-64 Linux program", path.display())]
    NotElf { path: PathBuf, what: &'static str },
    #[error("'{}' is {what}; only x86-64 Linux programs can be debugged", path.display())]
    WrongArchitecture { path: PathBuf, what: String },
    #[error("'{}' is damaged: {attempt}: {detail}", path.display())]
    BadElf {
        path: PathBuf,
        attempt: &'static str,
        detail: String,
    },
    #[error("the debug information of '{}' is damaged: {detail}", path.display())]
    BadDwarf { path: PathBuf, detail: String },
    #[error("the debug information of '{}' is incomplete: '{}' is missing", path.display(), missing.display())]
    MissingDebugFile { path: PathBuf, missing: PathBuf },
    #[error("'{text}' is no location: {why}")]
    BadLocation { text: String, why: &'static str },
    #[error("no symbol '{name}'")]
    NoSymbol { name: String, near: Vec<String> },
    #[error("no symbol '{name}': it was inlined into its callers")]
    Inlined { name: String, calls: Vec<String> },
    #[error("no module '{name}'")]
    NoModule { name: String, near: Vec<String> },
    #[error("no source file '{file}'")]
    NoFile { file: String, near: Vec<String> },
    #[error("no code at {place}")]
    NoLocation { place: String, near: Vec<String> },
    #[error("'{name}' may mean {} things", candidates.len())]
    Ambiguous {
        name: String,
        candidates: Vec<String>,
    },
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Self::Open { source, .. } => match source {
                mmap::Error::Io { .. } => Code::NoProgram,
                mmap::Error::NotRegular { .. } => Code::NotExecutable,
                mmap::Error::TooLarge { .. } => Code::BadElf,
                mmap::Error::TooMany => Code::Kernel,
            },
            Self::NotElf { .. } => Code::NotExecutable,
            Self::WrongArchitecture { .. } => Code::WrongArchitecture,
            Self::BadElf { .. } | Self::BadDwarf { .. } | Self::MissingDebugFile { .. } => {
                Code::BadElf
            }
            Self::BadLocation { .. } => Code::BadArgument,
            Self::NoSymbol { .. } | Self::Inlined { .. } | Self::NoModule { .. } => Code::NoSymbol,
            Self::NoLocation { .. } | Self::NoFile { .. } => Code::NoLocation,
            Self::Ambiguous { .. } => Code::Ambiguous,
        }
    }

    /// The next step, when there is one.
    pub fn hint(&self) -> Option<String> {
        let list = |lead: &str, items: &[String]| {
            (!items.is_empty()).then(|| format!("{lead} {}", items.join(", ")))
        };
        match self {
            Self::NoSymbol { near, .. } | Self::NoModule { near, .. } | Self::NoFile { near, .. } => {
                list("did you mean", near)
            }
            Self::Inlined { calls, .. } => list("its copies stand for the calls at", calls),
            Self::NoLocation { near, .. } => list("lines with code near it:", near),
            Self::Ambiguous { candidates, .. } => list("one of", candidates),
            Self::BadLocation { .. } => Some(
                "an address, 'function', 'function+0x10', '*function', 'lib.so!function' or 'file.c:12'"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

pub type Result<T> = std::result::Result<T, Error>;
