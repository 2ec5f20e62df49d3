//! What the script layer itself refuses, and how any error becomes an exception.

use super::host::Host;
use super::raw;
use super::report::Failure;
use crate::base::code::Code;
use crate::session;
use rquickjs::{Ctx, Value};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Session(#[from] session::error::Error),
    /// `what` is a whole sentence: which argument, what it was, what it may be.
    #[error("{what}")]
    BadArgument { what: String, hint: Option<String> },
    #[error("{object} has no property '{name}'")]
    BadProperty {
        object: String,
        name: String,
        hint: Option<String>,
    },
    #[error("{what} is not in this version")]
    NotYet { what: String, hint: Option<String> },
    #[error("no listener with id {0}")]
    NoListener(String),
    #[error("what was read at an earlier stop cannot be written")]
    Past,
    #[error("registers and flags are assigned one by one")]
    WholeAssigned,
    #[error("this getter belongs to state, its registers or its flags")]
    NotAView,
    #[error("listeners run the debuggee more than {0} levels deep")]
    TooDeep(usize),
    #[error("a condition or a log cannot run the process")]
    Judging,
    /// A small script within the API threw; `what` says whose and what.
    #[error("{what}")]
    InScript {
        code: Code,
        what: String,
        hint: Option<String>,
    },
    #[error("there is no background run")]
    NotRunning,
    /// An exception is pending in the context.
    #[error("the script threw")]
    Thrown,
    /// The program ends here and cannot catch it; why is noted elsewhere.
    #[error("the program was ended")]
    Ended,
    #[error("start the engine: {0}")]
    Start(std::io::Error),
    #[error("javascript engine: {attempt}: {source}")]
    Engine {
        attempt: &'static str,
        source: rquickjs::Error,
    },
}

impl From<rquickjs::Error> for Error {
    fn from(error: rquickjs::Error) -> Self {
        match error {
            rquickjs::Error::Exception => Self::Thrown,
            source => Self::Engine {
                attempt: "convert a value",
                source,
            },
        }
    }
}

impl Error {
    pub fn argument(what: impl Into<String>) -> Self {
        Self::BadArgument {
            what: what.into(),
            hint: None,
        }
    }

    pub fn argument_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::BadArgument {
            what: what.into(),
            hint: Some(hint.into()),
        }
    }

    /// The same error, saying whose it is; what ends the program stays what it is.
    pub fn in_script(ctx: &Ctx<'_>, host: &Host, owner: &str, error: Self) -> Self {
        if matches!(error, Self::Ended) || host.is_ending() {
            return error;
        }
        let failure = Failure::from_error(ctx, host, &error);
        Self::InScript {
            code: failure.code,
            what: format!("{owner}: {}", failure.message),
            hint: failure.hint,
        }
    }

    pub fn code(&self) -> Code {
        match self {
            Self::Session(error) => error.code(),
            Self::BadArgument { .. } | Self::Past | Self::WholeAssigned => Code::BadArgument,
            Self::BadProperty { .. } | Self::NotAView => Code::BadProperty,
            Self::NotYet { .. } => Code::NotYet,
            Self::NoListener(_) => Code::NoListener,
            Self::NotRunning => Code::NotRunning,
            Self::InScript { code, .. } => *code,
            Self::Thrown | Self::TooDeep(_) | Self::Judging => Code::Exception,
            Self::Ended => Code::Interrupted,
            Self::Engine { .. } | Self::Start(_) => Code::Internal,
        }
    }

    /// The next step, when there is one.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Session(error) => return error.hint(),
            Self::BadArgument { hint, .. }
            | Self::BadProperty { hint, .. }
            | Self::NotYet { hint, .. }
            | Self::InScript { hint, .. } => return hint.clone(),
            Self::NoListener(_) => "listeners()",
            Self::Past => "assign to the global state",
            Self::WholeAssigned => "state.registers.rax = 1, state.flags.z = 0",
            Self::TooDeep(_) => "let the listener return instead of running on",
            Self::Judging => "a listener can: addEventListener('breakpoint', …)",
            Self::NotRunning => "cont({background: true}) starts one",
            Self::NotAView | Self::Thrown | Self::Ended | Self::Start(_) | Self::Engine { .. } => {
                return None;
            }
        };
        Some(text.to_owned())
    }

    /// Leaves the exception that stands for this error pending in the context.
    pub fn throw(self, ctx: &Ctx<'_>, host: &Host) {
        match &self {
            Self::Thrown => {}
            Self::Ended => raw::throw_uncatchable(ctx),
            error => {
                let exception = debugger_error(
                    ctx,
                    host,
                    error.code(),
                    &error.to_string(),
                    error.hint().as_deref(),
                );
                // Building the exception failed: what that threw is pending, which is as good.
                if let Ok(exception) = exception {
                    ctx.throw(exception);
                }
            }
        }
    }
}

/// A `DebuggerError` as scripts see it: code, message, hint.
fn debugger_error<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    code: Code,
    message: &str,
    hint: Option<&str>,
) -> Result<Value<'js>, Error> {
    let make = host.internal_function(ctx, "make_error")?;
    Ok(make.call((code.name(), message, hint))?)
}
