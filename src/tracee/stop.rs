//! What a run came to: why the process stands still, or how it ended.

use crate::arch::debug_regs::Slot;
use crate::base::addr::VirtAddr;
use crate::base::id::{Pid, Tid};
use crate::base::signal::Signal;
use crate::os::ptrace::SigInfo;

/// Every thread stands still, because of what happened to this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    pub tid: Tid,
    pub causes: Causes,
}

/// Why a thread stopped: a non-empty set, because one trap can mean several things at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Causes {
    /// The single step that was asked for is done.
    pub step: bool,
    /// The thread stands on this inserted trap, its pc moved back to it.
    pub site: Option<VirtAddr>,
    /// Debug registers that triggered.
    pub slots: Slots,
    pub event: Option<Event>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Before its delivery; `deliver` of the thread says what will happen to it.
    Signal(Signal, SigInfo),
    /// The process has a new program; every address is stale.
    Exec,
    Fork {
        child: Pid,
        kind: ForkKind,
    },
    NewThread {
        child: Tid,
    },
    /// Asked for by `interrupt`.
    Interrupted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForkKind {
    Fork,
    Vfork,
    /// clone(2) of a process with another termination signal.
    Clone,
}

/// Events that are only reported to whom they interest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub threads: bool,
    pub forks: bool,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Exited(i32),
    Killed(Signal),
}

/// A set of debug registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slots(u8);

impl Slots {
    pub const NONE: Self = Self(0);

    pub(super) fn of(slots: impl Iterator<Item = Slot>) -> Self {
        Self(slots.fold(0, |set, slot| set | 1 << slot.index()))
    }

    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    pub fn iter(self) -> impl Iterator<Item = Slot> {
        Slot::ALL
            .into_iter()
            .filter(move |slot| self.0 >> slot.index() & 1 != 0)
    }
}

impl Causes {
    pub(super) const fn slots(slots: Slots) -> Self {
        Self {
            step: false,
            site: None,
            slots,
            event: None,
        }
    }

    pub(super) const fn step() -> Self {
        Self {
            step: true,
            site: None,
            slots: Slots::NONE,
            event: None,
        }
    }

    pub(super) const fn site(site: VirtAddr) -> Self {
        Self {
            step: false,
            site: Some(site),
            slots: Slots::NONE,
            event: None,
        }
    }

    pub const fn event(event: Event) -> Self {
        Self {
            step: false,
            site: None,
            slots: Slots::NONE,
            event: Some(event),
        }
    }
}
