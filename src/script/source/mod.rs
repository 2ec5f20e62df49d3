//! From bytes on an input to programs that compile: framing, lexing, rewriting, checking. Pure, but
//! for the compiler behind `check`.

pub mod check;
pub mod command;
pub mod declare;
pub mod framing;
pub mod lexer;
pub mod lines;
pub mod rewrite;
