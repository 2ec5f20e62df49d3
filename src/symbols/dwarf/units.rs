//! Compilation units: where each begins, which addresses it covers, and what was read of it.

use super::functions::Functions;
use super::lines::{LineTable, has_bearable_files};
use super::split::SplitFile;
use super::{Dwarf, Slice, Unit};
use crate::base::addr::ElfAddr;
use crate::base::range_map::RangeMap;
use crate::symbols::budget::{Budget, MAX_RANGES, MAX_UNITS};
use gimli::{Abbreviations, DebugInfoOffset, UnitHeader, UnitOffset};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Units {
    /// In order of their offset.
    all: Vec<UnitState>,
    by_address: OnceCell<RangeMap<usize>>,
}

#[derive(Default, Debug)]
pub(super) struct UnitState {
    /// In `.debug_info`.
    offset: usize,
    pub(super) split: SplitFile,
    abbreviations: OnceCell<Option<Arc<Abbreviations>>>,
    lines: OnceCell<Option<LineTable>>,
    functions: OnceCell<Option<Functions>>,
}

impl Units {
    /// Reads the headers only, which is one jump per unit.
    pub(super) fn read(sections: &gimli::Dwarf<Slice<'_>>) -> (Self, Option<String>) {
        let mut all = Vec::new();
        let mut headers = sections.units();
        let problem = loop {
            match headers.next() {
                Ok(Some(header)) => {
                    if all.len() == MAX_UNITS {
                        break Some(format!("more than {MAX_UNITS} units"));
                    }
                    let Some(DebugInfoOffset(offset)) = header.debug_info_offset() else {
                        continue;
                    };
                    all.push(UnitState {
                        offset,
                        ..UnitState::default()
                    });
                }
                Ok(None) => break None,
                Err(error) => break Some(format!("unit headers: {error}")),
            }
        };
        let units = Self {
            all,
            by_address: OnceCell::new(),
        };
        (units, problem)
    }

    pub(super) fn state(&self, number: usize) -> Option<&UnitState> {
        self.all.get(number)
    }
}

/// The entries of a unit, which may be in another file than its lines.
pub(super) struct Entries<'a> {
    pub(super) unit: Unit<'a>,
    /// The sections of that other file.
    pub(super) split: Option<Box<gimli::Dwarf<Slice<'a>>>>,
}

/// Addresses that linkers write where the code was dropped: 0, and the last two of the address space.
pub(super) fn is_tombstone(addr: u64) -> bool {
    addr == 0 || addr >= u64::MAX - 1
}

/// Whether a unit has no code of its own, though it may name the line table of one that has: what several
/// units import, or a type.
pub(super) fn is_part(unit: &Unit<'_>) -> bool {
    let mut entries = unit.entries();
    let tag = entries
        .next_dfs()
        .ok()
        .flatten()
        .map(gimli::DebuggingInformationEntry::tag);
    matches!(
        tag,
        Some(gimli::DW_TAG_partial_unit | gimli::DW_TAG_type_unit)
    )
}

impl<'a> Dwarf<'a> {
    pub(super) fn unit_count(&self) -> usize {
        self.index.units.all.len()
    }

    /// The number of the unit that holds an offset into `.debug_info`.
    pub(super) fn unit_of(&self, offset: DebugInfoOffset) -> Option<usize> {
        let units = &self.index.units.all;
        units
            .partition_point(|unit| unit.offset <= offset.0)
            .checked_sub(1)
    }

