//! One step outwards by call frame information (DWARF 5, section 6.4), all registers restored.

use super::frame::{DwarfReg, FrameRegs};
use crate::base::addr::{ElfAddr, VirtAddr};
use crate::base::memory::ReadMemory;
use crate::symbols::cfi::rows::{self, Row};
use crate::symbols::modules::Module;
use gimli::{CfaRule, EvaluationResult, Location, Register, RegisterRule, UnwindExpression, Value};

/// Expressions in rules are a handful of operations long.
const MOST_OPERATIONS: u32 = 1000;

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

impl From<rows::Failure> for Failure {
    fn from(failure: rows::Failure) -> Self {
        match failure {
            rows::Failure::NoRule => Self::NoRule,
            rows::Failure::Damaged => Self::Damaged,
        }
    }
}

/// Steps out of a frame that stands at `lookup` in `module` with these registers.
pub(super) fn step(
    module: &Module,
    lookup: ElfAddr,
    regs: &FrameRegs,
    memory: &dyn ReadMemory,
) -> Result<Caller, Failure> {
    let row = module.image.unwind_row(lookup)?;
    let rules = Rules {
        module,
        row: &row,
        regs,
        memory,
    };
    rules.apply()
}

/// What is needed to turn rules into values.
struct Rules<'r> {
    module: &'r Module,
    row: &'r Row,
    regs: &'r FrameRegs,
    memory: &'r dyn ReadMemory,
}

impl Rules<'_> {
    fn apply(&self) -> Result<Caller, Failure> {
        let cfa = match &self.row.cfa {
            CfaRule::RegisterAndOffset { register, offset } => self
                .register(*register)
                .ok_or(Failure::Damaged)?
                .wrapping_add_signed(*offset),
            CfaRule::Expression(expression) => self.evaluate(expression, None)?,
        };
        // The psABI's own rules for what is not mentioned: what a function must preserve it has not
        // touched, and the stack pointer of the caller is the CFA.
        let mut regs = self.regs.preserved();
        regs.set(DwarfReg::RSP, Some(cfa));
        for (column, rule) in &self.row.rules {
            let register = if *column == self.row.return_address {
                DwarfReg::RIP
            } else if *column == DwarfReg::RIP.number() {
                continue;
            } else {
                DwarfReg::new(*column)
            };
            if register.is_followed() {
                regs.set(register, self.restore(*column, rule, cfa)?);
            }
        }
        Ok(Caller {
            regs,
            cfa: VirtAddr::new(cfa),
            is_signal_trampoline: self.row.is_signal_trampoline,
        })
    }

    fn register(&self, register: Register) -> Option<u64> {
        self.regs.get(DwarfReg::new(register.0))
    }

    /// The caller's value of a register; None when it is lost.
    fn restore(
        &self,
        column: u16,
        rule: &RegisterRule<usize>,
        cfa: u64,
    ) -> Result<Option<u64>, Failure> {
        let value = match rule {
            RegisterRule::SameValue => self.register(Register(column)),
            RegisterRule::Offset(offset) => Some(self.read(cfa.wrapping_add_signed(*offset))?),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => self.register(*other),
            RegisterRule::Expression(expression) => {
                Some(self.read(self.evaluate(expression, Some(cfa))?)?)
            }
            RegisterRule::ValExpression(expression) => Some(self.evaluate(expression, Some(cfa))?),
            RegisterRule::Constant(value) => Some(*value),
            _ => None,
        };
        Ok(value)
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
        let mut evaluation = self
            .module
            .image
            .unwind_expression(self.row, expression)
            .ok_or(Failure::Damaged)?;
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
                    let bias = self.module.bias.raw();
                    evaluation.resume_with_relocated_address(addr.wrapping_add(bias))
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
