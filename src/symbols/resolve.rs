//! From a location to addresses in loaded modules, or to what was probably meant.

use super::dwarf::{Dwarf, LineMatch, LineQuery, SourceLine, Wanted};
use super::error::{Error, Result};
use super::imports::SlotTarget;
use super::location::Location;
use super::modules::{Module, Modules};
use super::name::{Fit, Query, unversioned};
use super::near::nearest;
use super::symtab::{Symbol, SymbolKind};
use crate::base::addr::{ElfAddr, VirtAddr};
use crate::base::id::ModuleId;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What the address is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To stop there: a function stands for its first line behind the prologue, and data will not do.
    Breakpoint,
    /// To look there: a name stands for its very address.
    Address,
}

/// One place that a location stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    pub addr: VirtAddr,
    pub module: Option<ModuleId>,
    /// The symbol and how far behind its start the address is.
    pub symbol: Option<(String, u64)>,
    pub kind: Option<SymbolKind>,
    /// The symbol's, 0 when unknown.
    pub size: u64,
    pub line: Option<Rc<SourceLine>>,
    /// For a function that the loader chooses (`SymbolKind::IndirectFunction`), `addr` is the function that
    /// does the choosing. These words of memory hold the address of the chosen one, each as soon as the
    /// loader has filled it: the first that holds an address inside `module` tells.
    pub target_slots: Vec<VirtAddr>,
    /// For a copy of the function that was inlined there: the call it stands for.
    pub inlined: Option<Rc<SourceLine>>,
    /// The line that was asked for, when the address is of a later one: it has no code, or it opens a
    /// function.
    pub moved_from: Option<u32>,
}

/// All places that `location` stands for, in order of address; never none.
///
/// Without a module, the program comes first, then the libraries as they were loaded, and the first that has
/// the whole name decides, as for the dynamic linker. Parts of names count only when no module has the whole.
pub fn resolve(modules: &Modules, location: &Location, purpose: Purpose) -> Result<Vec<Resolved>> {
    match location {
        Location::Address(addr) => Ok(vec![describe(modules, *addr)]),
        Location::Symbol {
            module,
            name,
            offset,
            exact,
        } => {
            let skip = purpose == Purpose::Breakpoint && !exact;
            let (module, symbols) = match find_symbols(modules, module.as_deref(), name) {
                Err(Error::NoSymbol { name, near }) => {
                    let places = chosen(modules, module.as_deref())?;
                    return inlined_everywhere(modules, &places, name, near, skip);
                }
                found => found?,
            };
            let symbols = suitable(name, symbols, purpose)?;
            let copies = if skip {
                copies_of(modules, module, &symbols)
            } else {
                Vec::new()
            };
            let places = symbols.into_iter().map(|symbol| {
                let start = place(module, &symbol, skip);
                let elf = ElfAddr::new(start.raw().wrapping_add(*offset));
                Resolved {
                    target_slots: target_slots(modules, module, &symbol),
                    symbol: Some((
                        symbol.name().into_owned(),
                        elf.raw().wrapping_sub(symbol.addr.raw()),
                    )),
                    kind: Some(symbol.kind),
                    size: symbol.size,
                    ..describe(modules, module.bias.to_virt(elf))
                }
            });
            Ok(in_order(places.chain(copies).collect()))
        }
        Location::Line { module, file, line } => {
            let query = LineQuery { file, line: *line };
            resolve_line(modules, module.as_deref(), query)
        }
    }
}

fn in_order(mut places: Vec<Resolved>) -> Vec<Resolved> {
    places.sort_by_key(|place| place.addr);
    places.dedup_by_key(|place| place.addr);
    places
}

fn describe(modules: &Modules, addr: VirtAddr) -> Resolved {
    let found = modules.module_at(addr);
    let symbol = found.and_then(|(module, elf)| module.image.symbols().at(elf));
    Resolved {
        addr,
        module: found.map(|(module, _)| module.id),
        symbol: symbol.map(|(symbol, offset)| (symbol.name().into_owned(), offset)),
        kind: symbol.map(|(symbol, _)| symbol.kind),
        size: symbol.map_or(0, |(symbol, _)| symbol.size),
        line: modules.line_at(addr),
        target_slots: Vec::new(),
        inlined: None,
        moved_from: None,
    }
}

