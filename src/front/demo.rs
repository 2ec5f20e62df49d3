//! `llmdbg demo`: a crash found and explained by a short script, shown as a session. The program it debugs is part
//! of this binary (build.rs), so nothing needs to be installed.

use super::status::Replies;
use crate::os::privileges;
use crate::script::engine::Engine;
use crate::script::reply::Program;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/demo-program"));
const SCRIPT: &str = include_str!("demo.js");

/// Shows the session, up to the first step that fails; whether none did.
pub fn run(engine: &mut Engine, out: &mut impl Write) -> io::Result<bool> {
    let file = PrivateProgram::write()?;
    let path = file.path.to_string_lossy();
    let mut show = Show {
        engine,
        out,
        replies: Replies::new(),
    };
    let start = format!("var DEMO = {path:?}");
    let first = Step {
        why: "",
        code: &start,
    };
    for step in std::iter::once(first).chain(steps(SCRIPT)) {
        if !show.step(&step)? {
            return Ok(false);
        }
    }
    Ok(true)
}

struct Show<'a, W> {
    engine: &'a mut Engine,
    out: &'a mut W,
    replies: Replies,
}

impl<W: Write> Show<'_, W> {
    fn step(&mut self, step: &Step<'_>) -> io::Result<bool> {
        let mut text = String::from(step.why);
        for (number, line) in step.code.lines().enumerate() {
            text.push_str(if number == 0 { "> " } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
        self.out.write_all(text.as_bytes())?;
        let reply = self.engine.eval(&Program::new(step.code));
        self.replies.send(&reply, "\n", self.out)?;
        Ok(reply.ok)
    }
}

/// A comment that says why, and the program under it.
struct Step<'a> {
    why: &'a str,
    code: &'a str,
}

/// The steps of a script: separated by blank lines, each with its comment lines first.
fn steps(script: &str) -> impl Iterator<Item = Step<'_>> {
    script.trim().split("\n\n").map(|text| {
        let comment: usize = text
            .split_inclusive('\n')
            .take_while(|line| line.starts_with("//"))
            .map(str::len)
            .sum();
        let (why, code) = text.split_at(comment);
        Step { why, code }
    })
}

/// The program as a file that nobody else can touch, gone when this value is.
struct PrivateProgram {
    folder: PathBuf,
    path: PathBuf,
}

impl PrivateProgram {
    /// The temporary directory may be mounted noexec, as in the container; then the home directory serves.
    fn write() -> io::Result<Self> {
        let mut refused = io::Error::from(io::ErrorKind::NotFound);
        for parent in [Some(std::env::temp_dir()), std::env::home_dir()]
            .into_iter()
            .flatten()
        {
            match Self::write_in(&parent) {
                Ok(file) if privileges::may_execute(&file.path) => return Ok(file),
                Ok(_) => refused = io::ErrorKind::PermissionDenied.into(),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    fn write_in(parent: &Path) -> io::Result<Self> {
        let folder = parent.join(format!("llmdbg-demo-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let path = folder.join("crash");
        let file = Self { folder, path };
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(&file.path)?
            .write_all(PROGRAM)?;
        Ok(file)
    }
}

impl Drop for PrivateProgram {
    fn drop(&mut self) {
        // A folder that is left behind is a nuisance, not a failure.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_steps_with_a_reason_each() {
        let found: Vec<_> = steps("// a\n// b\nx()\n\ny()\n// c\n\n// only\nz")
            .map(|step| (step.why, step.code))
            .collect();
        assert_eq!(
            found,
            [
                ("// a\n// b\n", "x()"),
                ("", "y()\n// c"),
                ("// only\n", "z")
            ]
        );
    }

    #[test]
    fn every_step_of_the_demonstration_says_why() {
        for step in steps(SCRIPT) {
            assert!(step.why.starts_with("// "), "{}", step.code);
            assert!(!step.code.is_empty(), "{}", step.why);
        }
    }

    #[test]
    fn the_program_is_private_and_goes_away() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let file = PrivateProgram::write().unwrap();
        let folder = file.folder.clone();
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(std::fs::read(&file.path).unwrap(), PROGRAM);
        drop(file);
        assert!(!folder.exists());
    }
}
