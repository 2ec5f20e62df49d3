//! Command lines: what a person or a harness types, with `llmdbg` standing for the product.

use std::process::Command;
use std::time::{Duration, Instant};

pub struct Shell(Command);

pub struct Finished {
    pub out: String,
    pub err: String,
    pub exit: i32,
}

impl Shell {
    pub fn new(mut shell: Command, product: &[String], line: &str) -> Self {
        let product: Vec<String> = product.iter().map(|word| quoted(word)).collect();
        shell.arg("-c").arg(format!(
            "llmdbg() {{ {} \"$@\"; }}\n{line}",
            product.join(" ")
        ));
        Self(shell)
    }

    pub fn run(self, deadline: Instant) -> Result<Finished, String> {
        let left = deadline.saturating_duration_since(Instant::now());
        let output = assert_cmd::Command::from_std(self.0)
            .timeout(left.max(Duration::from_millis(1)))
            .output()
            .map_err(|error| format!("sh: {error}"))?;
        let Some(exit) = output.status.code() else {
            return Err(format!(
                "the deadline passed; until then came:\n{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            ));
        };
        Ok(Finished {
            out: text(output.stdout)?,
            err: text(output.stderr)?,
            exit,
        })
    }
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| format!("not UTF-8: {:?}", error.into_bytes()))
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
