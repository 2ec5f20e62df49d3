//! The far ends of a debuggee's standard streams: pipes or a pseudo-terminal, never blocking here.
#![allow(unsafe_code)]

use nix::fcntl::OFlag;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// Both ends of one stream. The debuggee's end goes away with the child's start.
pub struct Pipe {
    pub ours: End,
    pub theirs: OwnedFd,
}

/// Our end of a stream: reads and writes never block.
#[derive(Debug)]
pub struct End {
    file: File,
}

/// What a read or a write came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    Moved(usize),
    /// Nothing now.
    Blocked,
    /// Never again: the other side is closed.
    Closed,
}

/// A pipe that the debuggee reads.
pub fn input_pipe() -> io::Result<Pipe> {
    let (read, write) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    Ok(Pipe {
        ours: End::new(write)?,
        theirs: read,
    })
}

/// A pipe that the debuggee writes.
pub fn output_pipe() -> io::Result<Pipe> {
    let (read, write) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    Ok(Pipe {
        ours: End::new(read)?,
        theirs: write,
    })
}

pub fn null() -> io::Result<OwnedFd> {
    Ok(OpenOptions::new().read(true).open("/dev/null")?.into())
}

/// A file as standard input. Opened without blocking, so that a FIFO cannot hang the debugger.
pub fn file(path: &std::path::Path) -> io::Result<OwnedFd> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK)
        .open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    }
    set_blocking(file.as_raw_fd())?;
    Ok(file.into())
}

/// A pseudo-terminal: our side, and theirs. Echo and the newline translation are off, so that what
/// arrives is what the debuggee wrote.
pub fn terminal() -> io::Result<Pipe> {
    let pty = nix::pty::openpty(None, None)?;
    let mut settings = nix::sys::termios::tcgetattr(&pty.slave)?;
    settings
        .local_flags
        .remove(nix::sys::termios::LocalFlags::ECHO);
    settings
        .output_flags
        .remove(nix::sys::termios::OutputFlags::ONLCR);
    nix::sys::termios::tcsetattr(&pty.slave, nix::sys::termios::SetArg::TCSANOW, &settings)?;
    close_on_exec(pty.slave.as_raw_fd())?;
    Ok(Pipe {
        ours: End::new(pty.master)?,
        theirs: pty.slave,
    })
}

impl End {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        close_on_exec(fd.as_raw_fd())?;
        // SAFETY: F_SETFL takes plain numbers; the descriptor is ours.
        let result = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        if result == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { file: fd.into() })
    }

    pub fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            file: self.file.try_clone()?,
        })
    }

    /// The inode, which tells pipes apart: both ends of one have the same.
    pub fn inode(&self) -> Option<u64> {
        self.file.metadata().ok().map(|facts| facts.ino())
    }

    pub fn read(&mut self, into: &mut [u8]) -> Flow {
        flow(self.file.read(into), true)
    }

    pub fn write(&mut self, bytes: &[u8]) -> Flow {
        flow(self.file.write(bytes), false)
    }
}

fn flow(result: io::Result<usize>, zero_is_end: bool) -> Flow {
    match result {
        Ok(0) if zero_is_end => Flow::Closed,
        Ok(count) => Flow::Moved(count),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Flow::Blocked,
            // EIO is how a terminal says that its last slave was closed (tty_ioctl(4)).
            _ => Flow::Closed,
        },
    }
}

fn close_on_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: F_SETFD takes plain numbers.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn set_blocking(fd: RawFd) -> io::Result<()> {
    // SAFETY: F_SETFL takes plain numbers.
    if unsafe { libc::fcntl(fd, libc::F_SETFL, 0) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// This process's standard input, output and error must be open: a debuggee's pipe must not land there.
pub fn ensure_open() -> io::Result<()> {
    for fd in 0..3 {
        // SAFETY: F_GETFD takes no argument.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1 {
            // SAFETY: opens a constant path; the result is owned by the fixed descriptor number.
            let null = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
            if null != fd {
                // SAFETY: `null`, when it is a descriptor, was just opened here.
                drop((null >= 0).then(|| unsafe { OwnedFd::from_raw_fd(null) }));
                return Err(io::Error::from_raw_os_error(libc::EBADF));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_block_move_and_close() {
        let mut pipe = output_pipe().expect("pipe");
        let mut buffer = [0; 8];
        assert_eq!(pipe.ours.read(&mut buffer), Flow::Blocked);
        let mut theirs = File::from(pipe.theirs);
        theirs.write_all(b"abc").expect("write");
        assert_eq!(pipe.ours.read(&mut buffer), Flow::Moved(3));
        drop(theirs);
        assert_eq!(pipe.ours.read(&mut buffer), Flow::Closed);
    }

    #[test]
    fn a_terminal_passes_bytes_unchanged() {
        let mut terminal = terminal().expect("pty");
        let mut theirs = File::from(terminal.theirs.try_clone().expect("dup"));
        theirs.write_all(b"a\nb").expect("write");
        let mut buffer = [0; 8];
        assert_eq!(terminal.ours.read(&mut buffer), Flow::Moved(3));
        assert_eq!(&buffer[..3], b"a\nb");
        drop((theirs, terminal.theirs));
        assert_eq!(terminal.ours.read(&mut buffer), Flow::Closed);
    }
}
