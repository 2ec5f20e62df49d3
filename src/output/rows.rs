//! Rows: cells joined by tabs, one row a line.

use super::escape;

/// One row, every cell escaped.
pub fn row<I>(cells: I) -> String
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let mut line = String::new();
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            line.push('\t');
        }
        escape::push_str(&mut line, cell.as_ref(), escape::Place::Cell, usize::MAX);
    }
    line
}

/// Lines of rows: a table with a header, a record, a list.
#[derive(Default, Debug)]
pub struct Rows {
    /// Each row ends with a newline.
    text: String,
}

impl Rows {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push<I>(&mut self, cells: I) -> &mut Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        self.text.push_str(&row(cells));
        self.text.push('\n');
        self
    }

    /// The lines, without a newline at the end.
    pub fn finish(mut self) -> String {
        self.text.pop();
        self.text
    }

    /// How large the text has become: what is built from hostile data stops when it is enough.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_break_its_row() {
        assert_eq!(row(["a\tb", "", "c\nd"]), "a\\tb\t\tc\\nd");
    }

    #[test]
    fn rows_are_lines() {
        let mut rows = Rows::new();
        rows.push([""]).push(["id", "name"]).push(["1", "main"]);
        assert_eq!(rows.finish(), "\nid\tname\n1\tmain");
        assert_eq!(Rows::new().finish(), "");
    }
}
