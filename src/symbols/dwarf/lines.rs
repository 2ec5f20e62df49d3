//! The line table of one unit: address to line, and where a function's prologue ends.

use super::units::is_tombstone;
use super::{Dwarf, Entry, Slice, SourceLine, Unit};
use crate::symbols::budget::{Budget, MAX_NAME, MAX_ROWS};
use gimli::{
    AttributeValue, ColumnType, DebugLineOffset, IncompleteLineProgram, LineRow, Reader, Section,
};
use std::ops::Range;

/// A header lists files and directories; it is held in memory, so a huge one is refused.
const MAX_HEADER: u64 = 32 << 20;
/// Bytes of file names kept of one unit; files beyond it go without a name.
const MAX_FILE_NAMES: usize = 32 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) addr: u64,
    pub(super) file: u32,
    /// 0 for code that belongs to no line.
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) is_stmt: bool,
    pub(super) prologue_end: bool,
}

#[derive(Debug)]
pub(super) struct LineTable {
    rows: Vec<Row>,
    /// By address.
    sequences: Vec<Sequence>,
    files: Vec<String>,
}

/// Rows of contiguous code.
#[derive(Debug)]
struct Sequence {
    start: u64,
    end: u64,
    rows: Range<usize>,
}

type Program<'a> = IncompleteLineProgram<Slice<'a>>;
type Header<'a> = gimli::LineProgramHeader<Slice<'a>>;

impl<'a> Dwarf<'a> {
    pub(super) fn read_lines(&self, unit: &Unit<'a>, budget: &mut Budget) -> Option<LineTable> {
        let program = unit.line_program.clone()?;
        let files = self.file_names(unit, program.header());
        let mut table = LineTable {
            rows: Vec::new(),
            sequences: Vec::new(),
            files,
        };
        if let Err(error) = table.fill(program, budget) {
            self.note_problem("line rows", error);
        }
        table.sequences.sort_by_key(|sequence| sequence.start);
        Some(table)
    }

    fn file_names(&self, unit: &Unit<'a>, header: &Header<'a>) -> Vec<String> {
        let mut room = MAX_FILE_NAMES;
        let first = usize::from(header.version() < 5);
        let count = header.file_names().len() + first;
        (0..count)
            .map(|file| {
                let path = self.file_path(unit, header, file as u64);
                let path = path.filter(|path| path.len() <= room).unwrap_or_default();
                room -= path.len();
                path
            })
            .collect()
    }

    /// The path of a file: compilation directory, directory and name, as far as each is not absolute.
    pub(super) fn file_path(
        &self,
        unit: &Unit<'a>,
        header: &Header<'a>,
        file: u64,
    ) -> Option<String> {
        let entry = header.file(file)?;
        let text = |value| {
            let bytes = self.sections.attr_string(unit, value).ok()?.slice();
            Some(String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_NAME)]).into_owned())
        };
        let mut path = unit.comp_dir.map_or_else(String::new, |folder| {
            let bytes = folder.slice();
            String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_NAME)]).into_owned()
        });
        if let Some(folder) = entry.directory(header).and_then(text) {
            join(&mut path, &folder);
        }
        join(&mut path, &text(entry.path_name())?);
        Some(path)
    }

    /// The last component of a file's name, without building the path.
    pub(super) fn file_base_name(
        &self,
        unit: &Unit<'a>,
        name: AttributeValue<Slice<'a>>,
    ) -> &'a [u8] {
        let name = self.sections.attr_string(unit, name);
        let name = name.map_or(&[][..], |name| name.slice());
        let name = &name[..name.len().min(MAX_NAME)];
        name.rsplit(|&byte| byte == b'/').next().unwrap_or(name)
    }
}

/// Whether a unit's list of files may be read. gimli reads it with the unit, without a bound.
pub(super) fn has_bearable_files<'a>(sections: &gimli::Dwarf<Slice<'a>>, root: &Entry<'a>) -> bool {
    match root.attr_value(gimli::DW_AT_stmt_list) {
        Some(AttributeValue::DebugLineRef(offset)) => {
            header_size(sections, offset).is_none_or(|size| size <= MAX_HEADER)
        }
        _ => true,
    }
}

