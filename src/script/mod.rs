//! For: JavaScript: the text of programs, the engine that runs them, the API they see.
//! May use: output, session and every layer below.
//! Must never know: where programs come from and where replies go.

pub mod raw;
pub mod reply;
pub mod source;
