//! One step outwards by call frame information (DWARF 5, section 6.4), all registers restored.

use super::frame::{DwarfReg, FrameRegs};
use crate::base::addr::{ElfAddr, VirtAddr};
use crate::base::memory::ReadMemory;
use crate::symbols::cfi::CfiSections;
use crate::symbols::modules::Module;
use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EhFrameHdr, EndianSlice, EvaluationResult,
    FrameDescriptionEntry, LittleEndian, Location, Register, RegisterRule, UnwindContext,
    UnwindExpression, UnwindSection, UnwindTableRow, Value,
};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Fde<'a> = FrameDescriptionEntry<Slice<'a>>;
type Row = UnwindTableRow<usize>;

/// Expressions in rules are a handful of operations long.
const MOST_OPERATIONS: u32 = 1000;

/// Room for the rules of a row, reused from step to step.
pub(super) struct Scratch(UnwindContext<usize>);

impl Scratch {
    pub(super) fn new() -> Self {
        Self(UnwindContext::new())
    }
}

/// The caller, as the rules give it.
#[derive(Debug)]
pub(super) struct Caller {
    /// Without rip when the rules say that there is no caller.
    pub(super) regs: FrameRegs,
    pub(super) cfa: VirtAddr,
    /// Whether the frame left behind is a signal trampoline.
    pub(super) is_signal_trampoline: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// No entry covers the address.
    NoRule,
    Unreadable(VirtAddr),
    Damaged,
}

/// Steps out of a frame that stands at `lookup` in `module` with these registers.
pub(super) fn step(
    module: &Module,
    lookup: ElfAddr,
    regs: &FrameRegs,
    memory: &dyn ReadMemory,
    scratch: &mut Scratch,
) -> Result<Caller, Failure> {
    let cfi = module.image.cfi();
    let bases = bases(&cfi);
    if let Some((_, bytes)) = cfi.eh_frame {
        let section = EhFrame::new(bytes, LittleEndian);
        if let Some(fde) = find_in_eh_frame(&cfi, &section, &bases, lookup)? {
            let rules = Rules {
                section: &section,
                fde: &fde,
                bias: module.bias.raw(),
                regs,
                memory,
            };
            return rules.apply(&bases, lookup, scratch);
        }
    }
    let Some(bytes) = cfi.debug_frame else {
        return Err(Failure::NoRule);
    };
    let mut section = DebugFrame::new(bytes, LittleEndian);
    section.set_address_size(8);
    let fde = section
        .fde_for_address(&bases, lookup.raw(), DebugFrame::cie_from_offset)
        .map_err(no_rule_or_damage)?;
    let rules = Rules {
        section: &section,
        fde: &fde,
        bias: module.bias.raw(),
        regs,
        memory,
    };
    rules.apply(&bases, lookup, scratch)
}

fn no_rule_or_damage(error: gimli::Error) -> Failure {
    match error {
        gimli::Error::NoUnwindInfoForAddress => Failure::NoRule,
        _ => Failure::Damaged,
    }
}

fn bases(cfi: &CfiSections<'_>) -> BaseAddresses {
    let addr = |section: Option<(ElfAddr, &[u8])>| section.map_or(0, |(addr, _)| addr.raw());
    BaseAddresses::default()
        .set_eh_frame_hdr(addr(cfi.eh_frame_hdr))
        .set_eh_frame(addr(cfi.eh_frame))
        .set_text(cfi.text.raw())
        .set_got(cfi.got.raw())
}

