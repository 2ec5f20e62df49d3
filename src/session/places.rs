//! Where things are: names for addresses, addresses for names, the way that led here.

use super::error::{Error, Result};
use super::info::{BacktraceInfo, FrameInfo, Place, SymbolInfo};
use super::modules::base_name;
use super::request::Where;
use super::session::Session;
use crate::base::addr::VirtAddr;
use crate::symbols;
use crate::symbols::location;
use crate::symbols::pattern::Pattern;
use crate::symbols::resolve::{self, Purpose, Resolved};
use crate::symbols::symtab::SymbolKind;
use crate::unwind::backtrace;
use crate::unwind::frame::StopReason;

/// What a breakpoint's location stands for.
#[derive(Debug)]
pub(super) struct ResolvedBreakpoint {
    pub(super) addrs: Vec<VirtAddr>,
    pub(super) note: Option<String>,
}

impl Session {
    /// The one address that `place` means; several are an error that lists them.
    pub fn resolve(&mut self, place: &Where) -> Result<VirtAddr> {
        self.resolve_sized(place).map(|(addr, _)| addr)
    }

    /// The same, with the size of the symbol that stands just there; 0 when there is none.
    pub(super) fn resolve_sized(&mut self, place: &Where) -> Result<(VirtAddr, u64)> {
        let text = match place {
            Where::Addr(addr) => return Ok((*addr, 0)),
            Where::Text(text) => text,
        };
        let location = location::parse(text)?;
        let resolved = self.resolve_all(&location, Purpose::Address)?;
        match resolved.as_slice() {
            [one] => {
                let starts_here = one.symbol.as_ref().is_some_and(|(_, offset)| *offset == 0);
                Ok((one.addr, if starts_here { one.size } else { 0 }))
            }
            several => Err(crate::symbols::error::Error::Ambiguous {
                name: text.clone(),
                candidates: several.iter().map(in_words).collect(),
            }
            .into()),
        }
    }

    fn resolve_all(
        &mut self,
        location: &location::Location,
        purpose: Purpose,
    ) -> Result<Vec<Resolved>> {
        let before_entry = self.is_before_entry();
        let modules = self.fresh_modules()?;
        let mut all = modules.iter();
        let waits = before_entry && all.any(|module| module.image.interpreter().is_some());
        resolve::resolve(modules, location, purpose).map_err(|error| match error {
            symbols::error::Error::NoSymbol { .. } if waits => Error::NotLoaded(error),
            error => error.into(),
        })
    }

    pub(super) fn resolve_breakpoint(&mut self, place: &Where) -> Result<ResolvedBreakpoint> {
        let text = match place {
            Where::Addr(addr) => {
                return Ok(ResolvedBreakpoint {
                    addrs: vec![*addr],
                    note: None,
                });
            }
            Where::Text(text) => text,
        };
        let location = location::parse(text)?;
        let resolved = self.resolve_all(&location, Purpose::Breakpoint)?;
        let moved = resolved.iter().find_map(|place| {
            let line = place.line.as_ref()?;
            Some((place.moved_from?, line.line))
        });
        let mut notes = Vec::new();
        if let Some((wanted, line)) = moved {
            notes.push(format!("line {wanted} has no code, moved to {line}"));
        }
        if resolved.len() > 1 {
            notes.push(format!("{} places", resolved.len()));
        }
        Ok(ResolvedBreakpoint {
            addrs: resolved.iter().map(|place| place.addr).collect(),
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        })
    }

    /// The one address to run to: a function stands for its first line, as for a breakpoint.
    pub fn resolve_goal(&mut self, place: &Where) -> Result<VirtAddr> {
        let resolved = self.resolve_breakpoint(place)?;
        match resolved.addrs.as_slice() {
            [one] => Ok(*one),
            several => Err(crate::symbols::error::Error::Ambiguous {
                name: place.to_string(),
                candidates: several.iter().map(ToString::to_string).collect(),
            }
            .into()),
        }
    }

    pub(super) fn main_address(&mut self) -> Result<VirtAddr> {
        let place = Where::Text("main".to_owned());
        let resolved = self.resolve_breakpoint(&place)?;
        // There is one, or resolving had failed.
        resolved
            .addrs
            .first()
            .copied()
            .ok_or(super::error::Error::NoProcess)
    }

    pub(super) fn line_of(&mut self, addr: VirtAddr) -> Result<Option<(String, u32)>> {
        let line = self.modules_at(addr)?.line_at(addr);
        Ok(line.map(|line| (line.file.clone(), line.line)))
    }

