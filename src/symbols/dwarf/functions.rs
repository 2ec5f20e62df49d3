//! The functions of one unit, and the calls that were inlined into them.

use super::units::{Entries, is_tombstone};
use super::{Dwarf, Entry, Slice, Unit, readable};
use crate::base::range_map::RangeMap;
use crate::symbols::budget::{Budget, MAX_RANGES};
use gimli::{AttributeValue, UnitOffset};
use std::ops::Range;

/// Entries may refer to others that refer to others; a chain longer than this is a loop.
const LONGEST_CHAIN: usize = 16;

/// A function, or one inlined copy of a function within another.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) offset: UnitOffset,
    /// Where it was inlined; none for a real function.
    pub(super) call: Option<CallSite>,
    /// Its part of `Functions::ranges`.
    ranges: Range<usize>,
    /// The number of the first scope that is not within this one.
    end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CallSite {
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Scope {
    pub(super) fn is_inlined(&self) -> bool {
        self.call.is_some()
    }
}

#[derive(Debug)]
pub(super) struct Functions {
    /// In the order of their entries, so that a scope is followed by those within it.
    scopes: Vec<Scope>,
    ranges: Vec<(u64, u64)>,
    /// Real functions only.
    by_address: RangeMap<usize>,
}

impl Functions {
    fn covers(&self, scope: &Scope, pc: u64) -> bool {
        let ranges = self.ranges.get(scope.ranges.clone()).unwrap_or(&[]);
        ranges
            .iter()
            .any(|(start, end)| (*start..*end).contains(&pc))
    }

    /// The numbers of the function at `pc` and of the inlined calls within it, outermost first.
    fn numbers_at(&self, pc: u64, budget: &mut Budget) -> Vec<usize> {
        let Some((_, _, &function)) = self.by_address.find(pc) else {
            return Vec::new();
        };
        let mut numbers = vec![function];
        let mut end = self.scopes.get(function).map_or(0, |scope| scope.end);
        let mut next = function + 1;
        while let Some(scope) = self
            .scopes
            .get(next)
            .filter(|_| next < end && budget.step())
        {
            if scope.is_inlined() && self.covers(scope, pc) {
                numbers.push(next);
                end = scope.end;
                next += 1;
            } else {
                next = scope.end.max(next + 1);
            }
        }
        numbers
    }

    pub(super) fn chain_at(&self, pc: u64, budget: &mut Budget) -> Vec<&Scope> {
        let numbers = self.numbers_at(pc, budget).into_iter();
        numbers.filter_map(|at| self.scopes.get(at)).collect()
    }

    /// The number of the innermost scope, which tells one inlined copy from another.
    pub(super) fn innermost_at(&self, pc: u64, budget: &mut Budget) -> Option<usize> {
        self.numbers_at(pc, budget).pop()
    }

    /// The bounds of the function that begins at `pc`.
    pub(super) fn beginning_at(&self, pc: u64) -> Option<(u64, u64)> {
        let (start, end, _) = self.by_address.find(pc)?;
        (start == pc).then_some((start, end))
    }
}

impl<'a> Dwarf<'a> {
    pub(super) fn read_functions(&self, whole: &Entries<'a>, budget: &mut Budget) -> Functions {
        let mut scopes: Vec<Scope> = Vec::new();
        let mut ranges = Vec::new();
        // Depth and number of the scopes around the present entry.
        let mut open: Vec<(isize, usize)> = Vec::new();
        let unit = &whole.unit;
        let sections = self.sections_for(whole);
        let mut entries = unit.entries();
        loop {
            let entry = match entries.next_dfs() {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) => {
                    self.note_problem("entries", error);
                    break;
                }
            };
            if !budget.step() {
                self.note_problem("entries", "too many");
                break;
            }
            let depth = entry.depth();
            while let Some((_, number)) = open.pop_if(|(outer, _)| *outer >= depth) {
                scopes[number].end = scopes.len();
            }
            let call = match entry.tag() {
                gimli::DW_TAG_subprogram => None,
                gimli::DW_TAG_inlined_subroutine => Some(call_site(entry)),
                _ => continue,
            };
            let first = ranges.len();
            read_ranges(sections, unit, entry, &mut ranges, budget);
            if ranges.len() == first {
                continue;
            }
            open.push((depth, scopes.len()));
            scopes.push(Scope {
                offset: entry.offset(),
                call,
                ranges: first..ranges.len(),
                end: 0,
            });
        }
        let count = scopes.len();
        for (_, number) in open {
            scopes[number].end = count;
        }
        let real = scopes
            .iter()
            .enumerate()
            .filter(|(_, scope)| !scope.is_inlined());
        let by_address = RangeMap::new(real.flat_map(|(number, scope)| {
            let own = ranges.get(scope.ranges.clone()).unwrap_or(&[]);
            own.iter().map(move |(start, end)| (*start, *end, number))
        }));
        Functions {
            scopes,
            ranges,
            by_address,
        }
    }

    /// The name of a function, taken from the entry itself or from those it is a copy of. The linkage name
    /// is preferred, as it holds the whole path.
    pub(super) fn function_name(&self, whole: &Entries<'a>, offset: UnitOffset) -> Option<String> {
        self.raw_function_name(whole, offset).map(readable)
    }

    pub(super) fn raw_function_name(
        &self,
        whole: &Entries<'a>,
        offset: UnitOffset,
    ) -> Option<&'a [u8]> {
        let mut plain = None;
        let mut at = Origin {
            dwarf: self,
            moved: None,
            offset,
        };
        for _ in 0..LONGEST_CHAIN {
            let entries = at.moved.as_ref().unwrap_or(whole);
            let entry = entries.unit.entry(at.offset).ok()?;
            let sections = at.dwarf.sections_for(entries);
            let text = |name| {
                let text = sections.attr_string(&entries.unit, entry.attr_value(name)?);
                Some(text.ok()?.slice())
            };
            let linkage =
                text(gimli::DW_AT_linkage_name).or_else(|| text(gimli::DW_AT_MIPS_linkage_name));
            if let Some(linkage) = linkage {
                return Some(linkage);
            }
            plain = plain.or_else(|| text(gimli::DW_AT_name));
            let origin = entry
                .attr_value(gimli::DW_AT_abstract_origin)
                .or_else(|| entry.attr_value(gimli::DW_AT_specification));
            let Some(next) = origin.and_then(|origin| at.follow(whole, origin)) else {
                break;
            };
            at = next;
        }
        plain
    }
}

