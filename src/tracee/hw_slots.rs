//! The four debug registers: what is watched, and every thread told of it.

use super::error::{Result, dead};
use super::process::dead_is_fine;
use super::stop::Slots;
use crate::arch::debug_regs::{self, Slot, Watch};
use crate::base::id::Tid;
use crate::os::ptrace;

const DR6: usize = 6;
const DR7: usize = 7;

/// The same for every thread of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct HwSlots {
    watches: [Option<Watch>; 4],
}

impl HwSlots {
    pub(super) fn is_empty(&self) -> bool {
        self.watches.iter().all(Option::is_none)
    }

    pub(super) fn set(&mut self, slot: Slot, watch: Option<Watch>) {
        self.watches[slot.index()] = watch;
    }

    /// Writes them into a stopped thread. A new thread has none, whatever its parent has (I8).
    pub(super) fn apply(&self, tid: Tid) -> Result<()> {
        let write = |number, value| ptrace::set_debug_register(tid, number, value);
        // Off while the addresses change: the kernel checks each enabled pair at every write.
        dead_is_fine(write(DR7, 0), "clearing the debug registers of", tid)?;
        for (number, watch) in self.watches.iter().enumerate() {
            let addr = watch.map_or(0, |watch| watch.addr().raw());
            refused_is_an_error(write(number, addr), tid)?;
        }
        refused_is_an_error(write(DR7, debug_regs::control(&self.watches)), tid)
    }

    /// Which have triggered in this thread since the last time.
    pub(super) fn take_triggered(&self, tid: Tid) -> Result<Slots> {
        if self.is_empty() {
            return Ok(Slots::NONE);
        }
        let Ok(dr6) = ptrace::debug_register(tid, DR6) else {
            return Ok(Slots::NONE); // the thread is gone
        };
        dead_is_fine(
            ptrace::set_debug_register(tid, DR6, 0),
            "clearing the debug status of",
            tid,
        )?;
        let watched =
            debug_regs::triggered(dr6).filter(|slot| self.watches[slot.index()].is_some());
        Ok(Slots::of(watched))
    }
}

/// The kernel refuses addresses of its own half (EINVAL) and machines without debug registers.
fn refused_is_an_error(result: std::io::Result<()>, tid: Tid) -> Result<()> {
    match result {
        Err(source) if !crate::os::error::is_gone(&source) => {
            Err(dead("setting the debug registers of", tid, source))
        }
        _ => Ok(()),
    }
}
