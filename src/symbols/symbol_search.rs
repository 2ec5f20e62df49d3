//! Symbols by what people type: names, parts of paths, patterns, and what was probably meant.

use super::budget::MAX_NAME_BYTES;
use super::name::{self, Fit, Language, Query, components, unversioned};
use super::near::nearest;
use super::pattern::Pattern;
use super::symtab::{Entry, Symbol, SymbolKind, Symbols};
use std::collections::BTreeSet;

/// What fits a name, and how well.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    pub symbol: Symbol<'a>,
    pub fit: Fit,
}

/// Pairs of a name's hash and the entry, in order of the hash.
#[derive(Debug)]
pub(super) struct NameIndex {
    hashes: Vec<(u32, u32)>,
    has_mangled: bool,
}

impl<'a> Symbols<'a> {
    /// Everything that `query` can mean here, the best fits only.
    ///
    /// A whole name beats the last part of a path, and that beats a compiler's copy of a function. The one
    /// exception is `main` in a Rust program: the symbol of that name is a shim of the compiler's, so
    /// `main` means `crate::main` there, and `::main` or `*::main` the shim.
    pub fn find(&self, query: &Query<'_>) -> Vec<Found<'a>> {
        let mut found = self.find_plain(query);
        let is_main = query.text() == "main" && !query.is_anchored();
        if found.is_empty() || is_main {
            let mangled = self.find_mangled(query);
            let rust_mains: Vec<Found<'a>> = mangled
                .iter()
                .filter(|(_, language, parts)| *language == Language::Rust && *parts == 2)
                .map(|(found, _, _)| *found)
                .collect();
            if is_main && !rust_mains.is_empty() {
                found = rust_mains;
                for main in &mut found {
                    main.fit = Fit::Whole;
                }
            } else if found.is_empty() {
                found = mangled.into_iter().map(|(found, _, _)| found).collect();
            }
        }
        if found.is_empty() && !query.is_path() && !query.is_anchored() {
            found = self.find_copies(query);
        }
        let best = found.iter().map(|found| found.fit).min();
        found.retain(|found| Some(found.fit) == best);
        let mut seen = BTreeSet::new();
        found.retain(|found| seen.insert(found.symbol.addr));
        found
    }

    fn name_index(&self) -> &'a NameIndex {
        self.tab.by_name.get_or_init(|| {
            let mut bytes = 0usize;
            let mut has_mangled = false;
            let mut hashes = Vec::with_capacity(self.len());
            for (number, entry) in (0u32..).zip(&self.tab.entries) {
                let name = self.raw_name(entry);
                bytes += name.len();
                if bytes > MAX_NAME_BYTES {
                    break;
                }
                has_mangled |= name::may_be_mangled(name);
                hashes.push((hash(name::unversioned(name)), number));
            }
            hashes.sort_unstable();
            NameIndex {
                hashes,
                has_mangled,
            }
        })
    }

    fn find_plain(&self, query: &Query<'_>) -> Vec<Found<'a>> {
        let index = self.name_index();
        let wanted = hash(name::unversioned(query.text().as_bytes()));
        let first = index.hashes.partition_point(|(hash, _)| *hash < wanted);
        let mut found: Vec<Found<'a>> = index.hashes[first..]
            .iter()
            .take_while(|(hash, _)| *hash == wanted)
            .filter_map(|(_, number)| self.entry(*number))
            .filter_map(|entry| {
                let symbol = self.symbol(entry);
                let fit = query.fit_plain(symbol.raw)?;
                Some(Found { symbol, fit })
            })
            .collect();
        // Entries are numbered by address with the best name last.
        found.reverse();
        found.sort_by_key(|found| found.symbol.addr);
        found
    }

    fn entry(&self, number: u32) -> Option<&'a Entry> {
        self.tab.entries.get(usize::try_from(number).ok()?)
    }

    fn find_mangled(&self, query: &Query<'_>) -> Vec<(Found<'a>, Language, usize)> {
        if !self.name_index().has_mangled {
            return Vec::new();
        }
        self.within_name_budget()
            .filter(|symbol| name::may_be_mangled(symbol.raw))
            .filter_map(|symbol| {
                let (fit, language, parts) = query.fit_mangled(symbol.raw)?;
                Some((Found { symbol, fit }, language, parts))
            })
            .collect()
    }

    fn find_copies(&self, query: &Query<'_>) -> Vec<Found<'a>> {
        self.within_name_budget()
            .filter_map(|symbol| {
                let fit = query.fit_plain(symbol.raw)?;
                Some(Found { symbol, fit })
            })
            .collect()
    }

    /// All symbols in order of address, until too many bytes of names went by.
    fn within_name_budget(&self) -> impl Iterator<Item = Symbol<'a>> {
        let mut bytes = 0usize;
        let this = *self;
        this.tab
            .entries
            .iter()
            .map(move |entry| this.symbol(entry))
            .take_while(move |symbol| {
                bytes += symbol.raw.len();
                bytes <= MAX_NAME_BYTES
            })
    }

