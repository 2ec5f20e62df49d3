//! Line and function information, read unit by unit on first use.
//!
//! What is kept is plain data; readers over the mapped sections are made anew for each question, which costs
//! next to nothing. addr2line does much the same, but it follows every range list of every entry without a
//! bound, and a file of a few megabytes can make it take gigabytes; tests compare with it instead.

#[cfg(test)]
mod comparison;
mod functions;
mod inlined;
mod line_search;
mod lines;
mod split;
mod supplement;
mod units;

use super::budget::Budget;
use super::error::Error;
use super::image::Image;
use super::name;
use crate::base::addr::ElfAddr;
use gimli::{EndianSlice, LittleEndian, SectionId};
use split::Package;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use units::Units;

pub use inlined::{InlinedCopy, Wanted};
pub use line_search::{LineAddress, LineMatch, LineQuery};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Unit<'a> = gimli::Unit<Slice<'a>>;
type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;

/// A place in source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceLine {
    /// As the compiler recorded it, usually absolute.
    pub file: String,
    pub line: u32,
    /// 0 when the compiler did not tell.
    pub column: u32,
}

/// One function at an address: the innermost inlined one first, the real one last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFrame {
    pub function: Option<String>,
    pub at: Option<SourceLine>,
    /// Whether the function was copied into the one that follows.
    pub inlined: bool,
}

/// What was learned so far of an image's debug information.
#[derive(Debug)]
pub struct DwarfIndex {
    units: Units,
    package: Package,
    /// How many .dwo files were looked for.
    split_files: Cell<usize>,
    copies: RefCell<BTreeMap<Vec<u8>, Rc<[InlinedCopy]>>>,
    problem: RefCell<Option<Problem>>,
}

/// Why not everything could be read.
#[derive(Clone, Debug)]
enum Problem {
    Damaged(String),
    /// A file that belongs to the image is not there, or is another one's.
    Missing(PathBuf),
}

/// The debug information of one image, ready to be asked.
pub struct Dwarf<'a> {
    image: &'a Image,
    sections: gimli::Dwarf<Slice<'a>>,
    index: &'a DwarfIndex,
    supplement: Option<Box<Dwarf<'a>>>,
}

impl Image {
    /// None when neither the image nor a separate file has any.
    pub fn dwarf(&self) -> Option<Dwarf<'_>> {
        let mut dwarf = Dwarf::over(self.dwarf_image()?)?;
        dwarf.add_supplement();
        Some(dwarf)
    }
}

impl<'a> Dwarf<'a> {
    fn over(image: &'a Image) -> Option<Self> {
        let sections = main_sections(image)?;
        let index = image.dwarf.get_or_init(|| {
            let (units, problem) = Units::read(&sections);
            DwarfIndex {
                units,
                package: Package::new(),
                split_files: Cell::new(0),
                copies: RefCell::default(),
                problem: RefCell::new(problem.map(Problem::Damaged)),
            }
        });
        Some(Self {
            image,
            sections,
            index,
            supplement: None,
        })
    }

    /// The first problem is kept: later ones tend to follow from it.
    fn note(&self, problem: Problem) {
        self.index.problem.borrow_mut().get_or_insert(problem);
    }

    fn note_problem(&self, what: &str, error: impl std::fmt::Display) {
        self.note(Problem::Damaged(format!("{what}: {error}")));
    }
}

fn main_sections(image: &Image) -> Option<gimli::Dwarf<Slice<'_>>> {
    sections_of(image, |id| match id {
        SectionId::DebugInfo
        | SectionId::DebugAbbrev
        | SectionId::DebugLine
        | SectionId::DebugStr
        | SectionId::DebugLineStr
        | SectionId::DebugStrOffsets
        | SectionId::DebugAddr
        | SectionId::DebugAranges
        | SectionId::DebugRanges
        | SectionId::DebugRngLists => Some(id.name()),
        _ => None,
    })
}

