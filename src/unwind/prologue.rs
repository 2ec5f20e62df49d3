//! The frame of a function that no table describes, from its code: pushes and adjustments are counted from
//! its first instruction up to where it stands.

use super::frame::{DwarfReg, FrameRegs};
use crate::arch::disasm::MAX_LENGTH;
use crate::arch::stack::{Effect, Next, step};
use crate::base::addr::VirtAddr;
use crate::base::memory::ReadMemory;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Functions are rarely larger, and what is known gets worse on the way.
pub(super) const LARGEST: u64 = 64 << 10;
const WORD: i64 = 8;

/// The frame at one instruction. Distances count downwards from the canonical frame address, which is right
/// above the return address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Of the stack pointer.
    depth: Option<i64>,
    /// Of the frame pointer, while it is one.
    frame: Option<i64>,
    /// Where the preserved registers were pushed, in their order.
    saved: [Option<i64>; DwarfReg::PRESERVED.len()],
}

impl Layout {
    const AT_ENTRY: Self = Self {
        depth: Some(WORD),
        frame: None,
        saved: [None; DwarfReg::PRESERVED.len()],
    };

    /// The canonical frame address.
    pub(super) fn cfa(&self, regs: &FrameRegs) -> Option<u64> {
        let from = |register, distance: Option<i64>| {
            Some(regs.get(register)?.wrapping_add_signed(distance?))
        };
        from(DwarfReg::RSP, self.depth).or_else(|| from(DwarfReg::RBP, self.frame))
    }

    /// What the caller had in the registers that a function must preserve.
    pub(super) fn preserved(
        &self,
        cfa: u64,
        regs: &FrameRegs,
        memory: &dyn ReadMemory,
    ) -> FrameRegs {
        let mut caller = regs.preserved();
        for (register, saved) in DwarfReg::PRESERVED.into_iter().zip(self.saved) {
            if let Some(distance) = saved {
                let slot = VirtAddr::new(cfa.wrapping_add_signed(distance.wrapping_neg()));
                caller.set(register, memory.read_u64(slot).ok());
            }
        }
        caller
    }

    fn apply(&mut self, effect: Effect) {
        let lower = |depth: Option<i64>, by: i64| depth.and_then(|depth| depth.checked_add(by));
        match effect {
            Effect::None => {}
            Effect::Push(register) => {
                self.depth = lower(self.depth, WORD);
                let depth = self.depth;
                if let Some(place) = self.place_of(register)
                    && place.is_none()
                {
                    *place = depth;
                }
            }
            Effect::Pop(register) => {
                let at = self.depth;
                self.depth = lower(self.depth, -WORD);
                let restored = self.place_of(register).is_some_and(|place| *place == at);
                if restored && let Some(place) = self.place_of(register) {
                    *place = None;
                }
                if register == Some(DwarfReg::RBP.number()) {
                    self.frame = None;
                }
            }
            Effect::Adjust(by) => self.depth = lower(self.depth, by.wrapping_neg()),
            Effect::SetFrame => self.frame = self.depth,
            Effect::FromFrame(by) => self.depth = lower(self.frame, by.wrapping_neg()),
            Effect::Leave => {
                self.depth = self.frame;
                self.apply(Effect::Pop(Some(DwarfReg::RBP.number())));
            }
            Effect::LoseStack => self.depth = None,
            Effect::LoseFrame => self.frame = None,
        }
    }

    fn place_of(&mut self, register: Option<u16>) -> Option<&mut Option<i64>> {
        let register = DwarfReg::new(register?);
        let mut known = DwarfReg::PRESERVED.iter();
        let at = known.position(|known| *known == register)?;
        self.saved.get_mut(at)
    }
}

