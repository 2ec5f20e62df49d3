//! What an instruction does to the stack and to the frame pointer, for code that no table describes.

use super::disasm::MAX_LENGTH;
use crate::base::addr::VirtAddr;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing that matters.
    None,
    /// A word is pushed; the register by its DWARF number, when it is a whole one.
    Push(Option<u16>),
    Pop(Option<u16>),
    /// The stack pointer goes up by so much.
    Adjust(i64),
    /// `mov %rsp, %rbp`.
    SetFrame,
    /// The stack pointer becomes the frame pointer plus so much.
    FromFrame(i64),
    /// `leave`.
    Leave,
    /// The stack pointer becomes something else.
    LoseStack,
    /// The frame pointer becomes something else.
    LoseFrame,
}

/// Where control goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    Following,
    /// There or behind the instruction.
    Branch(VirtAddr),
    Jump(VirtAddr),
    /// To where this instruction does not tell, or nowhere: what follows is reached from elsewhere.
    Away,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub len: usize,
    pub effect: Effect,
    pub next: Next,
}

/// The instruction at the start of `bytes`.
pub fn step(bytes: &[u8], addr: VirtAddr) -> Option<Step> {
    let bytes = &bytes[..bytes.len().min(MAX_LENGTH)];
    let mut decoder = Decoder::with_ip(64, bytes, addr.raw(), DecoderOptions::NONE);
    let instruction = decoder.decode();
    (!instruction.is_invalid()).then(|| Step {
        len: instruction.len(),
        effect: effect(&instruction),
        next: next(&instruction),
    })
}

fn next(instruction: &Instruction) -> Next {
    let target = VirtAddr::new(instruction.near_branch_target());
    match instruction.flow_control() {
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => Next::Branch(target),
        FlowControl::UnconditionalBranch => Next::Jump(target),
        FlowControl::IndirectBranch | FlowControl::Return | FlowControl::Exception => Next::Away,
        _ if instruction.mnemonic() == Mnemonic::Hlt => Next::Away,
        _ => Next::Following,
    }
}

fn effect(instruction: &Instruction) -> Effect {
    let whole = |register: Register| dwarf_number(register);
    match instruction.mnemonic() {
        // A call comes back with the stack as it was.
        Mnemonic::Call => Effect::None,
        Mnemonic::Leave => Effect::Leave,
        Mnemonic::Push | Mnemonic::Pushfq if instruction.stack_pointer_increment() == -8 => {
            Effect::Push(whole(instruction.op0_register()))
        }
        Mnemonic::Pop | Mnemonic::Popfq if instruction.stack_pointer_increment() == 8 => {
            match instruction.op0_register() {
                Register::RSP => Effect::LoseStack,
                register => Effect::Pop(whole(register)),
            }
        }
        Mnemonic::Add | Mnemonic::Sub if instruction.op0_register() == Register::RSP => {
            adjustment(instruction)
        }
        Mnemonic::Mov => match (instruction.op0_register(), instruction.op1_register()) {
            (Register::RBP, Register::RSP) => Effect::SetFrame,
            (Register::RSP, Register::RBP) => Effect::FromFrame(0),
            _ => loss(instruction),
        },
        Mnemonic::Lea if instruction.memory_index() == Register::None => {
            let displacement = instruction.memory_displacement64().cast_signed();
            match (instruction.op0_register(), instruction.memory_base()) {
                (Register::RSP, Register::RSP) => Effect::Adjust(displacement),
                (Register::RSP, Register::RBP) => Effect::FromFrame(displacement),
                _ => loss(instruction),
            }
        }
        _ => loss(instruction),
    }
}

fn adjustment(instruction: &Instruction) -> Effect {
    let is_immediate = matches!(
        instruction.op1_kind(),
        OpKind::Immediate8to64 | OpKind::Immediate32to64
    );
    if !is_immediate {
        return Effect::LoseStack;
    }
    let amount = instruction.immediate(1).cast_signed();
    match instruction.mnemonic() {
        Mnemonic::Sub => Effect::Adjust(amount.wrapping_neg()),
        _ => Effect::Adjust(amount),
    }
}

