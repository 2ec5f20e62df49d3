//! For: the facts of x86-64: registers, flags, instructions, system call names.
//! May use: base, and iced-x86 for decoding and formatting.
//! Must never know: processes, files, scripts; everything here is pure.

pub mod access;
pub mod debug_regs;
pub mod disasm;
pub mod flags;
pub mod registers;
pub mod stack;
pub mod syscall;
pub mod xstate;
