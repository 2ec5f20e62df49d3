//! What the user asks for, as plain data.

use super::event::Access;
use crate::base::addr::VirtAddr;
use crate::base::id::{BreakpointId, WatchpointId};
use crate::base::signal::Signal;
use crate::os::spawn::Resource;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How to start a program (interface.md, section 5).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpawnSpec {
    pub program: String,
    pub args: Vec<Vec<u8>>,
    /// Merged into the debugger's own environment; None removes a name.
    pub env: Vec<(String, Option<String>)>,
    pub cwd: Option<PathBuf>,
    pub stdin: StdinSpec,
    pub tty: bool,
    /// Leave address space layout randomisation on.
    pub aslr: bool,
    pub stop_at_main: bool,
    /// Resource limits; core dumps are off unless it says otherwise.
    pub limits: Vec<(Resource, u64)>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum StdinSpec {
    #[default]
    Pipe,
    Null,
    /// A pipe with this text in it, closed behind it.
    Text(Vec<u8>),
    File(PathBuf),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunKind {
    Step {
        count: u64,
    },
    Continue,
    /// Until any thread gets there.
    Until(VirtAddr),
    /// Until the selected frame has returned.
    Finish,
    /// To the beginning of another line, over or into calls; by instructions where there are no lines.
    Line {
        count: u64,
        into: bool,
    },
}

/// What happens to a signal the selected thread is stopped with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SignalChoice {
    /// As the signal's policy says.
    #[default]
    Policy,
    Suppress,
    Deliver(Signal),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunRequest {
    pub kind: RunKind,
    /// None: unbounded (background runs).
    pub bound: Option<Duration>,
    pub signal: SignalChoice,
}

/// Where the user wants something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Where {
    Addr(VirtAddr),
    /// `main`, `main+0x10`, `*main`, `file.c:12`, `lib!symbol`, `0x401136`.
    Text(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BreakpointKey {
    Id(BreakpointId),
    Name(String),
}

/// How a breakpoint is to be, beyond its place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BreakpointSpec {
    pub name: Option<String>,
    /// A place that does not exist yet is waited for.
    pub pending: bool,
    /// By a debug register, without a change of the code.
    pub hardware: bool,
}

/// What to watch a place for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchSpec {
    pub access: Access,
    /// In bytes; None: the symbol's, or 8.
    pub size: Option<u8>,
    pub name: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WatchpointKey {
    Id(WatchpointId),
    Name(String),
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Addr(addr) => addr.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}
