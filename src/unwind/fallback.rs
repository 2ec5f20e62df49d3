//! Steps outwards where no call frame information helps: from what the code and the stack look like.

use super::frame::{DwarfReg, Found, FramePc, FrameRegs};
use super::prologue::layout_at;
use crate::base::addr::VirtAddr;
use crate::base::memory::ReadMemory;
use crate::symbols::modules::Modules;
use std::cell::Cell;

/// The caller of a frame, and how it was guessed.
#[derive(Debug)]
pub(super) struct Guess {
    pub(super) regs: FrameRegs,
    pub(super) found: Found,
}

const WORD: u64 = 8;

pub(super) struct Fallback<'a> {
    pub(super) modules: &'a Modules,
    pub(super) memory: &'a dyn ReadMemory,
    /// Instructions that may still be decoded.
    pub(super) decodes: &'a Cell<usize>,
}

impl Fallback<'_> {
    pub(super) fn step(&self, pc: FramePc, regs: &FrameRegs) -> Option<Guess> {
        self.by_signal_frame(pc.addr(), regs)
            .or_else(|| self.by_prologue(pc, regs))
            .or_else(|| match pc {
                FramePc::Exact(addr) => self.by_entry(addr, regs),
                FramePc::Return(_) => None,
            })
            .or_else(|| self.by_frame_pointer(regs))
    }

    /// A C library without call frame information for its signal trampoline, as musl is: the code is
    /// `mov $15, %eax; syscall` (rt_sigreturn), and the kernel's ucontext lies on top of the stack.
    pub(super) fn by_signal_frame(&self, pc: VirtAddr, regs: &FrameRegs) -> Option<Guess> {
        /// uc_flags, uc_link and uc_stack come before the saved registers (asm/ucontext.h).
        const SAVED: u64 = 40;
        /// The order of struct sigcontext, by DWARF number.
        const ORDER: [u16; 17] = [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16];
        if !self.is_way_back(pc) {
            return None;
        }
        let saved = regs.sp()?.checked_add(SAVED)?;
        let mut bytes = [0; 17 * 8];
        self.memory.read_exact(saved, &mut bytes).ok()?;
        let (words, _) = bytes.as_chunks::<8>();
        let mut regs = FrameRegs::default();
        for (number, word) in ORDER.iter().zip(words) {
            regs.set(DwarfReg::new(*number), Some(u64::from_le_bytes(*word)));
        }
        Some(Guess {
            regs,
            found: Found::Signal,
        })
    }

    /// Whether the code at `pc` returns from a signal handler.
    fn is_way_back(&self, pc: VirtAddr) -> bool {
        const LONG: [u8; 9] = [0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05];
        const SHORT: [u8; 7] = [0xb8, 15, 0, 0, 0, 0x0f, 0x05];
        let mut code = [0; 9];
        let got = self.memory.read_partial(pc, &mut code);
        code.get(..got)
            .is_some_and(|code| code.starts_with(&LONG) || code.starts_with(&SHORT))
    }

    /// The function has a name, so its beginning is known, and its code tells how far the stack pointer is
    /// from the return address.
    fn by_prologue(&self, pc: FramePc, regs: &FrameRegs) -> Option<Guess> {
        /// A label without a size may be far from the function at hand.
        const NEAR: u64 = 4096;
        let symbol = self.modules.symbol_at(pc.lookup())?;
        let is_sure = symbol.size > 0 || symbol.offset < NEAR;
        if !is_sure {
            return None;
        }
        let layout = layout_at(self.memory, symbol.start, pc.addr(), self.decodes)?;
        let cfa = layout.cfa(regs)?;
        let caller = layout.preserved(cfa, regs, self.memory);
        let slot = VirtAddr::new(cfa).checked_sub(WORD)?;
        self.with_return_address(caller, slot, Found::Prologue)
    }

    /// The thread stands at the entry of a function or before its `ret`, or nowhere at all after a call
    /// through a bad pointer: the return address is on top of the stack, or one word below it when only
    /// the frame pointer was pushed.
    fn by_entry(&self, pc: VirtAddr, regs: &FrameRegs) -> Option<Guess> {
        const ENDBR: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        const PUSH_RBP: u8 = 0x55;
        const MOV_RSP_RBP: [u8; 3] = [0x48, 0x89, 0xe5];
        const RET: u8 = 0xc3;
        /// `jmp *disp(%rip)`: all there is in a procedure linkage table of a static program.
        const JUMP_TO_IMPORT: [u8; 2] = [0xff, 0x25];
        /// `push disp(%rip)`: how the common part of a lazy table begins.
        const PUSH_LINK_MAP: [u8; 2] = [0xff, 0x35];
        let mut code = [0; 5];
        let got = self.memory.read_partial(pc, &mut code);
        let code = code.get(..got)?;
        let nowhere = code.is_empty();
        let at_stub = code.starts_with(&JUMP_TO_IMPORT)
            || code.starts_with(&PUSH_LINK_MAP)
            || code.starts_with(&[0xf2, 0xff, 0x25]);
        let at_edge = code.starts_with(&ENDBR)
            || code.starts_with(&[PUSH_RBP])
            || code.starts_with(&[RET])
            || code.starts_with(&[0xf3, RET])
            || at_stub;
        let pushed = code.starts_with(&MOV_RSP_RBP)
            && pc
                .checked_sub(1)
                .and_then(|before| self.memory.read_u8(before).ok())
                == Some(PUSH_RBP);
        let sp = regs.sp()?;
        let mut caller = regs.preserved();
        let slot = if pushed {
            caller.set(DwarfReg::RBP, self.memory.read_u64(sp).ok());
            sp.checked_add(WORD)?
        } else if nowhere || at_edge {
            sp
        } else {
            return None;
        };
        // The common way from all lazy stubs to the loader is taken with one or two words pushed already.
        let most = if at_stub { 2 } else { 0 };
        (0..=most).find_map(|words| {
            let slot = slot.checked_add(words * WORD)?;
            self.with_return_address(caller, slot, Found::Entry)
        })
    }

    /// `push %rbp; mov %rsp, %rbp`: the saved frame pointer and above it the return address.
    fn by_frame_pointer(&self, regs: &FrameRegs) -> Option<Guess> {
        let fp = VirtAddr::new(regs.get(DwarfReg::RBP)?);
        if !fp.raw().is_multiple_of(WORD) || fp < regs.sp()? {
            return None;
        }
        let mut caller = FrameRegs::default();
        caller.set(DwarfReg::RBP, Some(self.memory.read_u64(fp).ok()?));
        self.with_return_address(caller, fp.checked_add(WORD)?, Found::FramePointer)
    }

    fn with_return_address(
        &self,
        mut caller: FrameRegs,
        slot: VirtAddr,
        found: Found,
    ) -> Option<Guess> {
        let target = VirtAddr::new(self.memory.read_u64(slot).ok()?);
        if !self.is_return_address(target) {
            return None;
        }
        caller.set(DwarfReg::RIP, Some(target.raw()));
        caller.set(DwarfReg::RSP, Some(slot.checked_add(WORD)?.raw()));
        Some(Guess {
            regs: caller,
            found,
        })
    }

    /// Whether the bytes before an address are a call, or a signal handler returns there. A guess must not
    /// lead into data.
    fn is_return_address(&self, target: VirtAddr) -> bool {
        const LONGEST: u64 = 7;
        let in_data = self.modules.module_at(target).is_some_and(|(module, elf)| {
            let mut segments = module.image.segments().iter();
            segments.any(|segment| segment.contains(elf) && !segment.executable)
        });
        let Some(before) = target.checked_sub(LONGEST).filter(|_| !in_data) else {
            return false;
        };
        let mut code = [0; 7];
        let is_call = self.memory.read_exact(before, &mut code).is_ok() && ends_with_call(code);
        is_call || self.is_way_back(target)
    }
}