    pub(super) fn begins_statement(&mut self, addr: VirtAddr) -> Result<bool> {
        Ok(self.modules_at(addr)?.begins_statement(addr))
    }

    pub(super) fn after_prologue(&mut self, entry: VirtAddr) -> Result<Option<VirtAddr>> {
        Ok(self.modules_at(entry)?.after_prologue(entry))
    }

    pub fn symbol_at(&mut self, addr: VirtAddr) -> Result<Option<(String, u64)>> {
        let symbol = self.modules_at(addr)?.symbol_at(addr);
        Ok(symbol.map(|symbol| (symbol.name.clone(), symbol.offset)))
    }

    pub fn place(&mut self, addr: VirtAddr) -> Result<Place> {
        let modules = self.modules_at(addr)?;
        Ok(Place {
            pc: addr,
            symbol: modules
                .symbol_at(addr)
                .map(|symbol| (symbol.name.clone(), symbol.offset)),
            line: modules
                .line_at(addr)
                .map(|line| (base_name(&line.file), line.line)),
        })
    }

    /// At most `limit`, and whether there are more.
    pub fn symbols(
        &mut self,
        pattern: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<SymbolInfo>, bool)> {
        let pattern = Pattern::new(pattern.unwrap_or(""));
        let modules = self.fresh_modules()?;
        let mut found = Vec::new();
        let mut more = false;
        for module in modules.iter() {
            let room = limit - found.len();
            let (symbols, cut) = module.image.symbols().matching(&pattern, room);
            more |= cut;
            found.extend(symbols.into_iter().map(|symbol| SymbolInfo {
                addr: module.bias.to_virt(symbol.addr),
                size: symbol.size,
                kind: kind_name(symbol.kind),
                name: symbol.name().into_owned(),
                module: module.name(),
            }));
        }
        Ok((found, more))
    }

    /// At most `max` physical frames of the selected thread, innermost first.
    pub fn backtrace(&mut self, max: usize) -> Result<BacktraceInfo> {
        let registers = self.registers()?;
        let start = std::array::from_fn(|number| {
            let number = u16::try_from(number).unwrap_or(u16::MAX);
            registers.dwarf(number).unwrap_or_default()
        });
        self.fresh_modules()?;
        let modules = std::mem::take(&mut self.modules.loaded);
        let walked = self
            .stopped()
            .map(|stopped| backtrace::backtrace(&modules, stopped, &start, max));
        self.modules.loaded = modules;
        let walked = walked?;
        let frames = walked
            .frames
            .iter()
            .zip(0..)
            .map(|(frame, index)| FrameInfo {
                index,
                pc: frame.pc.addr(),
                sp: frame.sp,
                symbol: frame
                    .function
                    .as_ref()
                    .map(|name| (name.clone(), frame.offset.unwrap_or(0))),
                file: frame.at.as_ref().map(|at| base_name(&at.file)),
                line: frame.at.as_ref().map(|at| at.line),
                inlined: frame.inlined,
            });
        Ok(BacktraceInfo {
            frames: frames.collect(),
            truncated: why_no_more(walked.end()),
        })
    }
}

fn why_no_more(end: StopReason) -> Option<String> {
    match end {
        StopReason::Outermost => None,
        StopReason::NoRule(pc) => Some(format!("nothing tells how to unwind from {pc}")),
        StopReason::Unreadable(addr) => Some(format!("the stack is not readable at {addr}")),
        StopReason::Cycle => Some("the frames repeat: damaged stack".to_owned()),
        StopReason::Limit => Some("more frames: ask for a larger maximum".to_owned()),
        StopReason::Damaged(pc) => Some(format!("damaged unwind information for {pc}")),
    }
}

fn kind_name(kind: SymbolKind) -> &'static str {
    match kind {
        SymbolKind::Function => "function",
        SymbolKind::IndirectFunction => "ifunc",
        SymbolKind::Object => "object",
        SymbolKind::Label => "label",
        SymbolKind::ThreadLocal => "tls",
        SymbolKind::Stub => "plt",
        SymbolKind::Unnamed => "unnamed",
    }
}

fn in_words(place: &Resolved) -> String {
    let mut words = place.addr.to_string();
    if let Some(line) = &place.line {
        words.push_str(&format!(" {}:{}", base_name(&line.file), line.line));
    }
    words
}
