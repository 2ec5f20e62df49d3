//! The dynamic section: what the loader needs, and thus what even a file without section headers has.

use super::image::{Image, c_string};
use crate::base::addr::ElfAddr;
use object::elf;

/// Hostile sections may have no end.
const MOST_ENTRIES: usize = 4096;
const SYMBOL_SIZE: u64 = 24;

impl Image {
    /// The name other images know a library by.
    pub fn soname(&self) -> Option<&str> {
        let strings = self.loaded_bytes(self.dynamic_value(elf::DT_STRTAB)?)?;
        let start = u32::try_from(self.dynamic_value(elf::DT_SONAME)?.raw()).ok()?;
        std::str::from_utf8(c_string(strings, start))
            .ok()
            .filter(|name| !name.is_empty())
    }

    fn dynamic_value(&self, wanted: elf::DynamicTag) -> Option<ElfAddr> {
        let (addr, size) = self.extra().dynamic?;
        let bytes = self.loaded_bytes(addr)?;
        let bytes = &bytes[..bytes.len().min(usize::try_from(size).ok()?)];
        let (entries, _) = bytes.as_chunks::<16>();
        entries
            .iter()
            .take(MOST_ENTRIES)
            .map(|entry| {
                let (tag, value) = entry.split_at(8);
                (little(tag), little(value))
            })
            .take_while(|(tag, _)| *tag != 0)
            .find(|(tag, _)| i64::from_le_bytes(tag.to_le_bytes()) == wanted.0)
            .map(|(_, value)| ElfAddr::new(value))
    }

    /// The dynamic symbols and their names, without the help of section headers.
    pub(super) fn dynamic_symbols(&self) -> Option<(&[u8], &[u8])> {
        let table = self.dynamic_value(elf::DT_SYMTAB)?;
        let names = self.dynamic_value(elf::DT_STRTAB)?;
        // The number of symbols is not told; a System V hash table has it, else the names, which every
        // linker puts right behind the symbols, end the table.
        let hashed = self.dynamic_value(elf::DT_HASH).and_then(|hash| {
            let count = self.loaded_bytes(hash)?.get(4..8)?;
            u64::from(u32::from_le_bytes(count.try_into().ok()?)).checked_mul(SYMBOL_SIZE)
        });
        let size = hashed.or_else(|| names.offset_from(table))?;
        let symbols = self.loaded_bytes(table)?;
        let size = usize::try_from(size).ok()?.min(symbols.len());
        Some((&symbols[..size], self.loaded_bytes(names)?))
    }
}

fn little(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}
