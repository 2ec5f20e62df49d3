//! From the innermost frame outwards.

use super::cfi_step::{self, Failure, Scratch};
use super::fallback::Fallback;
use super::frame::{DwarfReg, Found, Frame, FramePc, FrameRegs, Registers, StopReason};
use crate::base::addr::VirtAddr;
use crate::base::memory::ReadMemory;
use crate::symbols::modules::Modules;
use std::collections::BTreeSet;

/// The frames of a thread, innermost first: at least the one it stands in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walked {
    pub frames: Vec<Frame>,
    pub end: StopReason,
}

/// Walks at most `max` frames.
pub fn walk(modules: &Modules, memory: &dyn ReadMemory, start: &Registers, max: usize) -> Walked {
    let regs = FrameRegs::all_known(start);
    let pc = regs.get(DwarfReg::RIP).unwrap_or_default();
    let mut walker = Walker {
        modules,
        memory,
        scratch: Scratch::new(),
        interrupted: BTreeSet::new(),
    };
    let mut frames = vec![Frame {
        pc: FramePc::Exact(VirtAddr::new(pc)),
        regs,
        found: Found::Start,
        cfa: None,
        is_signal_trampoline: false,
    }];
    let end = loop {
        if frames.len() >= max.max(1) {
            break StopReason::Limit;
        }
        let Some(frame) = frames.last_mut() else {
            break StopReason::Limit;
        };
        match walker.caller_of(frame) {
            Ok(caller) => frames.push(caller),
            Err(reason) => break reason,
        }
    };
    Walked { frames, end }
}

struct Walker<'a> {
    modules: &'a Modules,
    memory: &'a dyn ReadMemory,
    scratch: Scratch,
    /// Where signals interrupted: there the stack may go anywhere, so that a loop shows only by repetition.
    interrupted: BTreeSet<(u64, Option<u64>)>,
}

impl Walker<'_> {
    /// The caller of `frame`, whose own CFA and nature are learned on the way.
    fn caller_of(&mut self, frame: &mut Frame) -> Result<Frame, StopReason> {
        let (regs, found) = match self.by_rules(frame) {
            Ok(regs) => {
                let found = if frame.is_signal_trampoline {
                    Found::Signal
                } else {
                    Found::Cfi
                };
                (regs, found)
            }
            Err(Failure::NoRule) => self.by_guess(frame)?,
            Err(Failure::Unreadable(addr)) => return Err(StopReason::Unreadable(addr)),
            Err(Failure::Damaged) => return Err(StopReason::Damaged(frame.pc.addr())),
        };
        // The rules say so where a thread begins, and so does an empty return address.
        let pc = match regs.get(DwarfReg::RIP) {
            None => return Err(StopReason::Outermost),
            Some(0) if found != Found::Signal => return Err(StopReason::Outermost),
            Some(pc) => VirtAddr::new(pc),
        };
        self.check_progress(frame, &regs, pc)?;
        Ok(Frame {
            pc: match found {
                Found::Signal => FramePc::Exact(pc),
                _ => FramePc::Return(pc),
            },
            regs,
            found,
            cfa: None,
            is_signal_trampoline: false,
        })
    }

    fn by_rules(&mut self, frame: &mut Frame) -> Result<FrameRegs, Failure> {
        let lookup = frame.pc.lookup();
        let (module, elf) = self.modules.module_at(lookup).ok_or(Failure::NoRule)?;
        let caller = cfi_step::step(module, elf, &frame.regs, self.memory, &mut self.scratch)?;
        frame.cfa = Some(caller.cfa);
        frame.is_signal_trampoline = caller.is_signal_trampoline;
        Ok(caller.regs)
    }

    fn by_guess(&self, frame: &mut Frame) -> Result<(FrameRegs, Found), StopReason> {
        let fallback = Fallback {
            modules: self.modules,
            memory: self.memory,
        };
        match fallback.step(frame.pc, &frame.regs) {
            Some(guess) => {
                frame.is_signal_trampoline = guess.found == Found::Signal;
                Ok((guess.regs, guess.found))
            }
            // Where a program begins, the psABI has rbp zeroed (section 3.4.1).
            None if frame.regs.get(DwarfReg::RBP) == Some(0) && frame.found != Found::Start => {
                Err(StopReason::Outermost)
            }
            None => Err(StopReason::NoRule(frame.pc.addr())),
        }
    }

    /// The stack grows down, so a caller's part of it lies strictly above. Only a signal handler may have a
    /// stack of its own.
    fn check_progress(
        &mut self,
        frame: &Frame,
        caller: &FrameRegs,
        pc: VirtAddr,
    ) -> Result<(), StopReason> {
        let forward = if frame.is_signal_trampoline {
            let sp = caller.sp().map(VirtAddr::raw);
            self.interrupted.insert((pc.raw(), sp))
        } else {
            caller.sp() > frame.regs.sp()
        };
        if forward {
            Ok(())
        } else {
            Err(StopReason::Cycle)
        }
    }
}
