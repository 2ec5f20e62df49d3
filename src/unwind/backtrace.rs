//! The call chain as a person reads it: named, with source lines, inlined functions as frames of their own.

use super::frame::{FramePc, Registers, StopReason};
use super::walk::{Walked, walk};
use crate::base::addr::VirtAddr;
use crate::base::id::ModuleId;
use crate::base::memory::ReadMemory;
use crate::symbols::dwarf::SourceLine;
use crate::symbols::modules::Modules;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedFrame {
    /// The physical frame it belongs to, by its place in `Walked::frames`.
    pub physical: usize,
    pub pc: FramePc,
    pub sp: Option<VirtAddr>,
    pub module: Option<ModuleId>,
    /// The inlined function, or the symbol.
    pub function: Option<String>,
    /// How far `pc` is behind the symbol's start; None for an inlined function.
    pub offset: Option<u64>,
    pub at: Option<SourceLine>,
    pub inlined: bool,
    pub is_signal_trampoline: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Backtrace {
    pub frames: Vec<NamedFrame>,
    /// What the names were given to, registers included.
    pub walked: Walked,
}

impl Backtrace {
    pub fn end(&self) -> StopReason {
        self.walked.end
    }
}

/// At most `max` physical frames, and the functions inlined into them.
pub fn backtrace(
    modules: &Modules,
    memory: &dyn ReadMemory,
    start: &Registers,
    max: usize,
) -> Backtrace {
    let walked = walk(modules, memory, start, max);
    let mut frames = Vec::new();
    for (physical, frame) in walked.frames.iter().enumerate() {
        let lookup = frame.pc.lookup();
        let symbol = modules.symbol_at(lookup);
        let offset = symbol
            .as_ref()
            .and_then(|symbol| frame.pc.addr().offset_from(symbol.start));
        let symbol_name = symbol.map(|symbol| symbol.name.clone());
        let module = modules.module_at(lookup).map(|(module, _)| module.id);
        let blank = NamedFrame {
            physical,
            pc: frame.pc,
            sp: frame.regs.sp(),
            module,
            function: symbol_name.clone(),
            offset,
            at: None,
            inlined: false,
            is_signal_trampoline: frame.is_signal_trampoline,
        };
        let sources = modules.frames_at(lookup);
        if sources.is_empty() {
            frames.push(blank);
            continue;
        }
        for source in sources.iter() {
            let symbol_name = symbol_name.clone().filter(|_| !source.inlined);
            frames.push(NamedFrame {
                function: symbol_name.or_else(|| source.function.clone()),
                offset: offset.filter(|_| !source.inlined),
                at: source.at.clone(),
                inlined: source.inlined,
                ..blank.clone()
            });
        }
    }
    Backtrace { frames, walked }
}
