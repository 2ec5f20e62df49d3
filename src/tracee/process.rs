//! A traced process between two runs: its threads, its memory, the traps in it, and what happens to a
//! thread when one of its statuses arrives.

use super::error::{self, Error, Result};
use super::hw_slots::HwSlots;
use super::policy::SignalPolicies;
use super::sites::Sites;
use super::stop::{Causes, Event, Exit, ForkKind, Report, Stop};
use super::threads::{ThreadState, Threads};
use super::trap::{self, Intent, Trap};
use crate::arch::registers::Registers;
use crate::base::addr::VirtAddr;
use crate::base::id::{Pid, Tid};
use crate::base::signal::Signal;
use crate::os::proc::{self, Facts};
use crate::os::process::{self, Affinity};
use crate::os::ptrace::{self, OnTracerExit};
use crate::os::tick::Ticker;
use crate::os::vm::Memory;
use crate::os::wait::{self, Status};
use std::collections::{BTreeSet, VecDeque};
use std::marker::PhantomData;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) on_tracer_exit: OnTracerExit,
    pub(super) threads: Threads,
    pub(super) memory: Memory,
    pub(super) facts: Facts,
    pub(super) sites: Sites,
    pub(super) slots: HwSlots,
    pub(super) policies: SignalPolicies,
    /// Stops that came while the process was being stopped for another one (I4).
    pub(super) pending: VecDeque<Stop>,
    /// Statuses of threads that nobody has announced yet (I3).
    pub(super) early: Vec<(Tid, Status)>,
    /// Forked children that are let go as soon as they stop for the first time.
    orphans: BTreeSet<Tid>,
    /// Signals passed on without a stop, whose policy wants them told.
    pub(super) passed: Vec<Signal>,
    /// A new program was executed, but the thread has not left the system call yet.
    leaving_exec: bool,
    /// The processors its threads, and this one, may use when nothing is being stepped.
    pinned: Option<Pinned>,
    pub(super) report: Report,
    /// Nothing has to be done to it any more: dead or detached.
    pub(super) over: bool,
    /// ptrace belongs to the thread that attached (I1).
    _not_send: PhantomData<*const ()>,
}

/// While a thread is stepped, flags and deadlines are looked at so often at least.
const TICK: Duration = Duration::from_millis(10);

/// Before a thread and its tracer were put on one processor.
#[derive(Debug)]
struct Pinned {
    /// Bounds every blocking wait for the thread.
    _ticker: Ticker,
    here: Affinity,
    tracer: Affinity,
    tracee: Affinity,
}

/// What a status came to.
#[derive(Debug)]
pub(super) enum Happening {
    /// Nothing to report; the thread stands still and may go on.
    Quiet(Tid),
    /// Nothing to report, and nobody to resume.
    Nothing,
    Stop(Stop),
    Ended(Exit),
}

impl Pinned {
    /// A thread that has chosen its processors itself meanwhile keeps them.
    fn release(&self, tid: Tid) {
        if Affinity::of(tid).is_ok_and(|now| now == self.here) {
            // It may have died: nothing is left to give back.
            let _ = self.tracee.apply(tid);
        }
    }
}

impl Process {
    /// Takes hold of a process that is seized already.
    pub(super) fn open(pid: Pid, on_tracer_exit: OnTracerExit) -> Result<Self> {
        Ok(Self {
            pid,
            on_tracer_exit,
            threads: Threads::default(),
            memory: Memory::open(pid).map_err(error::system("opening the memory"))?,
            facts: Facts::open(pid).map_err(error::system("opening the maps"))?,
            sites: Sites::default(),
            slots: HwSlots::default(),
            policies: SignalPolicies::default(),
            pending: VecDeque::new(),
            early: Vec::new(),
            orphans: BTreeSet::new(),
            passed: Vec::new(),
            leaving_exec: false,
            pinned: None,
            report: Report::default(),
            over: false,
            _not_send: PhantomData,
        })
    }

    /// The thread's registers, the site it stands on shown as its pc.
    pub(super) fn registers(&mut self, tid: Tid) -> Result<&Registers> {
        self.threads.registers(tid)
    }

    /// A status that has its thread already: one that was early.
    pub(super) fn take_early(&mut self) -> Option<(Tid, Status)> {
        let index = self
            .early
            .iter()
            .position(|(tid, _)| self.threads.contains(*tid) || self.orphans.contains(tid))?;
        Some(self.early.remove(index))
    }

