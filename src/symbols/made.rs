//! Symbols that no table lists: the stubs for imported functions, and, in stripped files, the functions that
//! only the call frame information tells of. None of them ever stands before a real symbol.

use super::image::Image;
use super::imports::SlotTarget;
use super::name;
use super::symtab::{Entry, Names, SymbolKind};
use std::io::Write;

pub(super) struct Made {
    pub(super) symbols: Vec<Symbol>,
    /// NUL-terminated, one behind the other.
    pub(super) names: Vec<u8>,
}

pub(super) struct Symbol {
    pub(super) start: u64,
    pub(super) size: u64,
    /// Where its name begins.
    pub(super) name: u32,
    pub(super) kind: SymbolKind,
}

impl Made {
    fn add(&mut self, start: u64, size: u64, kind: SymbolKind, write: impl FnOnce(&mut Vec<u8>)) {
        /// Many stubs may share one huge name.
        const MOST_BYTES: u32 = 256 << 20;
        let Some(name) = u32::try_from(self.names.len())
            .ok()
            .filter(|at| *at < MOST_BYTES)
        else {
            return;
        };
        write(&mut self.names);
        self.names.push(0);
        self.symbols.push(Symbol {
            start,
            size,
            name,
            kind,
        });
    }
}

/// `known` are the symbols that tables list.
pub(super) fn symbols(image: &Image, known: &[Entry], names: &Names<'_>) -> Made {
    let mut made = Made {
        symbols: Vec::new(),
        names: Vec::new(),
    };
    let mut taken: Vec<(u64, u64, &Entry)> = known
        .iter()
        .filter_map(|entry| {
            let (start, end) = entry.code()?;
            Some((start, end, entry))
        })
        .collect();
    taken.sort_by_key(|(start, _, _)| *start);
    add_stubs(image, &taken, names, &mut made);
    add_unnamed(image, &taken, &mut made);
    made
}

type Taken<'e> = [(u64, u64, &'e Entry)];

fn begins_at(taken: &Taken<'_>, addr: u64) -> bool {
    taken
        .binary_search_by_key(&addr, |(start, _, _)| *start)
        .is_ok()
}

/// The name of the function that the one at `addr` chooses: both are names of that address.
fn chosen_by<'n>(taken: &Taken<'_>, addr: u64, names: &Names<'n>) -> Option<&'n [u8]> {
    let first = taken.partition_point(|(start, _, _)| *start < addr);
    /// Names of one place that are looked at: stubs and names of a damaged file may all be at one.
    const MOST: usize = 64;
    let here = taken.get(first..)?.iter().take(MOST);
    here.take_while(|(start, _, _)| *start == addr)
        .map(|(_, _, entry)| (entry.kind, name::unversioned(names.of(entry))))
        .min_by_key(|(kind, name)| {
            let underscores = name.iter().take_while(|&&byte| byte == b'_').count();
            (*kind != SymbolKind::IndirectFunction, underscores)
        })
        .map(|(_, name)| name)
}

fn add_stubs(image: &Image, taken: &Taken<'_>, names: &Names<'_>, made: &mut Made) {
    for stub in image.stubs() {
        if begins_at(taken, stub.addr) {
            continue;
        }
        made.add(stub.addr, stub.size, SymbolKind::Stub, |to| {
            match stub.target {
                SlotTarget::Name(name) => to.extend(name::unversioned(name)),
                SlotTarget::ResolvedBy(addr) => match chosen_by(taken, addr.raw(), names) {
                    Some(chosen) => to.extend(chosen),
                    // Writing to memory cannot fail. objdump calls it so.
                    None => drop(write!(to, "*ABS*+{:#x}", addr.raw())),
                },
            }
            to.extend(name::STUB);
        });
    }
}

/// What begins inside listed code is a part of that.
fn add_unnamed(image: &Image, taken: &Taken<'_>, made: &mut Made) {
    let stubs: Vec<(u64, u64)> = image
        .stub_sections()
        .map(|section| (section.addr.raw(), section.end().raw()))
        .collect();
    let mut before = taken.iter().peekable();
    let mut covered = 0;
    let mut last = None;
    for extent in &image.eh_frame_extents().all {
        while let Some((_, end, _)) = before.next_if(|(start, _, _)| *start <= extent.start) {
            covered = covered.max(*end);
        }
        let is_stub = stubs
            .iter()
            .any(|(start, end)| (*start..*end).contains(&extent.start));
        let is_known = extent.start < covered || begins_at(taken, extent.start);
        if is_stub || is_known || last == Some(extent.start) {
            continue;
        }
        last = Some(extent.start);
        let size = extent.end - extent.start;
        made.add(extent.start, size, SymbolKind::Unnamed, |to| {
            drop(write!(to, "fn_{:x}", extent.start));
        });
    }
}
