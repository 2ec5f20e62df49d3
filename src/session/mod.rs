//! For: the debugger core: one debuggee, its breakpoints, its history, what the user meant by a run.
//! May use: base, os, arch, tracee, symbols, unwind.
//! Must never know: JavaScript, text formats, front ends. It returns data, never text.

pub mod control;
pub mod error;
pub mod event;
pub mod info;
pub mod request;
pub mod run;
pub mod session;
pub mod snapshot;