/// Where the loader leaves the address of the function that `symbol`'s code chooses: in the image itself by
/// relative relocations, elsewhere by name.
fn target_slots(modules: &Modules, module: &Module, symbol: &Symbol<'_>) -> Vec<VirtAddr> {
    if symbol.kind != SymbolKind::IndirectFunction {
        return Vec::new();
    }
    let own = SlotTarget::ResolvedBy(symbol.addr);
    let named = SlotTarget::Name(unversioned(symbol.raw));
    let places = std::iter::once(module).chain(modules.iter().filter(|it| it.id != module.id));
    places
        .flat_map(|place| {
            let slots = place.image.import_slots().into_iter();
            let ours = slots.filter(move |slot| {
                slot.target == named || (slot.target == own && place.id == module.id)
            });
            ours.map(|slot| place.bias.to_virt(slot.addr))
        })
        .collect()
}

fn place(module: &Module, symbol: &Symbol<'_>, skip_prologue: bool) -> ElfAddr {
    let behind = || {
        let dwarf = module.image.dwarf()?;
        let end = match symbol.size {
            0 => module.image.section_at(symbol.addr)?.end(),
            size => symbol.addr.checked_add(size)?,
        };
        dwarf.after_prologue(symbol.addr, end)
    };
    let skipped = if skip_prologue && symbol.kind == SymbolKind::Function {
        behind()
    } else {
        None
    };
    skipped.unwrap_or(symbol.addr)
}

/// A breakpoint on a function is meant for every time it runs, so its inlined copies belong to it. They are
/// looked for where that takes no longer than a moment.
fn copies_of(modules: &Modules, module: &Module, symbols: &[Symbol<'_>]) -> Vec<Resolved> {
    const MOST_BYTES: usize = 16 << 20;
    let names: Vec<&[u8]> = symbols
        .iter()
        .filter(|symbol| symbol.kind == SymbolKind::Function)
        .map(|symbol| unversioned(symbol.raw))
        .collect();
    let dwarf = module.image.dwarf();
    match dwarf.filter(|dwarf| !names.is_empty() && dwarf.entries_size() <= MOST_BYTES) {
        Some(dwarf) => copies(modules, module, &dwarf, &Wanted::Symbols(&names)),
        None => Vec::new(),
    }
}

fn copies(
    modules: &Modules,
    module: &Module,
    dwarf: &Dwarf<'_>,
    wanted: &Wanted<'_>,
) -> Vec<Resolved> {
    let found = dwarf.inlined_copies(wanted);
    let copies = found.iter().map(|copy| Resolved {
        inlined: copy.call.clone().map(Rc::new),
        ..describe(modules, module.bias.to_virt(copy.entry))
    });
    copies.collect()
}

/// A function without a symbol may have been inlined wherever it was called: then its copies are what a
/// breakpoint is for, and its address cannot be told.
fn inlined_everywhere(
    modules: &Modules,
    places: &[&Module],
    name: String,
    near: Vec<String>,
    copies_will_do: bool,
) -> Result<Vec<Resolved>> {
    const OFFERED: usize = 8;
    let query = Query::new(&name);
    let found = places
        .iter()
        .filter_map(|module| {
            let dwarf = module.image.dwarf()?;
            Some(copies(modules, module, &dwarf, &Wanted::Named(&query)))
        })
        .find(|copies| !copies.is_empty());
    match found {
        Some(copies) if copies_will_do => Ok(in_order(copies)),
        Some(copies) => {
            let calls = copies.iter().filter_map(|copy| copy.inlined.as_deref());
            let mut calls: Vec<String> = calls
                .map(|call| {
                    let file = call.file.rsplit('/').next().unwrap_or(&call.file);
                    format!("{file}:{}", call.line)
                })
                .collect();
            calls.dedup();
            calls.truncate(OFFERED);
            Err(Error::Inlined { name, calls })
        }
        None => Err(Error::NoSymbol { name, near }),
    }
}

fn chosen<'m>(modules: &'m Modules, name: Option<&str>) -> Result<Vec<&'m Module>> {
    let Some(name) = name else {
        return Ok(modules.iter().collect());
    };
    if let Some(module) = modules.find_by_name(name) {
        return Ok(vec![module]);
    }
    let names: Vec<String> = modules.iter().map(Module::name).collect();
    Err(Error::NoModule {
        name: name.to_owned(),
        near: nearest(name, names.iter().map(String::as_str)),
    })
}

