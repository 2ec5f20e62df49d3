//! What passes between a front end and the engine: plain data, no engine inside.

use std::fmt;

use crate::base::code::Code;
use crate::session::event::State;

/// One program, as framing cut it out of the input: the agent's own text, not yet rewritten.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    pub text: String,
}

impl Program {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

/// An input that framing refused. It is answered like a program and has a sequence number too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejection {
    pub code: Code,
    pub message: String,
    pub hint: Option<String>,
}

/// As the status line tells it.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Stopped => f.write_str("stopped"),
            Self::Running => f.write_str("running"),
            Self::Exited(status) => write!(f, "exited {status}"),
            Self::Killed(signal) => write!(f, "killed {signal}"),
            Self::Detached => f.write_str("detached"),
        }
    }
}

/// The answer to one program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Rendered lines, escaped, within the budget; empty, or ended by a newline.
    pub payload: String,
    pub ok: bool,
    /// The code of the error line in the payload.
    pub code: Option<Code>,
    pub state: State,
    /// Where the selected thread stands, whenever it is stopped: `0x401136 main+0x4 w.c:3`, escaped.
    /// The front end leaves it out of the status line while it does not change.
    pub place: Option<String>,
}
