//! Expectation against what came: equal, a diff for people, or the rewritten expectation.

use snapbox::Data;
use snapbox::report::{Palette, write_diff};

use crate::marks::Words;
use crate::pattern::{Bindings, Pattern};

/// Compares whole texts; the error is a diff in which lines that do match are shown as they came.
pub fn compare(
    what: &str,
    expected: &str,
    actual: &str,
    words: &Words,
    bindings: &mut Bindings,
) -> Result<(), String> {
    let expected = words.in_text(expected)?;
    if Pattern::new(&expected)?.matches(actual, bindings) {
        return Ok(());
    }
    let mut shown = String::new();
    let mut lines = actual.lines();
    let mut tried = bindings.clone();
    for line in expected.lines() {
        let came = lines.next().unwrap_or_default();
        let same = Pattern::new(line)?.matches(came, &mut tried);
        shown.push_str(if same { came } else { line });
        shown.push('\n');
    }
    let mut diff = String::new();
    write_diff(
        &mut diff,
        &Data::text(shown),
        &Data::text(actual.to_owned()),
        Some(&format!("{what}, expected")),
        Some(&format!("{what}, actual")),
        Palette::plain(),
    )
    .map_err(|error| error.to_string())?;
    Err(diff)
}

/// The new text of an expectation: lines that still match keep their placeholders, new ones get
/// placeholders where that can be told without guessing.
pub fn rewrite(expected: &str, actual: &str, words: &Words, bindings: &mut Bindings) -> String {
    let mut old: Vec<&str> = expected.lines().collect();
    let mut new = String::new();
    for came in actual.lines() {
        let kept = old.iter().position(|line| {
            words
                .in_text(line)
                .and_then(|line| Pattern::new(&line))
                .is_ok_and(|pattern| pattern.matches(came, bindings))
        });
        match kept {
            Some(index) => new.push_str(old.drain(..=index).next_back().unwrap_or_default()),
            None => new.push_str(&veil_addresses(&words.out_of_text(came))),
        }
        new.push('\n');
    }
    new
}

/// Numbers of at least six hexadecimal digits are addresses, those behind a `+` are offsets into code: both
/// differ between compilers.
fn veil_addresses(line: &str) -> String {
    let mut done = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("0x") {
        let digits = rest[at + 2..]
            .find(|letter: char| !letter.is_ascii_hexdigit())
            .unwrap_or(rest.len() - at - 2);
        let end = at + 2 + digits;
        done.push_str(&rest[..at]);
        let varies = digits >= 6 || done.ends_with('+');
        done.push_str(if varies { "[addr]" } else { &rest[at..end] });
        rest = &rest[end..];
    }
    done + rest
}

pub mod checks {
    use super::{Bindings, Words, compare, rewrite};

    pub const ALL: crate::checks::Table = &[
        ("a_difference_is_shown_line_by_line", difference),
        ("a_rewrite_keeps_what_matches", keeps),
    ];

    fn difference() {
        let mut bindings = Bindings::new();
        let error = compare(
            "out",
            "pc [addr]\n2\n",
            "pc 0x401136\n3\n",
            &Words::default(),
            &mut bindings,
        )
        .unwrap_err();
        assert!(error.contains("pc 0x401136"), "{error}");
        assert!(error.contains("- 2"), "{error}");
        assert!(error.contains("+ 3"), "{error}");
    }

    #[track_caller]
    fn check(expected: &str, actual: &str, new: &str) {
        let words = Words::default();
        assert_eq!(rewrite(expected, actual, &words, &mut Bindings::new()), new);
    }

    fn keeps() {
        check("[addr:A]\n1\n", "0x401136\n2\n", "[addr:A]\n2\n");
        check("", "0x401136 0x10 f+0x4\n", "[addr] 0x10 f+[addr]\n");
        check("a\n[tid]\n", "7\n", "[tid]\n");
    }
}
