//! The REPL on stdin and stdout: one request, one reply.

use std::io::{self, Write};
use std::sync::Arc;

use super::inbox::{Inbox, Request};
use super::status::Replies;
use crate::script::engine::Engine;
use crate::session::control::Control;

/// What a person at a terminal is shown when it is his turn.
const PROMPT: &str = "> ";

pub struct Repl<'a, W> {
    pub engine: &'a mut Engine,
    pub inbox: Arc<Inbox>,
    pub control: Arc<Control>,
    pub out: W,
    pub has_prompt: bool,
}

impl<W: Write> Repl<'_, W> {
    /// Answers until the input ends or nobody reads the answers.
    pub fn run(mut self) -> io::Result<()> {
        let mut replies = Replies::new();
        let prompt = if self.has_prompt { PROMPT } else { "" };
        self.out.write_all(prompt.as_bytes())?;
        self.out.flush()?;
        while !self.control.is_terminated() {
            let reply = match self.inbox.take() {
                None => {
                    self.engine.idle();
                    continue;
                }
                Some(Request::Program(program)) => self.engine.eval(&program),
                Some(Request::Rejected(rejection)) => self.engine.reject(&rejection),
                Some(Request::End) => break,
            };
            self.inbox.done();
            replies.send(&reply, prompt, &mut self.out)?;
        }
        Ok(())
    }
}
