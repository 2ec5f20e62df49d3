//! The layers, bottom-up. A layer may use only those above it in this list; `|` marks siblings that
//! never import each other: base < os | arch < sandbox | tracee | symbols < unwind < session < output
//! < script < front. tests/tidy.rs enforces it.

pub mod arch;
pub mod base;
pub mod os;
pub mod output;
pub mod script;
pub mod session;
