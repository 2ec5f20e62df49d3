//! A process that moves, and the one place that waits (I3).

use super::error::{Error, Result, system};
use super::process::{Happening, Process};
use super::stop::{Causes, Event, Exit, Stop};
use super::stopped::Stopped;
use super::threads::ThreadState;
use super::trap::Intent;
use crate::base::addr::VirtAddr;
use crate::base::id::{Pid, Tid};
use crate::base::signal::Signal;
use crate::os::error::is_no_child;
use crate::os::poll::{self, Interest, Waker};
use crate::os::proc;
use crate::os::signals::ChildEvents;
use crate::os::wait::{self, Status};
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// A process of which at least one thread may move.
#[derive(Debug)]
pub struct Running {
    process: Box<Process>,
    mode: Mode,
    /// Threads that still have to be stepped off the trap they stand on, before all may run.
    queue: VecDeque<Tid>,
    /// The thread that is being stepped off, and the trap that is lifted for it meanwhile.
    lifted: Option<Lifted>,
    /// Every thread is being stopped; nobody may be resumed.
    stopping: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Step(Tid),
    All,
    /// SIGKILL is on its way.
    Dying,
}

#[derive(Clone, Copy, Debug)]
struct Lifted {
    tid: Tid,
    since: Instant,
}

/// How long a call of `wait` may take, and what else it waits for.
pub struct Until<'a> {
    pub children: &'a ChildEvents,
    pub deadline: Option<Instant>,
    /// A bound on each wait of this call by itself, counted from when it begins to sleep: it costs
    /// nothing as long as events come at once.
    pub patience: Option<Duration>,
    pub waker: Option<&'a Waker>,
    /// Descriptors that want attention, the debuggee's streams: only asked for before a real sleep.
    pub fds: &'a dyn Fn() -> Vec<(RawFd, Interest)>,
}

/// What a wait came to.
#[derive(Debug)]
pub enum Outcome {
    Stopped(Stopped, Stop),
    /// The process is gone; signals that were passed on in silence and should be told.
    Ended(Exit, Vec<Signal>),
    /// Patience ended first; the process still runs.
    Still(Running, Pause),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    Deadline,
    Woken,
    /// A descriptor is ready, or much has happened that is not worth telling.
    Ready,
    /// Asked to stop, some thread did not: it waits in the kernel where no signal reaches it.
    Unstoppable,
}

/// Tries before the poll: when tracer and tracee share a processor, yielding is the fastest way to wait,
/// and an event that is only microseconds away costs no further system call.
const YIELDS: u32 = 64;
/// After so many events that are nobody's business the caller looks at its clock and flags: a storm of
/// silent signals must not keep it from them.
const QUIET_EVENTS: u32 = 64;
/// How long a thread may take to stop when asked to, before it is called unstoppable.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// How long a thread may be silent before it is asked whether it is alive.
const BURIAL: Duration = Duration::from_millis(20);
/// From when on a thread that is being stepped off a trap may be waiting in the kernel.
const STEP_OFF_PATIENCE: Duration = Duration::from_millis(100);

impl Running {
    pub(super) fn new(process: Box<Process>, mode: Mode, queue: VecDeque<Tid>) -> Self {
        Self {
            process,
            mode,
            queue,
            lifted: None,
            stopping: false,
        }
    }

    pub fn pid(&self) -> Pid {
        self.process.pid
    }

    /// Sets in motion what the mode says, unless an earlier stop has to be reported first.
    pub(super) fn start(&mut self) -> Result<()> {
        if !self.process.pending.is_empty() {
            return Ok(());
        }
        match self.mode {
            Mode::Dying => Ok(()),
            Mode::All => self.go_on(),
            Mode::Step(tid) => match self.process.standing(tid)? {
                Some(site) if !self.process.must_deliver_first(tid) => {
                    self.lift(tid, site);
                    self.process.step_holding_signals(tid)
                }
                _ => self.process.resume_thread(tid, Intent::Step),
            },
        }
    }

    /// Waits for something to report. Every status of every thread is consumed here and nowhere else.
    pub fn wait(mut self, until: &Until<'_>) -> Result<Outcome> {
        if let Some(stop) = self.process.pending.pop_front() {
            // What could not be stopped the last time may still move.
            return self.stop_all(stop, until.children);
        }
        for _ in 0..QUIET_EVENTS {
            let (tid, status) = match self.next_status(until)? {
                Ok(next) => next,
                Err(pause) => return Ok(Outcome::Still(self, pause)),
            };
            match self.take_status(tid, status)? {
                Happening::Ended(exit) => return Ok(self.ended(exit)),
                Happening::Nothing => {}
                Happening::Quiet(tid) => self.quiet(tid)?,
                Happening::Stop(stop) => return self.stop_all(stop, until.children),
            }
        }
        Ok(Outcome::Still(self, Pause::Ready))
    }

