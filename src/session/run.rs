//! Runs: steps and continues as loops over the tracee layer. The layer below says "stopped"; here it is
//! decided whether that is news to anybody.

use super::breakpoints::{Hit, Internal};
use super::error::{Error, Result};
use super::event::{
    Doing, EventKind, ForkKind, Patience, Progress, Reason, State, StopEvent, Verdict, Wants,
};
use super::goal::{Follow, Goal};
use super::info::BatchSummary;
use super::request::{RunKind, RunRequest, SignalChoice};
use super::session::{Debuggee, Session};
use super::siginfo;
use super::trace::Trace;
use crate::arch::registers::Registers;
use crate::arch::syscall;
use crate::base::addr::VirtAddr;
use crate::base::id::Tid;
use crate::base::memory::ReadMemory;
use crate::base::signal::Signal;
use crate::os::proc;
use crate::tracee;
use crate::tracee::running::{Outcome, Pause, Running, Until};
use crate::tracee::stop::{self, Causes, Event, Exit, Report, Stop};
use crate::tracee::stopped::{Resume, Stopped};
use std::time::{Duration, Instant};

/// A run under way. Dropping it ends nothing: the session knows where the debuggee stands.
#[derive(Debug)]
pub struct Run {
    kind: RunKind,
    goal: Option<Goal>,
    done: u64,
    /// Of a batch of steps, as long as nobody listens to each of them.
    trace: Option<Box<Trace>>,
    bound: Option<Duration>,
    deadline: Option<Instant>,
    /// One thread moves by one instruction.
    stepping: bool,
    /// For the first resume only.
    signal: SignalChoice,
}

impl Run {
    /// What happened in a batch of steps, if nobody listened to each of them. Told once.
    pub fn take_summary(&mut self) -> Option<BatchSummary> {
        let trace = self.trace.take()?;
        (self.done > 1).then(|| trace.summary())
    }
}

/// A step that takes longer waits in the kernel.
const BLOCKED_AFTER: Duration = Duration::from_millis(100);
/// The clock is looked at once in so many steps.
const STEPS_PER_LOOK: u64 = 64;
/// Batches longer than this are worth two changes of affinity.
const PIN_AFTER: u64 = 8;

impl Session {
    pub fn begin(&mut self, request: RunRequest) -> Result<Run> {
        self.stopped()?;
        self.drop_goals();
        let trace = match request.kind {
            RunKind::Step { count } if count > 1 => Some(self.begin_trace()?),
            _ => None,
        };
        Ok(Run {
            trace,
            kind: request.kind,
            goal: self.goal(request.kind)?,
            done: 0,
            bound: request.bound,
            deadline: request.bound.map(|bound| Instant::now() + bound),
            stepping: false,
            signal: request.signal,
        })
    }

    /// Lets the run go on until the next event. Calling it again after `Event` resumes.
    pub fn advance(&mut self, run: &mut Run, wants: Wants, patience: Patience) -> Result<Progress> {
        let progress = self.try_advance(run, wants, patience);
        if let Err(Error::Tracee(tracee::error::Error::Unstoppable { .. })) = progress {
            // It goes on without a bound, until somebody asks again.
            run.deadline = None;
        }
        progress
    }

    fn try_advance(&mut self, run: &mut Run, wants: Wants, patience: Patience) -> Result<Progress> {
        loop {
            if self.config.control.is_interrupted() {
                return self.stop_run(|doing| Reason::Interrupted { doing });
            }
            let look = run.done.is_multiple_of(STEPS_PER_LOOK);
            if look
                && run
                    .deadline
                    .is_some_and(|deadline| Instant::now() >= deadline)
            {
                return self.time_out(run);
            }
            let running = self.set_off(run, wants)?;
            let outcome = self.wait(running, run, patience)?;
            if let Some(progress) = self.consider(outcome, run, wants, patience)? {
                return Ok(progress);
            }
        }
    }

    /// The run ends here because a listener said stop or threw: completes the event.
    pub fn end_run(&mut self, _run: Run, mut event: StopEvent) -> StopEvent {
        self.drop_goals();
        self.finish(&mut event);
        event
    }

    /// From now on the state is `running` although no call of `advance` is under way.
    pub fn start_background(&mut self, run: &mut Run) -> Result<()> {
        let running = self.set_off(run, Wants::default())?;
        self.debuggee = Debuggee::Running(running);
        Ok(())
    }

    /// Stops a background run; what it was doing is in the event.
    pub fn interrupt_run(&mut self, _run: &mut Run) -> Result<StopEvent> {
        match self.stop_run(|doing| Reason::Interrupted { doing })? {
            Progress::Done(event) | Progress::Event { event, .. } => Ok(event),
            Progress::Output | Progress::Pending => Err(Error::Running),
        }
    }

