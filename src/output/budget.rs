//! How much text one reply may hold, and what happens to the rest.

/// Bytes of payload in one reply, unless `config.budget` says otherwise.
pub const REPLY: usize = 8_000;
/// Bytes of each of the debuggee's streams in one reply; the rest is read from the stream itself.
pub const STREAM: usize = 2_000;
/// Bytes that are kept beyond the reply.
pub const KEPT: usize = 16 << 20;
/// Bytes of stop lines that are exempt from the cut. A program may stop more often than any reply
/// can tell; the stops after that are ordinary text.
pub const PINNED: usize = 4_000;
/// Bytes of one message or one stop line. No reader is served by more, and a script can make any length.
pub const LINE: usize = 1 << 20;

/// The part of the last long reply that was not shown.
#[derive(Default, Debug)]
pub struct More {
    /// Lines as they will be shown, each with its newline.
    pub(super) text: String,
    /// Lines that were not even kept.
    pub(super) dropped: u64,
}

impl More {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.dropped == 0
    }
}

/// Where text is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// Before the line that starts at this byte.
    Between(usize),
    /// At this byte, inside a line: one line is so long that cutting before it would show next to nothing.
    Inside(usize),
}

impl Cut {
    pub fn at(self) -> usize {
        match self {
            Self::Between(at) | Self::Inside(at) => at,
        }
    }
}

/// Finds the place to cut `text`, which consists of whole lines, so that at most `room` bytes stay.
/// `shown` bytes of the reply stand before it.
pub fn find_cut(text: &str, room: usize, shown: usize) -> Cut {
    let end = text.floor_char_boundary(room);
    let between = text[..end].rfind('\n').map_or(0, |newline| newline + 1);
    let wasted = end - between;
    if wasted <= shown + between {
        Cut::Between(between)
    } else {
        Cut::Inside(end)
    }
}

/// The line that says what was cut. `rest` is what follows the cut.
pub fn announcement(cut: Cut, rest: &str, dropped: u64) -> String {
    let lines = rest.bytes().filter(|&byte| byte == b'\n').count();
    let mut parts = match cut {
        Cut::Between(_) if rest.is_empty() => Vec::new(),
        Cut::Between(_) => vec![format!("{}: more()", more_lines(lines))],
        Cut::Inside(_) => {
            let bytes = rest.find('\n').unwrap_or(rest.len());
            match lines.saturating_sub(1) {
                0 => vec![format!("{bytes} more bytes of this line: more()")],
                after => vec![format!(
                    "{bytes} more bytes of this line, {}: more()",
                    more_lines(after)
                )],
            }
        }
    };
    if dropped > 0 {
        parts.push(format!("{dropped} later lines were not kept"));
    }
    format!("~ {}\n", parts.join("; "))
}

pub fn more_lines(lines: usize) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!("{lines} more line{plural}")
}

/// `text`, shortened to `LINE` bytes with a word on what is missing.
pub fn clip(text: &str) -> String {
    if text.len() <= LINE {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LINE);
    format!("{}… {} more bytes", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, room: usize, shown: usize, expected: Cut) {
        assert_eq!(find_cut(text, room, shown), expected);
    }

    #[test]
    fn text_is_cut_between_lines_unless_one_is_huge() {
        check("ab\ncd\nef\n", 7, 0, Cut::Between(6));
        check("ab\ncd\nef\n", 6, 0, Cut::Between(6));
        check("abcdefgh\n", 4, 0, Cut::Inside(4));
        check("abcdefgh\n", 4, 10, Cut::Between(0));
        check("ab\ncdefghijkl\n", 9, 0, Cut::Inside(9));
        check("žžžž\n", 3, 0, Cut::Inside(2));
        check("ab\n", 0, 0, Cut::Between(0));
    }

    #[test]
    fn the_announcement_counts_what_is_left() {
        let text = |cut, rest, dropped| announcement(cut, rest, dropped);
        assert_eq!(
            text(Cut::Between(0), "a\nb\n", 0),
            "~ 2 more lines: more()\n"
        );
        assert_eq!(text(Cut::Between(0), "a\n", 0), "~ 1 more line: more()\n");
        assert_eq!(
            text(Cut::Inside(0), "abc\nd\n", 7),
            "~ 3 more bytes of this line, 1 more line: more(); 7 later lines were not kept\n"
        );
        assert_eq!(
            text(Cut::Between(0), "", 7),
            "~ 7 later lines were not kept\n"
        );
    }
}