    /// Takes note of one status. The thread it belongs to is in a ptrace-stop afterwards, or gone.
    pub(super) fn on_status(&mut self, tid: Tid, status: Status) -> Result<Happening> {
        log::trace!(target: "tracee", "{tid} {status:?}");
        if self.orphans.contains(&tid) {
            self.on_orphan(tid, status);
            return Ok(Happening::Nothing);
        }
        if !self.threads.contains(tid) {
            // A child that was let go is still ours to reap; a stop belongs to a thread yet unknown.
            if !matches!(status, Status::Exited(_) | Status::Killed(_)) {
                self.early.push((tid, status));
            }
            return Ok(Happening::Nothing);
        }
        let happening = self.on_thread_status(tid, status)?;
        if self.leaving_exec && tid == self.pid.leader() {
            return Ok(self.leave_exec(happening));
        }
        Ok(happening)
    }

    fn on_thread_status(&mut self, tid: Tid, status: Status) -> Result<Happening> {
        match status {
            Status::Exited(code) => Ok(self.on_end(tid, Exit::Exited(code))),
            Status::Killed(signal) => Ok(self.on_end(tid, Exit::Killed(signal))),
            Status::Signal(Signal::TRAP) => self.on_trap(tid),
            Status::Signal(signal) => self.on_signal(tid, signal),
            Status::GroupStop(_) => {
                self.stopped(tid)?.group_stopped = true;
                Ok(Happening::Quiet(tid))
            }
            Status::EventStop => self.on_event_stop(tid),
            Status::Other(_) => {
                self.stopped(tid)?;
                Ok(Happening::Quiet(tid))
            }
            Status::Event(event) => self.on_event(tid, event),
        }
    }

    /// The thread is in a ptrace-stop now. What it was doing before is the answer's old state.
    pub(super) fn stopped(&mut self, tid: Tid) -> Result<&mut super::threads::Thread> {
        if self.threads.get(tid)?.state == ThreadState::Starting && !self.slots.is_empty() {
            self.slots.apply(tid)?;
        }
        let thread = self.threads.get_mut(tid)?;
        if thread.state == ThreadState::Running(Intent::Step) {
            thread.stray_trap = true;
        }
        thread.state = ThreadState::Stopped;
        thread.in_delivery = false;
        thread.group_stopped = false;
        Ok(thread)
    }

    /// Stopped on request. The kernel looks at that before it looks at signals: a trap that the thread
    /// has executed already may still be queued. It is fetched now, or it would come after its site was
    /// removed, or kill a process that was let go.
    fn on_event_stop(&mut self, tid: Tid) -> Result<Happening> {
        let before = self.threads.get(tid)?.state;
        let stray = self.stopped(tid)?.stray_trap;
        let trapped = stray
            || !self.slots.is_empty()
            || (!self.sites.is_empty() && {
                let pc = self.threads.registers(tid)?.pc();
                self.sites.before(pc).is_some()
            });
        if trapped && proc::is_pending(self.pid, tid, Signal::TRAP) {
            let intent = match before {
                ThreadState::Running(intent) => intent,
                _ => Intent::Run,
            };
            self.threads
                .get_mut(tid)?
                .start(ThreadState::Running(intent));
            dead_is_fine(ptrace::cont(tid, None), "fetching the trap of", tid)?;
            return Ok(Happening::Nothing);
        }
        Ok(Happening::Quiet(tid))
    }

    fn on_end(&mut self, tid: Tid, exit: Exit) -> Happening {
        self.threads.remove(tid);
        self.pending.retain(|stop| stop.tid != tid);
        // The leader's status comes last, after those of all other threads (ptrace(2)).
        if tid == self.pid.leader() {
            self.over = true;
            self.sites.clear(self.pid);
            return Happening::Ended(exit);
        }
        Happening::Nothing
    }

