//! The symbols of one image, by address; indexed on first use, names left in the map.

use super::budget::MAX_SYMBOLS;
use super::image::{Image, c_string};
use super::made;
use super::name;
use super::symbol_search::NameIndex;
use crate::base::addr::ElfAddr;
use crate::base::range_map::RangeMap;
use object::elf;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Reverse;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SymbolKind {
    Function,
    /// A function whose address a resolver chooses at load time (STT_GNU_IFUNC); the symbol is the resolver.
    IndirectFunction,
    Object,
    /// Assembly labels and linker marks.
    Label,
    /// Its address is an offset in each thread's block.
    ThreadLocal,
    /// The code through which an imported function is called: `puts@plt`. No table lists it.
    Stub,
    /// A function of which only the call frame information is left: `fn_` and its link address in hex.
    Unnamed,
}

impl SymbolKind {
    pub fn is_function(self) -> bool {
        matches!(
            self,
            Self::Function | Self::IndirectFunction | Self::Stub | Self::Unnamed
        )
    }
}

/// One symbol, its name still in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol<'a> {
    pub addr: ElfAddr,
    /// 0 when the file does not tell.
    pub size: u64,
    pub kind: SymbolKind,
    pub raw: &'a [u8],
}

impl<'a> Symbol<'a> {
    /// The name for people: demangled, without hash and version.
    pub fn name(&self) -> Cow<'a, str> {
        name::display(self.raw)
    }
}

/// The index of an image's symbols; `Symbols` gives it its names.
#[derive(Debug)]
pub struct Symtab {
    /// By address; among equals the best name last.
    pub(super) entries: Vec<Entry>,
    /// The names of symbols that no table lists.
    made_names: Vec<u8>,
    pub(super) by_name: OnceCell<NameIndex>,
    is_cut: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    start: u64,
    size: u64,
    /// Where the section ends, for symbols without a size.
    section_end: u64,
    name: u32,
    table: u8,
    pub(super) kind: SymbolKind,
    binding: Binding,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Binding {
    Global,
    Weak,
    Local,
}

/// The image's symbols, ready to be asked.
#[derive(Clone, Copy, Debug)]
pub struct Symbols<'a> {
    pub(super) tab: &'a Symtab,
    tables: [Table<'a>; TABLES],
}

/// Symbols and the names they refer to.
#[derive(Clone, Copy, Default, Debug)]
struct Table<'a> {
    symbols: &'a [u8],
    names: &'a [u8],
}

/// The image's own full table, its dynamic one, the full ones of the debug file or of `.gnu_debugdata`, and
/// what no table lists.
const TABLES: usize = 4;
const MADE: u8 = 3;

impl Image {
    pub fn symbols(&self) -> Symbols<'_> {
        let mut tables = self.symbol_tables();
        let tab = self.symtab.get_or_init(|| Symtab::read(self, tables));
        tables[usize::from(MADE)].names = &tab.made_names;
        Symbols { tab, tables }
    }

    fn symbol_tables(&self) -> [Table<'_>; TABLES] {
        let full = self.symbol_table(elf::SHT_SYMTAB);
        let dynamic = self.symbol_table(elf::SHT_DYNSYM).or_else(|| {
            let (symbols, names) = self.dynamic_symbols()?;
            Some(Table { symbols, names })
        });
        let elsewhere = if full.is_none() {
            [self.debug_image(), self.mini_image()]
                .into_iter()
                .flatten()
                .find_map(|other| other.symbol_table(elf::SHT_SYMTAB))
        } else {
            None
        };
        [full, dynamic, elsewhere, None].map(Option::unwrap_or_default)
    }

    fn symbol_table(&self, kind: elf::SectionType) -> Option<Table<'_>> {
        let symbols = self
            .sections()
            .iter()
            .find(|section| section.kind == kind)?;
        let names = self.sections().get(usize::try_from(symbols.link).ok()?)?;
        Some(Table {
            symbols: self.bytes_of(symbols),
            names: self.bytes_of(names),
        })
        .filter(|table| !table.symbols.is_empty())
    }
}

