//! The modules of the process: read from its mappings, when somebody asks, and kept up to date.

use super::error::Result;
use super::info::{MapInfo, ModuleInfo};
use super::session::{Debuggee, Session};
use crate::base::addr::{AddrRange, FileOffset, VirtAddr};
use crate::base::memory::ReadMemory;
use crate::os::proc::{self, MappedPath, Mapping};
use crate::symbols::image::Image;
use crate::symbols::modules::{MappedPart, Modules, load_bias};
use crate::tracee;
use crate::tracee::stopped::Stopped;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The loaded images, read from the process's mappings when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct ModuleTable {
    pub(super) loaded: Modules,
    /// Device and inode of every image read so far: a restarted program's libraries are the same.
    images: BTreeMap<Identity, std::result::Result<Rc<Image>, String>>,
    /// Modules whose file could not be used, with the reason.
    unusable: Vec<Unusable>,
    state: Freshness,
}

type Identity = (i32, i32, u64);

#[derive(Debug)]
struct Unusable {
    path: PathBuf,
    range: AddrRange,
    why: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Freshness {
    /// Nothing is known.
    #[default]
    Empty,
    /// True at an earlier stop; libraries may have come or gone since.
    Old,
    /// Read at this stop.
    Fresh,
}

impl Session {
    pub(super) fn forget_modules(&mut self) {
        self.modules.state = Freshness::Empty;
    }

    /// The process has run: what is mapped may have changed.
    pub(super) fn age_modules(&mut self) {
        if self.modules.state == Freshness::Fresh {
            self.modules.state = Freshness::Old;
        }
    }

    /// The modules as they are at this stop.
    pub(super) fn fresh_modules(&mut self) -> Result<&Modules> {
        self.stopped()?;
        if self.modules.state != Freshness::Fresh {
            let mappings = self.mappings()?;
            self.update_modules(&mappings)?;
            self.modules.state = Freshness::Fresh;
        }
        Ok(&self.modules.loaded)
    }

    /// Modules that cover `addr`, read anew only when no known one does: code that was mapped at an
    /// earlier stop is nearly always still there, and a listener asks at every step.
    pub(super) fn modules_at(&mut self, addr: VirtAddr) -> Result<&Modules> {
        let known =
            self.modules.state != Freshness::Empty && self.modules.loaded.module_at(addr).is_some();
        if known {
            return Ok(&self.modules.loaded);
        }
        self.fresh_modules()
    }

    pub(super) fn mappings(&mut self) -> Result<Vec<Mapping>> {
        let stopped = self.stopped()?;
        Ok(stopped
            .facts()
            .maps()
            .map_err(|source| tracee::error::Error::System {
                doing: "reading the maps",
                source,
            })?)
    }

    fn update_modules(&mut self, mappings: &[Mapping]) -> Result<()> {
        let mut files: BTreeMap<Identity, Vec<&Mapping>> = BTreeMap::new();
        let mut vdso = None;
        for mapping in mappings {
            match &mapping.path {
                MappedPath::File(..) => {
                    let identity = (mapping.device.0, mapping.device.1, mapping.inode);
                    files.entry(identity).or_default().push(mapping);
                }
                MappedPath::Special(name) if name == "[vdso]" => vdso = Some(mapping),
                MappedPath::Special(_) | MappedPath::Anonymous => {}
            }
        }
        // The program first, then libraries in the order of their addresses.
        let facts = self.stopped()?.facts();
        let program = facts.auxv(proc::AT_PHDR).map(VirtAddr::new);
        let mut order: Vec<(Identity, Vec<&Mapping>)> = files
            .into_iter()
            .filter(|(_, parts)| parts.iter().any(|part| part.executable))
            .collect();
        order.sort_by_key(|(_, parts)| {
            let is_program =
                program.is_some_and(|at| parts.iter().any(|part| part.range.contains(at)));
            (!is_program, parts.first().map(|part| part.range.start))
        });
        let mut modules = Modules::new();
        let mut unusable = Vec::new();
        for (identity, parts) in order {
            self.add_file(identity, &parts, &mut modules, &mut unusable);
        }
        if let Some(mapping) = vdso {
            self.add_vdso(mapping, &mut modules);
        }
        if !same(&modules, &self.modules.loaded) {
            self.modules.loaded = modules;
        }
        self.modules.unusable = unusable;
        Ok(())
    }