/// By the binary search table when there is one and it is sound, else entry by entry.
fn find_in_eh_frame<'a>(
    cfi: &CfiSections<'a>,
    section: &EhFrame<Slice<'a>>,
    bases: &BaseAddresses,
    lookup: ElfAddr,
) -> Result<Option<Fde<'a>>, Failure> {
    let by_table = cfi.eh_frame_hdr.and_then(|(_, bytes)| {
        let header = EhFrameHdr::new(bytes, LittleEndian).parse(bases, 8).ok()?;
        let table = header.table()?;
        let get_cie = EhFrame::cie_from_offset;
        Some(table.fde_for_address(section, bases, lookup.raw(), get_cie))
    });
    let found = match by_table {
        Some(Ok(fde)) => return Ok(Some(fde)),
        // The linker puts every entry into the table.
        Some(Err(gimli::Error::NoUnwindInfoForAddress)) => return Ok(None),
        _ => section.fde_for_address(bases, lookup.raw(), EhFrame::cie_from_offset),
    };
    match found.map_err(no_rule_or_damage) {
        Ok(fde) => Ok(Some(fde)),
        Err(Failure::NoRule) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// What is needed to turn rules into values.
struct Rules<'r, 'a, Section> {
    section: &'r Section,
    fde: &'r Fde<'a>,
    bias: u64,
    regs: &'r FrameRegs,
    memory: &'r dyn ReadMemory,
}

impl<'a, Section: UnwindSection<Slice<'a>>> Rules<'_, 'a, Section> {
    fn apply(
        &self,
        bases: &BaseAddresses,
        lookup: ElfAddr,
        scratch: &mut Scratch,
    ) -> Result<Caller, Failure> {
        let row = self
            .fde
            .unwind_info_for_address(self.section, bases, &mut scratch.0, lookup.raw())
            .map_err(no_rule_or_damage)?;
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => self
                .register(*register)
                .ok_or(Failure::Damaged)?
                .wrapping_add_signed(*offset),
            CfaRule::Expression(expression) => self.evaluate(expression, None)?,
        };
        let mut regs = FrameRegs::default();
        for register in DwarfReg::all() {
            regs.set(register, self.restore(row, register, cfa)?);
        }
        Ok(Caller {
            regs,
            cfa: VirtAddr::new(cfa),
            is_signal_trampoline: self.fde.is_signal_trampoline(),
        })
    }

    fn register(&self, register: Register) -> Option<u64> {
        self.regs.get(DwarfReg::new(register.0))
    }

    /// The caller's value of a register; None when it is lost.
    fn restore(&self, row: &Row, register: DwarfReg, cfa: u64) -> Result<Option<u64>, Failure> {
        let column = match register {
            DwarfReg::RIP => self.fde.cie().return_address_register(),
            other => Register(other.number()),
        };
        let Some(rule) = row.register(column) else {
            return Ok(self.unmentioned(register, cfa));
        };
        let value = match rule {
            RegisterRule::SameValue => self.register(column),
            RegisterRule::Offset(offset) => Some(self.read(cfa.wrapping_add_signed(offset))?),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(offset)),
            RegisterRule::Register(other) => self.register(other),
            RegisterRule::Expression(expression) => {
                Some(self.read(self.evaluate(&expression, Some(cfa))?)?)
            }
            RegisterRule::ValExpression(expression) => Some(self.evaluate(&expression, Some(cfa))?),
            RegisterRule::Constant(value) => Some(value),
            _ => None,
        };
        Ok(value)
    }

    /// The psABI's own rules: what a function must preserve it has not touched when nothing is said, and
    /// the stack pointer of the caller is the CFA.
    fn unmentioned(&self, register: DwarfReg, cfa: u64) -> Option<u64> {
        if register == DwarfReg::RSP {
            return Some(cfa);
        }
        DwarfReg::PRESERVED
            .contains(&register)
            .then(|| self.regs.get(register))
            .flatten()
    }

    fn read(&self, addr: u64) -> Result<u64, Failure> {
        self.memory
            .read_u64(VirtAddr::new(addr))
            .map_err(|error| Failure::Unreadable(error.first_bad))
    }

    fn evaluate(
        &self,
        expression: &UnwindExpression<usize>,
        initial: Option<u64>,
    ) -> Result<u64, Failure> {
        let damaged = |_| Failure::Damaged;
        let expression = expression.get(self.section).map_err(damaged)?;
        let mut evaluation = expression.evaluation(self.fde.cie().encoding());
        evaluation.set_max_iterations(MOST_OPERATIONS);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let mut state = evaluation.evaluate().map_err(damaged)?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let value = self.read_sized(address, size)?;
                    evaluation.resume_with_memory(Value::Generic(value))
                }
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.register(register).ok_or(Failure::Damaged)?;
                    evaluation.resume_with_register(Value::Generic(value))
                }
                EvaluationResult::RequiresRelocatedAddress(addr) => {
                    evaluation.resume_with_relocated_address(addr.wrapping_add(self.bias))
                }
                _ => return Err(Failure::Damaged),
            }
            .map_err(damaged)?;
        }
        match evaluation.as_result() {
            [piece] => match piece.location {
                Location::Address { address } => Ok(address),
                Location::Value { value } => value.to_u64(u64::MAX).map_err(damaged),
                _ => Err(Failure::Damaged),
            },
            _ => Err(Failure::Damaged),
        }
    }

    fn read_sized(&self, addr: u64, size: u8) -> Result<u64, Failure> {
        let mut bytes = [0; 8];
        let into = bytes.get_mut(..usize::from(size)).ok_or(Failure::Damaged)?;
        self.memory
            .read_exact(VirtAddr::new(addr), into)
            .map_err(|error| Failure::Unreadable(error.first_bad))?;
        Ok(u64::from_le_bytes(bytes))
    }
}
