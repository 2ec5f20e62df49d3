//! The payload of one reply: everything that is to be said, in the order it happened.

use std::mem;
use std::ops::Range;

use super::budget::{self, Cut, More};
use super::escape;
use super::fold::FoldedLines;
use super::rows;
use crate::base::code::Code;

/// One of the debuggee's output streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    Out,
    Err,
}

impl Stream {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Out => "out\t",
            Self::Err => "err\t",
        }
    }

    const fn reader(self) -> &'static str {
        match self {
            Self::Out => "stdout.read()",
            Self::Err => "stderr.read()",
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Out => 0,
            Self::Err => 1,
        }
    }
}

/// Collects as things happen; memory stays bounded however long a program prints.
#[derive(Debug)]
pub struct Payload {
    lines: FoldedLines,
    pieces: Vec<Piece>,
    /// Where the lines begin that are in no piece yet.
    unclaimed: usize,
    pinned: usize,
    streams: [StreamBudget; 2],
    /// Bytes of a debuggee's line whose end has not come yet.
    unfinished: Option<(Stream, Vec<u8>)>,
}

#[derive(Debug)]
enum Piece {
    /// Lines of `Payload::lines`: these the budget may cut.
    Plain(Range<usize>),
    /// A line that is never cut.
    Pinned(String),
    /// Here the stream's own budget ended.
    StreamEnd(Stream),
}

#[derive(Clone, Copy, Default, Debug)]
struct StreamBudget {
    shown: usize,
    /// Newlines after the end of the budget, and whether something followed the last.
    cut_lines: usize,
    cut_tail: bool,
}

impl Default for Payload {
    fn default() -> Self {
        Self {
            lines: FoldedLines::new(budget::KEPT),
            pieces: Vec::new(),
            unclaimed: 0,
            pinned: 0,
            streams: [StreamBudget::default(); 2],
            unfinished: None,
        }
    }
}