    /// Stops every thread. What some thread reports meanwhile wins over the interruption.
    pub fn interrupt(self, children: &ChildEvents) -> Result<Outcome> {
        let stop = Stop {
            tid: self.process.pid.leader(),
            causes: Causes::event(Event::Interrupted),
        };
        self.stop_all(stop, children)
    }

    fn ended(&mut self, exit: Exit) -> Outcome {
        Outcome::Ended(exit, std::mem::take(&mut self.process.passed))
    }

    /// Ends the process, whatever it is doing. `wait` on the answer until it is gone.
    pub fn kill(mut self) -> Result<Self> {
        self.process.kill()?;
        self.mode = Mode::Dying;
        Ok(self)
    }

    /// What a status came to, less what only this layer wanted to know. A thread that turns out to be dead
    /// (I10) is no news: its status follows.
    fn take_status(&mut self, tid: Tid, status: Status) -> Result<Happening> {
        let happening = self.process.on_status(tid, status);
        let filtered = happening.and_then(|happening| match happening {
            Happening::Stop(stop) => Ok(self
                .filter(stop)?
                .map_or(Happening::Nothing, Happening::Stop)),
            other => Ok(other),
        });
        match filtered {
            Err(Error::TraceeGone { tid, .. }) => {
                self.process.mark_gone(tid);
                Ok(Happening::Nothing)
            }
            other => other,
        }
    }

    /// A thread that has stopped for nothing worth telling goes on as the mode says.
    fn quiet(&mut self, tid: Tid) -> Result<()> {
        if self.stopping || self.mode == Mode::Dying {
            return Ok(());
        }
        match (self.mode, self.lifted) {
            (_, Some(lifted)) if lifted.tid == tid => self.process.step_holding_signals(tid),
            (Mode::Step(only), _) if only == tid => self.process.resume_thread(tid, Intent::Step),
            (Mode::All, None) => self.process.resume_thread(tid, Intent::Run),
            // A thread born while another one is stepped stands still like all the rest.
            _ => Ok(()),
        }
    }

    /// Takes out what only this layer wanted to know; adds what a step has landed on.
    fn filter(&mut self, mut stop: Stop) -> Result<Option<Stop>> {
        if self.mode == Mode::Dying {
            return Ok(None);
        }
        if !stop.causes.step {
            return Ok(Some(stop));
        }
        if let Mode::Step(_) = self.mode {
            self.put_back();
            if !self.process.sites.is_empty() {
                let pc = self.process.registers(stop.tid)?.pc();
                stop.causes.site = self.process.sites.contains(pc).then_some(pc);
                self.process.threads.get_mut(stop.tid)?.standing = stop.causes.site;
            }
            return Ok(Some(stop));
        }
        // A thread has left its trap behind.
        self.process.threads.get_mut(stop.tid)?.standing = None;
        if !stop.causes.slots.is_empty() {
            self.put_back();
            stop.causes.step = false;
            return Ok(Some(stop));
        }
        if self.lifted.is_some_and(|lifted| lifted.tid == stop.tid) {
            self.put_back();
            self.go_on()?;
        } else if !self.stopping {
            self.process.resume_thread(stop.tid, Intent::Run)?;
        }
        Ok(None)
    }

    /// Steps the next thread off its trap, or, when none is left, resumes everybody.
    fn go_on(&mut self) -> Result<()> {
        if self.stopping {
            return Ok(());
        }
        while let Some(tid) = self.queue.pop_front() {
            if !self.process.threads.contains(tid) {
                continue;
            }
            if let Some(site) = self.process.standing(tid)? {
                self.lift(tid, site);
                return self.process.step_holding_signals(tid);
            }
        }
        for tid in self.process.threads.tids() {
            if self.process.threads.get(tid)?.state == ThreadState::Stopped {
                self.process.resume_thread(tid, Intent::Run)?;
            }
        }
        Ok(())
    }

    fn lift(&mut self, tid: Tid, site: VirtAddr) {
        self.process.sites.lift(&self.process.memory, site);
        self.lifted = Some(Lifted {
            tid,
            since: Instant::now(),
        });
    }

    fn put_back(&mut self) {
        if self.lifted.take().is_some() {
            let process = &mut *self.process;
            process.sites.put_back(process.pid, &process.memory);
        }
    }

    /// A thread that was to be stepped off its trap waits inside a system call: its instruction is
    /// behind it, so the trap can go back although it has not reported yet, and the others may run.
    fn release_if_asleep(&mut self) -> Result<()> {
        let Some(lifted) = self.lifted else {
            return Ok(());
        };
        let waits = self.mode == Mode::All
            && lifted.since.elapsed() >= STEP_OFF_PATIENCE
            && proc::is_asleep(self.process.pid, lifted.tid);
        if waits {
            self.put_back();
            // Signals held back for it are due now: one may be what the system call waits for.
            let thread = self.process.threads.get(lifted.tid);
            if thread.is_ok_and(|thread| !thread.held.is_empty()) {
                self.process.interrupt_thread(lifted.tid)?;
            }
            self.go_on()?;
        }
        Ok(())
    }

