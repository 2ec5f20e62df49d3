//! Lists as rows and tables, records as lines, nested values inline.

use super::{Echo, ITEMS_INLINE, Kind, TEXT_MAX, integer_of};
use crate::output::hex;
use crate::output::rows::{self, Rows};
use crate::script::convert;
use crate::script::error::Error;
use rquickjs::Value;

/// Columns of a table.
const COLUMNS_MAX: usize = 64;
/// Rows that are looked at for the columns of a table.
const COLUMNS_FROM: usize = 100;
/// Bounds of what stands inside a cell.
const INLINE_DEPTH: usize = 4;
const INLINE_BYTES: usize = 400;

impl<'js> Echo<'_, 'js> {
    pub(super) fn list(&self, items: &[Value<'js>], length: usize) -> Result<String, Error> {
        if items.is_empty() {
            return Ok("[]".to_owned());
        }
        let text = if items.iter().all(|item| !item.is_object()) {
            let cells = items.iter().map(|item| self.cell(item));
            rows::row(cells.collect::<Result<Vec<_>, _>>()?)
        } else if let Some(table) = self.table(items)? {
            table
        } else {
            self.lines(items)?
        };
        Ok(with_rest(text, items.len(), length))
    }

    /// Records of which each has its line under one header.
    fn table(&self, items: &[Value<'js>]) -> Result<Option<String>, Error> {
        let mut columns: Vec<String> = Vec::new();
        for item in items.iter().take(COLUMNS_FROM) {
            if !item.is_object() {
                return Ok(None);
            }
            let Kind::Record(entries, _) = self.kind(item, COLUMNS_MAX)? else {
                return Ok(None);
            };
            for (key, _) in entries {
                if columns.len() < COLUMNS_MAX && !columns.contains(&key) {
                    columns.push(key);
                }
            }
        }
        if columns.is_empty() {
            return Ok(None);
        }
        let mut table = Rows::new();
        table.push(&columns);
        for item in items {
            self.check()?;
            if table.len() > TEXT_MAX {
                break;
            }
            let Some(object) = item.as_object() else {
                table.push([self.cell(item)?]);
                continue;
            };
            let mut cells = Vec::with_capacity(columns.len());
            for column in &columns {
                let value = self.get(object, column.as_str())?;
                cells.push(if value.is_undefined() {
                    String::new()
                } else {
                    self.cell(&value)?
                });
            }
            table.push(cells);
        }
        Ok(Some(table.finish()))
    }

    /// Anything else: an item a line, the items of inner lists as its cells.
    fn lines(&self, items: &[Value<'js>]) -> Result<String, Error> {
        let mut lines = Rows::new();
        for item in items {
            self.check()?;
            if lines.len() > TEXT_MAX {
                break;
            }
            if !item.is_object() {
                lines.push([self.cell(item)?]);
                continue;
            }
            match self.kind(item, ITEMS_INLINE)? {
                Kind::List(inner, _) if inner.is_empty() => {
                    lines.push(["[]"]);
                }
                Kind::List(inner, length) => {
                    let cells = inner.iter().map(|item| self.cell(item));
                    let mut cells = cells.collect::<Result<Vec<_>, _>>()?;
                    if length > inner.len() {
                        cells.push("…".to_owned());
                    }
                    lines.push(cells);
                }
                Kind::Text(text) => {
                    for line in text.lines() {
                        lines.push(line.split('\t'));
                    }
                }
                Kind::Record(..) => {
                    lines.push([self.cell(item)?]);
                }
            }
        }
        Ok(lines.finish())
    }

    pub(super) fn record(
        &self,
        entries: &[(String, Value<'js>)],
        length: usize,
    ) -> Result<String, Error> {
        if entries.is_empty() {
            return Ok("{}".to_owned());
        }
        let mut lines = Rows::new();
        for (key, value) in entries {
            if lines.len() > TEXT_MAX {
                break;
            }
            lines.push([key.as_str(), &self.cell(value)?]);
        }
        Ok(with_rest(lines.finish(), entries.len(), length))
    }

    /// One cell: a primitive as it is, integers from 65536 on in hex, objects inline.
    fn cell(&self, value: &Value<'js>) -> Result<String, Error> {
        if value.is_string() {
            return Ok(convert::shown(value));
        }
        let mut text = String::new();
        self.push_inline(value, 0, false, &mut text)?;
        Ok(text)
    }

    pub(super) fn push_inline(
        &self,
        value: &Value<'js>,
        depth: usize,
        bare: bool,
        into: &mut String,
    ) -> Result<(), Error> {
        if value.is_string() {
            let text = convert::shown(value);
            let shown: String = text.chars().take(INLINE_BYTES).collect();
            let cut = if shown.len() < text.len() { "…" } else { "" };
            let quote = if bare { "" } else { "'" };
            into.extend([quote, &shown, cut, quote]);
            return Ok(());
        }
        if !value.is_object() {
            *into += &match integer_of(value) {
                Some(integer) => hex::cell_integer(integer),
                None => self.scalar(value)?,
            };
            return Ok(());
        }
        let kind = self.kind(value, ITEMS_INLINE)?;
        if depth >= INLINE_DEPTH || into.len() > INLINE_BYTES {
            into.push('…');
            return Ok(());
        }
        match kind {
            Kind::Text(text) => *into += text.lines().next().unwrap_or_default(),
            Kind::List(items, length) => {
                into.push('[');
                for (index, item) in items.iter().enumerate() {
                    push_separator(into, index);
                    if into.len() > INLINE_BYTES {
                        break;
                    }
                    self.push_inline(item, depth + 1, false, into)?;
                }
                push_end(into, ']', items.len(), length);
            }
            Kind::Record(entries, length) => {
                into.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    push_separator(into, index);
                    if into.len() > INLINE_BYTES {
                        break;
                    }
                    into.extend([key, ": "]);
                    self.push_inline(value, depth + 1, false, into)?;
                }
                push_end(into, '}', entries.len(), length);
            }
        }
        Ok(())
    }
}

fn push_separator(into: &mut String, index: usize) {
    if index > 0 {
        into.push_str(", ");
    }
}

fn push_end(into: &mut String, end: char, shown: usize, length: usize) {
    if length > shown || into.len() > INLINE_BYTES {
        into.push_str(", …");
    }
    into.push(end);
}

fn with_rest(text: String, shown: usize, length: usize) -> String {
    if length > shown {
        format!("{text}\n~ {} more items", length - shown)
    } else {
        text
    }
}
