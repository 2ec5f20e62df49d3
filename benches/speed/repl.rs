//! The product, driven as an agent drives it: a line in, a reply out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub const PRODUCT: &str = env!("CARGO_BIN_EXE_llmdbg");

pub struct Repl {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Repl {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(PRODUCT)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the product starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    /// Sends a line and gives the first line of the payload. A refusal ends the bench: it would measure nothing.
    pub fn request(&mut self, line: &str) -> String {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut payload = String::new();
        loop {
            let mut reply = String::new();
            let length = self.output.read_line(&mut reply).unwrap();
            assert!(length > 0, "the product ended at {line}: {payload}");
            if let Some(status) = reply.strip_prefix('=') {
                let word = status.split(' ').nth(1).map(str::trim);
                assert_eq!(word, Some("ok"), "{line}: {payload}");
                return payload.lines().next().unwrap_or_default().to_owned();
            }
            payload.push_str(&reply);
        }
    }

    pub fn resident_bytes(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let kilobytes = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))
            .expect("proc(5): VmRSS");
        kilobytes.trim().parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Repl {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}