    /// Symbols whose name for people matches, in order of address, at most `limit`; and whether there are more.
    pub fn matching(&self, pattern: &Pattern, limit: usize) -> (Vec<Symbol<'a>>, bool) {
        let mut last: Option<Symbol<'a>> = None;
        let mut found = Vec::new();
        for symbol in self.within_name_budget() {
            let same = last.is_some_and(|last| {
                last.addr == symbol.addr
                    && name::unversioned(last.raw) == name::unversioned(symbol.raw)
            });
            if same || !pattern.matches(&symbol.name()) {
                continue;
            }
            if found.len() == limit {
                return (found, true);
            }
            last = Some(symbol);
            found.push(symbol);
        }
        (found, self.is_cut())
    }

    /// Thread-local variables that `name` can mean: the whole name, or any one part of its path, as Rust
    /// hides a `thread_local!` in functions of its own (`crate::NAME::{{constant}}::…::VAL`).
    pub fn thread_locals(&self, name: &str) -> Vec<Symbol<'a>> {
        let locals = self.tab.entries.iter().map(|entry| self.symbol(entry));
        let (mut whole, mut part) = (Vec::new(), Vec::new());
        for symbol in locals.filter(|symbol| symbol.kind == SymbolKind::ThreadLocal) {
            let shown = symbol.name();
            if shown == name || unversioned(symbol.raw) == name.as_bytes() {
                whole.push(symbol);
            } else if shown.ends_with(&format!("::{name}")) || components(&shown).contains(&name) {
                part.push(symbol);
            }
        }
        let mut found = if whole.is_empty() { part } else { whole };
        let mut seen = BTreeSet::new();
        found.retain(|symbol| seen.insert(symbol.addr));
        found
    }

    /// Names that look like `name`, for "did you mean".
    pub fn near(&self, wanted: &str) -> Vec<String> {
        /// Demangling is the cost.
        const MOST: usize = 100_000;
        let is_path = wanted.contains("::");
        let names: BTreeSet<String> = self
            .within_name_budget()
            .filter(|symbol| !matches!(symbol.kind, SymbolKind::Label | SymbolKind::Unnamed))
            .take(MOST)
            .map(|symbol| {
                let name = symbol.name();
                let last = name::components(&name)
                    .last()
                    .map(|last| (*last).to_owned());
                match last {
                    Some(last) if !is_path => last,
                    _ => name.into_owned(),
                }
            })
            .collect();
        nearest(wanted, names.iter().map(String::as_str))
    }
}

/// FNV-1a.
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::image::Image;
    use crate::symbols::symtab::tests::image;
    use crate::symbols::test_image::{BASE, ElfBuilder};

    #[track_caller]
    fn check_find(image: &Image, query: &str, offsets: &[u64]) {
        let found: Vec<u64> = image
            .symbols()
            .find(&Query::new(query))
            .iter()
            .map(|found| found.symbol.addr.raw() - BASE)
            .collect();
        assert_eq!(found, offsets, "{query}");
    }

    #[test]
    fn names_find_what_a_person_means() {
        let image = image();
        check_find(&image, "main", &[0x200]);
        check_find(&image, "::main", &[0x100]);
        check_find(&image, "hello::main", &[0x200]);
        check_find(&image, "fmt", &[0x220, 0x228]);
        check_find(&image, "io::fmt", &[0x228]);
        check_find(&image, "_ZN2io3fmt17h0123456789abcdefE", &[0x228]);
        check_find(&image, "twice", &[0x700, 0x708]);
        check_find(&image, "copied", &[0x710]);
        check_find(&image, "old", &[0x720, 0x728]);
        check_find(&image, "old@GLIBC_2.2", &[0x720]);
        check_find(&image, "counter", &[0x2000]);
        check_find(&image, "absent", &[]);
        check_find(&image, "", &[]);
    }

    #[test]
    fn near_names_and_patterns() {
        let image = image();
        assert_eq!(image.symbols().near("mian"), ["main"]);
        assert_eq!(image.symbols().near("hello::mian"), ["hello::main"]);
        let names = |pattern: &str, limit| {
            let (symbols, more) = image.symbols().matching(&Pattern::new(pattern), limit);
            let names: Vec<_> = symbols.iter().map(|s| s.name().into_owned()).collect();
            (names, more)
        };
        assert_eq!(
            names("write", 9),
            (vec!["write".into(), "__write".into()], false)
        );
        assert_eq!(names("*::fmt", 1), (vec!["hello::fmt".into()], true));
    }

    #[test]
    fn a_shared_huge_name_costs_little() {
        let huge = "_ZN5hello".to_owned() + &"x".repeat(1 << 20);
        let mut builder = ElfBuilder::new()
            .loaded(".text", BASE, &[0x90; 0x100])
            .function(&huge, BASE, 1);
        for _ in 0..50 {
            builder = builder.function("f", BASE, 1);
        }
        let mut bytes = builder.build();
        // All of them share the first one's name.
        let image = Image::from_bytes("test", bytes.clone()).expect("image");
        let table = image.section_bytes(".symtab").expect("table").to_vec();
        let at = bytes
            .windows(table.len())
            .position(|window| window == table)
            .expect("there");
        for symbol in 2..52 {
            bytes[at + symbol * 24] = 1;
            bytes[at + symbol * 24 + 1] = 0;
            bytes[at + symbol * 24 + 2] = 0;
        }
        let image = Image::from_bytes("test", bytes).expect("image");
        assert!(image.symbols().find(&Query::new("hello")).is_empty());
        assert!(image.symbols().near("helo").is_empty());
    }
}
