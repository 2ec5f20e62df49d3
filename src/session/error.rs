//! What can go wrong in a session; `code` is the stable part, `hint` the next step.

use crate::arch::registers::RegId;
use crate::base::addr::VirtAddr;
use crate::base::code::Code;
use crate::base::memory::ReadError;
use crate::base::signal::Signal;
use crate::os::error::describe;
use crate::symbols;
use crate::tracee;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("nothing is being debugged")]
    NoProcess,
    #[error("the process has {how}")]
    Over { how: How },
    #[error("the process runs in the background")]
    Running,
    #[error("no background run is going")]
    NotRunning,
    #[error("spawn {}: {why}", program.display())]
    Spawn { program: PathBuf, why: SpawnFault },
    #[error("attach {pid}: {why}")]
    Attach { pid: i64, why: AttachFault },
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    #[error("{} takes {} bits, not {value:#x}", register.name(), register.row().bits)]
    Register { register: RegId, value: u64 },
    #[error("{} cannot be set to {value:#x}: {why}", register.name())]
    RegisterRefused {
        register: RegId,
        value: u64,
        why: &'static str,
    },
    #[error("no instruction at {addr}: {bytes}")]
    NoInstruction { addr: VirtAddr, bytes: String },
    #[error("no breakpoint {wanted}{}", list(" (there are ", known, ")"))]
    NoBreakpoint { wanted: String, known: Vec<String> },
    #[error("no watchpoint {wanted}")]
    NoWatchpoint { wanted: String },
    #[error("all four debug registers are in use: {used}")]
    NoSlot { used: String },
    #[error("{0}")]
    BadArgument(String),
    #[error("stdin: {why}")]
    Stdin { why: &'static str },
    #[error("the output of an attached process is not captured")]
    NoOutput,
    #[error(transparent)]
    Symbols(#[from] symbols::error::Error),
    /// No symbol of that name, but the program's libraries are not there yet either.
    #[error("{0}")]
    NotLoaded(symbols::error::Error),
    #[error(transparent)]
    Tracee(#[from] tracee::error::Error),
}

/// How a process is no longer there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Exited(i32),
    Killed(Signal),
    Detached,
}

impl std::fmt::Display for How {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "exited with status {status}"),
            Self::Killed(signal) => write!(f, "been killed by {signal}"),
            Self::Detached => f.write_str("been detached"),
        }
    }
}

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnFault {
    #[error("not found{}", list(", near: ", near, ""))]
    NotFound { near: Vec<String> },
    #[error("not found in PATH{}", list(", near: ", near, ""))]
    NotInPath { near: Vec<String> },
    #[error("{}", describe(.0))]
    Open(io::Error),
    #[error("is a directory")]
    Directory,
    #[error("not a regular file")]
    Special,
    #[error("no execute permission")]
    NoPermission,
    #[error("only programs below {} may be spawned here", .0.join(", "))]
    NotAllowed(Vec<String>),
    #[error("script without an interpreter line")]
    NoInterpreter,
    #[error("the interpreter {0} does not exist")]
    MissingInterpreter(String),
    #[error("an empty file")]
    Empty,
    #[error(transparent)]
    Image(symbols::error::Error),
    #[error("a string with a NUL byte inside")]
    Nul,
    #[error("working directory {}: {}", .0.display(), describe(.1))]
    Cwd(PathBuf, io::Error),
    #[error("stdin {}: {}", .0.display(), describe(.1))]
    Stdin(PathBuf, io::Error),
    #[error("ptrace is not permitted here: {}", describe(.0))]
    PtraceDenied(io::Error),
    #[error("{doing}: {}", describe(source))]
    System {
        doing: &'static str,
        source: io::Error,
    },
    #[error(transparent)]
    Tracee(tracee::error::Error),
}