    fn on_trap(&mut self, tid: Tid) -> Result<Happening> {
        let intent = match self.threads.get(tid)?.state {
            ThreadState::Running(intent) => intent,
            _ => Intent::Run,
        };
        let thread = self.threads.get_mut(tid)?;
        let stray = thread.stray_trap;
        thread.state = ThreadState::Stopped;
        thread.in_delivery = true;
        thread.group_stopped = false;
        let from = thread.set_off_from;
        if intent == Intent::Step && !stray && self.slots.is_empty() {
            let pc = match self.threads.registers(tid) {
                Ok(registers) => registers.pc(),
                Err(Error::TraceeGone { .. }) => return Ok(Happening::Nothing),
                Err(error) => return Err(error),
            };
            if from.is_some_and(|from| trap::must_be_step(from, pc)) {
                let causes = Causes::step();
                return Ok(Happening::Stop(Stop { tid, causes }));
            }
        }
        let Some(info) = gone_is_none(ptrace::siginfo(tid), "reading the siginfo of", tid)? else {
            return Ok(Happening::Nothing);
        };
        let before_pc = if trap::needs_pc(info.code) && !self.sites.is_empty() {
            let pc = self.threads.registers(tid)?.pc();
            self.sites.before(pc)
        } else {
            None
        };
        let slots = self.slots.take_triggered(tid)?;
        match trap::classify(info.code, intent, before_pc, stray, !slots.is_empty()) {
            // The system call that was stepped over was interrupted and will start again: not done yet.
            Trap::Step if trap::may_follow_syscall(info.code) && self.restarts(tid)? => {
                self.threads.get_mut(tid)?.stray_trap = false;
                Ok(Happening::Quiet(tid))
            }
            Trap::Step => {
                self.threads.get_mut(tid)?.stray_trap = false;
                let causes = Causes {
                    slots,
                    ..Causes::step()
                };
                Ok(Happening::Stop(Stop { tid, causes }))
            }
            Trap::Slot => Ok(Happening::Stop(Stop {
                tid,
                causes: Causes::slots(slots),
            })),
            Trap::Stray => {
                self.threads.get_mut(tid)?.stray_trap = false;
                Ok(Happening::Quiet(tid))
            }
            Trap::Site(site) => {
                let mut registers = self.threads.registers(tid)?.clone();
                registers.set_pc(site);
                self.threads.set_registers(tid, &registers)?;
                self.threads.get_mut(tid)?.standing = Some(site);
                Ok(Happening::Stop(Stop {
                    tid,
                    causes: Causes::site(site),
                }))
            }
            Trap::Own => {
                if intent == Intent::Step {
                    self.threads.get_mut(tid)?.stray_trap = true;
                }
                self.deliver(tid, Signal::TRAP, info)
            }
        }
    }

    fn restarts(&mut self, tid: Tid) -> Result<bool> {
        Ok(self.threads.registers(tid)?.restarts_syscall())
    }

    fn on_event(&mut self, tid: Tid, event: wait::Event) -> Result<Happening> {
        self.stopped(tid)?;
        let Some(message) = gone_is_none(ptrace::event_message(tid), "reading the event of", tid)?
        else {
            return Ok(Happening::Nothing);
        };
        let number = Tid::new(i32::try_from(message).unwrap_or(0));
        match event {
            wait::Event::Clone if proc::is_thread_of(self.pid, number) => {
                // An attach may have found it before its parent told, and it may have stopped since.
                if !self.threads.contains(number) {
                    self.threads.add(number, ThreadState::Starting);
                }
                Ok(report_if(
                    self.report.threads,
                    tid,
                    Event::NewThread { child: number },
                ))
            }
            wait::Event::Fork => Ok(self.on_fork(tid, number, ForkKind::Fork)),
            wait::Event::Vfork => Ok(self.on_fork(tid, number, ForkKind::Vfork)),
            wait::Event::Clone => Ok(self.on_fork(tid, number, ForkKind::Clone)),
            wait::Event::VforkDone => {
                self.sites.show(self.pid, &self.memory, tid);
                Ok(Happening::Quiet(tid))
            }
            wait::Event::Exec => self.on_exec(),
            wait::Event::Exit => Ok(Happening::Quiet(tid)),
        }
    }

    fn on_fork(&mut self, tid: Tid, child: Tid, kind: ForkKind) -> Happening {
        if kind == ForkKind::Vfork {
            self.sites.hide(&self.memory, tid);
        }
        self.orphans.insert(child);
        let event = Event::Fork {
            child: Pid::new(child.raw()),
            kind,
        };
        report_if(self.report.forks, tid, event)
    }