/// An entry that another one refers to.
struct Origin<'d, 'a> {
    dwarf: &'d Dwarf<'a>,
    /// None while in the unit where it began.
    moved: Option<Entries<'a>>,
    offset: UnitOffset,
}

impl<'a> Origin<'_, 'a> {
    fn follow(self, whole: &Entries<'a>, origin: AttributeValue<Slice<'a>>) -> Option<Self> {
        let Self { dwarf, moved, .. } = self;
        let (dwarf, offset) = match origin {
            AttributeValue::UnitRef(offset) => {
                return Some(Self {
                    dwarf,
                    moved,
                    offset,
                });
            }
            AttributeValue::DebugInfoRef(offset) => {
                // A split file has but one unit with functions.
                let entries = moved.as_ref().unwrap_or(whole);
                if entries.split.is_some() {
                    let offset = offset.to_unit_offset(&entries.unit.header)?;
                    return Some(Self {
                        dwarf,
                        moved,
                        offset,
                    });
                }
                (dwarf, offset)
            }
            AttributeValue::DebugInfoRefSup(offset) => (dwarf.supplement.as_deref()?, offset),
            _ => return None,
        };
        let (unit, offset) = dwarf.unit_and_entry(offset)?;
        Some(Self {
            dwarf,
            moved: Some(Entries { unit, split: None }),
            offset,
        })
    }
}

pub(super) fn read_ranges<'a>(
    sections: &gimli::Dwarf<Slice<'a>>,
    unit: &Unit<'a>,
    entry: &Entry<'a>,
    into: &mut Vec<(u64, u64)>,
    budget: &mut Budget,
) {
    let Ok(mut found) = sections.die_ranges(unit, entry) else {
        return;
    };
    while let Ok(Some(range)) = found.next() {
        if !budget.step() || into.len() >= MAX_RANGES {
            return;
        }
        if !is_tombstone(range.begin) && range.begin < range.end {
            into.push((range.begin, range.end));
        }
    }
}

pub(super) fn call_site(entry: &Entry<'_>) -> CallSite {
    let number = |name| {
        let value = match entry.attr_value(name)? {
            AttributeValue::FileIndex(index) => index,
            other => other.udata_value()?,
        };
        u32::try_from(value).ok()
    };
    CallSite {
        file: number(gimli::DW_AT_call_file).unwrap_or(0),
        line: number(gimli::DW_AT_call_line).unwrap_or(0),
        column: number(gimli::DW_AT_call_column).unwrap_or(0),
    }
}