/// Lengths and version come first: DWARF 5, section 6.2.4.
fn header_size(sections: &gimli::Dwarf<Slice<'_>>, offset: DebugLineOffset) -> Option<u64> {
    let mut reader = *sections.debug_line.reader();
    reader.skip(offset.0).ok()?;
    let (_, format) = reader.read_initial_length().ok()?;
    if reader.read_u16().ok()? >= 5 {
        reader.skip(2).ok()?;
    }
    let size = reader.read_length(format).ok()?;
    u64::try_from(size).ok()
}

fn join(path: &mut String, part: &str) {
    if part.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part);
}

impl LineTable {
    fn fill(&mut self, program: Program<'_>, budget: &mut Budget) -> gimli::Result<()> {
        let mut rows = program.rows();
        let mut first = 0;
        while let Some((_, row)) = rows.next_row()? {
            if !budget.step() || self.rows.len() >= MAX_ROWS {
                break;
            }
            if row.end_sequence() {
                self.end_sequence(first, row.address());
                first = self.rows.len();
            } else {
                self.rows.push(Row::read(row));
            }
        }
        // What follows the last end of a sequence has no end: it is dropped.
        self.rows.truncate(first);
        Ok(())
    }

    fn end_sequence(&mut self, first: usize, end: u64) {
        let rows = &mut self.rows[first..];
        if !rows.is_sorted_by_key(|row| row.addr) {
            rows.sort_by_key(|row| row.addr);
        }
        match rows.first() {
            Some(row) if row.addr < end && !is_tombstone(row.addr) => {
                self.sequences.push(Sequence {
                    start: row.addr,
                    end,
                    rows: first..self.rows.len(),
                });
            }
            _ => self.rows.truncate(first),
        }
    }

    fn sequence_at(&self, pc: u64) -> Option<&Sequence> {
        let behind = self.sequences.partition_point(|seq| seq.start <= pc);
        let sequence = self.sequences.get(behind.checked_sub(1)?)?;
        (pc < sequence.end).then_some(sequence)
    }

    fn rows_of(&self, sequence: &Sequence) -> &[Row] {
        self.rows.get(sequence.rows.clone()).unwrap_or(&[])
    }

    /// The row in force at `pc`: of several at one address the last one counts.
    pub(super) fn row_at(&self, pc: u64) -> Option<&Row> {
        let rows = self.rows_of(self.sequence_at(pc)?);
        let behind = rows.partition_point(|row| row.addr <= pc);
        rows.get(behind.checked_sub(1)?)
    }

    /// Whether the line in force at `pc` begins there, as a statement.
    pub(super) fn begins_statement(&self, pc: u64) -> bool {
        self.row_at(pc)
            .is_some_and(|row| row.addr == pc && row.is_stmt && row.line != 0)
    }

    pub(super) fn place(&self, file: u32, line: u32, column: u32) -> Option<SourceLine> {
        let file = self.files.get(usize::try_from(file).ok()?)?;
        (line != 0 && !file.is_empty()).then(|| SourceLine {
            file: file.clone(),
            line,
            column,
        })
    }

    pub(super) fn extents(&self) -> impl Iterator<Item = (u64, u64)> {
        self.sequences.iter().map(|seq| (seq.start, seq.end))
    }

    pub(super) fn file(&self, file: u32) -> &str {
        let name = usize::try_from(file).ok().and_then(|at| self.files.get(at));
        name.map_or("", String::as_str)
    }

    /// All rows at which a statement begins.
    pub(super) fn statements(&self) -> impl Iterator<Item = &Row> {
        self.sequences
            .iter()
            .flat_map(|sequence| self.rows_of(sequence))
            .filter(|row| row.is_stmt && row.line != 0)
    }

