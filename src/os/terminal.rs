//! The terminal on standard input, when there is one (termios(3)).

use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use std::io::{self, IsTerminal, Stdin};

/// A terminal that neither echoes nor collects lines; as it was before when this is dropped.
pub struct Unedited {
    stdin: Stdin,
    saved: Termios,
}

impl Unedited {
    /// None when standard input is no terminal.
    pub fn new() -> io::Result<Option<Self>> {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return Ok(None);
        }
        let saved = tcgetattr(&stdin)?;
        let mut changed = saved.clone();
        changed
            .local_flags
            .remove(LocalFlags::ICANON | LocalFlags::ECHO);
        changed.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        changed.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        tcsetattr(&stdin, SetArg::TCSANOW, &changed)?;
        Ok(Some(Self { stdin, saved }))
    }
}

impl Drop for Unedited {
    fn drop(&mut self) {
        // The terminal may be gone, and then there is nothing to put back.
        tcsetattr(&self.stdin, SetArg::TCSANOW, &self.saved).unwrap_or_default();
    }
}