/// Whether one of the two registers gets a value nobody knows.
fn loss(instruction: &Instruction) -> Effect {
    let mut factory = InstructionInfoFactory::new();
    let written = |wanted: Register, used: &iced_x86::UsedRegister| {
        used.register().full_register() == wanted
            && matches!(
                used.access(),
                OpAccess::Write
                    | OpAccess::ReadWrite
                    | OpAccess::CondWrite
                    | OpAccess::ReadCondWrite
            )
    };
    let used = factory.info(instruction).used_registers();
    if used.iter().any(|used| written(Register::RSP, used)) {
        Effect::LoseStack
    } else if used.iter().any(|used| written(Register::RBP, used)) {
        Effect::LoseFrame
    } else {
        Effect::None
    }
}

/// x86-64 psABI, figure 3.36.
fn dwarf_number(register: Register) -> Option<u16> {
    const ORDER: [Register; 16] = [
        Register::RAX,
        Register::RDX,
        Register::RCX,
        Register::RBX,
        Register::RSI,
        Register::RDI,
        Register::RBP,
        Register::RSP,
        Register::R8,
        Register::R9,
        Register::R10,
        Register::R11,
        Register::R12,
        Register::R13,
        Register::R14,
        Register::R15,
    ];
    let mut numbered = (0u16..).zip(ORDER);
    numbered
        .find(|(_, known)| *known == register)
        .map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], effect: Effect, next: Next) {
        let expected = Step {
            len: bytes.len(),
            effect,
            next,
        };
        assert_eq!(
            step(bytes, VirtAddr::new(0x1000)),
            Some(expected),
            "{bytes:x?}"
        );
    }

    #[test]
    fn what_prologues_and_epilogues_are_made_of() {
        let plain = |bytes: &[u8], effect| check(bytes, effect, Next::Following);
        plain(&[0x55], Effect::Push(Some(6)));
        plain(&[0x41, 0x54], Effect::Push(Some(12)));
        plain(&[0x6a, 0x01], Effect::Push(None));
        plain(&[0x9c], Effect::Push(None));
        plain(&[0x5b], Effect::Pop(Some(3)));
        plain(&[0x5c], Effect::LoseStack);
        plain(&[0x48, 0x83, 0xec, 0x18], Effect::Adjust(-0x18));
        plain(&[0x48, 0x81, 0xc4, 0, 1, 0, 0], Effect::Adjust(0x100));
        plain(&[0x48, 0x8d, 0x64, 0x24, 0xf0], Effect::Adjust(-16));
        plain(&[0x48, 0x89, 0xe5], Effect::SetFrame);
        plain(&[0x48, 0x89, 0xec], Effect::FromFrame(0));
        plain(&[0x48, 0x8d, 0x65, 0xd8], Effect::FromFrame(-0x28));
        plain(&[0xc9], Effect::Leave);
        plain(&[0x48, 0x83, 0xe4, 0xf0], Effect::LoseStack);
        plain(&[0x48, 0x29, 0xc4], Effect::LoseStack);
        plain(&[0x31, 0xed], Effect::LoseFrame);
        plain(&[0x48, 0x89, 0xc3], Effect::None);
        plain(&[0xe8, 0, 0, 0, 0], Effect::None);
        check(&[0xc3], Effect::LoseStack, Next::Away);
        check(&[0x0f, 0x0b], Effect::None, Next::Away);
        check(&[0xf4], Effect::None, Next::Away);
        check(&[0xff, 0xe0], Effect::None, Next::Away);
        check(
            &[0x74, 0x10],
            Effect::None,
            Next::Branch(VirtAddr::new(0x1012)),
        );
        check(
            &[0xeb, 0x10],
            Effect::None,
            Next::Jump(VirtAddr::new(0x1012)),
        );
        assert_eq!(step(&[0x06], VirtAddr::new(0)), None);
        assert_eq!(step(&[], VirtAddr::new(0)), None);
    }
}
