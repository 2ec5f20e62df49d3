//! What a run reports: data for scripts and front ends, no text.

use crate::base::addr::VirtAddr;
use crate::base::id::{BreakpointId, Pid, StopSeq, Tid, WatchpointId};
use crate::base::signal::Signal;
use std::time::Duration;

/// The debuggee, as seen from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    None,
    Stopped,
    Running,
    Exited(i32),
    Killed(Signal),
    Detached,
}

/// One reported stop, or the end of the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StopEvent {
    pub seq: StopSeq,
    pub tid: Option<Tid>,
    /// None when nothing is left to look at, or when nobody asked yet (a step within a batch).
    pub pc: Option<VirtAddr>,
    /// What the event is called.
    pub reason: Reason,
    /// What happened at the same instant to the same thread: a step that landed on a breakpoint.
    pub also: Vec<Reason>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The program stands at its first instruction, or at `main` when that was asked for.
    Entry,
    /// An attached process was stopped.
    Attached,
    Step {
        done: u64,
        total: u64,
    },
    Breakpoint(BreakpointHit),
    Watchpoint(WatchpointHit),
    /// The place that `until` was given.
    Until,
    /// The frame has returned; what is in rax is its value, if it has one that fits there.
    Finish {
        value: u64,
    },
    Signal(SignalStop),
    Exit {
        status: i32,
    },
    Killed {
        signal: Signal,
    },
    Timeout {
        bound: Duration,
        doing: Doing,
    },
    Interrupted {
        doing: Doing,
    },
    /// A single step did not end: the instruction waits in the kernel.
    Blocked {
        doing: Doing,
    },
    Exec {
        path: String,
    },
    Fork {
        child: Pid,
        kind: ForkKind,
    },
    /// The dynamic linker has mapped a library, or is about to unmap it.
    Library {
        name: String,
        loaded: bool,
    },
    Thread {
        tid: Tid,
        started: bool,
    },
    Detached,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForkKind {
    Fork,
    Vfork,
    Clone,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BreakpointHit {
    pub id: BreakpointId,
    pub name: Option<String>,
    pub hits: u64,
}

/// A watched place was touched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchpointHit {
    pub id: WatchpointId,
    pub name: Option<String>,
    pub addr: VirtAddr,
    /// None when it cannot be told whether it was read or written with the same value.
    pub access: Option<Access>,
    /// Zero-extended; None when it could not be read.
    pub old: Option<u64>,
    pub new: Option<u64>,
    pub hits: u64,
    /// A system call wrote it: seen at the next stop, whenever that came.
    pub by_kernel: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

/// siginfo of a signal about to be delivered (sigaction(2)).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignalStop {
    pub signal: Signal,
    /// `si_code` by its name, such as SEGV_MAPERR; a number when it has none.
    pub code: String,
    /// `si_addr` of faults.
    pub addr: Option<u64>,
    /// `si_pid` of signals that a process sent.
    pub sender: Option<Pid>,
}

/// What a thread that had to be stopped was busy with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Doing {
    /// In a read of its standard input, and nothing is there to read.
    WaitingStdin,
    /// In another system call that waits.
    Syscall {
        number: u64,
        name: Option<&'static str>,
    },
    /// Held by a stop signal, like its whole process.
    GroupStopped,
    Running,
}

/// How an event type continues when no listener has an opinion, and what a listener may say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Stop,
    Continue,
}

/// The types that listeners are registered for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    Step,
    Breakpoint,
    Watchpoint,
    Signal,
    Exit,
    Output,
    Exec,
    Fork,
    Library,
    Thread,
}

/// Event types that somebody listens to: what nobody wants need not leave the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants(u16);

impl Wants {
    pub fn add(&mut self, kind: EventKind) {
        self.0 |= 1 << kind as u16;
    }

    pub const fn has(self, kind: EventKind) -> bool {
        self.0 & (1 << kind as u16) != 0
    }
}

impl Reason {
    /// Whether a run goes on after it, when nobody has an opinion.
    pub const fn goes_on(&self) -> bool {
        matches!(
            self,
            Self::Step { .. }
                | Self::Exec { .. }
                | Self::Fork { .. }
                | Self::Thread { .. }
                | Self::Library { .. }
        )
    }

    /// The listener type that this reason is delivered to, if there is one.
    pub const fn kind(&self) -> Option<EventKind> {
        match self {
            Self::Step { .. } => Some(EventKind::Step),
            Self::Breakpoint(_) => Some(EventKind::Breakpoint),
            Self::Watchpoint(_) => Some(EventKind::Watchpoint),
            Self::Signal(_) => Some(EventKind::Signal),
            Self::Exit { .. } | Self::Killed { .. } => Some(EventKind::Exit),
            Self::Exec { .. } => Some(EventKind::Exec),
            Self::Fork { .. } => Some(EventKind::Fork),
            Self::Library { .. } => Some(EventKind::Library),
            Self::Thread { .. } => Some(EventKind::Thread),
            Self::Entry
            | Self::Attached
            | Self::Until
            | Self::Finish { .. }
            | Self::Timeout { .. }
            | Self::Interrupted { .. }
            | Self::Blocked { .. }
            | Self::Detached => None,
        }
    }
}

/// One return from a run that is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The debuggee stands still. `default` holds unless a listener objects.
    Event { event: StopEvent, default: Verdict },
    /// The run is over, whatever listeners say.
    Done(StopEvent),
    /// New output, and somebody listens for it; the debuggee may be running.
    Output,
    /// Patience ended first; the run goes on.
    Pending,
}

/// How long one call of `advance` may take, beside the run's own bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Until something happens.
    Event,
    /// Until something happens, or this instant, or the waker.
    Until(std::time::Instant),
    /// Until something happens or the waker.
    Wake,
}
