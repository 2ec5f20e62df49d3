//! For: JavaScript: the text of programs, the engine that runs them, the API they see.
//! May use: output, session and every layer below.
//! Must never know: where programs come from and where replies go.

pub mod api;
pub mod conditions;
pub mod convert;
pub mod delivery;
pub mod dispatch;
pub mod echo;
pub mod engine;
pub mod error;
pub mod events;
pub mod help;
pub mod host;
pub mod limits;
pub mod listeners;
pub mod near;
pub mod programs;
pub mod raw;
pub mod reply;
pub mod report;
pub mod snippet;
pub mod source;
pub mod watchdog;
