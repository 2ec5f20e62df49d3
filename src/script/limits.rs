//! The limits of a script: time on a clock that stands still while the debuggee runs, memory, stack.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Pure JavaScript per evaluation, unless `config.js_timeout` says otherwise.
pub const JS_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes that a script's objects may take.
pub const MEMORY: usize = 64 << 20;
/// What a program may take on top when it begins with the memory full, so that `ctx.reset()` works.
pub const MEMORY_RESERVE: usize = 4 << 20;
/// Bytes of heap from which on QuickJS looks for cycles: above what the API itself takes.
pub const GC_THRESHOLD: usize = 4 << 20;
/// Bytes of stack that scripts may use, where the thread has `THREAD_STACK`.
pub const STACK: usize = 1 << 20;
/// The stack that the thread which runs the engine should have.
pub const THREAD_STACK: u64 = 8 << 20;
/// What the debugger's own calls take on top of a script that has used up all of its stack.
const OWN_STACK: u64 = 512 << 10;
/// With less than this a script does not get far.
const LEAST_STACK: u64 = 128 << 10;

/// Bytes of stack that scripts may use on a thread that has `left`; None when those are too few.
pub fn stack_within(left: u64) -> Option<usize> {
    let scripts = left.checked_sub(OWN_STACK)?;
    let scripts = Some(scripts).filter(|bytes| *bytes >= LEAST_STACK)?;
    Some(usize::try_from(scripts).map_or(STACK, |bytes| bytes.min(STACK)))
}

/// When the script's time is up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deadline {
    /// No script runs, or a run verb stops the clock.
    Off,
    At(Instant),
    /// A listener was just entered: its time starts when the handler first looks, so that entering
    /// one costs no clock read.
    Fresh,
}

/// What the watchdog sees of the clock from its own thread.
#[derive(Debug, Default)]
pub struct Pulse {
    /// Changes whenever a script is entered or left; odd while one runs.
    beat: AtomicU64,
    limit_ms: AtomicU64,
}

impl Pulse {
    pub fn beat(&self) -> u64 {
        self.beat.load(Ordering::Relaxed)
    }

    pub const fn is_script(beat: u64) -> bool {
        beat % 2 == 1
    }

    pub fn limit(&self) -> Duration {
        Duration::from_millis(self.limit_ms.load(Ordering::Relaxed))
    }

    /// Only the engine's thread writes.
    fn tick(&self, script: bool) {
        let next = (self.beat() | 1) + if script { 2 } else { 1 };
        self.beat.store(next, Ordering::Relaxed);
    }

    fn set_limit(&self, limit: Duration) {
        let ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        self.limit_ms.store(ms, Ordering::Relaxed);
    }
}

/// Measures the time that a script may take.
#[derive(Debug)]
pub struct Clock {
    limit: Cell<Duration>,
    deadline: Cell<Deadline>,
    expired: Cell<bool>,
    pulse: Arc<Pulse>,
}

/// What the clock showed before a run verb or a listener.
#[derive(Clone, Copy, Debug)]
pub struct Paused {
    deadline: Deadline,
    since: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        let pulse = Arc::new(Pulse::default());
        pulse.set_limit(JS_TIMEOUT);
        Self {
            limit: Cell::new(JS_TIMEOUT),
            deadline: Cell::new(Deadline::Off),
            expired: Cell::new(false),
            pulse,
        }
    }
}

impl Clock {
    pub fn limit(&self) -> Duration {
        self.limit.get()
    }

    pub fn set_limit(&self, limit: Duration) {
        self.limit.set(limit);
        self.pulse.set_limit(limit);
    }

    pub fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// An evaluation begins.
    pub fn start(&self) {
        self.expired.set(false);
        self.set(Deadline::At(Instant::now() + self.limit.get()));
    }

    pub fn stop(&self) {
        self.set(Deadline::Off);
    }

    /// A run verb begins: its time is not the script's.
    pub fn pause(&self) -> Paused {
        let deadline = self.deadline.get();
        self.set(Deadline::Off);
        Paused {
            deadline,
            since: Instant::now(),
        }
    }

    pub fn resume(&self, paused: Paused) {
        self.set(match paused.deadline {
            Deadline::At(at) => Deadline::At(at + paused.since.elapsed()),
            other => other,
        });
    }

    /// A listener is called from within a run: each call has the whole limit.
    pub fn enter_listener(&self) {
        self.set(Deadline::Fresh);
    }

    pub fn leave_listener(&self) {
        self.set(Deadline::Off);
    }

    fn set(&self, deadline: Deadline) {
        self.deadline.set(deadline);
        self.pulse.tick(deadline != Deadline::Off);
    }

    /// Whether the time is up; remembered until the next start.
    pub fn check(&self) -> bool {
        match self.deadline.get() {
            Deadline::Off => false,
            Deadline::Fresh => {
                self.deadline
                    .set(Deadline::At(Instant::now() + self.limit.get()));
                false
            }
            Deadline::At(at) => {
                let up = Instant::now() >= at;
                self.expired.set(self.expired.get() || up);
                up
            }
        }
    }

    pub fn expired(&self) -> bool {
        self.expired.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_still_while_the_debuggee_runs() {
        let clock = Clock::default();
        clock.set_limit(Duration::ZERO);
        clock.start();
        let paused = clock.pause();
        assert!(!clock.check());
        clock.enter_listener();
        assert!(!clock.check(), "the first look starts the listener's time");
        assert!(clock.check());
        clock.leave_listener();
        assert!(!clock.check());
        clock.resume(paused);
        assert!(clock.check() && clock.expired());
    }

    #[test]
    fn scripts_get_what_the_debugger_leaves_of_a_stack() {
        assert_eq!(stack_within(u64::MAX), Some(STACK));
        assert_eq!(stack_within(THREAD_STACK), Some(STACK));
        assert_eq!(stack_within(768 << 10), Some(256 << 10));
        assert_eq!(stack_within(OWN_STACK + LEAST_STACK), Some(128 << 10));
        assert_eq!(stack_within(OWN_STACK + LEAST_STACK - 1), None);
        assert_eq!(stack_within(0), None);
    }

    #[test]
    fn expiry_is_remembered_until_the_next_start() {
        let clock = Clock::default();
        clock.set_limit(Duration::ZERO);
        clock.start();
        assert!(clock.check());
        clock.stop();
        assert!(clock.expired());
        clock.start();
        assert!(!clock.expired());
    }
}
