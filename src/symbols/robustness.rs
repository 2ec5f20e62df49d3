//! Damaged files: every answer may be wrong or an error, but it comes, soon and without a panic.

use super::image::Image;
use super::location;
use super::modules::Modules;
use super::name::Query;
use super::pattern::Pattern;
use super::resolve::{Purpose, resolve};
use crate::base::addr::{ElfAddr, LoadBias, VirtAddr};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// xorshift64*: the same damage in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % limit.max(1) as u64).expect("small")
    }
}

/// Asks everything there is to ask.
fn use_all(bytes: Vec<u8>) {
    let Ok(image) = Image::from_bytes("damaged", bytes) else {
        return;
    };
    let image = Rc::new(image);
    let symbols = image.symbols();
    for query in ["main", "symbols::resolve", "a<b>::c", "work"] {
        symbols.find(&Query::new(query));
    }
    symbols.near("mian");
    symbols.matching(&Pattern::new("*a*"), 100);
    let cfi = image.cfi();
    assert!(cfi.eh_frame.is_none_or(|(_, bytes)| bytes.len() <= 1 << 30));
    let mut places: Vec<u64> = vec![0, 1, u64::MAX, image.entry().raw()];
    for segment in image.segments().iter().take(8) {
        places.extend([segment.addr.raw(), segment.addr.raw().wrapping_add(0x40)]);
    }
    let (some, _) = symbols.matching(&Pattern::Any, 20);
    places.extend(some.iter().map(|symbol| symbol.addr.raw()));
    if let Some(dwarf) = image.dwarf() {
        for place in &places {
            dwarf.frames(ElfAddr::new(*place));
            dwarf.after_prologue(ElfAddr::new(*place), ElfAddr::new(place.wrapping_add(64)));
        }
        dwarf.problem();
    }
    let mut modules = Modules::new();
    modules.add("damaged".into(), LoadBias::new(0x1000), image);
    for place in places {
        modules.symbol_at(VirtAddr::new(place));
        modules.line_at(VirtAddr::new(place.wrapping_add(0x1000)));
    }
    for text in ["main", "program.c:5", "damaged!x+4"] {
        let location = location::parse(text).expect("a location");
        // Any answer will do.
        let _ = resolve(&modules, &location, Purpose::Breakpoint);
    }
}

/// A small real program with everything in it: the C library's own loader stands in where no small file
/// with debug information can be had.
fn originals() -> Vec<Vec<u8>> {
    let small = ["/bin/true", "/lib64/ld-linux-x86-64.so.2"];
    let mut originals: Vec<Vec<u8>> = small
        .iter()
        .filter_map(|path| std::fs::read(path).ok())
        .collect();
    originals.push(crafted());
    assert!(originals.len() > 1);
    originals
}

/// This program's debug information, cut to a size that can be damaged thousands of times.
fn crafted() -> Vec<u8> {
    const MOST: usize = 60_000;
    let image = Image::open(Path::new("/proc/self/exe")).expect("image");
    let mut builder = super::test_image::ElfBuilder::new()
        .loaded(".text", super::test_image::BASE, &[0x90; 4096])
        .function("main", super::test_image::BASE, 64)
        .function(
            "_ZN5hello4work17h0123456789abcdefE",
            super::test_image::BASE + 64,
            64,
        );
    for name in [
        ".debug_info",
        ".debug_abbrev",
        ".debug_line",
        ".debug_str",
        ".debug_ranges",
        ".debug_rnglists",
        ".debug_line_str",
        ".debug_addr",
        ".debug_aranges",
    ] {
        let bytes = image.section_bytes(name).expect("section");
        builder = builder.section(name, &bytes[..bytes.len().min(MOST)]);
    }
    builder.build()
}

#[track_caller]
fn check_soon(bytes: Vec<u8>, what: &str) {
    let start = Instant::now();
    use_all(bytes);
    assert!(start.elapsed() < Duration::from_mins(1), "{what}");
}

#[test]
fn flipped_bytes() {
    let mut dice = Dice(0x1234_5678_9abc_def1);
    for (number, original) in originals().iter().enumerate() {
        for round in 0..60 {
            let mut bytes = original.clone();
            // Headers are small and matter most: half of the damage goes there.
            for _ in 0..=dice.below(16) {
                let range = if dice.below(2) == 0 {
                    1024
                } else {
                    bytes.len()
                };
                let at = dice.below(range.min(bytes.len()));
                bytes[at] = u8::try_from(dice.roll() >> 56).expect("a byte");
            }
            bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            check_soon(bytes, &format!("file {number} round {round}"));
        }
    }
}

#[test]
fn extreme_words() {
    let mut dice = Dice(0xfeed_5678_9abc_def1);
    for (number, original) in originals().iter().enumerate() {
        for round in 0..60 {
            let mut bytes = original.clone();
            for _ in 0..=dice.below(4) {
                let at = dice.below(bytes.len() - 8);
                let word = [u64::MAX, 0, 1 << 63, 0x7fff_ffff, 0xffff_ffff][dice.below(5)];
                let size = [1, 2, 4, 8][dice.below(4)];
                bytes[at..at + size].copy_from_slice(&word.to_le_bytes()[..size]);
            }
            check_soon(bytes, &format!("file {number} round {round}"));
        }
    }
}

#[test]
fn cut_files() {
    let mut dice = Dice(0xabcd_5678_9abc_def1);
    for (number, original) in originals().iter().enumerate() {
        for round in 0..40 {
            let mut bytes = original.clone();
            bytes.truncate(dice.below(original.len()));
            check_soon(bytes, &format!("file {number} round {round}"));
        }
    }
}

/// Ten thousand units that all claim one list of a hundred thousand ranges.
#[test]
fn shared_range_lists_are_not_followed_without_end() {
    let mut abbrev = vec![1, 0x11, 0, 0x55, 0x17, 0x11, 0x01, 0, 0, 0];
    abbrev.push(0);
    let mut unit = Vec::new();
    unit.extend(4u16.to_le_bytes());
    unit.extend(0u32.to_le_bytes());
    unit.push(8);
    unit.push(1);
    unit.extend(0u32.to_le_bytes());
    unit.extend(0u64.to_le_bytes());
    let mut info = Vec::new();
    for _ in 0..10_000 {
        info.extend(u32::try_from(unit.len()).expect("small").to_le_bytes());
        info.extend(&unit);
    }
    let mut ranges = Vec::new();
    for number in 1..100_000u64 {
        ranges.extend((number * 16).to_le_bytes());
        ranges.extend((number * 16 + 8).to_le_bytes());
    }
    let bytes = super::test_image::ElfBuilder::new()
        .section(".debug_info", &info)
        .section(".debug_abbrev", &abbrev)
        .section(".debug_ranges", &ranges)
        .build();
    let image = Image::from_bytes("bomb", bytes).expect("image");
    let dwarf = image.dwarf().expect("debug information");
    let start = Instant::now();
    dwarf.frames(ElfAddr::new(0x100));
    assert!(start.elapsed() < Duration::from_secs(30));
    let problem = dwarf.problem().expect("a problem");
    assert!(problem.to_string().contains("too many"), "{problem}");
}