    /// A forked child has stopped for the first time: it goes its own way, without our traps.
    fn on_orphan(&mut self, child: Tid, status: Status) {
        self.orphans.remove(&child);
        if matches!(status, Status::Exited(_) | Status::Killed(_)) {
            return;
        }
        self.sites.clean_copy(child);
        if let Some(pinned) = &self.pinned {
            pinned.release(child);
        }
        if let Err(error) = ptrace::detach(child, None) {
            log::debug!(target: "tracee", "detaching child {child}: {error}");
        }
    }

    fn on_exec(&mut self) -> Result<Happening> {
        let leader = self.pid.leader();
        self.threads.keep_only(leader);
        self.sites.clear(self.pid);
        // The kernel empties the debug registers at an exec (flush_thread).
        self.slots = HwSlots::default();
        self.pending.clear();
        match (Memory::open(self.pid), Facts::open(self.pid)) {
            (Ok(memory), Ok(facts)) => (self.memory, self.facts) = (memory, facts),
            // A program with more rights than this debugger: it runs, but cannot be looked into.
            (Err(error), _) | (_, Err(error)) => {
                log::warn!(target: "tracee", "{} after its exec: {error}", self.pid);
            }
        }
        // Still within execve(2): what is written to rax now would be lost, and the first step would only
        // leave the system call. One step takes the thread to its first instruction.
        self.resume_thread(leader, Intent::Step)?;
        self.leaving_exec = true;
        Ok(Happening::Nothing)
    }

    /// Whatever stops the thread on its way out of the exec, it now stands at its first instruction.
    fn leave_exec(&mut self, happening: Happening) -> Happening {
        match happening {
            Happening::Quiet(_) | Happening::Stop(_) => {
                self.leaving_exec = false;
                if let Happening::Stop(stop) = happening
                    && !stop.causes.step
                {
                    self.pending.push_back(stop);
                }
                Happening::Stop(Stop {
                    tid: self.pid.leader(),
                    causes: Causes::event(Event::Exec),
                })
            }
            Happening::Nothing | Happening::Ended(_) => happening,
        }
    }

