//! A process of which every thread is in a ptrace-stop: the only state in which it can be looked at.

use super::attach::seize_threads;
use super::error::{self, Error, Result};
use super::policy::SignalPolicy;
use super::process::Process;
use super::running::{Mode, Running};
use super::stop::Report;
use super::threads::{Delivery, Thread, ThreadState};
use crate::arch::debug_regs::{Slot, Watch};
use crate::arch::registers::Registers;
use crate::arch::xstate::Xstate;
use crate::base::addr::VirtAddr;
use crate::base::id::{Pid, Tid};
use crate::base::memory::ReadMemory;
use crate::base::signal::Signal;
use crate::os::proc::Facts;
use crate::os::ptrace::{self, OnTracerExit};
use std::collections::VecDeque;

/// The witness that every thread stands still. Made by spawn, attach and the end of a run only, and
/// given up by value to run: no register can be read of a process that moves.
///
/// ```compile_fail
/// fn no_copies(stopped: llmdbg::tracee::stopped::Stopped) {
///     let _running = stopped.resume(llmdbg::tracee::stopped::Resume::All);
///     stopped.pid(); // the process runs
/// }
/// ```
///
/// ```compile_fail
/// fn no_other_thread(stopped: llmdbg::tracee::stopped::Stopped) {
///     std::thread::spawn(move || drop(stopped)); // ptrace belongs to one thread
/// }
/// ```
#[derive(Debug)]
pub struct Stopped {
    process: Box<Process>,
}

/// Who moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resume {
    /// One instruction of this thread; the others stay where they are (I7).
    Step(Tid),
    /// Every thread.
    All,
}

impl Stopped {
    pub(super) fn new(process: Box<Process>) -> Self {
        Self { process }
    }

    pub fn pid(&self) -> Pid {
        self.process.pid
    }

    /// What /proc says of it.
    pub fn facts(&self) -> &Facts {
        &self.process.facts
    }

    pub fn is_spawned(&self) -> bool {
        self.process.on_tracer_exit == OnTracerExit::Kill
    }

    /// Threads that can be looked at: not a leader that has ended, nor one that waits in vfork(2).
    pub fn tids(&self) -> Vec<Tid> {
        self.process.threads.stopped()
    }

    pub fn registers(&mut self, tid: Tid) -> Result<&Registers> {
        self.process.registers(tid)
    }