fn find_symbols<'m>(
    modules: &'m Modules,
    module: Option<&str>,
    name: &str,
) -> Result<(&'m Module, Vec<Symbol<'m>>)> {
    let query = Query::new(name);
    let places = chosen(modules, module)?;
    let mut best: Option<(Fit, &Module, Vec<Symbol<'_>>)> = None;
    for module in &places {
        let found = module.image.symbols().find(&query);
        let Some(fit) = found.first().map(|found| found.fit) else {
            continue;
        };
        if best.as_ref().is_none_or(|(known, _, _)| fit < *known) {
            let symbols = found.into_iter().map(|found| found.symbol).collect();
            best = Some((fit, module, symbols));
        }
        if fit == Fit::Whole {
            break;
        }
    }
    if let Some((_, module, symbols)) = best {
        return Ok((module, symbols));
    }
    let near = places
        .iter()
        .map(|module| module.image.symbols().near(name))
        .find(|near| !near.is_empty());
    Err(Error::NoSymbol {
        name: name.to_owned(),
        near: near.unwrap_or_default(),
    })
}

/// The symbols of those found that serve the purpose.
fn suitable<'m>(
    name: &str,
    mut symbols: Vec<Symbol<'m>>,
    purpose: Purpose,
) -> Result<Vec<Symbol<'m>>> {
    let nothing = |what: &str| {
        Err(Error::NoLocation {
            place: format!("'{name}', which is {what}"),
            near: Vec::new(),
        })
    };
    symbols.retain(|symbol| symbol.kind != SymbolKind::ThreadLocal);
    if symbols.is_empty() {
        return nothing("a thread-local variable");
    }
    if symbols.iter().any(|symbol| symbol.kind.is_function()) {
        symbols.retain(|symbol| symbol.kind.is_function());
    } else if purpose == Purpose::Breakpoint {
        symbols.retain(|symbol| symbol.kind != SymbolKind::Object);
        if symbols.is_empty() {
            return nothing("data");
        }
    }
    Ok(symbols)
}

fn resolve_line(
    modules: &Modules,
    module: Option<&str>,
    query: LineQuery<'_>,
) -> Result<Vec<Resolved>> {
    let mut found: Vec<(&Module, LineMatch)> = Vec::new();
    let mut near_files = Vec::new();
    for module in chosen(modules, module)? {
        let Some(dwarf) = module.image.dwarf() else {
            continue;
        };
        let matched = dwarf.find_line(query);
        near_files.extend(matched.near_files.iter().cloned());
        found.push((module, matched));
    }
    let line = found
        .iter()
        .filter(|(_, matched)| !matched.addresses.is_empty())
        .map(|(_, matched)| matched.line)
        .min();
    let Some(line) = line else {
        return Err(no_line(query, &found, near_files));
    };
    let mut files = BTreeSet::new();
    let mut places = Vec::new();
    for (module, matched) in found.iter().filter(|(_, matched)| matched.line == line) {
        for address in &matched.addresses {
            files.insert(address.file.as_str());
            places.push(Resolved {
                line: Some(Rc::new(SourceLine {
                    file: address.file.clone(),
                    line: address.line,
                    column: 0,
                })),
                moved_from: (address.line != query.line).then_some(query.line),
                ..describe(modules, module.bias.to_virt(address.addr))
            });
        }
    }
    if files.len() > 1 {
        return Err(Error::Ambiguous {
            name: format!("{}:{}", query.file, query.line),
            candidates: files.iter().map(|file| format!("{file}:{line}")).collect(),
        });
    }
    Ok(in_order(places))
}