    /// The inserted trap that the thread has hit and whose instruction it has not executed yet. That is
    /// still so when a system call instruction there was interrupted: the kernel moves the pc back by its
    /// two bytes to start it again.
    pub(super) fn standing(&mut self, tid: Tid) -> Result<Option<VirtAddr>> {
        let Some(site) = self.threads.get(tid)?.standing else {
            return Ok(None);
        };
        if !self.sites.contains(site) || !self.threads.is_stopped(tid) {
            return Ok(None);
        }
        let registers = match self.threads.registers(tid) {
            Ok(registers) => registers,
            Err(Error::TraceeGone { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let pc = registers.pc();
        let restarts = registers.restarts_syscall() && pc.checked_sub(2) == Some(site);
        Ok((pc == site || restarts).then_some(site))
    }

    /// Puts a thread that is stepped on this processor: the switch to it and back is three times cheaper
    /// than waking it on another one. Only a wish: where it is not granted stepping works all the same.
    pub(super) fn pin(&mut self, tid: Tid) {
        const THIS_THREAD: Tid = Tid::new(0);
        if self.pinned.is_some() {
            return;
        }
        let asked = || {
            let pinned = Pinned {
                _ticker: Ticker::start(TICK)?,
                here: Affinity::here()?,
                tracer: Affinity::of(THIS_THREAD)?,
                tracee: Affinity::of(tid)?,
            };
            pinned.here.apply(THIS_THREAD)?;
            if let Err(error) = pinned.here.apply(tid) {
                pinned.tracer.apply(THIS_THREAD)?;
                return Err(error);
            }
            Ok(pinned)
        };
        self.pinned = asked().ok();
    }

    /// Whether a blocking wait is bounded, and the fastest way to wait.
    pub(super) fn is_pinned(&self) -> bool {
        self.pinned.is_some()
    }

    /// Gives the processors back, to whoever still has what `pin` gave it.
    pub(super) fn unpin(&mut self) {
        const THIS_THREAD: Tid = Tid::new(0);
        let Some(pinned) = self.pinned.take() else {
            return;
        };
        let _ = pinned.tracer.apply(THIS_THREAD);
        for tid in self.threads.tids() {
            pinned.release(tid);
        }
    }

    /// Asks a moving thread to stop. One that is dead already, such as a leader that waits for its
    /// threads to end (ptrace(2), "Death under ptrace"), will not answer.
    pub(super) fn interrupt_thread(&mut self, tid: Tid) -> Result<()> {
        if self.threads.get(tid)?.state == ThreadState::Starting {
            return Ok(()); // it comes to us by itself
        }
        if gone_is_none(ptrace::interrupt(tid), "interrupting", tid)?.is_none() {
            self.threads.get_mut(tid)?.state = ThreadState::Gone;
        }
        Ok(())
    }

    /// Threads that still have to stop before the process stands still. One that waits in vfork(2) for its
    /// child cannot be reached and executes nothing: it only counts when no other could be looked at.
    pub(super) fn moving(&self) -> Vec<Tid> {
        let all_wait = self.threads.stopped().is_empty();
        self.threads
            .iter()
            .filter(|(tid, thread)| match thread.state {
                ThreadState::Running(_) => all_wait || !self.sites.is_hidden_for(*tid),
                ThreadState::Listening | ThreadState::Starting => true,
                ThreadState::Stopped | ThreadState::Gone => false,
            })
            .map(|(tid, _)| tid)
            .collect()
    }

    /// Threads that have ended without a word: a leader is only reported after all others (ptrace(2),
    /// "Death under ptrace").
    pub(super) fn bury(&mut self) {
        for tid in self.moving() {
            if proc::is_dead(self.pid, tid)
                && let Ok(thread) = self.threads.get_mut(tid)
            {
                thread.state = ThreadState::Gone;
            }
        }
    }

    /// A call has found the thread gone (I10): its status follows.
    pub(super) fn mark_gone(&mut self, tid: Tid) {
        if let Ok(thread) = self.threads.get_mut(tid) {
            thread.state = ThreadState::Gone;
        }
    }

    /// Forked children that are still to be let go.
    pub(super) fn has_orphans(&self) -> bool {
        !self.orphans.is_empty()
    }

    pub(super) fn kill(&mut self) -> Result<()> {
        let leader = self.pid.leader();
        // Nobody will be told of them any more.
        self.pending.clear();
        let killed = process::kill(self.pid, Signal::KILL);
        if gone_is_none(killed, "killing", leader)?.is_none() {
            // Reaped already, by a wait for another process: what its status was is lost.
            self.early.push((leader, Status::Killed(Signal::KILL)));
        }
        Ok(())
    }

    /// Lets go of every thread, in the state it is in. All must be in a ptrace-stop.
    pub(super) fn detach_all(&mut self) -> Result<()> {
        self.unpin();
        self.sites.remove_all(self.pid, &self.memory);
        self.over = true;
        let watched = !std::mem::take(&mut self.slots).is_empty();
        for tid in self.threads.tids() {
            // Debug registers outlive their tracer.
            if watched {
                self.slots.apply(tid)?;
            }
            let signal = self.hand_over(tid)?;
            dead_is_fine(ptrace::detach(tid, signal), "detaching", tid)?;
        }
        Ok(())
    }
}

fn report_if(wanted: bool, tid: Tid, event: Event) -> Happening {
    if wanted {
        return Happening::Stop(Stop {
            tid,
            causes: Causes::event(event),
        });
    }
    Happening::Quiet(tid)
}

impl Drop for Process {
    /// Nothing is left behind (I9), whichever way we get here: a spawned process dies, an attached one
    /// gets its code back and runs on.
    fn drop(&mut self) {
        self.unpin();
        if self.over {
            return;
        }
        match self.on_tracer_exit {
            OnTracerExit::Kill => {
                let _ = process::kill(self.pid, Signal::KILL);
            }
            OnTracerExit::Release => {
                if let Err(error) = self.detach_all() {
                    log::error!(target: "tracee", "detaching {}: {error}", self.pid);
                }
            }
        }
    }
}

/// SIGKILL may take a thread between any two calls (I10): its end is reported by its status.
pub(super) fn dead_is_fine(
    result: std::io::Result<()>,
    doing: &'static str,
    tid: Tid,
) -> Result<()> {
    gone_is_none(result, doing, tid).map(|_| ())
}

pub(super) fn gone_is_none<T>(
    result: std::io::Result<T>,
    doing: &'static str,
    tid: Tid,
) -> Result<Option<T>> {
    match result.map_err(error::ptrace(doing, tid)) {
        Ok(value) => Ok(Some(value)),
        Err(Error::TraceeGone { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
