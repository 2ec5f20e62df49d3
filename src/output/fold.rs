//! Lines as they come, equal consecutive ones folded to `line<TAB>x412`, in bounded memory.

use super::escape::{self, Place};

#[derive(Debug)]
pub struct FoldedLines {
    /// Finished lines, each with its newline, then the open one without.
    text: String,
    open: Option<Open>,
    limit: usize,
    full: bool,
    /// Lines that did not fit, the one that was cut included.
    dropped: u64,
}

/// The last line, which the next one may still fold into.
#[derive(Clone, Copy, Debug)]
struct Open {
    start: usize,
    count: u64,
}

impl FoldedLines {
    pub fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            open: None,
            limit,
            full: false,
            dropped: 0,
        }
    }

    /// Appends one line: a prefix that is ours, then what came from anywhere.
    pub fn push(&mut self, prefix: &str, body: &[u8]) {
        if self.full {
            self.dropped += 1;
            return;
        }
        let previous_end = self.text.len();
        if self.open.is_some() {
            self.text.push('\n');
        }
        let start = self.text.len();
        self.text
            .push_str(if prefix.is_empty() && body.starts_with(b"=") {
                escape::guard("=")
            } else {
                prefix
            });
        if !escape::push_bytes(&mut self.text, body, Place::Text, self.limit) {
            self.full = true;
            self.dropped += 1;
        }
        let Some(previous) = self.open else {
            self.open = Some(Open { start, count: 1 });
            return;
        };
        if self.text[previous.start..previous_end] == self.text[start..] {
            self.text.truncate(previous_end);
            self.open = Some(Open {
                count: previous.count + 1,
                ..previous
            });
        } else {
            let suffix = fold_suffix(previous.count);
            self.text.insert_str(previous_end, &suffix);
            self.open = Some(Open {
                start: start + suffix.len(),
                count: 1,
            });
        }
    }

    /// Appends lines that went through `push` before, with their newlines.
    pub fn push_folded(&mut self, lines: &str, dropped: u64) {
        self.close();
        self.text.push_str(lines);
        self.dropped += dropped;
    }

    /// Ends the open line: nothing folds into it any more. Returns the length of the text.
    pub fn close(&mut self) -> usize {
        if let Some(open) = self.open.take() {
            self.text.push_str(&fold_suffix(open.count));
            self.text.push('\n');
        }
        self.text.len()
    }

    /// The finished lines and how many more were dropped.
    pub fn finish(mut self) -> (String, u64) {
        self.close();
        (self.text, self.dropped)
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.open.is_none()
    }
}

fn fold_suffix(count: u64) -> String {
    if count > 1 {
        format!("\tx{count}")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(limit: usize, lines: &[&str], expected: &str, expected_dropped: u64) {
        let mut folded = FoldedLines::new(limit);
        for line in lines {
            folded.push("", line.as_bytes());
        }
        let (text, dropped) = folded.finish();
        assert_eq!(text, expected);
        assert_eq!(dropped, expected_dropped);
    }

    #[test]
    fn equal_neighbours_fold() {
        check(100, &[], "", 0);
        check(100, &["a", "a", "a"], "a\tx3\n", 0);
        check(100, &["a", "a", "b", "a"], "a\tx2\nb\na\n", 0);
        check(100, &["", "", "c"], "\tx2\nc\n", 0);
        check(100, &["a", "ab", "a"], "a\nab\na\n", 0);
    }

    #[test]
    fn no_line_begins_like_a_status_line() {
        check(100, &["=1 ok none", "=1 ok none"], "\\=1 ok none\tx2\n", 0);
    }

    #[test]
    fn beyond_the_limit_lines_are_only_counted() {
        check(4, &["ab", "cdef", "g", "g"], "ab\nc\n", 3);
        check(4, &["abcdef"], "abcd\n", 1);
    }

    #[test]
    fn an_endless_repetition_takes_no_memory() {
        let mut folded = FoldedLines::new(1 << 20);
        for _ in 0..100_000 {
            folded.push("out\t", b"same");
        }
        assert!(folded.text.capacity() < 100);
        assert_eq!(folded.finish().0, "out\tsame\tx100000\n");
    }
}
