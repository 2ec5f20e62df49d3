//! From bytes, however they were cut on the way, to lines.

use std::collections::VecDeque;
use std::mem;

#[derive(PartialEq, Eq, Debug)]
pub enum Line {
    Text(String),
    /// A line that can be part of no program, and why.
    Bad(&'static str),
    /// The byte that Ctrl-C types.
    EndOfText,
}

/// Bytes of one line, and of one program. Larger ones belong in a file.
pub const MAX_TEXT: usize = 4 << 20;

pub const TOO_LONG: &str = "a program of more than 4 MiB";
const NOT_UTF8: &str = "the text is not UTF-8";

/// Lines that were received and not yet looked at.
#[derive(Default, Debug)]
pub struct Lines {
    ready: VecDeque<Line>,
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    partial_too_long: bool,
}

impl Lines {
    pub fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| matches!(byte, b'\n' | b'\x03')) {
            match piece.split_last() {
                Some((b'\n', text)) => {
                    self.extend(text);
                    self.end_line();
                }
                Some((b'\x03', text)) => {
                    self.extend(text);
                    self.ready.push_back(Line::EndOfText);
                }
                _ => self.extend(piece),
            }
        }
    }

    pub fn pop(&mut self) -> Option<Line> {
        self.ready.pop_front()
    }

    pub fn peek(&self) -> Option<&Line> {
        self.ready.front()
    }

    /// Whether a line has begun and not ended.
    pub fn has_partial(&self) -> bool {
        !self.partial.is_empty() || self.partial_too_long
    }

    pub fn discard_partial(&mut self) {
        self.partial = Vec::new();
        self.partial_too_long = false;
    }

    /// At the end of the input the last line needs no newline.
    pub fn end(&mut self) {
        if self.has_partial() {
            self.end_line();
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.partial.len() + bytes.len() > MAX_TEXT {
            self.partial_too_long = true;
            self.partial = Vec::new();
        } else if !self.partial_too_long {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        let mut bytes = mem::take(&mut self.partial);
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
        self.ready
            .push_back(if mem::take(&mut self.partial_too_long) {
                Line::Bad(TOO_LONG)
            } else {
                String::from_utf8(bytes).map_or(Line::Bad(NOT_UTF8), Line::Text)
            });
    }
}

/// The tag of a line `<<TAG`.
pub fn block_tag(line: &str) -> Option<&str> {
    let tag = line.strip_prefix("<<")?;
    let is_name = tag
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts_right = tag
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    (is_name && starts_right).then_some(tag)
}

/// Whether no statement can begin like this line, so that it belongs to the text before it.
pub fn goes_on(line: &str) -> bool {
    const SIGNS: [&str; 8] = [".", "?", "&&", "||", ",", ")", "]", "}"];
    const WORDS: [&str; 3] = ["else", "catch", "finally"];
    let line = line.trim_start();
    let mut bytes = line.bytes();
    let is_fraction =
        bytes.next() == Some(b'.') && bytes.next().is_some_and(|byte| byte.is_ascii_digit());
    let word_end = line
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$')))
        .unwrap_or(line.len());
    let word = line.get(..word_end).unwrap_or_default();
    !is_fraction && SIGNS.iter().any(|sign| line.starts_with(sign)) || WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[&[u8]], expected: &[Line], has_partial: bool) {
        let mut lines = Lines::default();
        for chunk in chunks {
            lines.feed(chunk);
        }
        assert_eq!(lines.ready, expected);
        assert_eq!(lines.has_partial(), has_partial);
    }

    fn text(text: &str) -> Line {
        Line::Text(text.to_owned())
    }

    #[test]
    fn lines_end_with_newline_or_carriage_return_and_newline() {
        check(&[b"a\nb\r\n\n"], &[text("a"), text("b"), text("")], false);
        check(&[b"a", b"b\r", b"\nc"], &[text("ab")], true);
        check(&[b"a\rb\n"], &[text("a\rb")], false);
    }

    #[test]
    fn a_character_may_be_cut_on_the_way() {
        check(&[b"\xc5", b"\xbe\n"], &[text("\u{17e}")], false);
        check(&[b"\xc5\n"], &[Line::Bad(NOT_UTF8)], false);
    }

    #[test]
    fn ctrl_c_is_no_part_of_the_line() {
        check(&[b"a\x03b\n"], &[Line::EndOfText, text("ab")], false);
    }

    #[test]
    fn an_endless_line_takes_no_memory() {
        let mut lines = Lines::default();
        for _ in 0..1_000 {
            lines.feed(&[b'a'; 10_000]);
            assert!(lines.partial.len() <= MAX_TEXT);
        }
        lines.feed(b"\n");
        assert_eq!(lines.pop(), Some(Line::Bad(TOO_LONG)));
    }
}