    fn add_file(
        &mut self,
        identity: Identity,
        parts: &[&Mapping],
        modules: &mut Modules,
        unusable: &mut Vec<Unusable>,
    ) {
        let Some(first) = parts.first() else {
            return;
        };
        let MappedPath::File(path, deleted) = &first.path else {
            return;
        };
        let Debuggee::Stopped(stopped) = &self.debuggee else {
            return;
        };
        let image = self
            .modules
            .images
            .entry(identity)
            .or_insert_with(|| open_image(stopped, first, path, *deleted).map(Rc::new))
            .clone();
        let mapped: Vec<MappedPart> = parts
            .iter()
            .map(|part| MappedPart {
                range: part.range,
                offset: FileOffset::new(part.offset),
            })
            .collect();
        let problem = match image {
            Err(why) => why,
            Ok(image) => match load_bias(&image, &mapped) {
                Some(bias) => {
                    modules.add(path.clone(), bias, image);
                    return;
                }
                None => "no segment of the file is mapped as it says".to_owned(),
            },
        };
        let last = parts.last().map_or(first.range.end, |part| part.range.end);
        unusable.push(Unusable {
            path: path.clone(),
            range: AddrRange::new(first.range.start, last),
            why: problem,
        });
    }

    /// The kernel's own shared object: it has no file, its bytes are in the process.
    fn add_vdso(&mut self, mapping: &Mapping, modules: &mut Modules) {
        const LIMIT: u64 = 1 << 20;
        let known = (0, 0, mapping.range.start.raw());
        if !self.modules.images.contains_key(&known) {
            let size = usize::try_from(mapping.range.len().min(LIMIT)).unwrap_or(0);
            let mut bytes = vec![0; size];
            let Ok(stopped) = self.stopped() else {
                return;
            };
            let got = stopped.read_partial(mapping.range.start, &mut bytes);
            bytes.truncate(got);
            let image = Image::from_bytes("[vdso]", bytes)
                .map(Rc::new)
                .map_err(|error| error.to_string());
            self.modules.images.insert(known, image);
        }
        if let Some(Ok(image)) = self.modules.images.get(&known) {
            let part = MappedPart {
                range: mapping.range,
                offset: FileOffset::new(0),
            };
            if let Some(bias) = load_bias(image, &[part]) {
                modules.add(PathBuf::from("[vdso]"), bias, Rc::clone(image));
            }
        }
    }

    pub fn modules(&mut self) -> Result<Vec<ModuleInfo>> {
        self.fresh_modules()?;
        let modules = &self.modules;
        let usable = modules.loaded.iter().map(|module| {
            let ranges: Vec<AddrRange> = module.ranges().collect();
            ModuleInfo {
                name: module.name(),
                path: module.path.display().to_string(),
                start: ranges
                    .iter()
                    .map(|range| range.start)
                    .min()
                    .unwrap_or_default(),
                end: ranges
                    .iter()
                    .map(|range| range.end)
                    .max()
                    .unwrap_or_default(),
                bias: module.bias.raw(),
                symbols: what_it_tells(&module.image),
                build_id: module.image.build_id().map(hex),
            }
        });
        let unusable = modules.unusable.iter().map(|module| ModuleInfo {
            name: base_name(&module.path.to_string_lossy()),
            path: module.path.display().to_string(),
            start: module.range.start,
            end: module.range.end,
            bias: 0,
            symbols: format!("skipped: {}", module.why),
            build_id: None,
        });
        Ok(usable.chain(unusable).collect())
    }

