//! The thread that owns standard input: it cuts programs, sees interrupts at once, and notices when
//! nobody is there any more.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Error, Result};
use super::inbox::{Inbox, Request};
use crate::base::code::Code;
use crate::os::poll::{self, Interest};
use crate::script::reply::Rejection;
use crate::script::source::check::SyntaxChecker;
use crate::script::source::framing::{Event, Framing, Times};
use crate::session::control::Control;

/// The parser recurses, within its own limit; the rest of this thread needs little.
const STACK: usize = 2 << 20;
/// Bytes of one read.
const CHUNK: usize = 64 << 10;
/// Bytes that are read before they are looked at, however much more there is.
const BATCH: usize = 1 << 20;
/// What a terminal without line editing sends for the end of the input (Ctrl-D).
const END_OF_TRANSMISSION: u8 = 0x04;

#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Silence after which incomplete text is evaluated as it stands.
    pub idle: Duration,
    /// A terminal without line editing: Ctrl-D ends the input.
    pub unedited: bool,
}

/// Starts reading standard input into `inbox`. The thread ends with the input or the process.
pub fn start(input: Input, inbox: Arc<Inbox>, control: Arc<Control>) -> Result<()> {
    let owned =
        |fd: io::Result<OwnedFd>, action| fd.map_err(|source| Error::System { action, source });
    let stdin = owned(io::stdin().as_fd().try_clone_to_owned(), "open stdin")?;
    let stdout = owned(io::stdout().as_fd().try_clone_to_owned(), "open stdout")?;
    let reader = Reader {
        input,
        stdin: File::from(stdin),
        stdout,
        inbox,
        control,
    };
    thread::Builder::new()
        .name("stdin".into())
        .stack_size(STACK)
        .spawn(move || reader.run())
        .map_err(|source| Error::System {
            action: "start the thread that reads stdin",
            source,
        })?;
    Ok(())
}

struct Reader {
    input: Input,
    stdin: File,
    stdout: OwnedFd,
    inbox: Arc<Inbox>,
    control: Arc<Control>,
}

impl Reader {
    fn run(mut self) {
        // Made here, because a runtime belongs to its thread.
        match SyntaxChecker::new() {
            Ok(checker) => self.read_all(Framing::new(checker, Times::new(self.input.idle))),
            Err(error) => self.inbox.push(Request::Rejected(Rejection {
                code: Code::Internal,
                message: format!("start the compiler that finds the end of programs: {error}"),
                hint: None,
            })),
        }
        self.inbox.push(Request::End);
        self.watch_stdout();
    }

    fn read_all(&mut self, mut framing: Framing<SyntaxChecker>) {
        let mut events = Vec::new();
        let mut ended = false;
        while !ended {
            ended = match self.wait(framing.deadline()) {
                Ok(true) => self.read_batch(&mut framing),
                Ok(false) => false,
                Err(_) => true,
            };
            framing.settle(&mut events);
            framing.tick(Instant::now(), &mut events);
            if ended {
                framing.end(&mut events);
            }
            self.deliver(&mut events);
        }
    }

    /// Whether there is something to read, or the deadline has come.
    fn wait(&self, deadline: Option<Instant>) -> io::Result<bool> {
        let mut ready = Vec::new();
        let fds = [
            (self.stdin.as_raw_fd(), Interest::Read),
            (self.stdout.as_raw_fd(), Interest::Hangup),
        ];
        poll::wait(&fds, deadline, &mut ready)?;
        if ready.get(1) == Some(&true) {
            self.control.terminate();
            return Err(ErrorKind::BrokenPipe.into());
        }
        Ok(ready.first() == Some(&true))
    }

    /// Reads what is there. True at the end of the input.
    fn read_batch(&mut self, framing: &mut Framing<SyntaxChecker>) -> bool {
        let mut chunk = vec![0; CHUNK];
        let mut total = 0;
        loop {
            let bytes = match self.stdin.read(&mut chunk) {
                Ok(count) => chunk.get(..count).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // A terminal that hung up answers EIO.
                Err(_) => return true,
            };
            let typed_end = (self.input.unedited)
                .then(|| bytes.iter().position(|&byte| byte == END_OF_TRANSMISSION))
                .flatten();
            framing.feed(
                bytes
                    .get(..typed_end.unwrap_or(bytes.len()))
                    .unwrap_or_default(),
                Instant::now(),
            );
            if bytes.is_empty() || typed_end.is_some() {
                return true;
            }
            total += bytes.len();
            if total >= BATCH || !self.wait(Some(Instant::now())).unwrap_or(false) {
                return false;
            }
        }
    }

    fn deliver(&self, events: &mut Vec<Event>) {
        for event in events.drain(..) {
            match event {
                Event::Program(program) => self.inbox.push(Request::Program(program)),
                Event::Rejected(rejection) => self.inbox.push(Request::Rejected(rejection)),
                Event::Interrupt => self.inbox.interrupt(),
            }
        }
    }

    /// When the input has ended what is queued still runs, but not for nobody.
    fn watch_stdout(&self) {
        let fds = [(self.stdout.as_raw_fd(), Interest::Hangup)];
        if poll::wait(&fds, None, &mut Vec::new()).is_ok() {
            self.control.terminate();
        }
    }
}
