//! Which memory an instruction reads and writes.

use super::registers::{RegId, Registers};
use crate::base::addr::VirtAddr;
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, Register, UsedMemory,
};

/// One memory operand, explicit or not (a push, a string instruction).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// None when it depends on a register that the instruction itself has changed.
    pub addr: Option<VirtAddr>,
    pub width: u64,
    pub reads: bool,
    pub writes: bool,
}

/// Everything the instruction at the start of `bytes` does to memory, and its length. `registers` are
/// those after it was executed.
pub fn accesses(
    bytes: &[u8],
    addr: VirtAddr,
    registers: &Registers,
) -> Option<(Vec<Access>, usize)> {
    let mut decoder = Decoder::with_ip(64, bytes, addr.raw(), DecoderOptions::NONE);
    let instruction = decoder.decode();
    if instruction.is_invalid() {
        return None;
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(&instruction);
    let changed: Vec<Register> = info
        .used_registers()
        .iter()
        .filter(|used| writes(used.access()))
        .map(|used| used.register().full_register())
        .collect();
    let accesses = info
        .used_memory()
        .iter()
        .filter(|memory| reads(memory.access()) || writes(memory.access()))
        .map(|memory| Access {
            addr: address(memory, &changed, registers),
            width: memory.memory_size().size() as u64,
            reads: reads(memory.access()),
            writes: writes(memory.access()),
        })
        .collect();
    Some((accesses, instruction.len()))
}

/// Repeats itself: while it is not done the pc stays on it.
pub fn is_repeated(bytes: &[u8], addr: VirtAddr) -> bool {
    let mut decoder = Decoder::with_ip(64, bytes, addr.raw(), DecoderOptions::NONE);
    let instruction: Instruction = decoder.decode();
    instruction.has_rep_prefix() || instruction.has_repne_prefix()
}

fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn address(memory: &UsedMemory, changed: &[Register], registers: &Registers) -> Option<VirtAddr> {
    let address = memory.virtual_address(0, |register, _, _| {
        if changed.contains(&register.full_register()) {
            return None;
        }
        value(register, registers)
    })?;
    Some(VirtAddr::new(address))
}

fn value(register: Register, registers: &Registers) -> Option<u64> {
    let name = match register {
        // Only these two have a base in 64-bit mode.
        Register::FS => "fs_base",
        Register::GS => "gs_base",
        Register::CS | Register::DS | Register::ES | Register::SS => return Some(0),
        register => &format!("{register:?}").to_lowercase(),
    };
    RegId::by_name(name).map(|id| registers.get(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(values: &[(&str, u64)]) -> Registers {
        let mut registers = Registers::default();
        for (name, value) in values {
            let id = RegId::by_name(name).expect("a register");
            assert!(registers.set(id, *value));
        }
        registers
    }

    #[track_caller]
    fn check(bytes: &[u8], values: &[(&str, u64)], wanted: &[(Option<u64>, u64, bool, bool)]) {
        let at = VirtAddr::new(0x40_1000);
        let (got, len) = accesses(bytes, at, &registers(values)).expect("an instruction");
        assert_eq!(len, bytes.len());
        let got: Vec<_> = got
            .iter()
            .map(|a| (a.addr.map(VirtAddr::raw), a.width, a.reads, a.writes))
            .collect();
        assert_eq!(got, wanted);
    }

    #[test]
    fn reads_and_writes_are_told_apart() {
        // mov [rbx+8], eax
        check(
            &[0x89, 0x43, 8],
            &[("rbx", 0x1000)],
            &[(Some(0x1008), 4, false, true)],
        );
        // mov rax, [rbx]
        check(
            &[0x48, 0x8b, 3],
            &[("rbx", 0x1000)],
            &[(Some(0x1000), 8, true, false)],
        );
        // add dword ptr [rbx], 1
        check(
            &[0x83, 3, 1],
            &[("rbx", 0x1000)],
            &[(Some(0x1000), 4, true, true)],
        );
        // mov eax, [rip+0x10]
        check(
            &[0x8b, 5, 0x10, 0, 0, 0],
            &[],
            &[(Some(0x40_1016), 4, true, false)],
        );
        // mov fs:[0], rax
        check(
            &[0x64, 0x48, 0x89, 4, 0x25, 0, 0, 0, 0],
            &[("fs_base", 0x7000)],
            &[(Some(0x7000), 8, false, true)],
        );
        // nop
        check(&[0x90], &[], &[]);
    }

    #[test]
    fn an_address_from_a_changed_register_is_unknown() {
        // mov rax, [rax]
        check(&[0x48, 0x8b, 0], &[("rax", 7)], &[(None, 8, true, false)]);
    }
}
