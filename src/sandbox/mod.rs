//! For: what the debugger and its debuggees may do: layers applied once, at start, and reported honestly.
//! May use: base, os, caps, seccompiler.
//! Must never know: what is being debugged, scripts, or how a report is printed.

pub mod apply;
pub mod caps;
pub mod error;
pub mod policy;
pub mod seccomp;

#[cfg(test)]
mod cbpf;