/// `call rel32`, or `call r/m64` (FF /2) in each length its operand can have.
fn ends_with_call(code: [u8; 7]) -> bool {
    if code[2] == 0xe8 {
        return true;
    }
    let operand = |mode: u8| mode >> 3 & 7 == 2;
    let length = |mode: u8| {
        let (kind, base) = (mode >> 6, mode & 7);
        let address = match (kind, base) {
            (0, 5) | (2, _) => 4,
            (1, _) => 1,
            _ => 0,
        };
        // A SIB byte follows, and with its base 5 and kind 0 a displacement, which `code` would show as
        // a longer form below.
        2 + address + usize::from(kind != 3 && base == 4)
    };
    (0..=5).any(|at| {
        let mode = code[at + 1];
        let room = code.len() - at;
        let sib_displacement = mode == 0x14 && room == 7;
        code[at] == 0xff && operand(mode) && (length(mode) == room || sib_displacement)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwind::test_stack::TestMemory;

    #[track_caller]
    fn check_call(code: &[u8], expected: bool) {
        let mut bytes = [0x90; 7];
        bytes[7 - code.len()..].copy_from_slice(code);
        assert_eq!(ends_with_call(bytes), expected, "{code:x?}");
    }

    #[test]
    fn calls_are_recognised_by_their_bytes() {
        check_call(&[0xe8, 1, 2, 3, 4], true);
        check_call(&[0xff, 0xd0], true);
        check_call(&[0x41, 0xff, 0xd4], true);
        check_call(&[0xff, 0x15, 1, 2, 3, 4], true);
        check_call(&[0xff, 0x50, 0x18], true);
        check_call(&[0xff, 0x54, 0x24, 8], true);
        check_call(&[0xff, 0x14, 0xc8], true);
        check_call(&[0xff, 0x14, 0xc5, 1, 2, 3, 4], true);
        check_call(&[0xff, 0x94, 0x24, 1, 2, 3, 4], true);
        check_call(&[0x90], false);
        check_call(&[0xff, 0xe0], false);
        check_call(&[0xff, 0x30], false);
        check_call(&[0xc3], false);
    }

    const STACK: u64 = 0x7000;
    const CODE: u64 = 0x1000;
    const CALLER: u64 = 0x2000;

    fn memory(code: &[u8]) -> TestMemory {
        TestMemory::new()
            .with(CODE, code)
            .with(CALLER - 7, &[0x90, 0x90, 0xe8, 1, 2, 3, 4, 0x90])
    }

    #[track_caller]
    fn check_step(memory: &TestMemory, pc: u64, rbp: u64, expected: Option<(Found, u64, u64)>) {
        let modules = Modules::new();
        let mut registers = [0; 17];
        registers[3] = 33;
        registers[6] = rbp;
        registers[7] = STACK;
        let fallback = Fallback {
            modules: &modules,
            memory,
            decodes: &Cell::new(100),
        };
        let regs = FrameRegs::all_known(&registers);
        let guess = fallback.step(FramePc::Exact(VirtAddr::new(pc)), &regs);
        let got = guess.map(|guess| {
            let rip = guess.regs.get(DwarfReg::RIP).expect("rip");
            (guess.found, rip, guess.regs.sp().expect("rsp").raw())
        });
        assert_eq!(got, expected);
    }

    #[test]
    fn the_edges_of_a_function_have_the_return_address_on_top() {
        let top = |code: &[u8]| memory(code).words(STACK, &[CALLER]);
        let expected = Some((Found::Entry, CALLER, STACK + 8));
        check_step(&top(&[0x55]), CODE, 0, expected);
        check_step(&top(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55]), CODE, 0, expected);
        check_step(&top(&[0xc3]), CODE, 0, expected);
        check_step(&top(&[0xff, 0x25, 1, 2, 3]), CODE, 0, expected);
        check_step(&top(&[]), 0, 0, expected);
        check_step(&top(&[0x90]), CODE, 0, None);
        let pushed = memory(&[0x55, 0x48, 0x89, 0xe5]).words(STACK, &[99, CALLER]);
        check_step(
            &pushed,
            CODE + 1,
            0,
            Some((Found::Entry, CALLER, STACK + 16)),
        );
        let no_call = memory(&[0x55]).words(STACK, &[CALLER + 1]);
        check_step(&no_call, CODE, 0, None);
    }

    #[test]
    fn frame_pointers_are_followed_upwards_only() {
        let memory = memory(&[0x90]).words(STACK + 0x10, &[STACK + 0x40, CALLER]);
        let expected = Some((Found::FramePointer, CALLER, STACK + 0x20));
        check_step(&memory, CODE, STACK + 0x10, expected);
        check_step(&memory, CODE, STACK + 0x11, None);
        check_step(&memory, CODE, STACK - 8, None);
        check_step(&memory, CODE, STACK + 0x80, None);
    }

    #[test]
    fn a_signal_frame_gives_every_register_back() {
        let saved: Vec<u64> = (100..117).collect();
        let memory = memory(&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05]).words(STACK + 40, &saved);
        check_step(&memory, CODE, 0, Some((Found::Signal, 116, 115)));
    }
}