    pub fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        let pc = registers.pc();
        self.process.threads.set_registers(tid, registers)?;
        // Whoever is put on a trap by hand executes the instruction there, as in gdb.
        let on_site = self.process.sites.contains(pc);
        self.process.threads.get_mut(tid)?.standing = on_site.then_some(pc);
        Ok(())
    }

    /// Vector and x87 registers, read anew.
    pub fn xstate(&self, tid: Tid) -> Result<Xstate> {
        let doing = "reading the vector registers of";
        let bytes = ptrace::xstate(tid).map_err(error::ptrace(doing, tid))?;
        Xstate::new(bytes).ok_or(Error::NoThread { tid })
    }

    pub fn set_xstate(&mut self, tid: Tid, state: &Xstate) -> Result<()> {
        let doing = "writing the vector registers of";
        ptrace::set_xstate(tid, state.bytes()).map_err(error::ptrace(doing, tid))
    }

    /// Does the thread stand on an inserted trap?
    pub fn on_site(&mut self, tid: Tid) -> Result<Option<VirtAddr>> {
        self.process.standing(tid)
    }

    /// Writes through page protections. Inserted traps stay; the bytes under them change.
    pub fn write_memory(&mut self, addr: VirtAddr, bytes: &[u8]) -> Result<()> {
        let process = &mut *self.process;
        // Tried out first: an error should not leave half of the bytes changed.
        let mut present = vec![0; bytes.len()];
        let readable = process.memory.read_partial(addr, &mut present);
        if readable < bytes.len() {
            return Err(unwritable(addr, bytes.len(), readable));
        }
        let shielded = process.sites.shield(addr, bytes);
        let result = process.memory.write(addr, &shielded);
        let done = result.err().unwrap_or(bytes.len());
        process.sites.adopt(process.pid, addr, &bytes[..done]);
        result.map_err(|done| unwritable(addr, bytes.len(), done))
    }

    /// Puts a trap there. A thread that stands there already is past it.
    pub fn insert_site(&mut self, addr: VirtAddr) -> Result<()> {
        let process = &mut *self.process;
        process.sites.insert(process.pid, &process.memory, addr)?;
        for tid in process.threads.stopped() {
            // One that was killed meanwhile (I10) stands nowhere.
            let stands = process.threads.registers(tid).is_ok_and(|r| r.pc() == addr);
            if stands {
                process.threads.get_mut(tid)?.standing = Some(addr);
            }
        }
        Ok(())
    }

    pub fn remove_site(&mut self, addr: VirtAddr) {
        let process = &mut *self.process;
        process.sites.remove(process.pid, &process.memory, addr);
        // A hit that was not reported yet has lost its breakpoint.
        for stop in &mut process.pending {
            if stop.causes.site == Some(addr) {
                stop.causes.site = None;
            }
        }
        process.pending.retain(|stop| {
            let causes = &stop.causes;
            causes.step
                || causes.site.is_some()
                || !causes.slots.is_empty()
                || causes.event.is_some()
        });
    }

    /// Has every thread, and every one to come, watch a place with this debug register; None frees it.
    pub fn set_watch(&mut self, slot: Slot, watch: Option<Watch>) -> Result<()> {
        let process = &mut *self.process;
        let before = process.slots;
        process.slots.set(slot, watch);
        let mut result = Ok(());
        for tid in process.threads.tids() {
            result = result.and(process.slots.apply(tid));
        }
        if result.is_err() {
            process.slots = before;
            for tid in process.threads.tids() {
                // What was possible before is so again; the first error is the one to tell.
                let _ = process.slots.apply(tid);
            }
        }
        result
    }

    pub fn has_sites(&self) -> bool {
        !self.process.sites.is_empty()
    }

    /// A stop signal holds the whole process; SIGCONT ends that.
    pub fn is_group_stopped(&self, tid: Tid) -> bool {
        let thread = self.process.threads.get(tid);
        thread.is_ok_and(|thread| thread.group_stopped)
    }

    /// The signal that the thread's next resume delivers.
    pub fn delivery(&self, tid: Tid) -> Option<Signal> {
        let thread = self.process.threads.get(tid).ok()?;
        let next = thread.deliver.as_ref().or(thread.held.back());
        next.map(|delivery| delivery.signal)
    }

    /// Has the next resume deliver this signal instead, or none.
    pub fn set_delivery(&mut self, tid: Tid, signal: Option<Signal>) -> Result<()> {
        let thread = self.process.threads.get_mut(tid)?;
        thread.deliver = thread.deliver.or_else(|| thread.held.pop_back());
        match (signal, thread.deliver) {
            (Some(signal), Some(present)) if present.signal == signal => {}
            (signal, _) => {
                thread.deliver = signal.map(|signal| Delivery {
                    signal,
                    info: None,
                    fresh: true,
                });
            }
        }
        Ok(())
    }

    pub fn policy(&self, signal: Signal) -> SignalPolicy {
        self.process.policies.of(signal)
    }

    pub fn set_policy(&mut self, signal: Signal, policy: SignalPolicy) {
        self.process.policies.set(signal, policy);
    }

    /// Puts a thread that will be stepped often on this processor, until `unpin`.
    pub fn pin(&mut self, tid: Tid) {
        self.process.pin(tid);
    }

    pub fn unpin(&mut self) {
        self.process.unpin();
    }

    /// Which events somebody wants to hear of; the others pass without a stop.
    pub fn report(&mut self, report: Report) {
        self.process.report = report;
    }

    /// Signals that were passed on without a stop and should be told, oldest first.
    pub fn take_passed(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.process.passed)
    }

    /// A stop that is known already, of this thread or of any: it will be reported before anything moves.
    pub fn has_pending(&self) -> bool {
        !self.process.pending.is_empty()
    }

    /// Starts to move. A stop that came earlier is reported first, without anything moving (I4).
    pub fn resume(mut self, how: Resume) -> Result<Running> {
        let mode = match how {
            Resume::Step(tid) => Mode::Step(tid),
            Resume::All => Mode::All,
        };
        let queue = match how {
            Resume::All if self.process.pending.is_empty() => self.find_standing()?,
            _ => VecDeque::new(),
        };
        let mut running = Running::new(self.process, mode, queue);
        running.start()?;
        Ok(running)
    }

    /// Threads that have to execute the instruction under a trap before all may run.
    fn find_standing(&mut self) -> Result<VecDeque<Tid>> {
        let mut queue = VecDeque::new();
        for tid in self.process.threads.tids() {
            if !self.process.must_deliver_first(tid) && self.process.standing(tid)?.is_some() {
                queue.push_back(tid);
            }
        }
        Ok(queue)
    }

    /// Seizes threads that are not held yet; answers whether there were any.
    pub(super) fn seize_new_threads(&mut self) -> Result<bool> {
        seize_threads(&mut self.process)
    }

    /// The same process, some thread of which may be moving.
    pub(super) fn into_running(self) -> Running {
        Running::new(self.process, Mode::All, VecDeque::new())
    }

    /// Whether every thread can be let go: not one that waits for its vfork child.
    pub fn can_detach(&self) -> Result<()> {
        let waits = |thread: &Thread| matches!(thread.state, ThreadState::Running(_));
        if self.process.threads.iter().any(|(_, thread)| waits(thread)) {
            return Err(Error::Unstoppable {
                pid: self.process.pid,
            });
        }
        Ok(())
    }

    /// Lets every thread go, with its original code and the signal it has coming.
    pub fn detach(mut self) -> Result<()> {
        self.process.detach_all()
    }

    /// Ends the process. `wait` on the answer until it is gone.
    pub fn kill(mut self) -> Result<Running> {
        self.process.kill()?;
        Ok(Running::new(self.process, Mode::Dying, VecDeque::new()))
    }
}

impl ReadMemory for Stopped {
    fn read_partial(&self, addr: VirtAddr, into: &mut [u8]) -> usize {
        let got = self.process.memory.read_partial(addr, into);
        self.process.sites.mask(addr, &mut into[..got]);
        got
    }
}

fn unwritable(addr: VirtAddr, wanted: usize, done: usize) -> Error {
    Error::Unwritable {
        addr,
        wanted,
        first_bad: VirtAddr::new(addr.raw().wrapping_add(done as u64)),
    }
}