    /// Stops a background run to get at the process itself.
    pub(super) fn halt(&mut self) -> Result<()> {
        self.stop_run(|doing| Reason::Interrupted { doing })?;
        Ok(())
    }

    /// Resumes a stopped debuggee, or takes up one that runs already.
    fn set_off(&mut self, run: &mut Run, wants: Wants) -> Result<Running> {
        if let Debuggee::Running(_) = self.debuggee {
            return self.take_running();
        }
        let tid = self.selected()?;
        let how = match (&mut run.goal, run.kind) {
            (Some(goal), _) => self.how_to(goal)?,
            (None, RunKind::Step { .. }) => Resume::Step(tid),
            (None, _) => Resume::All,
        };
        run.stepping = matches!(how, Resume::Step(_));
        self.turn_page();
        if !run.stepping {
            self.age_modules();
        }
        let mut stopped = self.take_stopped()?;
        if run.stepping && run.done >= PIN_AFTER {
            stopped.pin(tid);
        }
        match std::mem::take(&mut run.signal) {
            SignalChoice::Policy => {}
            SignalChoice::Suppress => stopped.set_delivery(tid, None)?,
            SignalChoice::Deliver(signal) => stopped.set_delivery(tid, Some(signal))?,
        }
        stopped.report(Report {
            threads: wants.has(EventKind::Thread),
            forks: wants.has(EventKind::Fork),
        });
        Ok(stopped.resume(how)?)
    }

    fn wait(&mut self, running: Running, run: &Run, patience: Patience) -> Result<Outcome> {
        let own = match patience {
            Patience::Until(instant) => Some(instant),
            Patience::Event | Patience::Wake => None,
        };
        let deadline = match (run.deadline, own) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Ok(running.wait(&Until {
            children: &self.children,
            deadline,
            patience: run.stepping.then_some(BLOCKED_AFTER),
            waker: Some(self.config.control.waker()),
            fds: &|| self.streams.interests(),
        })?)
    }

    fn consider(
        &mut self,
        outcome: Outcome,
        run: &mut Run,
        wants: Wants,
        patience: Patience,
    ) -> Result<Option<Progress>> {
        match outcome {
            Outcome::Ended(exit, passed) => Ok(Some(Progress::Done(self.ended(exit, passed)))),
            Outcome::Stopped(stopped, stop) => self.arrived(stopped, stop, run, wants),
            Outcome::Still(running, pause) => {
                let pid = running.pid();
                self.debuggee = Debuggee::Running(running);
                match pause {
                    Pause::Ready => {
                        self.streams.pump();
                        let told = wants.has(EventKind::Output) && self.streams.has_fresh();
                        Ok(told.then_some(Progress::Output))
                    }
                    Pause::Woken => {
                        self.config.control.waker().clear();
                        let wanted = patience != Patience::Event;
                        // An interrupt is seen at the top of the loop.
                        let pending = wanted && !self.config.control.is_interrupted();
                        Ok(pending.then_some(Progress::Pending))
                    }
                    Pause::Deadline => self.out_of_patience(run, patience),
                    Pause::Unstoppable => {
                        Err(crate::tracee::error::Error::Unstoppable { pid }.into())
                    }
                }
            }
        }
    }

    fn out_of_patience(&mut self, run: &Run, patience: Patience) -> Result<Option<Progress>> {
        let now = Instant::now();
        if run.deadline.is_some_and(|deadline| now >= deadline) {
            return self.time_out(run).map(Some);
        }
        if let Patience::Until(instant) = patience
            && now >= instant
        {
            return Ok(Some(Progress::Pending));
        }
        // A step that merely waits for a processor is not blocked.
        let (Some(pid), Some(tid)) = (self.pid(), self.tid()) else {
            return Ok(None);
        };
        if proc::is_asleep(pid, tid) {
            return self.stop_run(|doing| Reason::Blocked { doing }).map(Some);
        }
        Ok(None)
    }

    fn time_out(&mut self, run: &Run) -> Result<Progress> {
        let bound = run.bound.unwrap_or_default();
        self.stop_run(|doing| Reason::Timeout { bound, doing })
    }

    /// Stops whatever runs. Something that happens in the same moment wins over the reason given.
    fn stop_run(&mut self, reason: impl FnOnce(Doing) -> Reason) -> Result<Progress> {
        if let Debuggee::Running(_) = self.debuggee {
            let running = self.take_running()?;
            match running.interrupt(&self.children)? {
                Outcome::Ended(exit, passed) => {
                    return Ok(Progress::Done(self.ended(exit, passed)));
                }
                Outcome::Still(running, _) => {
                    let pid = running.pid();
                    self.debuggee = Debuggee::Running(running);
                    return Err(crate::tracee::error::Error::Unstoppable { pid }.into());
                }
                Outcome::Stopped(stopped, stop) => {
                    let interrupted = stop.causes == Causes::event(Event::Interrupted);
                    let kept = self
                        .selected
                        .filter(|tid| interrupted && stopped.tids().contains(tid));
                    self.settle(stopped, kept.unwrap_or(stop.tid));
                    if stop.causes.event == Some(Event::Exec) {
                        self.program_replaced()?;
                    }
                    if !interrupted && let Some((event, _)) = self.report(stop, None)? {
                        return Ok(Progress::Done(self.completed(event)));
                    }
                }
            }
        }
        let doing = self.doing()?;
        let event = self.event(reason(doing));
        Ok(Progress::Done(self.completed(event)))
    }

