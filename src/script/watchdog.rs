//! The last resort against scripts that nothing can interrupt: QuickJS runs some built-in functions
//! (array methods on huge lengths, BigInt multiplication) for minutes without asking anybody.

use super::limits::Pulse;
use crate::os::process::exit_now;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a script that ignores its time limit gets on top.
const GRACE: Duration = Duration::from_secs(2);
/// How often the watchdog looks while a program runs.
const LOOK: Duration = Duration::from_millis(250);
/// The exit status that says so.
const EXIT_STATUS: i32 = 70;

pub struct Watchdog {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    /// A program with this number is being evaluated.
    Armed(u64),
    Ended,
}

impl Watchdog {
    /// Starts the thread. It sleeps until a program is evaluated.
    pub fn start(pulse: Arc<Pulse>, emergency: fn()) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::Idle),
            changed: Condvar::new(),
        });
        let watched = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("watchdog".to_owned())
            .stack_size(64 << 10)
            .spawn(move || watch(&watched, &pulse, emergency))?;
        Ok(Self { shared })
    }

    pub fn arm(&self, program: u64) {
        self.shared.set(State::Armed(program));
    }

    pub fn disarm(&self) {
        self.shared.set(State::Idle);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.set(State::Ended);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can panic while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        *self.lock() = state;
        self.changed.notify_one();
    }
}

fn watch(shared: &Shared, pulse: &Pulse, emergency: fn()) {
    let mut state = shared.lock();
    loop {
        match *state {
            State::Ended => return,
            State::Idle => {
                state = shared
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            State::Armed(program) => {
                state = watch_program(shared, state, pulse, program, emergency);
            }
        }
    }
}

/// Looks at one program until it is over, or for longer than it may take.
fn watch_program<'a>(
    shared: &'a Shared,
    mut state: MutexGuard<'a, State>,
    pulse: &Pulse,
    program: u64,
    emergency: fn(),
) -> MutexGuard<'a, State> {
    let mut beat = pulse.beat();
    let mut since = Instant::now();
    while *state == State::Armed(program) {
        state = shared
            .changed
            .wait_timeout(state, LOOK)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        let now = pulse.beat();
        if now != beat || !Pulse::is_script(now) {
            beat = now;
            since = Instant::now();
        } else if *state == State::Armed(program) && since.elapsed() > pulse.limit() + GRACE {
            end_process(program, emergency);
        }
    }
    state
}

/// The engine's thread is lost: says so in place of the reply, and takes everything down.
fn end_process(program: u64, emergency: fn()) -> ! {
    emergency();
    let text = format!(
        "error\tscript_timeout\tscript could not be interrupted (native loop); session ended\n={program} err none\n"
    );
    let mut out = std::io::stdout();
    // Nobody is left to tell about a failure.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    exit_now(EXIT_STATUS)
}
