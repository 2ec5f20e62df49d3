//! What other threads may ask of the engine thread: to stop what it is doing, or to end.

use crate::os::poll::Waker;
use crate::os::signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by the engine thread, the thread that reads requests, and the signal handlers.
#[derive(Debug)]
pub struct Control {
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
    busy: AtomicBool,
    waker: Waker,
}

impl Control {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: Arc::default(),
            terminate: Arc::default(),
            busy: AtomicBool::new(false),
            waker: Waker::new()?,
        })
    }

    /// SIGINT interrupts, SIGTERM and SIGHUP terminate, from now on and for the whole process.
    pub fn watch_signals(&self) -> io::Result<()> {
        signals::watch(
            Arc::clone(&self.interrupt),
            Arc::clone(&self.terminate),
            self.waker.clone(),
        )
    }

    /// Asks that the present run or script ends now. Remembered until taken.
    pub fn interrupt(&self) {
        self.interrupt.store(true, Ordering::SeqCst);
        self.waker.wake();
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Whether an interrupt was asked for; asking again answers no.
    pub fn take_interrupt(&self) -> bool {
        self.interrupt.swap(false, Ordering::SeqCst)
    }

    /// Asks that the whole debugger ends, its debuggees cared for.
    pub fn terminate(&self) {
        self.terminate.store(true, Ordering::SeqCst);
        self.interrupt();
    }

    pub fn is_terminated(&self) -> bool {
        self.terminate.load(Ordering::Relaxed)
    }

    /// Told by the engine: a program is being evaluated, or a background run is going.
    pub fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::SeqCst);
    }

    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst)
    }

    /// Ends the engine's wait, for example because a request was queued.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }
}
