//! For: process control: the stop protocol of a traced process, its inserted traps, its memory.
//! May use: base, os, arch.
//! Must never know: symbols, breakpoints as users see them, scripts.
//!
//! The protocol is all-stop: outside of `running.rs` every thread of the process is in a ptrace-stop, and
//! `Stopped` is the witness of that. The numbered invariants I1 to I10 are in ARCHITECTURE.md.

pub mod attach;
mod delivery;
pub mod emergency;
pub mod error;
mod hw_slots;
pub mod policy;
mod process;
pub mod running;
mod sites;
pub mod stop;
pub mod stopped;
mod threads;
mod trap;
