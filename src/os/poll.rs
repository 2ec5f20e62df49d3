//! Waiting for many things at once, with a deadline: a waker, child state changes, descriptors.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An eventfd: any thread, or a signal handler, can end another thread's wait.
#[derive(Clone, Debug)]
pub struct Waker {
    fd: Arc<OwnedFd>,
}

impl Waker {
    pub fn new() -> io::Result<Self> {
        // SAFETY: eventfd takes no pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd: Arc::new(fd) })
    }

    /// Ends the present or the next wait. Async-signal-safe (eventfd(2), write(2)).
    pub fn wake(&self) {
        wake_raw(self.fd.as_raw_fd());
    }

    /// Forgets wakes that were given so far.
    pub fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: reads eight bytes into a local of that size; the descriptor is non-blocking.
        unsafe {
            libc::read(
                self.fd.as_raw_fd(),
                std::ptr::from_mut(&mut count).cast(),
                size_of::<u64>(),
            )
        };
    }

    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What a signal handler does with the descriptor of a `Waker` that is never dropped.
pub(super) fn wake_raw(fd: RawFd) {
    let one = 1u64;
    // SAFETY: writes eight bytes from a local of that size; a full counter only means "already woken".
    unsafe { libc::write(fd, std::ptr::from_ref(&one).cast(), size_of::<u64>()) };
}

/// What a descriptor is waited for. That its other end is gone (poll(2), POLLERR and POLLHUP) always counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    Read,
    Write,
    /// Only that the other end is gone.
    Hangup,
}

/// Waits until one of `fds` is ready (or broken) or the deadline has passed. Answers which are ready.
pub fn wait(
    fds: &[(RawFd, Interest)],
    deadline: Option<Instant>,
    ready: &mut Vec<bool>,
) -> io::Result<()> {
    let mut polled: Vec<libc::pollfd> = fds
        .iter()
        .map(|&(fd, interest)| libc::pollfd {
            fd,
            events: match interest {
                Interest::Read => libc::POLLIN,
                Interest::Write => libc::POLLOUT,
                Interest::Hangup => 0,
            },
            revents: 0,
        })
        .collect();
    loop {
        let timeout =
            deadline.map(|deadline| timespec(deadline.saturating_duration_since(Instant::now())));
        let timeout_ptr = timeout
            .as_ref()
            .map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: both pointers are to locals that outlive the call; the length is the vector's.
        let result = unsafe {
            libc::ppoll(
                polled.as_mut_ptr(),
                polled.len() as libc::nfds_t,
                timeout_ptr,
                std::ptr::null(),
            )
        };
        if result >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    ready.clear();
    ready.extend(polled.iter().map(|entry| entry.revents != 0));
    Ok(())
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_given_before_the_wait_is_not_lost() {
        let waker = Waker::new().expect("eventfd");
        waker.wake();
        waker.wake();
        let mut ready = Vec::new();
        let fds = [(waker.raw_fd(), Interest::Read)];
        wait(&fds, None, &mut ready).expect("poll");
        assert_eq!(ready, [true]);
        waker.clear();
        wait(&fds, Some(Instant::now()), &mut ready).expect("poll");
        assert_eq!(ready, [false]);
    }
}