    fn next_status(
        &mut self,
        until: &Until<'_>,
    ) -> Result<std::result::Result<(Tid, Status), Pause>> {
        if let Some(early) = self.process.take_early() {
            return Ok(Ok(early));
        }
        // A thread that is stepped on this processor: to block is to let it run, and the tick bounds that.
        if let Mode::Step(tid) = self.mode
            && self.process.is_pinned()
            && let Ok(Some(status)) = wait::block(tid)
        {
            return Ok(Ok((tid, status)));
        }
        for _ in 0..YIELDS {
            if let Some(next) = self.reap()? {
                return Ok(Ok(next));
            }
            wait::yield_now();
        }
        let mut ready = Vec::new();
        let patience = until.patience.map(|patience| Instant::now() + patience);
        let wait_until = earlier(until.deadline, patience);
        loop {
            if let Some(next) = self.reap()? {
                return Ok(Ok(next));
            }
            if wait_until.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Err(Pause::Deadline));
            }
            self.release_if_asleep()?;
            let step_off = self.lifted.map(|lifted| {
                // Never in the past: a thread that only waits for a processor is waited for.
                (lifted.since + STEP_OFF_PATIENCE).max(Instant::now() + Duration::from_millis(10))
            });
            let deadline = earlier(wait_until, step_off);
            let mut fds = vec![(until.children.raw_fd(), Interest::Read)];
            fds.extend(until.waker.map(|waker| (waker.raw_fd(), Interest::Read)));
            fds.extend((until.fds)());
            poll::wait(&fds, deadline, &mut ready).map_err(system("waiting for the process"))?;
            let mut answers = ready.iter().copied();
            if answers.next() == Some(true) {
                until.children.clear();
                if let Some(next) = self.reap()? {
                    return Ok(Ok(next));
                }
            }
            if until.waker.is_some() && answers.next() == Some(true) {
                return Ok(Err(Pause::Woken));
            }
            if answers.any(|ready| ready) {
                return Ok(Err(Pause::Ready));
            }
        }
    }

    fn reap(&self) -> Result<Option<(Tid, Status)>> {
        wait::try_any().map_err(|source| {
            if is_no_child(&source) {
                Error::Died {
                    pid: self.process.pid,
                }
            } else {
                system("waiting for the process")(source)
            }
        })
    }

    /// Brings every thread to a stop, keeps what they report meanwhile, and reports `stop`.
    fn stop_all(mut self, stop: Stop, children: &ChildEvents) -> Result<Outcome> {
        self.stopping = true;
        for tid in self.process.moving() {
            self.process.interrupt_thread(tid)?;
        }
        let patience = Instant::now() + STOP_PATIENCE;
        while self.is_unsettled() {
            let until = Until {
                children,
                deadline: Some(patience.min(Instant::now() + BURIAL)),
                patience: None,
                waker: None,
                fds: &Vec::new,
            };
            let Ok((tid, status)) = self.next_status(&until)? else {
                self.process.bury();
                if self.is_unsettled() && Instant::now() >= patience {
                    return Ok(self.unstoppable(stop));
                }
                continue;
            };
            match self.take_status(tid, status)? {
                Happening::Ended(exit) => return Ok(self.ended(exit)),
                Happening::Nothing | Happening::Quiet(_) => {}
                Happening::Stop(late) => self.process.pending.push_back(late),
            }
        }
        Ok(self.all_stopped(stop))
    }

    /// Somebody still moves, or a forked child that has our traps in its memory was not seen yet.
    fn is_unsettled(&self) -> bool {
        let threads = &self.process.threads;
        let stepped_waits = match self.mode {
            Mode::Step(tid) => threads
                .get(tid)
                .is_ok_and(|thread| matches!(thread.state, ThreadState::Running(_))),
            Mode::All | Mode::Dying => false,
        };
        stepped_waits || !self.process.moving().is_empty() || self.process.has_orphans()
    }

    /// Some thread does not stop. The event is kept for when it does.
    fn unstoppable(mut self, stop: Stop) -> Outcome {
        if stop.causes != Causes::event(Event::Interrupted) {
            self.process.pending.push_front(stop);
        }
        self.stopping = false;
        Outcome::Still(self, Pause::Unstoppable)
    }

    fn all_stopped(mut self, mut stop: Stop) -> Outcome {
        self.put_back();
        // An interruption is only news when nothing else happened. It is nobody's in particular: the
        // thread that was stepped, or the first that is alive.
        if stop.causes == Causes::event(Event::Interrupted) {
            match (self.process.pending.pop_front(), self.mode) {
                (Some(real), _) => stop = real,
                (None, Mode::Step(tid)) if self.process.threads.is_stopped(tid) => stop.tid = tid,
                (None, _) => {
                    let alive = self.process.threads.stopped();
                    stop.tid = alive.first().copied().unwrap_or(stop.tid);
                }
            }
        }
        Outcome::Stopped(Stopped::new(self.process), stop)
    }
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
