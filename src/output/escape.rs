//! The one place that decides what a byte or character from anywhere may look like on stdout.
//!
//! `\xNN` always stands for one byte, `\u{N}` for one character above U+007F. A backslash stays as it
//! is, so escaping twice changes nothing and a line of escaped cells may pass through here again.

use super::hex;

/// What the text is going to be part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Lines of text: tab and newline mean themselves.
    Text,
    /// A cell of a row: tab and newline would break the row.
    Cell,
}

/// Appends `text`, escaped, until `into` is `limit` bytes long. Returns whether all of it fitted; an
/// escape is never split.
pub fn push_str(into: &mut String, text: &str, place: Place, limit: usize) -> bool {
    let mut rest = text;
    loop {
        let safe = rest.find(|c| is_unsafe(c, place)).unwrap_or(rest.len());
        let (plain, after) = rest.split_at(safe);
        let room = limit.saturating_sub(into.len());
        if plain.len() > room {
            into.push_str(&plain[..plain.floor_char_boundary(room)]);
            return false;
        }
        into.push_str(plain);
        let mut characters = after.chars();
        let Some(c) = characters.next() else {
            return true;
        };
        if !push_atomic(into, limit, |into| push_escape(into, c)) {
            return false;
        }
        rest = characters.as_str();
    }
}

/// As `push_str`, for bytes that claim to be UTF-8.
pub fn push_bytes(into: &mut String, bytes: &[u8], place: Place, limit: usize) -> bool {
    bytes.utf8_chunks().all(|chunk| {
        push_str(into, chunk.valid(), place, limit)
            && chunk
                .invalid()
                .iter()
                .all(|byte| push_atomic(into, limit, |into| push_hex(into, *byte)))
    })
}

/// One cell of a row.
pub fn cell(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    push_str(&mut escaped, text, Place::Cell, usize::MAX);
    escaped
}

/// One cell of a row, from bytes that claim to be UTF-8.
pub fn cell_bytes(bytes: &[u8]) -> String {
    let mut escaped = String::with_capacity(bytes.len());
    push_bytes(&mut escaped, bytes, Place::Cell, usize::MAX);
    escaped
}

/// Only a status line may begin with `=`: the prefix that a payload line needs.
pub fn guard(line_start: &str) -> &'static str {
    if line_start.starts_with('=') {
        "\\"
    } else {
        ""
    }
}

/// Controls that move a cursor, end a line for somebody, or reorder what a reader sees.
fn is_unsafe(c: char, place: Place) -> bool {
    match c {
        '\t' | '\n' => place == Place::Cell,
        _ => c.is_control() || is_separator(c) || is_bidi_control(c),
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Unicode TR9, section 2: the marks, embeddings, overrides and isolates.
fn is_bidi_control(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

fn push_escape(into: &mut String, c: char) {
    match (c, u8::try_from(c)) {
        ('\t', _) => into.push_str("\\t"),
        ('\n', _) => into.push_str("\\n"),
        (_, Ok(byte)) if byte.is_ascii() => push_hex(into, byte),
        _ => into.extend(c.escape_unicode()),
    }
}

fn push_hex(into: &mut String, byte: u8) {
    into.push_str("\\x");
    hex::push_byte(into, byte);
}

/// Lets `push` append, and takes it back when that went over the limit.
fn push_atomic(into: &mut String, limit: usize, push: impl FnOnce(&mut String)) -> bool {
    let before = into.len();
    push(into);
    let fits = into.len() <= limit;
    if !fits {
        into.truncate(before);
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(bytes: &[u8], text: &str, cell: &str) {
        let mut escaped = String::new();
        assert!(push_bytes(&mut escaped, bytes, Place::Text, usize::MAX));
        assert_eq!(escaped, text);
        assert_eq!(cell_bytes(bytes), cell);
    }

    #[test]
    fn dangerous_characters_are_shown() {
        check(b"plain", "plain", "plain");
        check("žluť 漢 😀".as_bytes(), "žluť 漢 😀", "žluť 漢 😀");
        check(b"a\tb\nc", "a\tb\nc", "a\\tb\\nc");
        check(b"\x1b[2J\r\0", "\\x1b[2J\\x0d\\x00", "\\x1b[2J\\x0d\\x00");
        check(b"\x7f", "\\x7f", "\\x7f");
        check(
            "\u{85}\u{9b}".as_bytes(),
            "\\u{85}\\u{9b}",
            "\\u{85}\\u{9b}",
        );
        check(
            "\u{2028}\u{202e}".as_bytes(),
            "\\u{2028}\\u{202e}",
            "\\u{2028}\\u{202e}",
        );
        check(
            "\u{61c}\u{2069}".as_bytes(),
            "\\u{61c}\\u{2069}",
            "\\u{61c}\\u{2069}",
        );
        check(
            "\u{a0}\u{200b}".as_bytes(),
            "\u{a0}\u{200b}",
            "\u{a0}\u{200b}",
        );
    }

    #[test]
    fn bytes_that_are_no_utf8_are_shown_one_by_one() {
        check(b"\x9b", "\\x9b", "\\x9b");
        check(b"a\xffb\xc3", "a\\xffb\\xc3", "a\\xffb\\xc3");
        check(b"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80");
    }

    #[test]
    fn the_limit_splits_neither_characters_nor_escapes() {
        let at = |limit| {
            let mut escaped = String::new();
            let fits = push_str(&mut escaped, "ab\x1bžz", Place::Text, limit);
            (escaped, fits)
        };
        assert_eq!(at(1), ("a".into(), false));
        assert_eq!(at(5), ("ab".into(), false));
        assert_eq!(at(6), ("ab\\x1b".into(), false));
        assert_eq!(at(7), ("ab\\x1b".into(), false));
        assert_eq!(at(9), ("ab\\x1bžz".into(), true));
    }

    proptest! {
        #[test]
        fn escaping_twice_changes_nothing(bytes: Vec<u8>) {
            let once = cell_bytes(&bytes);
            prop_assert_eq!(cell(&once), once.clone());
            prop_assert!(!once.chars().any(|c| is_unsafe(c, Place::Cell)));
        }
    }
}
