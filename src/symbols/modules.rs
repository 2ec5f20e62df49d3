//! The images of a process and where each is loaded: from a run-time address to what is known about it.

use super::dwarf::{SourceFrame, SourceLine};
use super::image::{Image, Segment};
use super::memo::Memo;
use crate::base::addr::{AddrRange, ElfAddr, FileOffset, LoadBias, VirtAddr};
use crate::base::id::ModuleId;
use crate::base::range_map::RangeMap;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

const PAGE: u64 = 4096;

/// One loaded image.
#[derive(Clone, Debug)]
pub struct Module {
    pub id: ModuleId,
    /// As the process knows it, which need not lead to the image's file any more.
    pub path: PathBuf,
    pub bias: LoadBias,
    pub image: Rc<Image>,
}

/// A part of a file in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappedPart {
    pub range: AddrRange,
    pub offset: FileOffset,
}

/// The symbol at an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolAt {
    pub module: ModuleId,
    pub name: String,
    pub offset: u64,
    pub start: VirtAddr,
    /// 0 when the file does not tell.
    pub size: u64,
}

/// In load order, the program first: the order in which unqualified names are looked up.
#[derive(Default, Debug)]
pub struct Modules {
    loaded: BTreeMap<ModuleId, Module>,
    last_id: u32,
    by_address: OnceCell<RangeMap<ModuleId>>,
    symbols: Memo<Option<Rc<SymbolAt>>>,
    lines: Memo<Option<Rc<SourceLine>>>,
    frames: Memo<Rc<[SourceFrame]>>,
}

impl Module {
    /// `libc.so.6`, or the file name of the program.
    pub fn name(&self) -> String {
        file_name(&self.path)
    }

    /// Where the image's segments lie in memory, whole pages.
    pub fn ranges(&self) -> impl Iterator<Item = AddrRange> {
        self.image.segments().iter().filter_map(|segment| {
            let (start, end) = pages(segment)?;
            let range = AddrRange::new(
                self.bias.to_virt(ElfAddr::new(start)),
                self.bias.to_virt(ElfAddr::new(end)),
            );
            (!range.is_empty()).then_some(range)
        })
    }

    /// Whether someone who writes `name` means this module: its path, its file name, its soname, or the
    /// part of the name before `.so`.
    fn answers_to(&self, name: &str) -> bool {
        let file = self.name();
        self.path == Path::new(name)
            || file == name
            || self.image.soname() == Some(name)
            || stem(&file) == name
    }
}