    /// The compiler's own mark if there is one. Else gdb's rule: the second address that begins a statement,
    /// as the first line of a function covers its prologue. When a second line begins at the entry already,
    /// the optimiser left no prologue to skip.
    pub(super) fn after_prologue(&self, entry: u64, end: u64) -> Option<u64> {
        let rows = self.rows_of(self.sequence_at(entry)?);
        let first = rows.partition_point(|row| row.addr < entry);
        let behind = rows.partition_point(|row| row.addr < end);
        let rows = rows.get(first..behind)?;
        let opening = rows.first().filter(|row| row.addr == entry)?;
        if let Some(marked) = rows.iter().find(|row| row.prologue_end) {
            return Some(marked.addr);
        }
        let statements = || rows.iter().filter(|row| row.is_stmt && row.line != 0);
        let body_at_entry = statements()
            .take_while(|row| row.addr == entry)
            .any(|row| row.line != opening.line);
        if body_at_entry {
            return Some(entry);
        }
        let second = statements().find(|row| row.addr > entry);
        Some(second.map_or(entry, |row| row.addr))
    }
}

impl Row {
    fn read(row: &LineRow) -> Self {
        let small = |number: u64| u32::try_from(number).unwrap_or(0);
        Self {
            addr: row.address(),
            file: small(row.file_index()),
            line: row.line().map_or(0, |line| small(line.get())),
            column: match row.column() {
                ColumnType::LeftEdge => 0,
                ColumnType::Column(column) => small(column.get()),
            },
            is_stmt: row.is_stmt(),
            prologue_end: row.prologue_end(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(addr: u64, line: u32, is_stmt: bool, prologue_end: bool) -> Row {
        Row {
            addr,
            file: 0,
            line,
            column: 0,
            is_stmt,
            prologue_end,
        }
    }

    fn table(rows: &[Row], end: u64) -> LineTable {
        let mut table = LineTable {
            rows: rows.to_vec(),
            sequences: Vec::new(),
            files: vec!["/src/a.c".to_owned()],
        };
        table.end_sequence(0, end);
        table
    }

    #[test]
    fn the_last_row_at_an_address_counts() {
        let table = table(
            &[
                row(10, 1, true, false),
                row(10, 2, true, false),
                row(14, 3, true, false),
            ],
            20,
        );
        let line = |pc| table.row_at(pc).map(|row| row.line);
        assert_eq!(line(9), None);
        assert_eq!(line(10), Some(2));
        assert_eq!(line(13), Some(2));
        assert_eq!(line(19), Some(3));
        assert_eq!(line(20), None);
    }

    #[track_caller]
    fn check_prologue(rows: &[Row], expected: Option<u64>) {
        assert_eq!(table(rows, 100).after_prologue(10, 50), expected);
    }

    #[test]
    fn the_prologue_ends_at_the_second_line_or_the_mark() {
        let entry = row(10, 1, true, false);
        check_prologue(
            &[entry, row(14, 2, true, false), row(20, 3, true, false)],
            Some(14),
        );
        check_prologue(&[entry, row(14, 1, true, false)], Some(14));
        check_prologue(
            &[entry, row(12, 1, false, false), row(18, 2, true, false)],
            Some(18),
        );
        check_prologue(
            &[entry, row(14, 2, true, false), row(20, 3, true, true)],
            Some(20),
        );
        check_prologue(
            &[entry, row(10, 2, true, false), row(14, 3, true, false)],
            Some(10),
        );
        check_prologue(&[entry], Some(10));
        check_prologue(&[entry, row(60, 9, true, true)], Some(10));
        check_prologue(&[row(8, 1, true, false), row(14, 2, true, false)], None);
    }

    #[test]
    fn code_that_was_dropped_has_no_rows() {
        assert!(table(&[row(0, 1, true, false)], 20).sequences.is_empty());
        assert!(table(&[row(30, 1, true, false)], 20).rows.is_empty());
    }
}
