//! The debuggee's standard streams: what it wrote lately, what it has still to read.

use super::error::{Error, Result};
use super::info::{OutputChunk, Stream};
use crate::os::poll::Interest;
use crate::os::stdio::{End, Flow};
use std::collections::VecDeque;
use std::os::fd::RawFd;

/// Kept of each stream (interface.md, section 5).
const KEPT: usize = 1 << 20;
/// Taken from a pipe at one go, so that `yes` cannot keep the engine busy for ever.
const DRAINED: usize = 1 << 20;

/// None of it exists for an attached process.
#[derive(Debug, Default)]
pub(super) struct Streams {
    stdin: Option<End>,
    /// Not yet taken by the pipe.
    unsent: VecDeque<u8>,
    close_when_sent: bool,
    /// Closing means an end-of-file character: both directions are one terminal.
    tty: bool,
    stdin_inode: Option<u64>,
    outputs: [Output; 2],
    captured: bool,
    /// New since it was last taken, in the order it came.
    fresh: Vec<(Stream, Vec<u8>)>,
    fresh_len: usize,
}

#[derive(Debug, Default)]
struct Output {
    end: Option<End>,
    kept: VecDeque<u8>,
    /// Position of the first kept byte since the start of the stream.
    kept_from: u64,
    /// Up to here `read` has answered.
    read_to: u64,
}

impl Streams {
    /// Streams of a spawned process. On a terminal `stderr` is None, all output is one stream.
    pub(super) fn new(
        stdin: Option<End>,
        stdout: Option<End>,
        stderr: Option<End>,
        tty: bool,
    ) -> Self {
        Self {
            stdin_inode: stdin.as_ref().and_then(End::inode),
            stdin,
            tty,
            outputs: [stdout, stderr].map(|end| Output {
                end,
                ..Output::default()
            }),
            captured: true,
            ..Self::default()
        }
    }

    /// `pipe:[INODE]`, as /proc/PID/fd shows the debuggee's end.
    pub(super) fn stdin_link(&self) -> Option<String> {
        self.stdin_inode.map(|inode| format!("pipe:[{inode}]"))
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.tty
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.stdin.is_none() || self.close_when_sent {
            return Err(Error::Stdin {
                why: if self.captured {
                    "it is closed"
                } else {
                    "it is not ours: the process was attached"
                },
            });
        }
        self.unsent.extend(bytes);
        self.send();
        if self.stdin.is_none() {
            return Err(Error::Stdin {
                why: "the process has closed it",
            });
        }
        Ok(bytes.len())
    }

    pub(super) fn close(&mut self) -> Result<()> {
        if self.stdin.is_none() {
            return Err(Error::Stdin {
                why: "it is closed",
            });
        }
        if self.tty {
            const END_OF_TRANSMISSION: u8 = 4;
            self.unsent.push_back(END_OF_TRANSMISSION);
            self.send();
            return Ok(());
        }
        self.close_when_sent = true;
        self.send();
        Ok(())
    }

    /// Moves on what the pipe takes now.
    fn send(&mut self) {
        while let Some(stdin) = &mut self.stdin {
            let (front, _) = self.unsent.as_slices();
            if front.is_empty() {
                if self.close_when_sent {
                    self.stdin = None;
                }
                return;
            }
            match stdin.write(front) {
                Flow::Moved(0) | Flow::Blocked => return,
                Flow::Moved(count) => {
                    self.unsent.drain(..count);
                }
                Flow::Closed => {
                    self.unsent.clear();
                    self.stdin = None;
                }
            }
        }
    }

    /// Descriptors that want attention while the process runs.
    pub(super) fn interests(&self) -> Vec<(RawFd, Interest)> {
        let mut fds: Vec<(RawFd, Interest)> = self
            .outputs
            .iter()
            .filter_map(|output| Some((output.end.as_ref()?.raw_fd(), Interest::Read)))
            .collect();
        if let Some(stdin) = &self.stdin
            && !self.unsent.is_empty()
        {
            fds.push((stdin.raw_fd(), Interest::Write));
        }
        fds
    }