impl Symtab {
    fn read<'a>(image: &'a Image, tables: [Table<'a>; TABLES]) -> Self {
        let ends = RangeMap::new(
            image
                .sections()
                .iter()
                .filter(|section| section.is_loaded())
                .map(|section| (section.addr.raw(), section.end().raw(), ())),
        );
        let mut entries = Vec::new();
        let mut is_cut = false;
        for (number, table) in (0u8..).zip(&tables) {
            let (symbols, _) = table.symbols.as_chunks::<24>();
            for symbol in symbols {
                let Some(mut entry) = Entry::read(symbol, number) else {
                    continue;
                };
                if entries.len() == MAX_SYMBOLS {
                    is_cut = true;
                    break;
                }
                entry.section_end = match ends.find(entry.start) {
                    Some((_, end, ())) => end,
                    None if ends.is_empty() => u64::MAX,
                    None => entry.start,
                };
                entries.push(entry);
            }
        }
        let made = made::symbols(image, &entries, &Names { tables });
        let room = MAX_SYMBOLS - entries.len();
        entries.extend(made.symbols.iter().take(room).map(|symbol| Entry {
            start: symbol.start,
            size: symbol.size,
            section_end: symbol.start,
            name: symbol.name,
            table: MADE,
            kind: symbol.kind,
            binding: Binding::Local,
        }));
        let mut tables: [Table<'_>; TABLES] = tables;
        tables[usize::from(MADE)].names = &made.names;
        sort(&mut entries, Names { tables });
        Self {
            entries,
            made_names: made.names,
            by_name: OnceCell::new(),
            is_cut,
        }
    }
}

/// By address; of one address the best comes last and is met first from behind.
fn sort(entries: &mut [Entry], names: Names<'_>) {
    let taste = |entry: &Entry| {
        let text = name::unversioned(names.of(entry));
        let underscores = text.iter().take_while(|&&byte| byte == b'_').count();
        (underscores, text.len())
    };
    let rank = |entry: &Entry| (entry.kind, entry.binding, Reverse(entry.size.min(1)));
    entries.sort_unstable_by(|a, b| {
        a.start
            .cmp(&b.start)
            .then_with(|| rank(b).cmp(&rank(a)))
            .then_with(|| taste(b).cmp(&taste(a)))
            .then_with(|| b.table.cmp(&a.table))
    });
}

impl Entry {
    /// Where the code of a function or a label that tells its size begins and ends.
    pub(super) fn code(&self) -> Option<(u64, u64)> {
        let is_code = self.kind.is_function() || self.kind == SymbolKind::Label;
        is_code.then_some((self.start, self.start.saturating_add(self.size)))
    }

    /// Elf64_Sym: name, info, other, section index, value, size. None for what is no definition.
    fn read(symbol: &[u8; 24], table: u8) -> Option<Self> {
        let [n0, n1, n2, n3, info, _, s0, s1, rest @ ..] = *symbol;
        let name = u32::from_le_bytes([n0, n1, n2, n3]);
        let section = elf::SymbolSection(u16::from_le_bytes([s0, s1]));
        let (value, size) = rest.split_at(8);
        let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        let is_defined = !matches!(section, elf::SHN_UNDEF | elf::SHN_ABS | elf::SHN_COMMON);
        let kind = match elf::SymbolType(info & 0xf) {
            elf::STT_FUNC => SymbolKind::Function,
            elf::STT_GNU_IFUNC => SymbolKind::IndirectFunction,
            elf::STT_OBJECT => SymbolKind::Object,
            elf::STT_NOTYPE => SymbolKind::Label,
            elf::STT_TLS => SymbolKind::ThreadLocal,
            _ => return None,
        };
        let binding = match elf::SymbolBind(info >> 4) {
            elf::STB_GLOBAL | elf::STB_GNU_UNIQUE => Binding::Global,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Local,
        };
        (is_defined && name != 0).then_some(Self {
            start: word(value)?,
            size: word(size)?,
            section_end: 0,
            name,
            table,
            kind,
            binding,
        })
    }
}

#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    tables: [Table<'a>; TABLES],
}

impl<'a> Names<'a> {
    pub(super) fn of(&self, entry: &Entry) -> &'a [u8] {
        let table = self.tables.get(usize::from(entry.table));
        table.map_or(&[], |table| c_string(table.names, entry.name))
    }
}

impl<'a> Symbols<'a> {
    pub fn len(&self) -> usize {
        self.tab.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tab.entries.is_empty()
    }

    /// Whether the file has more symbols than are read of any file.
    pub fn is_cut(&self) -> bool {
        self.tab.is_cut
    }

