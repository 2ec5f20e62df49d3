//! Programs of the command line: evaluated in turn, answered as the REPL would, then the end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::error::{Error, Result};
use super::status::Replies;
use crate::base::code::Code;
use crate::script::engine::Engine;
use crate::script::reply::Program;

/// How the programs went, all together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    AllWell,
    SomeFailed,
    Interrupted,
}

/// Bytes of a script file.
const MAX_FILE: u64 = 16 << 20;

/// Evaluates every program, those after a failed one too: they are what was asked for.
pub fn run(engine: &mut Engine, programs: &[Program], out: &mut impl Write) -> io::Result<Outcome> {
    let mut replies = Replies::new();
    let mut outcome = Outcome::AllWell;
    for program in programs {
        let reply = engine.eval(program);
        replies.send(&reply, "", out)?;
        if reply.code == Some(Code::Interrupted) {
            return Ok(Outcome::Interrupted);
        }
        if !reply.ok {
            outcome = Outcome::SomeFailed;
        }
    }
    Ok(outcome)
}

/// Evaluates one program whose payload alone is wanted.
pub fn print(engine: &mut Engine, program: &Program, out: &mut impl Write) -> io::Result<Outcome> {
    let reply = engine.eval(program);
    out.write_all(reply.payload.as_bytes())?;
    out.flush()?;
    Ok(if reply.ok {
        Outcome::AllWell
    } else {
        Outcome::SomeFailed
    })
}

/// Reads a script file.
pub fn read_file(path: &Path) -> Result<Program> {
    let failed = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let path = path.to_owned();
    if bytes.starts_with(b"\x7fELF") {
        return Err(Error::FileIsProgram { path });
    }
    if bytes.len() as u64 > MAX_FILE {
        return Err(Error::FileIsLarge {
            path,
            limit: MAX_FILE,
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Program::new(text)),
        Err(error) => Err(Error::FileIsNoText {
            path,
            at: error.utf8_error().valid_up_to(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).expect("written");
        let name = path.display().to_string();
        let answer = read_file(&path)
            .map(|program| program.text)
            .map_err(|error| error.to_string().replace(&name, "FILE"));
        assert_eq!(answer.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn only_text_is_a_script() {
        check(b"1 + 1\n", Ok("1 + 1\n"));
        check(b"", Ok(""));
        check(
            b"\x7fELF\x02",
            Err("FILE is a program, not a script; use llmdbg -- FILE"),
        );
        check(b"ab\xff", Err("FILE: not UTF-8 at byte 2"));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = read_file(Path::new("/nowhere/at/all")).expect_err("no such file");
        assert!(
            error.to_string().starts_with("read /nowhere/at/all: "),
            "{error}"
        );
        let error = read_file(Path::new("/")).expect_err("a folder");
        assert!(error.to_string().starts_with("read /: "), "{error}");
        assert_eq!(error.exit_status(), 2);
    }
}
