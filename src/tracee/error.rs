//! What can go wrong between this debugger and a traced process.

use crate::base::addr::VirtAddr;
use crate::base::id::{Pid, Tid};
use crate::os::error::{describe, is_gone};
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SIGKILL can end a stop at any time (I10): not a fault of anybody.
    #[error("{doing} thread {tid}: it has been killed")]
    TraceeGone { tid: Tid, doing: &'static str },
    #[error("ptrace {doing} thread {tid}: {}", describe(source))]
    Ptrace {
        doing: &'static str,
        tid: Tid,
        source: io::Error,
    },
    #[error("{doing}: {}", describe(source))]
    System {
        doing: &'static str,
        source: io::Error,
    },
    #[error("process {pid} ended before it could be used")]
    Died { pid: Pid },
    #[error("process {pid} cannot be stopped: it waits in the kernel where no signal reaches it")]
    Unstoppable { pid: Pid },
    #[error("write {wanted} bytes at {addr}: not mapped at {first_bad}")]
    Unwritable {
        addr: VirtAddr,
        wanted: usize,
        first_bad: VirtAddr,
    },
    #[error("no thread {tid}")]
    NoThread { tid: Tid },
}

pub type Result<T> = std::result::Result<T, Error>;

/// Names what was attempted, and tells a dead tracee from a real failure.
pub(super) fn ptrace(doing: &'static str, tid: Tid) -> impl FnOnce(io::Error) -> Error {
    move |source| dead(doing, tid, source)
}

pub(super) fn dead(doing: &'static str, tid: Tid, source: io::Error) -> Error {
    if is_gone(&source) {
        Error::TraceeGone { tid, doing }
    } else {
        Error::Ptrace { doing, tid, source }
    }
}

pub(super) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::System { doing, source }
}
