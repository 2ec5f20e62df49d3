//! One activation of a function: where it stands and which registers are known there.

use crate::base::addr::VirtAddr;
use std::fmt;

/// The number of a register in DWARF, x86-64 psABI figure 3.36.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DwarfReg(u16);

impl DwarfReg {
    pub const RBX: Self = Self(3);
    pub const RBP: Self = Self(6);
    pub const RSP: Self = Self(7);
    /// The return address column, which stands for rip.
    pub const RIP: Self = Self(16);
    /// What a called function must preserve, besides rsp: psABI section 3.2.1.
    pub const PRESERVED: [Self; 6] = [Self::RBX, Self::RBP, Self(12), Self(13), Self(14), Self(15)];

    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    pub const fn number(self) -> u16 {
        self.0
    }

    /// All that are followed from frame to frame.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=Self::RIP.0).map(Self)
    }

    /// Whether it is one of those.
    pub fn is_followed(self) -> bool {
        self.index().is_some()
    }

    fn index(self) -> Option<usize> {
        let index = usize::from(self.0);
        (index < REGISTERS).then_some(index)
    }
}

const REGISTERS: usize = 17;

/// A thread's registers by DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8…r15 rip.
pub type Registers = [u64; REGISTERS];

/// The registers of one frame. What the callees did not save is unknown, which is not zero.
#[derive(Clone, Copy, Default)]
pub struct FrameRegs {
    values: Registers,
    /// One bit for each register, by number.
    known: u32,
}

impl FrameRegs {
    const ALL: u32 = (1 << REGISTERS) - 1;
    const PRESERVED: u32 = {
        let mut bits = 0;
        let mut at = 0;
        while at < DwarfReg::PRESERVED.len() {
            bits |= 1 << DwarfReg::PRESERVED[at].0;
            at += 1;
        }
        bits
    };

    pub fn all_known(registers: &Registers) -> Self {
        Self {
            values: *registers,
            known: Self::ALL,
        }
    }

    pub fn get(&self, register: DwarfReg) -> Option<u64> {
        let index = register.index()?;
        (self.known & 1 << index != 0).then_some(self.values[index])
    }

    pub fn set(&mut self, register: DwarfReg, value: Option<u64>) {
        let Some(index) = register.index() else {
            return;
        };
        match value {
            Some(value) => {
                self.values[index] = value;
                self.known |= 1 << index;
            }
            None => self.known &= !(1 << index),
        }
    }

    /// Those that are preserved across calls, for the caller of a function that has not touched them yet.
    #[must_use]
    pub fn preserved(&self) -> Self {
        Self {
            values: self.values,
            known: self.known & Self::PRESERVED,
        }
    }

    pub fn sp(&self) -> Option<VirtAddr> {
        self.get(DwarfReg::RSP).map(VirtAddr::new)
    }
}

impl PartialEq for FrameRegs {
    fn eq(&self, other: &Self) -> bool {
        DwarfReg::all().all(|register| self.get(register) == other.get(register))
    }
}

impl Eq for FrameRegs {}

impl fmt::Debug for FrameRegs {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = DwarfReg::all().filter_map(|register| Some((register, self.get(register)?)));
        to.debug_map().entries(known).finish()
    }
}

/// Where a frame stands. A return address may be the first one behind its function, when that ends with a
/// call that never returns; so what is known about it is looked up one byte earlier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FramePc {
    /// The next instruction of this frame: the innermost one, or one that a signal interrupted.
    Exact(VirtAddr),
    /// Where it goes on after its call.
    Return(VirtAddr),
}

impl FramePc {
    pub fn addr(self) -> VirtAddr {
        match self {
            Self::Exact(addr) | Self::Return(addr) => addr,
        }
    }

    /// The address to look up functions, lines and unwind rules with.
    pub fn lookup(self) -> VirtAddr {
        match self {
            Self::Exact(addr) => addr,
            Self::Return(addr) => VirtAddr::new(addr.raw().wrapping_sub(1)),
        }
    }
}

/// How a frame was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The thread's own registers.
    Start,
    /// By the call frame information of the frame it called.
    Cfi,
    /// By the chain of saved frame pointers: a guess that holds for code that keeps them.
    FramePointer,
    /// From the function's own code, read from its beginning.
    Prologue,
    /// From the return address on top of the stack, before the callee had done anything.
    Entry,
    /// From the registers that the kernel saved when it delivered a signal.
    Signal,
}

/// A physical frame. Functions inlined into it have none of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    pub pc: FramePc,
    pub regs: FrameRegs,
    pub found: Found,
    /// The canonical frame address: the stack pointer before this frame's return address was pushed. Known
    /// once the caller was found by call frame information.
    pub cfa: Option<VirtAddr>,
    /// The kernel's trampoline for a signal handler: what follows was interrupted and did not call.
    pub is_signal_trampoline: bool,
}

/// Why there are no more frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// The thread began there.
    Outermost,
    /// Nothing tells how to go on from this address.
    NoRule(VirtAddr),
    /// The stack cannot be read here.
    Unreadable(VirtAddr),
    /// The frames do not get older: the stack is damaged or the rules are wrong.
    Cycle,
    /// As many as were asked for.
    Limit,
    /// The call frame information for this address is damaged.
    Damaged(VirtAddr),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_not_zero() {
        let mut regs = FrameRegs::all_known(&[0; REGISTERS]);
        assert_eq!(regs.get(DwarfReg::RBX), Some(0));
        regs.set(DwarfReg::RBX, None);
        assert_eq!(regs.get(DwarfReg::RBX), None);
        regs.set(DwarfReg::new(99), Some(1));
        assert_eq!(regs.get(DwarfReg::new(99)), None);
        let kept = FrameRegs::all_known(&[7; REGISTERS]).preserved();
        let known: Vec<u16> = DwarfReg::all()
            .filter(|register| kept.get(*register).is_some())
            .map(DwarfReg::number)
            .collect();
        assert_eq!(known, [3, 6, 12, 13, 14, 15]);
    }

    #[test]
    fn a_return_address_is_looked_up_one_byte_earlier() {
        let addr = VirtAddr::new(0x1000);
        assert_eq!(FramePc::Exact(addr).lookup(), addr);
        assert_eq!(FramePc::Return(addr).lookup(), VirtAddr::new(0xfff));
        assert_eq!(FramePc::Return(addr).addr(), addr);
    }
}
