//! The layers, bottom-up. A layer may use only those before it; `|` marks siblings that never use each
//! other. tests/tidy reads and enforces this line:
//! base < os | arch < sandbox | tracee | symbols < unwind < session < output < script < cli < front

pub mod arch;
pub mod base;
pub mod cli;
pub mod front;
pub mod os;
pub mod output;
pub mod sandbox;
pub mod script;
pub mod session;
pub mod symbols;
pub mod tracee;
pub mod unwind;