fn no_line(query: LineQuery<'_>, found: &[(&Module, LineMatch)], near_files: Vec<String>) -> Error {
    let near_lines = found
        .iter()
        .map(|(_, matched)| &matched.near_lines)
        .find(|lines| !lines.is_empty());
    match near_lines {
        Some(lines) => Error::NoLocation {
            place: format!("{}:{}", query.file, query.line),
            near: lines
                .iter()
                .map(|line| format!("{}:{line}", query.file))
                .collect(),
        },
        None => Error::NoFile {
            file: query.file.to_owned(),
            near: near_files,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::addr::LoadBias;
    use crate::symbols::image::Image;
    use crate::symbols::location;
    use crate::symbols::test_image::{BASE, ElfBuilder};
    use std::path::Path;

    const BIAS: u64 = 0x5555_0000_0000;

    fn crafted() -> Modules {
        let program = ElfBuilder::new()
            .loaded(".text", BASE, &[0x90; 0x100])
            .loaded(".data", BASE + 0x1000, &[0; 0x100])
            .function("work", BASE, 0x10)
            .function("_ZN5hello4open17h0123456789abcdefE", BASE + 0x10, 0x10)
            .symbol("twice", BASE + 0x20, 8, 0x02)
            .symbol("twice", BASE + 0x28, 8, 0x02)
            .symbol("counter", BASE + 0x1000, 8, 0x11)
            .symbol("mine", 8, 8, 0x16);
        let library = ElfBuilder::new()
            .loaded(".text", BASE, &[0x90; 0x100])
            .function("work", BASE + 0x40, 0x10)
            .function("open", BASE + 0x50, 0x10);
        let mut modules = Modules::new();
        for (path, bias, elf) in [("/bin/prog", 0, program), ("/lib/libc.so.6", BIAS, library)] {
            let image = Image::from_bytes(path, elf.build()).expect("image");
            modules.add(path.into(), LoadBias::new(bias), Rc::new(image));
        }
        modules
    }

    #[track_caller]
    fn check(modules: &Modules, text: &str, purpose: Purpose, expected: &[u64]) {
        let places = resolve(modules, &location::parse(text).expect("location"), purpose);
        let places: Vec<u64> = places
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .iter()
            .map(|place| place.addr.raw())
            .collect();
        assert_eq!(places, expected, "{text}");
    }

    #[test]
    fn the_first_module_with_the_whole_name_decides() {
        let modules = crafted();
        let stop = Purpose::Breakpoint;
        check(&modules, "work", stop, &[BASE]);
        check(&modules, "work+4", stop, &[BASE + 4]);
        check(&modules, "libc!work", stop, &[BIAS + BASE + 0x40]);
        check(&modules, "open", stop, &[BIAS + BASE + 0x50]);
        check(&modules, "prog!open", stop, &[BASE + 0x10]);
        check(&modules, "hello::open", stop, &[BASE + 0x10]);
        check(&modules, "twice", stop, &[BASE + 0x20, BASE + 0x28]);
        check(&modules, "0x10", stop, &[0x10]);
        check(&modules, "counter", Purpose::Address, &[BASE + 0x1000]);
    }

    #[track_caller]
    fn check_error(modules: &Modules, text: &str, message: &str, hint: Option<&str>) {
        let location = location::parse(text).expect("location");
        let error = resolve(modules, &location, Purpose::Breakpoint).expect_err("refused");
        assert_eq!(error.to_string(), message);
        assert_eq!(error.hint().as_deref(), hint);
    }

    #[test]
    fn errors_name_what_was_probably_meant() {
        let modules = crafted();
        check_error(
            &modules,
            "wrok",
            "no symbol 'wrok'",
            Some("did you mean work"),
        );
        check_error(&modules, "xyzzy", "no symbol 'xyzzy'", None);
        check_error(&modules, "libd!work", "no module 'libd'", None);
        check_error(
            &modules,
            "libc.so.7!work",
            "no module 'libc.so.7'",
            Some("did you mean libc.so.6"),
        );
        check_error(
            &modules,
            "counter",
            "no code at 'counter', which is data",
            None,
        );
        check_error(
            &modules,
            "mine",
            "no code at 'mine', which is a thread-local variable",
            None,
        );
        check_error(&modules, "a.c:3", "no source file 'a.c'", None);
    }

    fn marked(number: u64) -> u64 {
        number + 1
    }

    #[test]
    fn names_and_lines_of_this_program_resolve() {
        const LINE: u32 = line!() - 5;
        assert_eq!(marked(1), 2);
        let image = Image::open(Path::new("/proc/self/exe")).expect("image");
        let mut modules = Modules::new();
        modules.add("/bin/self".into(), LoadBias::new(BIAS), Rc::new(image));
        let one = |text: &str| {
            let location = location::parse(text).expect("location");
            let places = resolve(&modules, &location, Purpose::Breakpoint);
            let mut places = places.unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(places.len(), 1, "{text}: {places:?}");
            places.remove(0)
        };
        let by_name = one("resolve::tests::marked");
        let line = by_name.line.clone().expect("line");
        assert!(line.file.ends_with("src/symbols/resolve.rs") && line.line == LINE);
        let by_line = one(&format!("symbols/resolve.rs:{LINE}"));
        assert_eq!(by_line.addr, by_name.addr);
        assert_eq!(by_line.moved_from, None);
        let entry = one("*resolve::tests::marked");
        assert!(entry.addr < by_name.addr, "the prologue is skipped");
        assert_eq!(entry.symbol.as_ref().map(|(_, offset)| *offset), Some(0));
        // The next line with code is where this very test begins: a function and a closure of the harness.
        let blank = location::parse(&format!("symbols/resolve.rs:{}", LINE + 2));
        let moved = resolve(&modules, &blank.expect("location"), Purpose::Breakpoint);
        for place in moved.expect("places") {
            assert_eq!(place.moved_from, Some(LINE + 2));
        }
    }
}
