//! The copies of a function that the compiler put in place of calls.
//!
//! No table lists them by name, so all entries are gone through: some ten million a second. It is done for a
//! name only when someone asks, and the answer is kept.

use super::functions::{call_site, read_ranges};
use super::units::Entries;
use super::{Dwarf, SourceLine};
use crate::base::addr::ElfAddr;
use crate::symbols::budget::Budget;
use crate::symbols::name::{Fit, Query};
use gimli::{AttributeValue, Section, UnitOffset};
use memchr::memmem::Finder;
use std::collections::BTreeMap;
use std::rc::Rc;

/// One copy, and the call it stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlinedCopy {
    pub entry: ElfAddr,
    pub call: Option<SourceLine>,
}

/// Whose copies are wanted.
pub enum Wanted<'q> {
    /// Of exactly these functions, as their symbols are written.
    Symbols(&'q [&'q [u8]]),
    /// Of those that a name fits best.
    Named(&'q Query<'q>),
}

/// More are not listed.
const MOST_COPIES: usize = 4096;
/// Answers that are kept for one image.
const MOST_ANSWERS: usize = 64;

impl Wanted<'_> {
    fn fit(&self, raw: &[u8]) -> Option<Fit> {
        match self {
            Self::Symbols(names) => names.contains(&raw).then_some(Fit::Whole),
            Self::Named(query) => query.fit_plain(raw).or_else(|| {
                let (fit, _, _) = query.fit_mangled(raw)?;
                Some(fit)
            }),
        }
    }

    fn key(&self) -> Vec<u8> {
        match self {
            Self::Symbols(names) => names.join(&0),
            Self::Named(query) => [b"?", query.text().as_bytes()].concat(),
        }
    }

    /// What must occur in the strings of the image if there is any copy.
    fn words(&self) -> Vec<&[u8]> {
        match self {
            Self::Symbols(names) => names.to_vec(),
            Self::Named(query) => vec![query.last_part().as_bytes()],
        }
    }
}

impl<'a> Dwarf<'a> {
    /// The bytes of entries there are to go through.
    pub fn entries_size(&self) -> usize {
        self.sections.debug_info.reader().len()
    }

    /// All copies, in order of address.
    pub fn inlined_copies(&self, wanted: &Wanted<'_>) -> Rc<[InlinedCopy]> {
        let key = wanted.key();
        if let Some(known) = self.index.copies.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found: Rc<[InlinedCopy]> = self.search_copies(wanted).into();
        let mut answers = self.index.copies.borrow_mut();
        if answers.len() >= MOST_ANSWERS {
            answers.clear();
        }
        answers.insert(key, Rc::clone(&found));
        found
    }

    fn search_copies(&self, wanted: &Wanted<'_>) -> Vec<InlinedCopy> {
        let mut budget = Budget::new();
        let is_mentioned = self.mentions(&wanted.words());
        let mut found: Vec<(Fit, InlinedCopy)> = Vec::new();
        for number in 0..self.unit_count() {
            if !budget.step() || found.len() >= MOST_COPIES {
                break;
            }
            let Some(entries) = self.load_entries(number) else {
                continue;
            };
            // Of a split unit the strings are elsewhere.
            if is_mentioned || entries.split.is_some() {
                self.search_unit(number, &entries, wanted, &mut found, &mut budget);
            }
        }
        let best = found.iter().map(|(fit, _)| *fit).min();
        found.retain(|(fit, _)| Some(*fit) == best);
        let mut copies: Vec<InlinedCopy> = found.into_iter().map(|(_, copy)| copy).collect();
        copies.sort_by_key(|copy| copy.entry);
        copies.dedup_by_key(|copy| copy.entry);
        copies
    }

    fn mentions(&self, words: &[&[u8]]) -> bool {
        let own = [
            self.sections.debug_str.reader().slice(),
            self.sections.debug_info.reader().slice(),
        ];
        let shared = self.supplement.as_deref();
        words.iter().any(|word| {
            let finder = Finder::new(word);
            own.iter().any(|bytes| finder.find(bytes).is_some())
                || shared.is_some_and(|shared| shared.mentions(words))
        })
    }

    fn search_unit(
        &self,
        number: usize,
        whole: &Entries<'a>,
        wanted: &Wanted<'_>,
        found: &mut Vec<(Fit, InlinedCopy)>,
        budget: &mut Budget,
    ) {
        let mut fits: BTreeMap<Origin, Option<Fit>> = BTreeMap::new();
        let mut copies = Vec::new();
        let walked = for_each_inlined(whole, budget, |offset, origin| {
            let fit = *fits.entry(origin).or_insert_with(|| {
                let raw = self.raw_function_name(whole, offset)?;
                wanted.fit(raw)
            });
            copies.extend(fit.map(|fit| (fit, offset)));
            copies.len() < MOST_COPIES
        });
        if let Err(error) = walked {
            self.note_problem("entries", error);
        }
        for (fit, offset) in copies {
            if let Some(copy) = self.copy_at(number, whole, offset, budget) {
                found.push((fit, copy));
            }
        }
    }

    fn copy_at(
        &self,
        number: usize,
        whole: &Entries<'a>,
        offset: UnitOffset,
        budget: &mut Budget,
    ) -> Option<InlinedCopy> {
        let entry = whole.unit.entry(offset).ok()?;
        let sections = self.sections_for(whole);
        let mut ranges = Vec::new();
        read_ranges(sections, &whole.unit, &entry, &mut ranges, budget);
        let first = ranges.first()?.0;
        // The compiler may say where the copy is entered; its lowest address can be a part moved up.
        let told = match entry.attr_value(gimli::DW_AT_entry_pc) {
            Some(AttributeValue::Udata(behind)) => first.checked_add(behind),
            Some(value) => sections.attr_address(&whole.unit, value).ok().flatten(),
            None => None,
        };
        let inside = |pc: &u64| ranges.iter().any(|(start, end)| (start..end).contains(&pc));
        let call = call_site(&entry);
        let table = self.line_table(number, budget);
        Some(InlinedCopy {
            entry: ElfAddr::new(told.filter(inside).unwrap_or(first)),
            call: table.and_then(|table| table.place(call.file, call.line, call.column)),
        })
    }
}

/// Whose copy an entry is: a place in the same unit, in the same file, or in the one shared with others.
type Origin = (u8, usize);

/// Calls `each` with every inlined copy, until it says no.
fn for_each_inlined(
    whole: &Entries<'_>,
    budget: &mut Budget,
    mut each: impl FnMut(UnitOffset, Origin) -> bool,
) -> gimli::Result<()> {
    let mut entries = whole.unit.entries_raw(None)?;
    while !entries.is_empty() && budget.step() {
        let offset = entries.next_offset();
        let Some(shape) = entries.read_abbreviation()? else {
            continue;
        };
        if shape.tag() != gimli::DW_TAG_inlined_subroutine {
            entries.skip_attributes(shape.attributes())?;
            continue;
        }
        let mut origin = None;
        for &attribute in shape.attributes() {
            let read = entries.read_attribute(attribute)?;
            if read.name() == gimli::DW_AT_abstract_origin {
                origin = match read.value() {
                    AttributeValue::UnitRef(at) => Some((0, at.0)),
                    AttributeValue::DebugInfoRef(at) => Some((1, at.0)),
                    AttributeValue::DebugInfoRefSup(at) => Some((2, at.0)),
                    _ => None,
                };
            }
        }
        if let Some(origin) = origin
            && !each(offset, origin)
        {
            break;
        }
    }
    Ok(())
}