    /// The debuggee has stopped. None when that is nobody's business.
    fn arrived(
        &mut self,
        stopped: Stopped,
        stop: Stop,
        run: &mut Run,
        wants: Wants,
    ) -> Result<Option<Progress>> {
        self.settle(stopped, stop.tid);
        if stop.causes.step && run.goal.is_none() {
            run.done += 1;
            if wants.has(EventKind::Step) {
                run.trace = None;
            }
            if let Some(trace) = &mut run.trace {
                self.trace_step(trace)?;
            }
        }
        if stop.causes.event == Some(Event::Exec) {
            self.program_replaced()?;
            // Its addresses are those of the old program.
            run.trace = None;
        }
        if let Some(mut goal) = run.goal.take() {
            let follow = self.follow(&mut goal, stop)?;
            run.goal = Some(goal);
            match follow {
                Follow::GoOn => return Ok(None),
                Follow::Reached(reason) => return self.reached(run, reason),
                Follow::Report => {}
            }
        }
        let only_step = stop.causes.step
            && stop.causes.site.is_none()
            && stop.causes.slots.is_empty()
            && !self.has_watchpoints();
        let finished = matches!(run.kind, RunKind::Step { count } if run.done >= count);
        if only_step && !finished && !wants.has(EventKind::Step) {
            return Ok(None);
        }
        let Some((event, default)) = self.report(stop, Some(run))? else {
            return Ok(None);
        };
        if let Some(kind) = event.reason.kind()
            && default == Verdict::Continue
            && !finished
            && !wants.has(kind)
        {
            return Ok(None);
        }
        if stop.causes.step && finished {
            return Ok(Some(Progress::Done(self.completed(event))));
        }
        if event.reason == Reason::Entry {
            return Ok(Some(Progress::Done(self.completed(event))));
        }
        self.told = true;
        // A step within a batch says where it stands only when asked.
        let event = if only_step {
            event
        } else {
            self.completed(event)
        };
        Ok(Some(Progress::Event { event, default }))
    }

    /// One of the places the run was for.
    fn reached(&mut self, run: &mut Run, reason: Reason) -> Result<Option<Progress>> {
        let mut reason = reason;
        if let RunKind::Line { count, .. } = run.kind {
            run.done += 1;
            if run.done < count {
                run.goal = self.goal(run.kind)?;
                return Ok(None);
            }
            reason = Reason::Step {
                done: run.done,
                total: count,
            };
        }
        self.drop_goals();
        let event = self.event(reason);
        Ok(Some(Progress::Done(self.completed(event))))
    }

    /// Names the causes of a stop, and counts the hits. None when its breakpoint is gone.
    fn report(&mut self, stop: Stop, run: Option<&Run>) -> Result<Option<(StopEvent, Verdict)>> {
        let mut reasons = Vec::new();
        let mut default = Verdict::Continue;
        if let Some(site) = stop.causes.site {
            for hit in self.breakpoints.hit(site) {
                match hit {
                    Hit::User(hit) => reasons.push(Reason::Breakpoint(hit)),
                    Hit::Internal(Internal::Main(_)) => reasons.push(Reason::Entry),
                    Hit::Internal(Internal::Goal(_)) => continue,
                    Hit::Internal(Internal::Libraries(_)) => {
                        reasons.extend(self.libraries_changed());
                        continue;
                    }
                    Hit::Internal(Internal::Loaded(_)) => {
                        self.libraries_loaded();
                        continue;
                    }
                }
                default = Verdict::Stop;
            }
        }
        if !stop.causes.slots.is_empty() {
            let mut hits = self.watchpoints_hit(stop.causes.slots);
            let breakpoints = self.breakpoints.hit_slots(stop.causes.slots);
            hits.extend(breakpoints.into_iter().map(Reason::Breakpoint));
            if !hits.is_empty() {
                default = Verdict::Stop;
            }
            reasons.extend(hits);
        }
        if self.has_watchpoints() {
            let changed = self.watched_by_kernel();
            if !changed.is_empty() {
                default = Verdict::Stop;
            }
            reasons.extend(changed);
        }
        match stop.causes.event {
            None => {}
            Some(Event::Signal(signal, info)) => {
                default = Verdict::Stop;
                reasons.push(Reason::Signal(siginfo::describe(signal, &info)));
            }
            Some(Event::Exec) => reasons.push(Reason::Exec {
                path: self.program_path(),
            }),
            Some(Event::Fork { child, kind }) => reasons.push(Reason::Fork {
                child,
                kind: match kind {
                    stop::ForkKind::Fork => ForkKind::Fork,
                    stop::ForkKind::Vfork => ForkKind::Vfork,
                    stop::ForkKind::Clone => ForkKind::Clone,
                },
            }),
            Some(Event::NewThread { child }) => reasons.push(Reason::Thread {
                tid: child,
                started: true,
            }),
            Some(Event::Interrupted) => reasons.push(Reason::Interrupted {
                doing: self.doing()?,
            }),
        }
        if stop.causes.step && run.is_none_or(|run| run.goal.is_none()) {
            let (done, total) = match run {
                Some(Run {
                    kind: RunKind::Step { count },
                    done,
                    ..
                }) => (*done, *count),
                _ => (1, 1),
            };
            reasons.push(Reason::Step { done, total });
        }
        let mut reasons = reasons.into_iter();
        Ok(reasons.next().map(|first| {
            let mut event = self.event(first);
            event.also = reasons.collect();
            (event, default)
        }))
    }

