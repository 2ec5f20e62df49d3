//! From a line of source to addresses.

use super::units::is_part;
use super::{Dwarf, Unit};
use crate::base::addr::ElfAddr;
use crate::symbols::budget::Budget;
use crate::symbols::near::nearest;
use std::collections::{BTreeMap, BTreeSet};

/// A line someone asked for: `file` is a base name or the end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineQuery<'q> {
    pub file: &'q str,
    pub line: u32,
}

/// One place where code of a line begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineAddress {
    pub addr: ElfAddr,
    pub file: String,
    /// The line at the address: of a function's first line, the one behind its prologue.
    pub line: u32,
}

/// What is known about a line in one image.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LineMatch {
    /// The line asked for, or the next one that has code; 0 when there are no addresses.
    pub line: u32,
    /// One address per function and inlined copy.
    pub addresses: Vec<LineAddress>,
    /// When there are none: lines of the file that have code, nearest first.
    pub near_lines: Vec<u32>,
    /// When no file fits: names of files that are there.
    pub near_files: Vec<String>,
}

/// Lines that are offered when the one asked for has no code.
const OFFERED: usize = 3;

impl LineQuery<'_> {
    fn base_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or(self.file)
    }

    /// Whether `path` ends with the file asked for, whole components only.
    fn fits(&self, path: &str) -> bool {
        let asked = self.file.trim_start_matches("./");
        path.strip_suffix(asked)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/') || asked.starts_with('/'))
    }
}

/// A unit with the numbers under which it knows the file.
struct Candidate {
    unit: usize,
    files: BTreeSet<u32>,
}

