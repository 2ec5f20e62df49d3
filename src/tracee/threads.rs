//! The thread table: what each thread of the process is doing, as far as its statuses have told.

use super::error::{self, Error, Result};
use super::trap::Intent;
use crate::arch::registers::Registers;
use crate::base::addr::VirtAddr;
use crate::base::id::Tid;
use crate::base::signal::Signal;
use crate::os::process;
use crate::os::ptrace::{self, SigInfo};
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) state: ThreadState,
    /// The signal it is stopped with, for its next resume (I5).
    pub(super) deliver: Option<Delivery>,
    /// Signals of earlier stops that had to wait, oldest first: they come before `deliver`.
    pub(super) held: VecDeque<Delivery>,
    /// Signals sent to it anew: when they arrive they were told already, and get their siginfo back.
    pub(super) resent: VecDeque<Delivery>,
    /// The inserted trap whose instruction it still has to execute.
    pub(super) standing: Option<VirtAddr>,
    /// A step was ended by something else, so its trap may still come (I6).
    pub(super) stray_trap: bool,
    /// In a signal-delivery-stop: only there can a resume deliver a signal (ptrace(2)).
    pub(super) in_delivery: bool,
    /// Its process is stopped by this kind of signal: it must not run until SIGCONT.
    pub(super) group_stopped: bool,
    /// Where it was when it set off, if that is known.
    pub(super) set_off_from: Option<VirtAddr>,
    registers: Option<Registers>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThreadState {
    /// In a ptrace-stop: may be asked and resumed.
    Stopped,
    Running(Intent),
    /// In a group-stop that a signal ended up in; SIGCONT ends it (PTRACE_LISTEN).
    Listening,
    /// Dead, its status still to come.
    Gone,
    /// Announced by its parent, its first stop is still to come.
    Starting,
}

/// A signal on its way to a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Delivery {
    pub(super) signal: Signal,
    /// What came with it. Put back when the thread has been stepped since; None: made up by the user.
    pub(super) info: Option<SigInfo>,
    /// The thread is still in the stop that announced this signal.
    pub(super) fresh: bool,
}

/// Signals that the instruction at pc caused: executed again, it would fault again. Positive si_codes
/// come from the kernel (sigaction(2)).
pub(super) fn is_fault(info: &SigInfo) -> bool {
    let caused_by_code = [
        Signal::ILL,
        Signal::TRAP,
        Signal::BUS,
        Signal::FPE,
        Signal::SEGV,
        Signal::SYS,
    ];
    info.code > 0
        && caused_by_code
            .iter()
            .any(|signal| signal.number() == info.signo)
}

#[derive(Debug, Default)]
pub(super) struct Threads {
    by_tid: BTreeMap<Tid, Thread>,
}

impl Threads {
    pub(super) fn add(&mut self, tid: Tid, state: ThreadState) {
        self.by_tid.insert(
            tid,
            Thread {
                state,
                deliver: None,
                held: VecDeque::new(),
                resent: VecDeque::new(),
                standing: None,
                stray_trap: false,
                in_delivery: false,
                group_stopped: false,
                set_off_from: None,
                registers: None,
            },
        );
    }

    pub(super) fn remove(&mut self, tid: Tid) {
        self.by_tid.remove(&tid);
    }

    /// After an exec only one thread is left, under the number of the process.
    pub(super) fn keep_only(&mut self, tid: Tid) {
        self.by_tid.clear();
        self.add(tid, ThreadState::Stopped);
    }

    pub(super) fn contains(&self, tid: Tid) -> bool {
        self.by_tid.contains_key(&tid)
    }

    pub(super) fn get(&self, tid: Tid) -> Result<&Thread> {
        self.by_tid.get(&tid).ok_or(Error::NoThread { tid })
    }

    pub(super) fn get_mut(&mut self, tid: Tid) -> Result<&mut Thread> {
        self.by_tid.get_mut(&tid).ok_or(Error::NoThread { tid })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Tid, &Thread)> {
        self.by_tid.iter().map(|(tid, thread)| (*tid, thread))
    }

    pub(super) fn tids(&self) -> Vec<Tid> {
        self.by_tid.keys().copied().collect()
    }

    pub(super) fn is_stopped(&self, tid: Tid) -> bool {
        self.by_tid
            .get(&tid)
            .is_some_and(|thread| thread.state == ThreadState::Stopped)
    }

    /// Threads that can be looked at.
    pub(super) fn stopped(&self) -> Vec<Tid> {
        self.tids()
            .into_iter()
            .filter(|tid| self.is_stopped(*tid))
            .collect()
    }

    /// The thread's registers: one system call at the first use after a stop.
    pub(super) fn registers(&mut self, tid: Tid) -> Result<&Registers> {
        let thread = self.get_mut(tid)?;
        if thread.registers.is_none() {
            let mut registers = Registers::default();
            ptrace::registers(tid, registers.words_mut())
                .map_err(error::ptrace("reading the registers of", tid))?;
            thread.registers = Some(registers);
        }
        thread.registers.as_ref().ok_or(Error::NoThread { tid })
    }

    pub(super) fn set_registers(&mut self, tid: Tid, registers: &Registers) -> Result<()> {
        ptrace::set_registers(tid, registers.words())
            .map_err(error::ptrace("writing the registers of", tid))?;
        // The kernel has the last word on what a register holds: read anew when somebody asks.
        self.get_mut(tid)?.registers = None;
        Ok(())
    }
}

impl Thread {
    /// It is about to move: what was read of it is stale.
    pub(super) fn start(&mut self, state: ThreadState) {
        self.state = state;
        self.set_off_from = self.registers.as_ref().map(Registers::pc);
        self.registers = None;
    }

    /// The signal it is stopped with, if that is one which `hand_over` had sent anew.
    pub(super) fn take_resent(&mut self, signal: Signal, info: &SigInfo) -> Option<Delivery> {
        const SI_TKILL: i32 = -6;
        // In another pid namespace than ours the sender is 0.
        let ours = info.code == SI_TKILL && [0, process::own_pid().raw()].contains(&info.pid);
        let index = self
            .resent
            .iter()
            .position(|sent| ours && sent.signal == signal)?;
        self.resent.remove(index)
    }
}
