//! A running REPL: its pipes are read and written by threads of their own, so that every wait here
//! has a deadline.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

enum Event {
    Out(Vec<u8>),
    OutEnd,
    Exit(ExitStatus),
}

pub struct Repl {
    pid: Pid,
    deadline: Instant,
    input: Option<Sender<Vec<u8>>>,
    events: Receiver<Event>,
    errors: std::thread::JoinHandle<String>,
    /// Bytes read and not yet given out.
    pending: Vec<u8>,
    ended: bool,
    exit: Option<ExitStatus>,
}

impl Repl {
    pub fn start(mut command: Command, deadline: Instant) -> Result<Self, String> {
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(|error| error.to_string())?);
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (input, texts) = channel::<Vec<u8>>();
        std::thread::spawn(move || {
            let mut stdin = stdin.unwrap();
            // A reader that has gone away shows in its replies and its exit status.
            while let Ok(text) = texts.recv()
                && stdin.write_all(&text).is_ok()
            {}
        });
        let (events_in, events) = channel();
        let exit_in = events_in.clone();
        std::thread::spawn(move || read_all(stdout.unwrap(), &events_in));
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.unwrap().read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        std::thread::spawn(move || {
            if let Ok(status) = child.wait() {
                let _ = exit_in.send(Event::Exit(status));
            }
        });
        Ok(Self {
            pid,
            deadline,
            input: Some(input),
            events,
            errors,
            pending: Vec::new(),
            ended: false,
            exit: None,
        })
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    pub fn send(&self, text: &[u8]) -> Result<(), String> {
        match &self.input {
            Some(input) => input
                .send(text.to_owned())
                .map_err(|_| "its stdin is closed".to_owned()),
            None => Err("input after `eof`".into()),
        }
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    pub fn signal(&self, name: &str) -> Result<(), String> {
        let signal: Signal = format!("SIG{name}")
            .parse()
            .map_err(|_| format!("no signal SIG{name}"))?;
        kill(self.pid, signal).map_err(|error| format!("kill: {error}"))
    }

    /// The next reply with its status line.
    pub fn reply(&mut self) -> Result<String, String> {
        while !self.ended {
            if let Some(length) = reply_length(&self.pending) {
                let reply = self.pending.drain(..length).collect();
                return text(reply);
            }
            self.pump("a reply")?;
        }
        Err(format!(
            "it ended instead of replying; last came:\n{}",
            self.rest()?
        ))
    }

    /// What came and belongs to no reply that was asked for.
    pub fn unasked(&self) -> Option<String> {
        (!self.pending.is_empty()).then(|| String::from_utf8_lossy(&self.pending).into_owned())
    }

    /// Everything up to the end of the output.
    pub fn rest(&mut self) -> Result<String, String> {
        while !self.ended {
            self.pump("the end of the output")?;
        }
        text(std::mem::take(&mut self.pending))
    }

    /// The exit status as a shell would tell it.
    pub fn exit(&mut self) -> Result<i32, String> {
        loop {
            if let Some(status) = self.exit {
                return Ok(status
                    .code()
                    .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
            }
            self.pump("its exit")?;
        }
    }

    fn pump(&mut self, awaited: &str) -> Result<(), String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok(Event::Out(bytes)) => self.pending.extend(bytes),
            Ok(Event::OutEnd) => self.ended = true,
            Ok(Event::Exit(status)) => self.exit = Some(status),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(format!(
                    "the deadline passed while waiting for {awaited}; until then came:\n{}",
                    String::from_utf8_lossy(&self.pending)
                ));
            }
        }
        Ok(())
    }

    /// Ends the whole process group and gives what was written to stderr.
    pub fn finish(self) -> String {
        drop(self.input);
        if self.exit.is_none() {
            let _ = killpg(self.pid, Signal::SIGKILL);
        }
        self.errors.join().unwrap_or_default()
    }
}

fn read_all(mut from: impl Read, events: &Sender<Event>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if events.send(Event::Out(buffer[..count].to_vec())).is_err() {
            return;
        }
    }
    let _ = events.send(Event::OutEnd);
}

/// A status line is the only line that begins with `=`: payload lines are escaped.
fn reply_length(bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    while let Some(end) = bytes[start..].iter().position(|&byte| byte == b'\n') {
        let next = start + end + 1;
        if bytes[start] == b'=' {
            return Some(next);
        }
        start = next;
    }
    None
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes)
        .map_err(|error| format!("a reply that is not UTF-8: {:?}", error.into_bytes()))
}

pub mod checks {
    use super::reply_length;

    pub const ALL: crate::checks::Table = &[("replies_end_with_the_status_line", ends)];

    fn ends() {
        check("2\n=1 ok none\n", Some(13));
        check("=1 ok none\n2\n", Some(11));
        check("\\=1 ok none\n", None);
        check("2\n=1 ok none", None);
        check("a =1 ok\n", None);
        check("", None);
    }

    #[track_caller]
    fn check(text: &str, length: Option<usize>) {
        assert_eq!(reply_length(text.as_bytes()), length);
    }
}
