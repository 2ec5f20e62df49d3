//! For: data to terse text: escaping, cells, hex, folding, the budget of a reply.
//! May use: base, session (the data it returns).
//! Must never know: JavaScript, sequence numbers, where the text is sent.

pub mod budget;
pub mod escape;
pub mod fold;
pub mod hex;
pub mod payload;
pub mod rows;
pub mod stop;
