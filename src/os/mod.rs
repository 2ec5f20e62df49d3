//! For: system calls, the only `unsafe` code: thin, total wrappers, one kernel family per file.
//! May use: base, libc, nix, procfs.
//! Must never know: policy: what a stop means, what a breakpoint is, who asked.

pub mod error;
pub mod mmap;
pub mod poll;
pub mod privileges;
pub mod proc;
pub mod process;
pub mod ptrace;
pub mod signals;
pub mod spawn;
pub mod stdio;
pub mod terminal;
pub mod tick;
pub mod vm;
pub mod wait;