    pub(super) fn raw_name(&self, entry: &Entry) -> &'a [u8] {
        let names = Names {
            tables: self.tables,
        };
        names.of(entry)
    }

    pub(super) fn symbol(&self, entry: &Entry) -> Symbol<'a> {
        Symbol {
            addr: ElfAddr::new(entry.start),
            size: entry.size,
            kind: entry.kind,
            raw: self.raw_name(entry),
        }
    }

    /// The innermost symbol that covers `addr`, and how far into it that is. A symbol without a size
    /// reaches to the next one or to the end of its section; one with a size no farther than that says.
    pub fn at(&self, addr: ElfAddr) -> Option<(Symbol<'a>, u64)> {
        /// So many neighbours are tried: nested symbols are rare and never nested deep.
        const NEIGHBOURS: usize = 64;
        let at = addr.raw();
        let entries = &self.tab.entries;
        let behind = entries.partition_point(|entry| entry.start <= at);
        let next = entries.get(behind).map_or(u64::MAX, |entry| entry.start);
        let nearest = entries.get(behind.checked_sub(1)?)?.start;
        let covering = |entry: &&Entry| {
            let end = match entry.size {
                // An unsized symbol farther back ends where a nearer one begins.
                0 if entry.start == nearest => entry.section_end.min(next),
                0 => entry.start,
                size => entry.start.saturating_add(size),
            };
            at < end && entry.kind != SymbolKind::ThreadLocal
        };
        let entry = entries[..behind]
            .iter()
            .rev()
            .take(NEIGHBOURS)
            .find(covering)?;
        Some((self.symbol(entry), at - entry.start))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::symbols::test_image::{BASE, ElfBuilder};

    const OBJECT: u8 = 0x11;
    const LOCAL_FUNCTION: u8 = 0x02;
    const WEAK_FUNCTION: u8 = 0x22;
    const LABEL: u8 = 0x10;

    pub fn image() -> Image {
        let bytes = ElfBuilder::new()
            .loaded(".text", BASE, &[0x90; 0x1000])
            .loaded(".data", BASE + 0x2000, &[0; 0x100])
            .function("main", BASE + 0x100, 0x20)
            .function("_ZN5hello4main17h0123456789abcdefE", BASE + 0x200, 0x20)
            .symbol(
                "_ZN5hello3fmt17h0123456789abcdefE",
                BASE + 0x220,
                8,
                LOCAL_FUNCTION,
            )
            .symbol(
                "_ZN2io3fmt17h0123456789abcdefE",
                BASE + 0x228,
                8,
                LOCAL_FUNCTION,
            )
            .function("outer", BASE + 0x300, 0x100)
            .symbol("inner", BASE + 0x340, 0x10, LOCAL_FUNCTION)
            .symbol("label", BASE + 0x500, 0, LABEL)
            .function("__write", BASE + 0x600, 0x10)
            .symbol("write", BASE + 0x600, 0x10, WEAK_FUNCTION)
            .symbol("twice", BASE + 0x700, 8, LOCAL_FUNCTION)
            .symbol("twice", BASE + 0x708, 8, LOCAL_FUNCTION)
            .symbol("copied.constprop.0", BASE + 0x710, 8, LOCAL_FUNCTION)
            .function("old@GLIBC_2.2", BASE + 0x720, 8)
            .function("old@@GLIBC_2.9", BASE + 0x728, 8)
            .symbol("_start", BASE + 0xff0, 0, LABEL)
            .symbol("counter", BASE + 0x2000, 8, OBJECT)
            .symbol("_end", BASE + 0x2100, 0, LABEL)
            .build();
        Image::from_bytes("test", bytes).expect("image")
    }

    #[track_caller]
    fn check_at(image: &Image, offset: u64, expected: Option<(&str, u64)>) {
        let found = image.symbols().at(ElfAddr::new(BASE + offset));
        let found = found.map(|(symbol, offset)| (symbol.name().into_owned(), offset));
        assert_eq!(
            found
                .as_ref()
                .map(|(name, offset)| (name.as_str(), *offset)),
            expected
        );
    }

    #[test]
    fn an_address_belongs_to_the_innermost_symbol() {
        let image = image();
        check_at(&image, 0x0, None);
        check_at(&image, 0x100, Some(("main", 0)));
        check_at(&image, 0x11f, Some(("main", 0x1f)));
        check_at(&image, 0x120, None);
        check_at(&image, 0x330, Some(("outer", 0x30)));
        check_at(&image, 0x345, Some(("inner", 5)));
        check_at(&image, 0x350, Some(("outer", 0x50)));
        check_at(&image, 0x520, Some(("label", 0x20)));
        check_at(&image, 0x600, Some(("__write", 0)));
        check_at(&image, 0xfff, Some(("_start", 0xf)));
        check_at(&image, 0x1000, None);
        check_at(&image, 0x2004, Some(("counter", 4)));
        check_at(&image, 0x2100, None);
    }
}