/// Why a process could not be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachFault {
    #[error("not a process id")]
    NotAPid,
    #[error("no such process")]
    Gone,
    #[error("is this debugger itself")]
    Itself,
    #[error("is a thread of process {0}")]
    ThreadOf(i32),
    #[error("a kernel thread cannot be traced")]
    KernelThread,
    #[error("a zombie: it has ended and waits for its parent")]
    Zombie,
    #[error("already traced by pid {0}")]
    Traced(i32),
    #[error("belongs to uid {0}, this debugger to uid {1}")]
    OtherUser(u32, u32),
    #[error("refused by Yama (ptrace_scope {0}): only descendants can be traced")]
    Yama(String),
    #[error("refused by the kernel or the sandbox (EPERM)")]
    Refused,
    #[error(transparent)]
    Tracee(tracee::error::Error),
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Self::NoProcess => Code::NoProcess,
            Self::Over { .. } => Code::Exited,
            Self::Running => Code::Running,
            Self::NotRunning => Code::NotRunning,
            Self::Spawn { why, .. } => why.code(),
            Self::Attach { why, .. } => why.code(),
            Self::Unreadable(_) | Self::NoInstruction { .. } => Code::BadAddress,
            Self::Register { .. } | Self::RegisterRefused { .. } => Code::BadRegister,
            Self::NoBreakpoint { .. } => Code::NoBreakpoint,
            Self::NoWatchpoint { .. } => Code::NoWatchpoint,
            Self::NoSlot { .. } => Code::NoSlot,
            Self::BadArgument(_) => Code::BadArgument,
            Self::Stdin { .. } => Code::StdinClosed,
            Self::NoOutput => Code::NoOutput,
            Self::Symbols(error) | Self::NotLoaded(error) => error.code(),
            Self::Tracee(error) => tracee_code(error),
        }
    }

    /// The next step, when there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoProcess => "spawn('/path/to/program')",
            Self::Over { how: How::Detached } => "spawn(…) or attach(pid)",
            Self::Over { .. } => "restart() runs it again",
            Self::Running => "wait(ms) or interrupt() first",
            Self::NotRunning => "cont({background: true}) starts one",
            Self::Spawn { why, .. } => return why.hint(),
            Self::Attach { why, .. } => return why.hint(),
            Self::Unreadable(_) => "maps() lists what is mapped",
            Self::NoBreakpoint { .. } => "breakpoint.list()",
            Self::NoWatchpoint { .. } => "watchpoint.list()",
            Self::NoSlot { .. } => "watchpoint.remove(id), breakpoint.remove(id) free one",
            Self::NoOutput => "spawn() captures output",
            Self::Symbols(error) => return error.hint(),
            Self::NotLoaded(error) => {
                let hint =
                    "libraries are not loaded yet: spawn({bin, stop: 'main'}), or {pending: true}";
                return Some(match error.hint() {
                    Some(near) => format!("{near}; {hint}"),
                    None => hint.to_owned(),
                });
            }
            Self::Tracee(tracee::error::Error::Unstoppable { .. }) => "wait(ms), or kill()",
            Self::Tracee(tracee::error::Error::TraceeGone { .. }) => "cont() tells how it ended",
            Self::Register { .. }
            | Self::RegisterRefused { .. }
            | Self::NoInstruction { .. }
            | Self::BadArgument(_)
            | Self::Stdin { .. }
            | Self::Tracee(_) => return None,
        };
        Some(hint.to_owned())
    }
}

impl SpawnFault {
    fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } | Self::NotInPath { .. } | Self::Open(_) => Code::NoProgram,
            Self::Directory
            | Self::Special
            | Self::NoPermission
            | Self::NoInterpreter
            | Self::MissingInterpreter(_)
            | Self::Empty => Code::NotExecutable,
            Self::Image(error) => error.code(),
            Self::Nul => Code::BadArgument,
            Self::PtraceDenied(_) => Code::PtraceDenied,
            Self::NotAllowed(_)
            | Self::Cwd(..)
            | Self::Stdin(..)
            | Self::System { .. }
            | Self::Tracee(_) => Code::SpawnFailed,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoPermission => "chmod +x makes it executable",
            Self::NoInterpreter => "spawn its interpreter, such as spawn('/bin/sh', 'script')",
            Self::NotInPath { .. } => "give a path with a slash in it",
            Self::PtraceDenied(_) => {
                "the container's seccomp profile must allow ptrace, see sandbox/seccomp.json"
            }
            Self::Image(error) => return error.hint(),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl AttachFault {
    fn code(&self) -> Code {
        match self {
            Self::NotAPid => Code::BadArgument,
            Self::Gone => Code::NoSuchProcess,
            _ => Code::AttachRefused,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::ThreadOf(process) => return Some(format!("attach({process})")),
            Self::Yama(_) | Self::Refused => "spawn() it, or start llmdbg with -p PID",
            Self::OtherUser(..) => "run llmdbg as that user",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

fn tracee_code(error: &tracee::error::Error) -> Code {
    match error {
        tracee::error::Error::TraceeGone { .. } | tracee::error::Error::Died { .. } => Code::Gone,
        tracee::error::Error::Unwritable { .. } => Code::BadAddress,
        tracee::error::Error::NoThread { .. } => Code::BadArgument,
        tracee::error::Error::Ptrace { .. }
        | tracee::error::Error::System { .. }
        | tracee::error::Error::Unstoppable { .. } => Code::Kernel,
    }
}

fn list(before: &str, items: &[String], after: &str) -> String {
    if items.is_empty() {
        return String::new();
    }
    format!("{before}{}{after}", items.join(", "))
}

pub type Result<T> = std::result::Result<T, Error>;
