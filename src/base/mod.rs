//! For: the vocabulary that every layer shares: addresses, ids, signals, readable memory.
//! May use: the standard library only.
//! Must never know: that processes, files or scripts exist.

pub mod addr;
pub mod code;
pub mod id;
pub mod memory;
pub mod range_map;
pub mod signal;