    pub(super) fn load_unit(&self, number: usize) -> Option<Unit<'a>> {
        let state = self.index.units.all.get(number)?;
        self.read_unit(state)
            .inspect_err(|error| self.note_problem("a unit", error))
            .ok()
            .flatten()
    }

    fn read_unit(&self, state: &UnitState) -> gimli::Result<Option<Unit<'a>>> {
        let header = self.sections.unit_header(DebugInfoOffset(state.offset))?;
        let known = state
            .abbreviations
            .get_or_init(|| self.sections.abbreviations(&header).ok());
        let known = known.clone().ok_or(gimli::Error::MissingUnitDie)?;
        if !self.is_bearable(&self.sections, &header, &known)? {
            return Ok(None);
        }
        Unit::new_with_abbreviations(&self.sections, header, known).map(Some)
    }

    /// Whether a unit may be read in full.
    pub(super) fn is_bearable(
        &self,
        sections: &gimli::Dwarf<Slice<'a>>,
        header: &UnitHeader<Slice<'a>>,
        known: &Abbreviations,
    ) -> gimli::Result<bool> {
        let mut entries = header.entries(known);
        let root = entries.next_dfs()?.ok_or(gimli::Error::MissingUnitDie)?;
        let bearable = has_bearable_files(sections, root);
        if !bearable {
            self.note_problem("a unit", "its list of files is too long");
        }
        Ok(bearable)
    }

    /// A unit with the file that its entries are in.
    pub(super) fn load_entries(&self, number: usize) -> Option<Entries<'a>> {
        let unit = self.load_unit(number)?;
        let split = self.load_split(number, &unit);
        Some(split.unwrap_or(Entries { unit, split: None }))
    }

    /// The sections that `entries` refer to.
    pub(super) fn sections_for<'e>(
        &'e self,
        entries: &'e Entries<'a>,
    ) -> &'e gimli::Dwarf<Slice<'a>> {
        entries.split.as_deref().unwrap_or(&self.sections)
    }

    /// The line rows of a unit, parsed on first use.
    pub(super) fn line_table(&self, number: usize, budget: &mut Budget) -> Option<&'a LineTable> {
        let state = self.index.units.all.get(number)?;
        let read = || self.read_lines(&self.load_unit(number)?, budget);
        state.lines.get_or_init(read).as_ref()
    }

    /// The functions of a unit, parsed on first use.
    pub(super) fn functions(&self, number: usize, budget: &mut Budget) -> Option<&'a Functions> {
        let state = self.index.units.all.get(number)?;
        let read = || Some(self.read_functions(&self.load_entries(number)?, budget));
        state.functions.get_or_init(read).as_ref()
    }

    pub(super) fn unit_at(&self, pc: ElfAddr, budget: &mut Budget) -> Option<usize> {
        let map = self
            .index
            .units
            .by_address
            .get_or_init(|| self.map_addresses(budget));
        map.find(pc.raw()).map(|(_, _, number)| *number)
    }

    /// `.debug_aranges` covers most units at the cost of reading one table; the others are asked themselves.
    fn map_addresses(&self, budget: &mut Budget) -> RangeMap<usize> {
        let mut ranges = Vec::new();
        let mut covered = BTreeSet::new();
        if let Err(error) = self.read_aranges(&mut ranges, &mut covered, budget) {
            self.note_problem(".debug_aranges", error);
        }
        for number in 0..self.unit_count() {
            if budget.is_spent() || ranges.len() >= MAX_RANGES {
                self.note_problem("unit ranges", "too many");
                break;
            }
            if covered.contains(&number) {
                continue;
            }
            let Some(unit) = self.load_unit(number).filter(|unit| !is_part(unit)) else {
                continue;
            };
            let before = ranges.len();
            if let Err(error) = self.read_unit_ranges(number, &unit, &mut ranges, budget) {
                self.note_problem("unit ranges", error);
            }
            if ranges.len() == before
                && let Some(table) = self.line_table(number, budget)
            {
                ranges.extend(table.extents().map(|(start, end)| (start, end, number)));
            }
        }
        RangeMap::new(ranges)
    }

    fn read_aranges(
        &self,
        ranges: &mut Vec<(u64, u64, usize)>,
        covered: &mut BTreeSet<usize>,
        budget: &mut Budget,
    ) -> gimli::Result<()> {
        let mut headers = self.sections.debug_aranges.headers();
        while let Some(header) = headers.next()? {
            let Some(number) = self.unit_of(header.debug_info_offset()) else {
                continue;
            };
            let known = self.index.units.all.get(number);
            if known.is_none_or(|unit| unit.offset != header.debug_info_offset().0) {
                continue;
            }
            let mut entries = header.entries();
            while let Some(entry) = entries.next()? {
                if !budget.step() || ranges.len() >= MAX_RANGES {
                    return Ok(());
                }
                if !is_tombstone(entry.address()) && entry.length() > 0 {
                    let end = entry.address().saturating_add(entry.length());
                    ranges.push((entry.address(), end, number));
                    covered.insert(number);
                }
            }
        }
        Ok(())
    }

    fn read_unit_ranges(
        &self,
        number: usize,
        unit: &Unit<'a>,
        ranges: &mut Vec<(u64, u64, usize)>,
        budget: &mut Budget,
    ) -> gimli::Result<()> {
        let mut found = self.sections.unit_ranges(unit)?;
        while let Some(range) = found.next()? {
            if !budget.step() || ranges.len() >= MAX_RANGES {
                break;
            }
            if !is_tombstone(range.begin) && range.begin < range.end {
                ranges.push((range.begin, range.end, number));
            }
        }
        Ok(())
    }

    /// The unit and the entry in it that an offset into `.debug_info` means.
    pub(super) fn unit_and_entry(&self, offset: DebugInfoOffset) -> Option<(Unit<'a>, UnitOffset)> {
        let unit = self.load_unit(self.unit_of(offset)?)?;
        let inside = offset.to_unit_offset(&unit.header)?;
        Some((unit, inside))
    }
}