/// `libc` of `libc.so.6` and of `libc-2.36.so`.
fn stem(file: &str) -> &str {
    let stem = file.split_once(".so").map_or(file, |(stem, _)| stem);
    match stem.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => stem,
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// First and last link address of a segment, rounded to pages.
fn pages(segment: &Segment) -> Option<(u64, u64)> {
    let start = segment.addr.raw() & !(PAGE - 1);
    let end = segment.addr.raw().checked_add(segment.memory_size)?;
    Some((start, end.checked_next_multiple_of(PAGE)?))
}

/// The load bias of an image, from the parts of its file that are mapped.
///
/// Every part hints at a bias through each segment that its file offset may belong to; the true bias is the
/// one that all agree on. Which comes first in memory does not matter, nor whether a segment was split by
/// mprotect(2), nor whether two segments share a page of the file.
pub fn load_bias(image: &Image, parts: &[MappedPart]) -> Option<LoadBias> {
    let mut votes: BTreeMap<u64, usize> = BTreeMap::new();
    for part in parts {
        let hints = image.segments().iter().filter_map(|segment| {
            let start = segment.offset.raw() & !(PAGE - 1);
            let end = segment.offset.raw().checked_add(segment.file_size)?;
            let inside = (start..end).contains(&part.offset.raw());
            // Kept modulo 2^64, like the bias itself.
            let elf = segment
                .addr
                .raw()
                .wrapping_sub(segment.offset.raw())
                .wrapping_add(part.offset.raw());
            inside.then(|| LoadBias::between(ElfAddr::new(elf), part.range.start))
        });
        for hint in hints {
            *votes.entry(hint.raw()).or_default() += 1;
        }
    }
    let most = votes.values().max().copied()?;
    votes
        .into_iter()
        .find(|(_, count)| *count == most)
        .map(|(bias, _)| LoadBias::new(bias))
}

impl Modules {
    pub fn new() -> Self {
        Self::default()
    }

    /// The image is shared: it may serve several processes, and a restarted one.
    pub fn add(&mut self, path: PathBuf, bias: LoadBias, image: Rc<Image>) -> ModuleId {
        self.last_id += 1;
        let id = ModuleId::new(self.last_id);
        let module = Module {
            id,
            path,
            bias,
            image,
        };
        self.loaded.insert(id, module);
        self.forget();
        id
    }

    pub fn remove(&mut self, id: ModuleId) -> Option<Module> {
        self.forget();
        self.loaded.remove(&id)
    }

    pub fn clear(&mut self) {
        self.forget();
        self.loaded.clear();
    }

    fn forget(&mut self) {
        self.by_address.take();
        self.symbols.forget();
        self.lines.forget();
        self.frames.forget();
    }

    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.loaded.values()
    }

    pub fn get(&self, id: ModuleId) -> Option<&Module> {
        self.loaded.get(&id)
    }

    pub fn len(&self) -> usize {
        self.loaded.len()
    }

    pub fn is_empty(&self) -> bool {
        self.loaded.is_empty()
    }

    /// The module an address lies in, and the address as the image's file knows it.
    pub fn locate(&self, addr: VirtAddr) -> Option<(ModuleId, ElfAddr)> {
        let (module, elf) = self.module_at(addr)?;
        Some((module.id, elf))
    }

    pub fn module_at(&self, addr: VirtAddr) -> Option<(&Module, ElfAddr)> {
        let (_, module) = self.range_at(addr)?;
        Some((module, module.bias.to_elf(addr)))
    }

    /// The module an address lies in, and how far around it all addresses do.
    pub fn range_at(&self, addr: VirtAddr) -> Option<(AddrRange, &Module)> {
        let map = self.by_address.get_or_init(|| {
            RangeMap::new(self.iter().flat_map(|module| {
                module
                    .ranges()
                    .map(|range| (range.start.raw(), range.end.raw(), module.id))
            }))
        });
        let (start, end, id) = map.find(addr.raw())?;
        let range = AddrRange::new(VirtAddr::new(start), VirtAddr::new(end));
        Some((range, self.loaded.get(id)?))
    }

    /// By path, file name, soname, or file name without `.so` and version.
    pub fn find_by_name(&self, name: &str) -> Option<&Module> {
        self.iter().find(|module| module.answers_to(name))
    }

    /// The innermost symbol that covers `addr`; None when none does.
    pub fn symbol_at(&self, addr: VirtAddr) -> Option<Rc<SymbolAt>> {
        self.symbols.get_or(addr.raw(), || {
            let (module, elf) = self.module_at(addr)?;
            let (symbol, offset) = module.image.symbols().at(elf)?;
            Some(Rc::new(SymbolAt {
                module: module.id,
                name: symbol.name().into_owned(),
                offset,
                start: module.bias.to_virt(symbol.addr),
                size: symbol.size,
            }))
        })
    }

    /// The source line of an instruction.
    pub fn line_at(&self, addr: VirtAddr) -> Option<Rc<SourceLine>> {
        self.lines.get_or(addr.raw(), || {
            let (module, elf) = self.module_at(addr)?;
            module.image.dwarf()?.line(elf).map(Rc::new)
        })
    }

    /// Whether a statement begins at `addr`: where stepping by lines may stop.
    pub fn begins_statement(&self, addr: VirtAddr) -> bool {
        self.module_at(addr).is_some_and(|(module, elf)| {
            let dwarf = module.image.dwarf();
            dwarf.is_some_and(|dwarf| dwarf.begins_statement(elf))
        })
    }

    /// The first line behind the prologue of the function that begins at `entry`.
    pub fn after_prologue(&self, entry: VirtAddr) -> Option<VirtAddr> {
        let symbol = self.symbol_at(entry).filter(|symbol| symbol.offset == 0)?;
        let (module, elf) = self.module_at(entry)?;
        let end = elf.checked_add(symbol.size)?;
        let after = module.image.dwarf()?.after_prologue(elf, end)?;
        Some(module.bias.to_virt(after))
    }

    /// The functions at an instruction, inlined ones first, the real one last. Empty without line information.
    pub fn frames_at(&self, addr: VirtAddr) -> Rc<[SourceFrame]> {
        self.frames.get_or(addr.raw(), || {
            let frames = self.module_at(addr).and_then(|(module, elf)| {
                let dwarf = module.image.dwarf()?;
                Some(dwarf.frames(elf))
            });
            frames.unwrap_or_default().into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::test_image::{BASE, ElfBuilder};

    fn image() -> Rc<Image> {
        let bytes = ElfBuilder::new()
            .loaded(".text", BASE, &[0x90; 0x2000])
            .loaded(".data", BASE + 0x4000, &[0; 0x1000])
            .function("main", BASE + 0x100, 0x20)
            .build();
        Rc::new(Image::from_bytes("image", bytes).expect("image"))
    }

    fn part(start: u64, offset: u64) -> MappedPart {
        MappedPart {
            range: AddrRange::new(VirtAddr::new(start), VirtAddr::new(start + 0x1000)),
            offset: FileOffset::new(offset),
        }
    }

    #[test]
    fn all_parts_agree_on_the_bias() {
        let image = image();
        let text = image.segments()[0].offset.raw();
        let data = image.segments()[1].offset.raw();
        let bias = 0x5555_0000_0000;
        let at = |elf: u64, offset: u64| {
            let page = offset & !(PAGE - 1);
            part(bias + elf - (offset - page), page)
        };
        let text_part = at(BASE, text);
        let data_part = at(BASE + 0x4000, data);
        let found = |parts: &[MappedPart]| load_bias(&image, parts).map(LoadBias::raw);
        assert_eq!(found(&[text_part, data_part]), Some(bias));
        assert_eq!(found(&[data_part, text_part]), Some(bias));
        assert_eq!(found(&[text_part]), Some(bias));
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[part(0x1000, 1 << 40)]), None);
        // Loaded below its link address, as a prelinked library may be.
        let low = part(0x1000, text & !(PAGE - 1));
        let expected = 0x1000u64.wrapping_sub(BASE - (text & (PAGE - 1)));
        assert_eq!(found(&[low]), Some(expected));
    }

    #[test]
    fn addresses_lead_to_modules_and_symbols() {
        let mut modules = Modules::new();
        let first = modules.add("/bin/prog".into(), LoadBias::new(0), image());
        let second = modules.add("/lib/libx-1.2.so".into(), LoadBias::new(0x10_0000), image());
        let at = |addr| modules.locate(VirtAddr::new(addr));
        assert_eq!(at(BASE), Some((first, ElfAddr::new(BASE))));
        assert_eq!(
            at(BASE + 0x10_0010),
            Some((second, ElfAddr::new(BASE + 0x10)))
        );
        assert_eq!(at(BASE + 0x3000), None);
        let symbol = modules
            .symbol_at(VirtAddr::new(BASE + 0x10_0104))
            .expect("symbol");
        assert_eq!((symbol.name.as_str(), symbol.offset), ("main", 4));
        assert_eq!(
            (symbol.module, symbol.start.raw()),
            (second, BASE + 0x10_0100)
        );
        assert!(modules.symbol_at(VirtAddr::new(BASE)).is_none());
        modules.remove(second);
        assert!(modules.symbol_at(VirtAddr::new(BASE + 0x10_0104)).is_none());
    }

    #[track_caller]
    fn check_stem(file: &str, expected: &str) {
        assert_eq!(stem(file), expected);
    }

    #[test]
    fn libraries_are_known_by_short_names() {
        check_stem("libc.so.6", "libc");
        check_stem("libc-2.36.so", "libc");
        check_stem("ld-linux-x86-64.so.2", "ld-linux-x86");
        check_stem("libfoo-bar.so", "libfoo-bar");
        check_stem("prog", "prog");
        let mut modules = Modules::new();
        let id = modules.add("/lib/libx-1.2.so".into(), LoadBias::new(0), image());
        for name in ["libx", "libx-1.2.so", "/lib/libx-1.2.so"] {
            assert_eq!(modules.find_by_name(name).map(|found| found.id), Some(id));
        }
        assert!(modules.find_by_name("lib").is_none());
    }
}