impl Payload {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.pieces.is_empty() && self.unfinished.is_none()
    }

    /// Text of the script: `print`, an echo, a note. It may have several lines.
    pub fn print(&mut self, text: &str) {
        self.print_bytes(text.as_bytes());
    }

    /// As `print`, for text that may not be UTF-8.
    pub fn print_bytes(&mut self, text: &[u8]) {
        self.end_unfinished();
        for line in text.split(|&byte| byte == b'\n') {
            self.lines.push("", line);
        }
    }

    /// One line on a side effect that was not asked for.
    pub fn note(&mut self, text: &str) {
        self.end_unfinished();
        self.lines.push("", rows::row([text]).as_bytes());
    }

    /// What the debuggee wrote, in whatever chunks it arrived.
    pub fn out(&mut self, stream: Stream, bytes: &[u8]) {
        if self
            .unfinished
            .as_ref()
            .is_some_and(|open| open.0 != stream)
        {
            self.end_unfinished();
        }
        let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
        while self.has_room(stream) {
            let Some(line) = lines.next() else { return };
            self.out_line(stream, line);
        }
        let state = &mut self.streams[stream.index()];
        for line in lines {
            let finished = line.ends_with(b"\n");
            state.cut_lines += usize::from(finished);
            state.cut_tail = !finished;
        }
    }

    /// A stop, as the row that tells it.
    pub fn stop<I>(&mut self, cells: I)
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let line = budget::clip(&rows::row(cells));
        let size = line.len() + 1;
        if self.pinned + size <= budget::PINNED {
            self.pinned += size;
            self.pin(&line);
        } else {
            self.print(&line);
        }
    }

    /// The error that ended the program.
    pub fn error(&mut self, code: Code, message: &str, hint: Option<&str>) {
        let message = budget::clip(message);
        let hint = hint.map(budget::clip);
        let cells = ["error", code.name(), &message];
        self.pin(&rows::row(cells.into_iter().chain(hint.as_deref())));
    }

    /// Shows what the last reply had to leave out; the budget of this reply applies to it.
    pub fn continue_with(&mut self, more: &mut More) {
        if more.is_empty() {
            self.note("~ nothing more");
            return;
        }
        self.end_unfinished();
        let rest = mem::take(more);
        self.lines.push_folded(&rest.text, rest.dropped);
    }

    /// The text of the reply, at most `budget` bytes where pinned lines allow. What is left out goes
    /// to `more`; when all fits, an older rest stays there. Leaves an empty payload.
    pub fn render(&mut self, budget: usize, more: &mut More) -> String {
        self.end_unfinished();
        self.claim_lines();
        let this = mem::take(self);
        let (text, dropped) = this.lines.finish();
        let fixed: usize = this
            .pieces
            .iter()
            .filter_map(|piece| fixed_line(piece, &this.streams))
            .map(|line| line.len())
            .sum();
        if text.len() + fixed <= budget && dropped == 0 {
            return render_whole(&this.pieces, &text, &this.streams);
        }
        let room = budget.saturating_sub(fixed + ANNOUNCEMENT);
        let mut page = Page::new(room.max(MIN_ROOM));
        for piece in &this.pieces {
            match piece {
                Piece::Plain(range) => page.push(&text[range.clone()]),
                fixed => page.text.extend(fixed_line(fixed, &this.streams)),
            }
        }
        page.finish(dropped, more)
    }

    fn has_room(&self, stream: Stream) -> bool {
        let state = &self.streams[stream.index()];
        state.shown < budget::STREAM
    }

    /// Takes one line, or the beginning or the rest of one.
    fn out_line(&mut self, stream: Stream, bytes: &[u8]) {
        let state = &mut self.streams[stream.index()];
        let room = budget::STREAM - state.shown;
        let (shown, cut) = bytes.split_at(bytes.len().min(room));
        state.shown += shown.len();
        let used_up = state.shown == budget::STREAM;
        let finished = cut.ends_with(b"\n");
        state.cut_lines = usize::from(finished);
        state.cut_tail = !cut.is_empty() && !finished;
        let (_, pending) = self.unfinished.get_or_insert((stream, Vec::new()));
        pending.extend_from_slice(shown);
        if pending.ends_with(b"\n") || used_up {
            self.end_unfinished();
        }
        if used_up {
            self.claim_lines();
            self.pieces.push(Piece::StreamEnd(stream));
        }
    }

    /// Shows a debuggee's line that nobody ended.
    fn end_unfinished(&mut self) {
        if let Some((stream, bytes)) = self.unfinished.take() {
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            self.lines.push(stream.prefix(), line);
        }
    }

    fn pin(&mut self, line: &str) {
        self.end_unfinished();
        self.claim_lines();
        let guard = escape::guard(line);
        self.pieces.push(Piece::Pinned(format!("{guard}{line}\n")));
    }

    fn claim_lines(&mut self) {
        let end = self.lines.close();
        if end > self.unclaimed {
            self.pieces.push(Piece::Plain(self.unclaimed..end));
            self.unclaimed = end;
        }
    }
}

/// Room for the line that announces a cut, at its usual length.
const ANNOUNCEMENT: usize = 80;
/// However small the budget is, `more()` makes progress.
const MIN_ROOM: usize = 200;

/// The line of a piece that the budget does not touch.
fn fixed_line(piece: &Piece, streams: &[StreamBudget; 2]) -> Option<String> {
    match piece {
        Piece::Plain(_) => None,
        Piece::Pinned(line) => Some(line.clone()),
        Piece::StreamEnd(stream) => {
            let state = &streams[stream.index()];
            let lines = state.cut_lines + usize::from(state.cut_tail);
            let name = stream.prefix().trim_end();
            let reader = stream.reader();
            (lines > 0).then(|| format!("~ {} of {name}: {reader}\n", budget::more_lines(lines)))
        }
    }
}

fn render_whole(pieces: &[Piece], text: &str, streams: &[StreamBudget; 2]) -> String {
    let mut all = String::with_capacity(text.len());
    for piece in pieces {
        match piece {
            Piece::Plain(range) => all.push_str(&text[range.clone()]),
            fixed => all.extend(fixed_line(fixed, streams)),
        }
    }
    all
}