impl Dwarf<'_> {
    pub fn find_line(&self, query: LineQuery<'_>) -> LineMatch {
        let mut budget = Budget::new();
        let candidates = self.candidates(query, &mut budget);
        if candidates.is_empty() {
            return LineMatch {
                near_files: self.near_files(query.base_name(), &mut budget),
                ..LineMatch::default()
            };
        }
        let lines = self.lines_with_code(&candidates, &mut budget);
        let Some(line) = lines.range(query.line..).next().copied() else {
            return LineMatch {
                near_lines: lines.iter().rev().take(OFFERED).copied().collect(),
                ..LineMatch::default()
            };
        };
        let mut addresses = Vec::new();
        for candidate in &candidates {
            self.addresses_in(candidate, line, &mut addresses, &mut budget);
        }
        addresses.sort_by_key(|found| found.addr);
        addresses.dedup_by_key(|found| found.addr);
        LineMatch {
            line,
            addresses,
            ..LineMatch::default()
        }
    }

    fn candidates(&self, query: LineQuery<'_>, budget: &mut Budget) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for number in 0..self.unit_count() {
            if !budget.step() {
                break;
            }
            let Some(unit) = self.load_unit(number).filter(|unit| !is_part(unit)) else {
                continue;
            };
            let files = self.files_that_fit(&unit, query, budget);
            if !files.is_empty() {
                candidates.push(Candidate {
                    unit: number,
                    files,
                });
            }
        }
        candidates
    }

    fn files_that_fit(
        &self,
        unit: &Unit<'_>,
        query: LineQuery<'_>,
        budget: &mut Budget,
    ) -> BTreeSet<u32> {
        let mut files = BTreeSet::new();
        let Some(program) = &unit.line_program else {
            return files;
        };
        let header = program.header();
        let first = u32::from(header.version() < 5);
        for (number, file) in (first..).zip(header.file_names()) {
            if !budget.step() {
                break;
            }
            let base = self.file_base_name(unit, file.path_name());
            if base == query.base_name().as_bytes()
                && self
                    .file_path(unit, header, u64::from(number))
                    .is_some_and(|path| query.fits(&path))
            {
                files.insert(number);
            }
        }
        files
    }

    fn lines_with_code(&self, candidates: &[Candidate], budget: &mut Budget) -> BTreeSet<u32> {
        let mut lines = BTreeSet::new();
        for candidate in candidates {
            let Some(table) = self.line_table(candidate.unit, budget) else {
                continue;
            };
            let of_file = table
                .statements()
                .filter(|row| candidate.files.contains(&row.file));
            lines.extend(of_file.map(|row| row.line));
        }
        lines
    }

    /// A loop's line may begin in several blocks of code; the lowest one stands for them. Copies of the line
    /// in other functions, or inlined a second time, count each.
    fn addresses_in(
        &self,
        candidate: &Candidate,
        line: u32,
        into: &mut Vec<LineAddress>,
        budget: &mut Budget,
    ) {
        let Some(table) = self.line_table(candidate.unit, budget) else {
            return;
        };
        let functions = self.functions(candidate.unit, budget);
        let mut lowest: BTreeMap<Option<usize>, LineAddress> = BTreeMap::new();
        for row in table.statements() {
            if row.line != line || !candidate.files.contains(&row.file) {
                continue;
            }
            if !budget.step() {
                break;
            }
            let scope = functions.and_then(|known| known.innermost_at(row.addr, budget));
            let known = lowest.get(&scope).map(|found| found.addr.raw());
            if known.is_none_or(|known| row.addr < known) {
                lowest.insert(
                    scope,
                    LineAddress {
                        addr: ElfAddr::new(row.addr),
                        file: table.file(row.file).to_owned(),
                        line,
                    },
                );
            }
        }
        for (_, mut found) in lowest {
            // The line a function begins on stands for the function: behind its prologue the arguments can
            // be read.
            let bounds = functions.and_then(|functions| functions.beginning_at(found.addr.raw()));
            let moved = bounds
                .and_then(|(start, end)| table.after_prologue(start, end))
                .filter(|moved| *moved != found.addr.raw());
            if let Some(moved) = moved {
                found.addr = ElfAddr::new(moved);
                found.line = table.row_at(moved).map_or(line, |row| row.line);
            }
            into.push(found);
        }
    }

    /// The source file of a unit: a skeleton does not tell its name, but lists it first.
    fn unit_file<'u>(&self, unit: &Unit<'u>) -> Option<&'u [u8]>
    where
        Self: 'u,
    {
        let listed = || {
            let program = unit.line_program.as_ref()?;
            let first = program.header().file_names().first()?.path_name();
            let name = self.sections.attr_string(unit, first).ok()?;
            Some(name.slice())
        };
        unit.name.map(|name| name.slice()).or_else(listed)
    }

    fn near_files(&self, base: &str, budget: &mut Budget) -> Vec<String> {
        let mut names = BTreeSet::new();
        for number in 0..self.unit_count() {
            if !budget.step() {
                break;
            }
            let name = self
                .load_unit(number)
                .and_then(|unit| self.unit_file(&unit));
            if let Some(name) = name {
                let text = String::from_utf8_lossy(name).into_owned();
                let last = text.rsplit('/').next().unwrap_or(&text);
                // rustc adds the code generation unit: `src/main.rs/@/hello.4f2a`.
                let file = text
                    .split("/@/")
                    .next()
                    .and_then(|path| path.rsplit('/').next());
                names.insert(file.unwrap_or(last).to_owned());
            }
        }
        nearest(base, names.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fits(asked: &str, path: &str, fits: bool) {
        let query = LineQuery {
            file: asked,
            line: 1,
        };
        assert_eq!(query.fits(path), fits, "{asked} {path}");
    }

    #[test]
    fn a_file_is_known_by_the_end_of_its_path() {
        check_fits("a.c", "/src/a.c", true);
        check_fits("a.c", "a.c", true);
        check_fits("a.c", "/src/ba.c", false);
        check_fits("src/a.c", "/x/src/a.c", true);
        check_fits("./a.c", "/src/a.c", true);
        check_fits("/src/a.c", "/src/a.c", true);
        check_fits("rc/a.c", "/src/a.c", false);
    }
}
