//! Names for things, as newtypes, so that a tid is never taken for a breakpoint id.

use std::fmt;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name($inner);

        impl $name {
            pub const fn new(raw: $inner) -> Self {
                Self(raw)
            }

            pub const fn raw(self) -> $inner {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id_type! {
    /// A process: the thread group id.
    Pid, i32
}
id_type! {
    /// A thread, under ptrace a tracee.
    Tid, i32
}
id_type! {
    /// A logical breakpoint, counted from 1 and never reused within a session.
    BreakpointId, u32
}
id_type! {
    /// A watchpoint, counted from 1 and never reused within a session.
    WatchpointId, u32
}
id_type! {
    /// A listener, counted from 1.
    ListenerId, u32
}
id_type! {
    /// A loaded image, by its place in the module table.
    ModuleId, u32
}
id_type! {
    /// Counts the stops of a session. Whatever was read at an earlier stop is stale.
    StopSeq, u64
}

impl Pid {
    /// The thread that leads the process has the same number.
    pub const fn leader(self) -> Tid {
        Tid(self.0)
    }
}

impl StopSeq {
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