    pub fn maps(&mut self) -> Result<Vec<MapInfo>> {
        Ok(self
            .mappings()?
            .into_iter()
            .map(|mapping| MapInfo {
                start: mapping.range.start,
                end: mapping.range.end,
                perms: mapping.perms,
                offset: mapping.offset,
                path: mapping.path.text(),
            })
            .collect())
    }

    /// Where the program's dynamic section is in memory; a static one has none.
    pub(super) fn program_dynamic(&mut self) -> Option<VirtAddr> {
        let program = self.fresh_modules().ok()?.iter().next()?;
        program.image.dynamic().map(|at| program.bias.to_virt(at))
    }

    pub(super) fn module_names(&mut self) -> BTreeMap<VirtAddr, String> {
        let Ok(modules) = self.fresh_modules() else {
            return BTreeMap::new();
        };
        let named = modules.iter().filter_map(|module| {
            let start = module.ranges().map(|range| range.start).min()?;
            Some((start, module.name()))
        });
        named.collect()
    }

    pub(super) fn module_ranges(&mut self) -> Vec<AddrRange> {
        let modules = self.fresh_modules();
        modules.map_or_else(
            |_| Vec::new(),
            |modules| {
                modules
                    .iter()
                    .flat_map(|module| module.ranges().collect::<Vec<_>>())
                    .collect()
            },
        )
    }

    pub(super) fn program_entry(&mut self) -> Option<VirtAddr> {
        let facts = self.stopped().ok()?.facts();
        facts.auxv(proc::AT_ENTRY).map(VirtAddr::new)
    }

    pub(super) fn program_path(&mut self) -> String {
        let exe = self
            .stopped()
            .ok()
            .and_then(|stopped| stopped.facts().exe());
        exe.map(|(path, _)| path.display().to_string())
            .unwrap_or_default()
    }
}

/// Opens what a mapping was made from, and makes sure that it is the same file: a path can lead
/// elsewhere by now, or to something that must not be read.
fn open_image(
    stopped: &Stopped,
    mapping: &Mapping,
    path: &Path,
    deleted: bool,
) -> std::result::Result<Image, String> {
    // The program's own file is held open, whatever became of its path.
    if let Some((_, file)) = stopped.facts().exe()
        && let Ok(image) = Image::from_file(path, file)
        && is_same_file(&image, mapping)
    {
        return Ok(image);
    }
    let range = mapping.range;
    // The kernel's own way to the file, for those who may use it (proc(5), map_files).
    let direct = format!(
        "/proc/{}/map_files/{:x}-{:x}",
        stopped.pid(),
        range.start.raw(),
        range.end.raw()
    );
    match Image::open(path) {
        Ok(image) if is_same_file(&image, mapping) => return Ok(image),
        Err(error) if !deleted && Path::new(path).exists() => return Err(error.to_string()),
        Ok(_) | Err(_) => {}
    }
    match Image::open(Path::new(&direct)) {
        Ok(image) if is_same_file(&image, mapping) => Ok(image),
        Ok(_) | Err(_) => Err("the file was deleted or replaced".to_owned()),
    }
}

/// The device is not compared: an overlay file system shows one in maps and another one in stat(2).
fn is_same_file(image: &Image, mapping: &Mapping) -> bool {
    image
        .identity()
        .is_some_and(|file| file.inode == mapping.inode)
}

fn same(a: &Modules, b: &Modules) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b.iter())
            .all(|(a, b)| a.bias == b.bias && a.path == b.path && Rc::ptr_eq(&a.image, &b.image))
}

fn what_it_tells(image: &Image) -> String {
    let mut words = Vec::new();
    if image.dwarf_image().is_some() {
        words.push("dwarf");
    }
    if image.section(".symtab").is_some() {
        words.push("symtab");
    }
    if image.section(".dynsym").is_some() {
        words.push("dynsym");
    }
    if words.is_empty() {
        words.push("stripped");
    }
    words.join(" ")
}

pub(super) fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
