//! The answers for this very test program, compared with addr2line's.

use super::{LineQuery, Slice, SourceFrame, SourceLine, readable};
use crate::base::addr::ElfAddr;
use crate::symbols::image::Image;
use gimli::{EndianSlice, LittleEndian};
use std::path::Path;

type Context<'a> = addr2line::Context<Slice<'a>>;

fn context(image: &Image) -> Context<'_> {
    let sections = gimli::Dwarf::load(|id| {
        let bytes = image.section_bytes(id.name()).unwrap_or(&[]);
        Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
    });
    Context::from_dwarf(sections.expect("sections")).expect("context")
}

fn expected(context: &Context<'_>, pc: u64) -> Vec<SourceFrame> {
    let mut found = context.find_frames(pc).skip_all_loads().expect("frames");
    let mut frames = Vec::new();
    while let Some(frame) = found.next().expect("frame") {
        let name = frame
            .function
            .and_then(|f| Some(readable(f.raw_name().ok()?.as_bytes())));
        let at = frame.location.and_then(|location| {
            Some(SourceLine {
                file: location.file?.to_owned(),
                line: location.line?,
                column: location.column.unwrap_or(0),
            })
        });
        if name.is_some() || at.is_some() {
            frames.push(SourceFrame {
                function: name,
                at,
                inlined: true,
            });
        }
    }
    if let Some(last) = frames.last_mut() {
        last.inlined = false;
    }
    frames
}

#[test]
fn frames_agree_with_addr2line() {
    let image = Image::open(Path::new("/proc/self/exe")).expect("image");
    let dwarf = image.dwarf().expect("debug information");
    let context = context(&image);
    let symbols = image.symbols();
    let pattern = crate::symbols::pattern::Pattern::new("llmdbg::");
    let (functions, _) = symbols.matching(&pattern, 5000);
    let mut compared = 0;
    let mut inlined = 0;
    for function in functions.iter().filter(|symbol| symbol.kind.is_function()) {
        for offset in [
            0,
            function.size / 3,
            function.size / 2,
            function.size.saturating_sub(1),
        ] {
            let pc = function.addr.raw() + offset;
            let frames = dwarf.frames(ElfAddr::new(pc));
            assert_eq!(
                frames,
                expected(&context, pc),
                "{pc:#x} {}",
                function.name()
            );
            compared += frames.len();
            inlined += frames.iter().filter(|frame| frame.inlined).count();
            let line = frames.first().and_then(|frame| frame.at.clone());
            assert_eq!(dwarf.line(ElfAddr::new(pc)), line);
        }
    }
    assert!(compared > 1000 && inlined > 0, "{compared} {inlined}");
    assert!(dwarf.problem().is_none(), "{:?}", dwarf.problem());
}

#[test]
fn a_line_leads_to_its_code_and_back() {
    let image = Image::open(Path::new("/proc/self/exe")).expect("image");
    let dwarf = image.dwarf().expect("debug information");
    let query = LineQuery {
        file: "dwarf/comparison.rs",
        line: line!(),
    };
    let matched = dwarf.find_line(query);
    assert!(!matched.addresses.is_empty(), "{matched:?}");
    for found in &matched.addresses {
        let line = dwarf.line(found.addr).expect("line");
        assert_eq!(line.line, found.line);
        assert!(line.file.ends_with("src/symbols/dwarf/comparison.rs"));
    }
    let beyond = dwarf.find_line(LineQuery {
        line: 1_000_000,
        ..query
    });
    assert!(beyond.addresses.is_empty() && beyond.near_lines.len() == 3);
    let unknown = dwarf.find_line(LineQuery {
        file: "comparisom.rs",
        line: 1,
    });
    assert!(unknown.addresses.is_empty() && unknown.near_lines.is_empty());
}
