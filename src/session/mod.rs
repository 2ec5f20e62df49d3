//! For: the debugger core: one debuggee, its breakpoints, its history, what the user meant by a run.
//! May use: base, os, arch, tracee, symbols, unwind.
//! Must never know: JavaScript, text formats, front ends. It returns data, never text.

mod breakpoints;
pub mod control;
pub mod error;
pub mod event;
mod goal;
pub mod info;
mod launch;
mod libraries;
mod modules;
mod places;
mod reading;
pub mod request;
pub mod run;
pub mod session;
mod siginfo;
pub mod snapshot;
pub mod stack_area;
mod streams;
pub mod tls;
mod trace;
mod watchpoints;
