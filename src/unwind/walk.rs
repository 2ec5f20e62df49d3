//! From the innermost frame outwards.

use super::cfi_step::{self, Failure};
use super::fallback::Fallback;
use super::frame::{DwarfReg, Found, Frame, FramePc, FrameRegs, Registers, StopReason};
use super::window::Window;
use crate::base::addr::{AddrRange, VirtAddr};
use crate::base::memory::ReadMemory;
use crate::symbols::modules::{Module, Modules};
use std::cell::Cell;
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
    let window = Window::new(memory);
    let mut walker = Walker {
        modules,
        memory: &window,
        plain: memory,
        nearby: None,
        decodes: Cell::new(MOST_DECODES),
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

/// Less than a second, should every frame of a long stack be in a function without rules.
const MOST_DECODES: usize = 1 << 20;

struct Walker<'a> {
    modules: &'a Modules,
    memory: &'a dyn ReadMemory,
    plain: &'a dyn ReadMemory,
    /// The module of the last frame and where its code lies: most callers are in the same one.
    nearby: Option<(AddrRange, &'a Module)>,
    /// Instructions that may still be decoded in search of frames without rules.
    decodes: Cell<usize>,
    /// Where signals interrupted: there the stack may go anywhere, so that a loop shows only by repetition.
    interrupted: BTreeSet<(u64, Option<u64>)>,
}

impl<'a> Walker<'a> {
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

    fn module_at(&mut self, addr: VirtAddr) -> Option<&'a Module> {
        match self.nearby {
            Some((range, module)) if range.contains(addr) => Some(module),
            _ => {
                self.nearby = self.modules.range_at(addr);
                self.nearby.map(|(_, module)| module)
            }
        }
    }

    fn by_rules(&mut self, frame: &mut Frame) -> Result<FrameRegs, Failure> {
        let lookup = frame.pc.lookup();
        let module = self.module_at(lookup).ok_or(Failure::NoRule)?;
        let elf = module.bias.to_elf(lookup);
        let caller = cfi_step::step(module, elf, &frame.regs, self.memory)?;
        frame.cfa = Some(caller.cfa);
        frame.is_signal_trampoline = caller.is_signal_trampoline;
        Ok(caller.regs)
    }

    fn by_guess(&self, frame: &mut Frame) -> Result<(FrameRegs, Found), StopReason> {
        let fallback = Fallback {
            modules: self.modules,
            // Code is read as well as stack, which would move the window back and forth.
            memory: self.plain,
            decodes: &self.decodes,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::addr::{ElfAddr, LoadBias};
    use crate::symbols::image::Image;
    use crate::symbols::pattern::Pattern;
    use crate::unwind::test_stack::TestMemory;
    use std::rc::Rc;

    const STACK: u64 = 0x7000_0000;
    const CODE: u64 = 0x1000;
    /// Right behind the call at its beginning.
    const CALLED: u64 = CODE + 7;

    fn memory() -> TestMemory {
        TestMemory::new().with(CODE, &[0x90, 0x90, 0xe8, 0, 0, 0, 0, 0x90])
    }

    #[track_caller]
    fn check(memory: &TestMemory, rbp: u64, max: usize, frames: usize, end: StopReason) {
        let mut start = [0; 17];
        start[6] = rbp;
        start[7] = STACK;
        start[16] = CALLED;
        let walked = walk(&Modules::new(), memory, &start, max);
        assert_eq!((walked.frames.len(), walked.end), (frames, end));
    }

    #[test]
    fn a_walk_says_why_it_ended() {
        let pc = VirtAddr::new(CALLED);
        check(&memory(), 8, 10, 1, StopReason::NoRule(pc));
        let chain = memory()
            .words(STACK, &[STACK + 16, CALLED])
            .words(STACK + 16, &[STACK + 32, CALLED]);
        check(&chain, STACK, 10, 3, StopReason::NoRule(pc));
        check(&chain, STACK, 2, 2, StopReason::Limit);
        check(&chain, STACK, 0, 1, StopReason::Limit);
        let ended = chain.clone().words(STACK + 16, &[0, CALLED]);
        check(&ended, STACK, 10, 3, StopReason::Outermost);
    }

    #[test]
    fn signals_that_interrupt_each_other_in_a_circle_end() {
        const RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05];
        let mut saved = [0; 17];
        saved[15] = STACK;
        saved[16] = CALLED;
        let circle = TestMemory::new()
            .with(CALLED, &RETURN)
            .words(STACK + 40, &saved);
        check(&circle, 0, 100, 2, StopReason::Cycle);
    }

    /// xorshift: the same damage in every run.
    fn roll(dice: &mut u64) -> u64 {
        *dice ^= *dice << 13;
        *dice ^= *dice >> 7;
        *dice ^= *dice << 17;
        *dice
    }

    /// A stack without end: every word of memory is the same, near the stack or in the code.
    struct Endless<'a> {
        words: &'a [u64],
    }

    impl ReadMemory for Endless<'_> {
        fn read_partial(&self, addr: VirtAddr, into: &mut [u8]) -> usize {
            for (place, at) in into.iter_mut().zip(addr.raw()..) {
                let word = usize::try_from(at / 8).unwrap_or(0) % self.words.len();
                let byte = usize::try_from(at % 8).unwrap_or(0);
                *place = self.words[word].to_le_bytes()[byte];
            }
            into.len()
        }
    }

    #[test]
    fn damaged_rules_and_stacks_end_the_walk() {
        let original = std::fs::read("/lib64/ld-linux-x86-64.so.2")
            .or_else(|_| std::fs::read("/proc/self/exe"))
            .expect("a program");
        let sound = Image::from_bytes("sound", original.clone()).expect("image");
        let frames = sound.section(".eh_frame");
        let size = usize::try_from(frames.expect("section").size).expect("small");
        let bytes = sound.section_bytes(".eh_frame").expect("section");
        let offset = original
            .windows(64)
            .position(|window| window == &bytes[..64])
            .expect("there");
        let (functions, _) = sound.symbols().matching(&Pattern::Any, 200);
        let places: Vec<ElfAddr> = functions.iter().map(|symbol| symbol.addr).collect();
        let mut dice = 0x1234_5678_9abc_def1;
        for _ in 0..100 {
            let mut damaged = original.clone();
            for _ in 0..200 {
                let at = offset + usize::try_from(roll(&mut dice)).expect("64 bits") % size;
                damaged[at] = u8::try_from(roll(&mut dice) >> 56).expect("a byte");
            }
            let image = Rc::new(Image::from_bytes("damaged", damaged).expect("image"));
            let mut modules = Modules::new();
            modules.add("damaged".into(), LoadBias::new(CODE), image);
            for place in &places {
                let pc = place.raw() + CODE + roll(&mut dice) % 8;
                let words = [pc, STACK + 64, STACK + 8, pc + 3, roll(&mut dice)];
                let mut start = [STACK; 17];
                start[16] = pc;
                let walked = walk(&modules, &Endless { words: &words }, &start, 300);
                assert!(walked.frames.len() <= 300);
            }
        }
    }
}
