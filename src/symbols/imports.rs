//! What an image imports: the slots of its global offset table that the loader fills, and the stubs of its
//! procedure linkage table, which jump through them.

use super::budget::MAX_SYMBOLS;
use super::image::{Image, c_string};
use super::section::Section;
use crate::base::addr::ElfAddr;
use memchr::memmem::Finder;
use object::elf;

/// A word of memory that holds the address of a function once the loader has filled it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot<'a> {
    pub addr: ElfAddr,
    pub target: SlotTarget<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotTarget<'a> {
    /// The symbol of that name, wherever it is defined.
    Name(&'a [u8]),
    /// What the function at this address of the same image returns (STT_GNU_IFUNC).
    ResolvedBy(ElfAddr),
}

/// A piece of code that jumps to an imported function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stub<'a> {
    pub(super) addr: u64,
    pub(super) size: u64,
    pub(super) target: SlotTarget<'a>,
}

const RELA_SIZE: usize = 24;
const SYMBOL_SIZE: usize = 24;

/// Ordinary images have two sections of relocations and at most four with stubs; those of a damaged one may
/// all claim the whole file.
const MAX_SECTIONS: usize = 16;

/// The relocations of one section, with the symbols they refer to.
#[derive(Clone, Copy)]
struct Relocations<'a> {
    entries: &'a [[u8; RELA_SIZE]],
    symbols: &'a [u8],
    names: &'a [u8],
}

impl Image {
    /// The slots for functions, in order of address.
    pub fn import_slots(&self) -> Vec<Slot<'_>> {
        let sections = self.sections().iter();
        let found = sections.filter(|section| section.kind == elf::SHT_RELA && section.is_loaded());
        let mut slots = Vec::new();
        for section in found.take(MAX_SECTIONS) {
            let relocations = self.relocations(section);
            let entries = relocations.entries.iter().take(MAX_SYMBOLS);
            slots.extend(entries.filter_map(|entry| relocations.slot(entry)));
        }
        slots.sort_by_key(|slot| slot.addr);
        slots
    }

    fn relocations<'a>(&'a self, section: &'a Section) -> Relocations<'a> {
        let linked = |section: &Section| self.sections().get(usize::try_from(section.link).ok()?);
        let symbols = linked(section);
        let names = symbols.and_then(linked);
        let bytes = |section: Option<&'a Section>| section.map_or(&[][..], |it| self.bytes_of(it));
        Relocations {
            entries: self.bytes_of(section).as_chunks::<RELA_SIZE>().0,
            symbols: bytes(symbols),
            names: bytes(names),
        }
    }

    /// The sections that hold stubs.
    pub(super) fn stub_sections(&self) -> impl Iterator<Item = &Section> {
        let sections = self.sections().iter();
        let found = sections.filter(|section| section.is_loaded());
        found
            .filter(|section| is_plt(self.section_name(section)))
            .take(MAX_SECTIONS)
    }

    /// The stubs of all procedure linkage tables, in no order.
    pub(super) fn stubs(&self) -> Vec<Stub<'_>> {
        let slots = self.import_slots();
        let lazy = self
            .section(".rela.plt")
            .map(|section| self.relocations(section));
        let mut stubs = Vec::new();
        for section in self.stub_sections() {
            let code = self.bytes_of(section);
            let size = stub_size(section.entry_size, code);
            let starts = (section.addr.raw()..).step_by(size);
            let pieces = code.chunks(size).zip(starts);
            for (code, addr) in pieces.take(MAX_SYMBOLS) {
                let target = match jumps_through(code, addr) {
                    Some(slot) => slots
                        .binary_search_by_key(&slot, |slot| slot.addr.raw())
                        .ok()
                        .and_then(|at| Some(slots.get(at)?.target)),
                    None => pushed_number(code).and_then(|number| lazy?.target(number)),
                };
                if let Some(target) = target {
                    stubs.push(Stub {
                        addr,
                        size: code.len() as u64,
                        target,
                    });
                }
            }
        }
        stubs
    }
}

