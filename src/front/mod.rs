//! For: the ways in: the REPL, programs of the command line, the demonstration. Each speaks one protocol.
//! May use: script, cli, and what these need of os, sandbox and session to be set up.
//! Must never know: ptrace, symbols, how a value is printed; one front end never uses another.

pub mod demo;
pub mod error;
pub mod inbox;
pub mod oneshot;
pub mod reader;
pub mod repl;
pub mod status;