    /// The process is gone.
    pub(super) fn ended(&mut self, exit: Exit, passed: Vec<Signal>) -> StopEvent {
        self.streams.pump();
        self.passed.extend(passed);
        let (state, reason) = match exit {
            Exit::Exited(status) => (State::Exited(status), Reason::Exit { status }),
            Exit::Killed(signal) => (State::Killed(signal), Reason::Killed { signal }),
        };
        self.leave(state);
        let event = StopEvent {
            seq: self.seq,
            tid: None,
            pc: None,
            reason,
            also: Vec::new(),
        };
        self.last_stop = Some(event.clone());
        event
    }

    pub(super) fn settle(&mut self, stopped: Stopped, tid: Tid) {
        self.seq = self.seq.next();
        self.selected = Some(tid);
        self.debuggee = Debuggee::Stopped(stopped);
    }

    fn event(&self, reason: Reason) -> StopEvent {
        StopEvent {
            seq: self.seq,
            tid: self.selected,
            pc: None,
            reason,
            also: Vec::new(),
        }
    }

    fn completed(&mut self, mut event: StopEvent) -> StopEvent {
        self.finish(&mut event);
        event
    }

    /// The run is over: says where, gives processors back, takes what was written.
    pub(super) fn finish(&mut self, event: &mut StopEvent) {
        self.told = true;
        self.streams.pump();
        if let Debuggee::Stopped(stopped) = &mut self.debuggee {
            stopped.unpin();
            if event.pc.is_none() {
                event.pc = self.registers().ok().map(Registers::pc);
            }
        }
        self.last_stop = Some(event.clone());
    }

    /// What the selected thread was in the middle of when it was stopped.
    fn doing(&mut self) -> Result<Doing> {
        let tid = self.selected()?;
        if self.stopped()?.is_group_stopped(tid) {
            return Ok(Doing::GroupStopped);
        }
        let registers = self.registers()?.clone();
        if !registers.restarts_syscall() {
            return Ok(Doing::Running);
        }
        let number = registers.orig_rax();
        let [first, second, ..] = registers.syscall_args();
        let waits_for_stdin = match number {
            syscall::READ | syscall::READV => self.is_stdin(first),
            syscall::POLL | syscall::PPOLL => self.polls_stdin(first, second),
            _ => false,
        };
        if waits_for_stdin {
            return Ok(Doing::WaitingStdin);
        }
        Ok(Doing::Syscall {
            number,
            name: syscall::name(number),
        })
    }

    /// Does that descriptor of the debuggee lead to its standard input, with nothing left in it?
    fn is_stdin(&self, fd: u64) -> bool {
        let Some(pid) = self.pid() else {
            return false;
        };
        match self.streams.stdin_link() {
            Some(link) if !self.streams.is_terminal() => {
                proc::descriptor(pid, fd).is_some_and(|target| target == link)
            }
            // The streams of an attached process, or a terminal: descriptor 0 by convention.
            _ => fd == 0,
        }
    }

    fn polls_stdin(&self, array: u64, count: u64) -> bool {
        const MAX_POLLED: u64 = 64;
        const ENTRY: u64 = 8; // struct pollfd: int fd, short events, short revents
        let Debuggee::Stopped(stopped) = &self.debuggee else {
            return false;
        };
        (0..count.min(MAX_POLLED)).any(|index| {
            let addr = VirtAddr::new(array.wrapping_add(index * ENTRY));
            stopped
                .read_u32(addr)
                .is_ok_and(|fd| self.is_stdin(u64::from(fd)))
        })
    }
}