impl<'a> Relocations<'a> {
    fn target(&self, number: u32) -> Option<SlotTarget<'a>> {
        let entry = self.entries.get(usize::try_from(number).ok()?)?;
        self.slot(entry).map(|slot| slot.target)
    }

    /// Elf64_Rela: place, symbol and type, addend. None for what is no function's.
    fn slot(&self, entry: &[u8; RELA_SIZE]) -> Option<Slot<'a>> {
        let word = |at: usize| {
            let bytes = entry.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let info = word(8)?;
        let kind = u32::try_from(info & 0xffff_ffff).ok()?;
        let target = match elf::RelocationType(kind) {
            elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_GLOB_DAT => {
                let number = usize::try_from(info >> 32).ok()?;
                let symbol = self.symbols.get(number.checked_mul(SYMBOL_SIZE)?..)?;
                let name = u32::from_le_bytes(*symbol.first_chunk::<4>()?);
                Some(c_string(self.names, name))
                    .filter(|name| !name.is_empty())
                    .map(SlotTarget::Name)?
            }
            elf::R_X86_64_IRELATIVE => SlotTarget::ResolvedBy(ElfAddr::new(word(16)?)),
            _ => return None,
        };
        Some(Slot {
            addr: ElfAddr::new(word(0)?),
            target,
        })
    }
}

/// Whether a section of that name holds stubs.
fn is_plt(name: &[u8]) -> bool {
    name == b".plt" || name.starts_with(b".plt.") || name == b".iplt"
}

/// As the section says; where it does not, stubs of a bare jump take eight bytes and others sixteen.
fn stub_size(told: u64, code: &[u8]) -> usize {
    const SHORT: usize = 8;
    let is_jump = |at: usize| code.get(at..).is_some_and(|code| code.starts_with(&JUMP));
    match usize::try_from(told) {
        Ok(size @ 8..=64) => size,
        _ if is_jump(0) && (code.len() == SHORT || is_jump(SHORT)) => SHORT,
        _ => 2 * SHORT,
    }
}

const JUMP: [u8; 2] = [0xff, 0x25];

/// `jmp *slot(%rip)`, wherever in a stub.
fn jumps_through(code: &[u8], addr: u64) -> Option<u64> {
    let at = Finder::new(&JUMP).find(code)?;
    let displacement = code.get(at + 2..)?.first_chunk::<4>()?;
    let next = addr.wrapping_add(at as u64 + 6);
    Some(next.wrapping_add_signed(i64::from(i32::from_le_bytes(*displacement))))
}

/// A lazy stub of a table that is made for indirect branch tracking: `endbr64; push $number; jmp`.
fn pushed_number(code: &[u8]) -> Option<u32> {
    let rest = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa, 0x68])?;
    Some(u32::from_le_bytes(*rest.first_chunk::<4>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_are_read_from_their_code() {
        let plain = [
            0xff, 0x25, 0x10, 0, 0, 0, 0x68, 1, 0, 0, 0, 0xe9, 0, 0, 0, 0,
        ];
        assert_eq!(jumps_through(&plain, 0x1000), Some(0x1016));
        assert_eq!(pushed_number(&plain), None);
        let tracked = [
            0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xf0, 0xff, 0xff, 0xff,
        ];
        assert_eq!(jumps_through(&tracked, 0x1000), Some(0xffb));
        let lazy = [
            0xf3, 0x0f, 0x1e, 0xfa, 0x68, 3, 0, 0, 0, 0xf2, 0xe9, 0, 0, 0, 0, 0x90,
        ];
        assert_eq!(jumps_through(&lazy, 0x1000), None);
        assert_eq!(pushed_number(&lazy), Some(3));
        assert_eq!(jumps_through(&[0xff, 0x25, 1], 0), None);
        assert_eq!(
            stub_size(0, &[&JUMP[..], &[0; 6], &JUMP, &[0; 6]].concat()),
            8
        );
        assert_eq!(stub_size(0, &plain), 16);
        assert_eq!(stub_size(24, &plain), 24);
        assert!(is_plt(b".plt.sec") && !is_plt(b".pltx"));
    }

    #[test]
    fn this_program_imports_by_name() {
        let image = Image::open(std::path::Path::new("/proc/self/exe")).expect("image");
        let slots = image.import_slots();
        let named = |slot: &Slot<'_>| slot.target == SlotTarget::Name(b"memcpy");
        assert!(slots.iter().any(named));
    }
}