/// Readers over the sections that `name` has a name for.
fn sections_of(
    image: &Image,
    name: impl Fn(SectionId) -> Option<&'static str>,
) -> Option<gimli::Dwarf<Slice<'_>>> {
    let read = |id| {
        let bytes = name(id).map(|name| image.section_bytes(name));
        let bytes = bytes.and_then(Result::ok).unwrap_or(&[]);
        Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
    };
    gimli::Dwarf::load(read).ok()
}

impl Dwarf<'_> {
    /// The functions and lines at `pc`, innermost first. Empty where nothing is known.
    pub fn frames(&self, pc: ElfAddr) -> Vec<SourceFrame> {
        let mut budget = Budget::new();
        let Some(number) = self.unit_at(pc, &mut budget) else {
            return Vec::new();
        };
        let at = self
            .line_table(number, &mut budget)
            .and_then(|table| Some((table, table.row_at(pc.raw())?)))
            .and_then(|(table, row)| table.place(row.file, row.line, row.column));
        let Some(functions) = self.functions(number, &mut budget) else {
            return lone_line(at);
        };
        let chain = functions.chain_at(pc.raw(), &mut budget);
        if chain.is_empty() {
            return lone_line(at);
        }
        let entries = self.load_entries(number);
        let mut place = at;
        let mut frames = Vec::new();
        for scope in chain.iter().rev() {
            let function = entries
                .as_ref()
                .and_then(|entries| self.function_name(entries, scope.offset));
            frames.push(SourceFrame {
                function,
                at: place.take(),
                inlined: scope.is_inlined(),
            });
            if let Some(call) = scope.call {
                place = self
                    .line_table(number, &mut budget)
                    .and_then(|table| table.place(call.file, call.line, call.column));
            }
        }
        frames
    }

    /// The source line of `pc`, without looking at functions.
    pub fn line(&self, pc: ElfAddr) -> Option<SourceLine> {
        let mut budget = Budget::new();
        let table = self.line_table(self.unit_at(pc, &mut budget)?, &mut budget)?;
        let row = table.row_at(pc.raw())?;
        table.place(row.file, row.line, row.column)
    }

    /// Whether a statement begins at `pc`: where stepping by lines may stop.
    pub fn begins_statement(&self, pc: ElfAddr) -> bool {
        let mut budget = Budget::new();
        let table = self
            .unit_at(pc, &mut budget)
            .and_then(|unit| self.line_table(unit, &mut budget));
        table.is_some_and(|table| table.begins_statement(pc.raw()))
    }

    /// Where a breakpoint on the function at [`entry`, `end`) belongs: its first line behind the prologue.
    /// None when no line begins at the entry.
    pub fn after_prologue(&self, entry: ElfAddr, end: ElfAddr) -> Option<ElfAddr> {
        let mut budget = Budget::new();
        let table = self.line_table(self.unit_at(entry, &mut budget)?, &mut budget)?;
        table
            .after_prologue(entry.raw(), end.raw())
            .map(ElfAddr::new)
    }

    /// Whether everything could be read, and if not, why.
    pub fn problem(&self) -> Option<Error> {
        let path = self.image.path().to_owned();
        let shared = || self.supplement.as_ref()?.index.problem.borrow().clone();
        let own = self.index.problem.borrow().clone();
        Some(match own.or_else(shared)? {
            Problem::Damaged(detail) => Error::BadDwarf { path, detail },
            Problem::Missing(missing) => Error::MissingDebugFile { path, missing },
        })
    }
}

fn lone_line(at: Option<SourceLine>) -> Vec<SourceFrame> {
    at.map(|at| SourceFrame {
        function: None,
        at: Some(at),
        inlined: false,
    })
    .into_iter()
    .collect()
}

/// For people, and bounded.
fn readable(text: &[u8]) -> String {
    name::display(&text[..text.len().min(super::budget::MAX_NAME)]).into_owned()
}
