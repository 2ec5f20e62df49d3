//! Disassembly: bytes to text, one instruction at a time, in Intel syntax.

use crate::base::addr::VirtAddr;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter, Mnemonic,
    SymbolResolver, SymbolResult,
};

/// No instruction is longer (Intel SDM volume 2, 2.3.11).
pub const MAX_LENGTH: usize = 15;

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decoded {
    pub len: usize,
    pub text: String,
    pub operands: Vec<String>,
}

/// How an instruction passes control on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    Next,
    Call,
    Return,
    /// To an address in the instruction.
    Branch,
    /// To an address in a register or in memory.
    IndirectBranch,
    Syscall,
    Other,
}

/// Decodes the instruction at the start of `bytes`; None when they are none, or end too early.
/// An address in an operand is shown by the name that `names` has for it.
pub fn decode(
    bytes: &[u8],
    addr: VirtAddr,
    names: &mut dyn FnMut(VirtAddr) -> Option<String>,
) -> Option<Decoded> {
    let instruction = instruction(bytes, addr)?;
    let name = operand_address(&instruction).and_then(|target| {
        Some(Name {
            addr: target,
            name: names(VirtAddr::new(target))?,
        })
    });
    let mut formatter = formatter(name);
    let mut text = String::new();
    formatter.format(&instruction, &mut text);
    let operands = (0..formatter.operand_count(&instruction))
        .map(|operand| {
            let mut text = String::new();
            // Cannot fail: the number comes from the formatter itself.
            let _ = formatter.format_operand(&instruction, &mut text, operand);
            text
        })
        .collect();
    Some(Decoded {
        len: instruction.len(),
        text,
        operands,
    })
}

/// How the instruction at the start of `bytes` passes control on, and how long it is.
pub fn flow(bytes: &[u8], addr: VirtAddr) -> Option<(Flow, usize)> {
    let instruction = instruction(bytes, addr)?;
    let flow = match instruction.flow_control() {
        FlowControl::Next => Flow::Next,
        FlowControl::Call if instruction.mnemonic() == Mnemonic::Syscall => Flow::Syscall,
        FlowControl::Call | FlowControl::IndirectCall => Flow::Call,
        FlowControl::Return => Flow::Return,
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => Flow::Branch,
        FlowControl::IndirectBranch => Flow::IndirectBranch,
        FlowControl::Interrupt | FlowControl::XbeginXabortXend | FlowControl::Exception => {
            Flow::Other
        }
    };
    Some((flow, instruction.len()))
}

fn instruction(bytes: &[u8], addr: VirtAddr) -> Option<Instruction> {
    let bytes = &bytes[..bytes.len().min(MAX_LENGTH)];
    let mut decoder = Decoder::with_ip(64, bytes, addr.raw(), DecoderOptions::NONE);
    let instruction = decoder.decode();
    (!instruction.is_invalid()).then_some(instruction)
}

/// The address that a near branch or a rip-relative operand names.
fn operand_address(instruction: &Instruction) -> Option<u64> {
    if instruction.is_ip_rel_memory_operand() {
        return Some(instruction.ip_rel_memory_address());
    }
    match instruction.near_branch_target() {
        0 => None,
        target => Some(target),
    }
}

struct Name {
    addr: u64,
    name: String,
}

impl SymbolResolver for Name {
    fn symbol(
        &mut self,
        _instruction: &Instruction,
        _operand: u32,
        _instruction_operand: Option<u32>,
        address: u64,
        _address_size: u32,
    ) -> Option<SymbolResult<'_>> {
        (address == self.addr).then(|| SymbolResult::with_str(address, &self.name))
    }
}

fn formatter(name: Option<Name>) -> IntelFormatter {
    let resolver = name.map(|name| Box::new(name) as Box<dyn SymbolResolver>);
    let mut formatter = IntelFormatter::with_options(resolver, None);
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    options.set_small_hex_numbers_in_decimal(true);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(false);
    options.set_show_branch_size(false);
    formatter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], text: &str, operands: &[&str], flow_wanted: Flow) {
        let at = VirtAddr::new(0x40_1000);
        let mut names = |addr: VirtAddr| (addr.raw() == 0x40_2000).then(|| "target".to_owned());
        let decoded = decode(bytes, at, &mut names).expect("an instruction");
        assert_eq!(decoded.text, text);
        assert_eq!(decoded.operands, operands);
        assert_eq!(decoded.len, bytes.len());
        assert_eq!(flow(bytes, at), Some((flow_wanted, bytes.len())));
    }

    #[test]
    fn instructions_read_as_one_expects() {
        check(
            &[0x48, 0x89, 0xc4],
            "mov rsp, rax",
            &["rsp", "rax"],
            Flow::Next,
        );
        check(&[0xc3], "ret", &[], Flow::Return);
        check(&[0x0f, 0x05], "syscall", &[], Flow::Syscall);
        check(
            &[0xe8, 0xfb, 0x0f, 0, 0],
            "call target",
            &["target"],
            Flow::Call,
        );
        check(
            &[0xe8, 0xfa, 0x0f, 0, 0],
            "call 0x401fff",
            &["0x401fff"],
            Flow::Call,
        );
        check(&[0xeb, 0xfe], "jmp 0x401000", &["0x401000"], Flow::Branch);
        check(&[0xff, 0xe0], "jmp rax", &["rax"], Flow::IndirectBranch);
        check(
            &[0x8b, 0x05, 0xfa, 0x0f, 0, 0],
            "mov eax, [target]",
            &["eax", "[target]"],
            Flow::Next,
        );
        check(
            &[0x83, 0x45, 0xfc, 0x10],
            "add dword ptr [rbp-4], 0x10",
            &["dword ptr [rbp-4]", "0x10"],
            Flow::Next,
        );
    }

    #[test]
    fn what_is_no_instruction_is_none() {
        let at = VirtAddr::new(0);
        for bytes in [&[][..], &[0x06], &[0xe8, 0x00], &[0xf0, 0x90]] {
            assert_eq!(decode(bytes, at, &mut |_| None).map(|d| d.text), None);
        }
    }
}