    /// Takes what is there, sends what can be sent. Never blocks.
    pub(super) fn pump(&mut self) {
        if !self.unsent.is_empty() {
            self.send();
        }
        for (index, stream) in [Stream::Stdout, Stream::Stderr].into_iter().enumerate() {
            let mut total = 0;
            let mut buffer = [0; 16 * 1024];
            while let Some(end) = &mut self.outputs[index].end {
                match end.read(&mut buffer) {
                    Flow::Moved(count) => {
                        total += count;
                        self.take(stream, index, &buffer[..count]);
                        if total >= DRAINED {
                            break;
                        }
                    }
                    Flow::Blocked => break,
                    Flow::Closed => self.outputs[index].end = None,
                }
            }
        }
    }

    fn take(&mut self, stream: Stream, index: usize, bytes: &[u8]) {
        self.outputs[index].keep(bytes);
        // What nobody takes is bounded too; it can still be read while it is kept.
        if self.fresh_len + bytes.len() > KEPT {
            return;
        }
        self.fresh_len += bytes.len();
        match self.fresh.last_mut() {
            Some((last, text)) if *last == stream => text.extend_from_slice(bytes),
            _ => self.fresh.push((stream, bytes.to_vec())),
        }
    }

    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    pub(super) fn take_fresh(&mut self) -> Vec<(Stream, Vec<u8>)> {
        self.fresh_len = 0;
        std::mem::take(&mut self.fresh)
    }

    pub(super) fn read(
        &mut self,
        stream: Stream,
        from: Option<u64>,
        max: usize,
    ) -> Result<OutputChunk> {
        if !self.captured {
            return Err(Error::NoOutput);
        }
        let output = &mut self.outputs[match stream {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
        }];
        let from = from.unwrap_or(output.read_to).max(output.kept_from);
        let skip = usize::try_from(from - output.kept_from).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = output.kept.iter().skip(skip).take(max).copied().collect();
        output.read_to = output.read_to.max(from + bytes.len() as u64);
        Ok(OutputChunk {
            from,
            bytes,
            kept_from: output.kept_from,
            end: output.kept_from + output.kept.len() as u64,
        })
    }
}

impl Output {
    fn keep(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
        let excess = self.kept.len().saturating_sub(KEPT);
        self.kept.drain(..excess);
        self.kept_from += excess as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::stdio::{input_pipe, output_pipe};
    use std::fs::File;
    use std::io::{Read, Write};

    fn streams() -> (Streams, File, File) {
        let stdin = input_pipe().expect("pipe");
        let stdout = output_pipe().expect("pipe");
        let streams = Streams::new(Some(stdin.ours), Some(stdout.ours), None, false);
        (streams, stdin.theirs.into(), stdout.theirs.into())
    }

    #[test]
    fn output_is_kept_counted_and_bounded() {
        let (mut streams, _stdin, mut stdout) = streams();
        stdout.write_all(b"hello").expect("write");
        streams.pump();
        assert_eq!(streams.take_fresh(), [(Stream::Stdout, b"hello".to_vec())]);
        let chunk = streams.read(Stream::Stdout, None, 2).expect("captured");
        assert_eq!((chunk.from, chunk.bytes, chunk.end), (0, b"he".to_vec(), 5));
        let chunk = streams.read(Stream::Stdout, None, 99).expect("captured");
        assert_eq!((chunk.from, chunk.bytes), (2, b"llo".to_vec()));
        let big = vec![b'x'; KEPT];
        streams.take(Stream::Stdout, 0, &big);
        let chunk = streams.read(Stream::Stdout, Some(0), 1).expect("captured");
        assert_eq!((chunk.from, chunk.kept_from), (5, 5));
    }

    #[test]
    fn input_waits_for_room_and_then_closes() {
        let (mut streams, mut stdin, _stdout) = streams();
        let text = vec![b'y'; 200_000]; // more than a pipe holds
        assert_eq!(streams.write(&text).expect("open"), text.len());
        streams.close().expect("open");
        assert!(!streams.unsent.is_empty());
        assert!(streams.write(b"more").is_err());
        let mut got = Vec::new();
        let mut buffer = vec![0; 65536];
        loop {
            match stdin.read(&mut buffer).expect("read") {
                0 => break,
                count => got.extend_from_slice(&buffer[..count]),
            }
            streams.pump();
        }
        assert_eq!(got.len(), text.len());
    }
}
