//! This process's own signals: child state changes as a descriptor, interrupts as a flag and a wake.
#![allow(unsafe_code)]

use super::poll::{Waker, wake_raw};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// SIGCHLD as a descriptor (signalfd(2)). SIGCHLD must be blocked in every thread: make this one
/// before any other thread starts, they inherit the mask.
#[derive(Debug)]
pub struct ChildEvents {
    fd: OwnedFd,
}

impl ChildEvents {
    pub fn new() -> io::Result<Self> {
        // SAFETY: the set is a local, filled by sigemptyset before use.
        let fd = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            // An ignored SIGCHLD would reap children behind our back (sigaction(2)).
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made, owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd })
    }

    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Forgets what was signalled; then reap until nothing is left, and nothing is missed.
    pub fn clear(&self) {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        // SAFETY: reads into a local of the size given; non-blocking.
        unsafe { libc::read(self.raw_fd(), info.as_mut_ptr().cast(), info.len()) };
    }
}

/// Set by signal handlers, for the whole life of this process.
struct Watch {
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
    waker: Waker,
}

static WATCH: OnceLock<Watch> = OnceLock::new();

/// From now on SIGINT sets `interrupt`, SIGTERM and SIGHUP set `terminate`, and each wakes `waker`. SIGPIPE
/// stays ignored, as the Rust runtime leaves it: a closed stdout is an error of the write.
pub fn watch(
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
    waker: Waker,
) -> io::Result<()> {
    WATCH.get_or_init(|| Watch {
        interrupt,
        terminate,
        waker,
    });
    handle(libc::SIGINT, on_interrupt)?;
    handle(libc::SIGTERM, on_terminate)?;
    handle(libc::SIGHUP, on_terminate)
}

/// Async-signal-safe: an initialised `OnceLock` is read with one atomic load.
extern "C" fn on_interrupt(_signal: libc::c_int) {
    if let Some(watch) = WATCH.get() {
        watch.interrupt.store(true, Ordering::SeqCst);
        wake_raw(watch.waker.raw_fd());
    }
}

extern "C" fn on_terminate(_signal: libc::c_int) {
    if let Some(watch) = WATCH.get() {
        watch.terminate.store(true, Ordering::SeqCst);
        watch.interrupt.store(true, Ordering::SeqCst);
        wake_raw(watch.waker.raw_fd());
    }
}

fn handle(signal: i32, handler: extern "C" fn(libc::c_int)) -> io::Result<()> {
    // SAFETY: the structure is zeroed, then filled; the handler is async-signal-safe: atomics and write(2).
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut())
    };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