/// The layout before the instruction at `pc` of the function that begins at `start`. None where the code
/// cannot be followed that far. Counts `most` down by the instructions it took.
pub(super) fn layout_at(
    memory: &dyn ReadMemory,
    start: VirtAddr,
    pc: VirtAddr,
    most: &Cell<usize>,
) -> Option<Layout> {
    let size = pc.offset_from(start).filter(|size| *size <= LARGEST)?;
    let size = usize::try_from(size).ok()?;
    let mut code = vec![0; size];
    memory.read_exact(start, &mut code).ok()?;
    // The instruction before `pc` must end there.
    code.resize(size + MAX_LENGTH, 0xcc);
    let mut layout = Some(Layout::AT_ENTRY);
    let mut deepest = Layout::AT_ENTRY;
    // What is known where branches lead to, forwards.
    let mut expected: BTreeMap<VirtAddr, Layout> = BTreeMap::new();
    let mut at = 0;
    while at < size {
        most.set(most.get().checked_sub(1)?);
        let addr = start.checked_add(at as u64)?;
        // Behind a return or a jump, with nothing known that leads here, it is from further down: the loop
        // or the rare case of a function that has its frame.
        let mut now = layout.or_else(|| expected.remove(&addr)).unwrap_or(deepest);
        let step = step(code.get(at..)?, addr)?;
        if !matches!(step.next, Next::Away) {
            now.apply(step.effect);
        }
        if now.depth > deepest.depth {
            deepest = now;
        }
        if let Next::Branch(target) | Next::Jump(target) = step.next {
            expected.entry(target).or_insert(now);
        }
        layout = matches!(step.next, Next::Following | Next::Branch(_)).then_some(now);
        at += step.len;
    }
    (at == size).then(|| layout.or_else(|| expected.remove(&pc)).unwrap_or(deepest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwind::test_stack::TestMemory;

    const START: u64 = 0x1000;

    /// Depth, distance of the frame pointer, and of the saved rbx and rbp.
    type Known = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

    #[track_caller]
    fn check(code: &[u8], at: u64, expected: Option<Known>) {
        let memory = TestMemory::new().with(START, code);
        let found = layout_at(
            &memory,
            VirtAddr::new(START),
            VirtAddr::new(START + at),
            &Cell::new(100),
        );
        let known = |it: Layout| (it.depth, it.frame, it.saved[0], it.saved[1]);
        assert_eq!(found.map(known), expected, "at {at}");
    }

    #[test]
    fn a_frame_is_followed_from_entry_to_return() {
        let code = [
            0xf3, 0x0f, 0x1e, 0xfa, // 0 endbr64
            0x55, // 4 push %rbp
            0x48, 0x89, 0xe5, // 5 mov %rsp, %rbp
            0x53, // 8 push %rbx
            0x48, 0x83, 0xec, 0x18, // 9 sub $24, %rsp
            0x74, 0x04, // 13 je 19
            0x48, 0x83, 0xe4, 0xf0, // 15 and $-16, %rsp
            0x48, 0x8b, 0x5d, 0xf8, // 19 mov -8(%rbp), %rbx
            0xc9, // 23 leave
            0xc3, // 24 ret
            0x90, // 25 nop, reached from elsewhere
        ];
        check(&code, 0, Some((Some(8), None, None, None)));
        check(&code, 5, Some((Some(16), None, None, Some(16))));
        check(&code, 8, Some((Some(16), Some(16), None, Some(16))));
        check(&code, 13, Some((Some(48), Some(16), Some(24), Some(16))));
        check(&code, 19, Some((None, Some(16), Some(24), Some(16))));
        check(&code, 24, Some((Some(8), None, Some(24), None)));
        check(&code, 25, Some((Some(48), Some(16), Some(24), Some(16))));
        check(&code, 2, None);
    }

    #[test]
    fn an_early_return_does_not_end_the_frame_of_the_rest() {
        let code = [
            0x53, // 0 push %rbx
            0x74, 0x02, // 1 je 5
            0x5b, // 3 pop %rbx
            0xc3, // 4 ret
            0x90, // 5 nop
            0x5b, // 6 pop %rbx
            0xc3, // 7 ret
        ];
        check(&code, 4, Some((Some(8), None, None, None)));
        check(&code, 5, Some((Some(16), None, Some(16), None)));
        check(&code, 7, Some((Some(8), None, None, None)));
    }

    #[test]
    fn what_is_no_code_ends_it() {
        check(&[0x06, 0x90], 1, None);
        check(&[0x90], 2, None);
        let memory = TestMemory::new();
        let far = layout_at(
            &memory,
            VirtAddr::new(0),
            VirtAddr::new(u64::MAX),
            &Cell::new(100),
        );
        assert_eq!(far, None);
        let memory = TestMemory::new().with(START, &[0x90; 9]);
        for (most, found) in [(8, true), (7, false)] {
            let end = VirtAddr::new(START + 8);
            let most = Cell::new(most);
            let layout = layout_at(&memory, VirtAddr::new(START), end, &most);
            assert_eq!(layout.is_some(), found);
        }
    }
}