/// A reply that does not fit.
struct Page {
    text: String,
    /// Where the announcement goes: after the last plain line that is shown.
    announce_at: usize,
    room: usize,
    cut: Option<Cut>,
    rest: String,
}

impl Page {
    fn new(room: usize) -> Self {
        Self {
            text: String::new(),
            announce_at: 0,
            room,
            cut: None,
            rest: String::new(),
        }
    }

    fn push(&mut self, lines: &str) {
        if self.cut.is_some() {
            self.rest.push_str(lines);
            return;
        }
        if lines.len() <= self.room {
            self.room -= lines.len();
            self.text.push_str(lines);
        } else {
            let cut = budget::find_cut(lines, self.room, self.text.len());
            let (shown, rest) = lines.split_at(cut.at());
            self.text.push_str(shown);
            if matches!(cut, Cut::Inside(_)) {
                self.text.push('\n');
            }
            self.rest.push_str(rest);
            self.cut = Some(cut);
        }
        self.announce_at = self.text.len();
    }

    fn finish(mut self, dropped: u64, more: &mut More) -> String {
        // What must not be cut took the room, and the little else there is fits nevertheless.
        if self.cut.is_none() && dropped == 0 {
            return self.text;
        }
        let cut = self.cut.unwrap_or(Cut::Between(0));
        let announcement = budget::announcement(cut, &self.rest, dropped);
        self.text.insert_str(self.announce_at, &announcement);
        if self.cut.is_some() {
            // A line that was cut goes on at the start of a line of the next reply.
            self.rest.insert_str(0, escape::guard(&self.rest));
            *more = More {
                text: self.rest,
                dropped,
            };
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders with a budget, then with `more()` until nothing is left.
    fn pages(payload: &mut Payload, budget: usize) -> Vec<String> {
        let mut more = More::new();
        let mut pages = vec![payload.render(budget, &mut more)];
        while !more.is_empty() {
            payload.continue_with(&mut more);
            pages.push(payload.render(budget, &mut more));
        }
        pages
    }

    #[track_caller]
    fn check(fill: impl FnOnce(&mut Payload), expected: &str) {
        let mut payload = Payload::new();
        fill(&mut payload);
        let mut more = More::new();
        assert_eq!(payload.render(budget::REPLY, &mut more), expected);
        assert!(payload.is_empty());
        assert!(more.is_empty());
    }

    #[test]
    fn everything_comes_in_order() {
        check(|_| {}, "");
        check(
            |payload| {
                payload.print("a\nb");
                payload.out(Stream::Out, b"hi\nth");
                payload.out(Stream::Out, b"ere\n");
                payload.stop(["breakpoint", "1", "x\ty"]);
                payload.print("");
                payload.error(Code::NoSymbol, "'mian'\n", Some("did you mean main"));
            },
            "a\nb\nout\thi\nout\tthere\nbreakpoint\t1\tx\\ty\n\nerror\tno_symbol\t'mian'\\n\tdid you mean main\n",
        );
    }

    #[test]
    fn a_line_without_end_is_shown_when_something_else_happens() {
        check(
            |payload| {
                payload.out(Stream::Out, "name \u{17e}".as_bytes());
                payload.out(Stream::Out, b"? ");
                payload.out(Stream::Err, b"oops");
                payload.stop(["timeout"]);
            },
            "out\tname \u{17e}? \nerr\toops\ntimeout\n",
        );
        check(
            |payload| {
                payload.out(Stream::Out, &"\u{17e}".as_bytes()[..1]);
                payload.out(Stream::Out, &"\u{17e}".as_bytes()[1..]);
            },
            "out\t\u{17e}\n",
        );
    }

    #[test]
    fn nothing_can_look_like_a_status_line() {
        check(
            |payload| {
                payload.print("=1 ok none\r\n=2");
                payload.note("=3");
                payload.stop(["=4"]);
            },
            "\\=1 ok none\\x0d\n\\=2\n\\=3\n\\=4\n",
        );
    }

    #[test]
    fn the_rest_is_announced_and_paged() {
        let mut payload = Payload::new();
        let lines: Vec<String> = (0..2_000)
            .map(|index| {
                format!(
                    "line {index}
"
                )
            })
            .collect();
        payload.print(lines.concat().trim_end());
        payload.stop(["exit", "0"]);
        let pages = pages(&mut payload, 4_000);
        assert!(pages.iter().all(|page| page.len() <= 4_000), "{pages:?}");
        assert!(
            pages[0].ends_with(" more lines: more()\nexit\t0\n"),
            "{}",
            pages[0]
        );
        let shown: String = pages
            .iter()
            .flat_map(|page| page.split_inclusive('\n'))
            .filter(|line| line.starts_with("line"))
            .collect();
        let all = lines.concat();
        assert_eq!(shown, all);
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_inside_and_guarded_where_it_goes_on() {
        let mut payload = Payload::new();
        payload.print(&format!("{}\nend", "=".repeat(2_000)));
        let pages = pages(&mut payload, 1_000);
        assert_eq!(pages.len(), 3);
        for page in &pages {
            assert!(page.starts_with("\\="), "{page}");
            assert!(page.len() <= 1_000);
        }
        assert!(pages[0].ends_with("\n~ 1081 more bytes of this line, 1 more line: more()\n"));
        assert!(pages[2].ends_with("=\nend\n"), "{}", pages[2]);
    }

    #[test]
    fn a_small_reply_keeps_the_rest_of_the_last_long_one() {
        let mut payload = Payload::new();
        let mut more = More::new();
        payload.print(&"x\ny\n".repeat(1_000));
        payload.render(1_000, &mut more);
        payload.print("small");
        assert_eq!(payload.render(1_000, &mut more), "small\n");
        assert!(!more.is_empty());
    }

    #[test]
    fn a_stream_has_its_own_budget() {
        let mut payload = Payload::new();
        for index in 0..1_000 {
            payload.out(Stream::Out, format!("{index:03}\n").as_bytes());
        }
        payload.out(Stream::Out, b"tail");
        payload.out(Stream::Err, b"one\n");
        payload.print("printed");
        let text = payload.render(budget::REPLY, &mut More::new());
        // 500 lines of four bytes make the stream's 2,000.
        let end = "out\t499\n~ 501 more lines of out: stdout.read()\nerr\tone\nprinted\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn an_endless_line_of_a_stream_is_cut() {
        let mut payload = Payload::new();
        for _ in 0..100 {
            payload.out(Stream::Out, &[b'z'; 999]);
        }
        let text = payload.render(budget::REPLY, &mut More::new());
        let shown = "z".repeat(budget::STREAM);
        assert_eq!(
            text,
            format!("out\t{shown}\n~ 1 more line of out: stdout.read()\n")
        );
    }

    #[test]
    fn memory_stays_bounded() {
        let mut payload = Payload::new();
        let line = "y".repeat(1 << 20);
        for index in 0..40 {
            payload.print(&format!("{index}{line}"));
            payload.stop([&line]);
            payload.out(Stream::Err, line.as_bytes());
        }
        let mut more = More::new();
        let text = payload.render(budget::REPLY, &mut more);
        assert!(text.len() < budget::REPLY + 2 * budget::LINE);
        assert!(more.text.len() <= budget::KEPT + 100);
        assert!(more.dropped > 20);
    }

    #[test]
    fn an_error_is_told_to_its_end() {
        let mut payload = Payload::new();
        let message = "m".repeat(100_000);
        payload.print(&"x\ny\n".repeat(10_000));
        payload.error(Code::Exception, &message, Some("next"));
        let text = payload.render(budget::REPLY, &mut More::new());
        assert!(text.ends_with(&format!("\nerror\texception\t{message}\tnext\n")));
    }

    #[test]
    fn more_without_a_rest_says_so() {
        check(
            |payload| payload.continue_with(&mut More::new()),
            "~ nothing more\n",
        );
    }
}
