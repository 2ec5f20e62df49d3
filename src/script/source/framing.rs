//! Cuts the input into programs. A pure state machine: bytes and the time in, events out.
//!
//! One line, or one `<<TAG` block, is one program; text over several lines is cut where it is complete
//! JavaScript. What arrived together is looked at together: call `feed` until nothing more is there
//! to be read, then `settle`.

use std::mem;
use std::time::{Duration, Instant};

use super::check::{Check, Completeness};
use super::command;
use super::lexer::Lexer;
use super::lines::{self, Line, Lines, MAX_TEXT, TOO_LONG};
use super::rewrite;
use crate::base::code::Code;
use crate::script::reply::{Program, Rejection};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    Program(Program),
    Rejected(Rejection),
    /// Stop what runs now.
    Interrupt,
}

/// How long silence lasts before it means something.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Text that is incomplete is evaluated as it stands.
    pub idle: Duration,
    /// A block that was not closed is given up.
    pub block: Duration,
    /// The paste that a broken text was part of has ended. The error is sent only then: a sender who
    /// waits for it and goes on at once must not have his next line taken for a part of the paste.
    pub paste: Duration,
}

impl Times {
    pub fn new(idle: Duration) -> Self {
        Self {
            idle,
            block: Duration::from_secs(30),
            paste: idle.min(Duration::from_millis(50)),
        }
    }
}

/// Bytes that may be compiled again and again to find the end of one text over many lines. After that
/// an open bracket is enough to wait for more, and soon the search is given up where none is open.
const CHECK_WORK: usize = 4 << 20;

pub struct Framing<C> {
    check: C,
    times: Times,
    lines: Lines,
    state: State,
    last_byte: Option<Instant>,
}

enum State {
    /// Between programs.
    Ready,
    /// Text that is incomplete so far.
    Pending(Pending),
    Block(Block),
    /// The rest of a broken paste passes by.
    Dropping {
        rejection: Rejection,
        lines: usize,
    },
}

struct Pending {
    text: String,
    lexer: Lexer,
    work: usize,
}

struct Block {
    tag: String,
    text: String,
    lines: usize,
    bad: Option<&'static str>,
}

impl<C: Check> Framing<C> {
    pub fn new(check: C, times: Times) -> Self {
        Self {
            check,
            times,
            lines: Lines::default(),
            state: State::Ready,
            last_byte: None,
        }
    }

    /// Takes bytes as they come. Nothing is decided before `settle`.
    pub fn feed(&mut self, bytes: &[u8], now: Instant) {
        if !bytes.is_empty() {
            self.last_byte = Some(now);
            self.lines.feed(bytes);
        }
    }

    /// Decides on the lines received so far.
    pub fn settle(&mut self, events: &mut Vec<Event>) {
        while let Some(line) = self.lines.pop() {
            match line {
                Line::EndOfText => events.push(Event::Interrupt),
                Line::Text(text) => self.line(&text, events),
                Line::Bad(why) => self.bad_line(why),
            }
        }
    }

    /// When `tick` has to be called if nothing is received until then.
    pub fn deadline(&self) -> Option<Instant> {
        let silence = match &self.state {
            State::Ready => return None,
            // The end of the line decides; until then it is no text to evaluate.
            State::Pending(_) if self.lines.has_partial() => return None,
            State::Pending(_) => self.times.idle,
            State::Dropping { .. } if self.lines.has_partial() => self.times.idle,
            State::Dropping { .. } => self.times.paste,
            State::Block(_) => self.times.block,
        };
        self.last_byte.map(|last| last + silence)
    }

    /// Ends what has waited long enough.
    pub fn tick(&mut self, now: Instant, events: &mut Vec<Event>) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            if matches!(self.state, State::Dropping { .. }) && self.lines.has_partial() {
                self.lines.discard_partial();
                self.count_dropped();
            }
            self.give_up(events);
        }
    }

    /// The end of the input.
    pub fn end(&mut self, events: &mut Vec<Event>) {
        self.lines.end();
        self.settle(events);
        self.give_up(events);
    }

    fn line(&mut self, line: &str, events: &mut Vec<Event>) {
        match &mut self.state {
            State::Block(block) => {
                if line == block.tag {
                    self.end_block(events);
                } else {
                    block.push(line);
                }
            }
            State::Dropping { lines, .. } => {
                if line.trim().is_empty() {
                    self.give_up(events);
                } else {
                    *lines += 1;
                }
            }
            _ if line == "!" => events.push(Event::Interrupt),
            State::Pending(pending) => {
                pending.push(line);
                self.judge(events);
            }
            State::Ready => self.first_line(line, events),
        }
    }

    fn first_line(&mut self, line: &str, events: &mut Vec<Event>) {
        if let Some(tag) = lines::block_tag(line) {
            self.state = State::Block(Block {
                tag: tag.to_owned(),
                text: String::new(),
                lines: 0,
                bad: None,
            });
        } else if line.trim_start().starts_with(':') {
            events.push(Event::Rejected(command::reject(line)));
        } else {
            let mut pending = Pending {
                text: String::new(),
                lexer: Lexer::default(),
                work: 0,
            };
            pending.push(line);
            self.state = State::Pending(pending);
            self.judge(events);
        }
    }

    /// Looks whether the pending text is a program, together with those lines that only go on with it.
    fn judge(&mut self, events: &mut Vec<Event>) {
        while let State::Pending(pending) = &mut self.state {
            if pending.text.len() > MAX_TEXT {
                self.drop_paste(TOO_LONG.to_owned());
                return;
            }
            if pending.work > CHECK_WORK && pending.lexer.is_open() {
                return;
            }
            if pending.work > 2 * CHECK_WORK {
                self.drop_paste(TOO_MANY_LINES.to_owned());
                return;
            }
            if !pending.lexer.is_open() && !rewrite::has_code(&pending.text) {
                self.state = State::Ready;
                return;
            }
            pending.work += pending.text.len();
            match self.check.check(&pending.text) {
                Completeness::Incomplete => return,
                Completeness::Broken(error) => {
                    self.drop_paste(format!("SyntaxError: {error}"));
                    return;
                }
                Completeness::Complete => {}
            }
            match self.lines.peek() {
                Some(Line::Text(next)) if lines::goes_on(next) => {
                    pending.push(next);
                    self.lines.pop();
                }
                _ => self.give_up(events),
            }
        }
    }

    fn drop_paste(&mut self, message: String) {
        self.state = State::Dropping {
            rejection: Rejection {
                code: Code::Syntax,
                message,
                hint: None,
            },
            lines: 0,
        };
    }

    fn count_dropped(&mut self) {
        if let State::Dropping { lines, .. } = &mut self.state {
            *lines += 1;
        }
    }

    fn bad_line(&mut self, why: &'static str) {
        match &mut self.state {
            State::Block(block) => block.bad = Some(why),
            State::Dropping { .. } => self.count_dropped(),
            State::Ready | State::Pending(_) => self.drop_paste(why.to_owned()),
        }
    }

    fn end_block(&mut self, events: &mut Vec<Event>) {
        if let State::Block(block) = mem::replace(&mut self.state, State::Ready) {
            events.push(match block.bad {
                None => Event::Program(Program::new(block.text)),
                Some(why) => Event::Rejected(Rejection {
                    code: Code::Syntax,
                    message: why.to_owned(),
                    hint: None,
                }),
            });
        }
    }

    /// Answers what there is, complete or not.
    fn give_up(&mut self, events: &mut Vec<Event>) {
        events.push(match mem::replace(&mut self.state, State::Ready) {
            State::Ready => return,
            State::Pending(pending) => Event::Program(Program::new(pending.text)),
            State::Dropping { rejection, lines } => Event::Rejected(Rejection {
                hint: dropped_hint(lines),
                ..rejection
            }),
            State::Block(block) => Event::Rejected(Rejection {
                code: Code::Unterminated,
                message: format!("block <<{} of {} lines has no end", block.tag, block.lines),
                hint: Some(format!("end it with a line {}", block.tag)),
            }),
        });
    }
}

const TOO_MANY_LINES: &str =
    "the text has too many lines to find its end; send it as a <<TAG block";

fn dropped_hint(lines: usize) -> Option<String> {
    match lines {
        0 => None,
        1 => Some("the line after it was dropped".to_owned()),
        _ => Some(format!("the {lines} lines after it were dropped")),
    }
}

impl Pending {
    fn push(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
        while self.lexer.next(&self.text).is_some() {}
    }
}

impl Block {
    fn push(&mut self, line: &str) {
        if self.text.len() + line.len() >= MAX_TEXT {
            self.bad = Some(TOO_LONG);
        }
        if self.bad.is_none() {
            if self.lines > 0 {
                self.text.push('\n');
            }
            self.text.push_str(line);
        }
        self.lines += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::SyntaxChecker;
    use super::*;

    enum Do<'a> {
        Feed(&'a [u8]),
        Wait(u64),
        End,
    }
    use Do::{End, Feed, Wait};

    fn show(event: &Event) -> String {
        match event {
            Event::Program(program) => program.text.clone(),
            Event::Interrupt => "INTERRUPT".into(),
            Event::Rejected(rejection) => {
                let hint = rejection.hint.as_deref().unwrap_or("-");
                format!("{}|{}|{hint}", rejection.code.name(), rejection.message)
            }
        }
    }

    fn run(actions: &[Do<'_>]) -> Vec<String> {
        let checker = SyntaxChecker::new().expect("a runtime");
        let mut framing = Framing::new(checker, Times::new(Duration::from_millis(500)));
        let mut now = Instant::now();
        let mut events = Vec::new();
        for action in actions {
            match action {
                Feed(bytes) => {
                    framing.feed(bytes, now);
                    framing.settle(&mut events);
                }
                Wait(ms) => {
                    now += Duration::from_millis(*ms);
                    framing.tick(now, &mut events);
                }
                End => framing.end(&mut events),
            }
        }
        events.iter().map(show).collect()
    }

    #[track_caller]
    fn check(actions: &[Do<'_>], expected: &[&str]) {
        assert_eq!(run(actions), expected);
    }

    #[test]
    fn a_complete_line_is_a_program_at_once() {
        check(&[Feed(b"1+1\n")], &["1+1"]);
        check(&[Feed(b"a\r\nb\r\n")], &["a", "b"]);
        check(&[Feed(b"1+"), Feed(b"1\n2\n")], &["1+1", "2"]);
        check(&[Feed(b"\n // c\n/* d\n e */\n \n")], &[]);
        check(
            &[Feed(b"let a = 1\nlet a = 2\n{a: 1}\ncontinue()\n")],
            &["let a = 1", "let a = 2", "{a: 1}", "continue()"],
        );
    }

    #[test]
    fn an_incomplete_text_takes_more_lines_or_waits_for_silence() {
        check(&[Feed(b"f(\n"), Wait(499), Feed(b"1)\n")], &["f(\n1)"]);
        check(&[Feed(b"f(\n"), Wait(500)], &["f("]);
        check(
            &[Feed(b"if (a) {\n\n continue()\n}\n")],
            &["if (a) {\n\n continue()\n}"],
        );
        check(&[Feed(b"`a\n!b\n:c`\n")], &["`a\n!b\n:c`"]);
        check(&[Feed(b"f(\n"), End], &["f("]);
        // A line whose end has not come is no request.
        check(&[Feed(b"kill("), Wait(10_000)], &[]);
        check(
            &[Feed(b"f(\nkill("), Wait(10_000), Feed(b"))\n")],
            &["f(\nkill())"],
        );
        check(&[Feed(b"1+1"), End], &["1+1"]);
    }

    #[test]
    fn lines_that_only_go_on_belong_to_the_program_when_they_are_there() {
        check(
            &[Feed(b"a\n  .b()\n  ?.c\nd\n")],
            &["a\n  .b()\n  ?.c", "d"],
        );
        check(
            &[Feed(b"if (a) b()\nelse c()\n")],
            &["if (a) b()\nelse c()"],
        );
        check(
            &[Feed(b"try { a }\ncatch { b }\nfinally { c }\n")],
            &["try { a }\ncatch { b }\nfinally { c }"],
        );
        check(&[Feed(b"a = b\n ? c\n : d\n")], &["a = b\n ? c\n : d"]);
        check(
            &[Feed(b"do a()\nwhile (b)\nc\n")],
            &["do a()\nwhile (b)", "c"],
        );
        check(&[Feed(b"a\n&& b\n|| c\n"), Wait(500)], &["a\n&& b\n|| c"]);
        check(
            &[Feed(b"a\n"), Feed(b".b\n"), Wait(60)],
            &[
                "a",
                "syntax|SyntaxError: unexpected token in expression: '.' at 1:1|-",
            ],
        );
        check(&[Feed(b"a\n.5\nelsewhere\n")], &["a", ".5", "elsewhere"]);
        check(
            &[Feed(b"a()\n})\nkill()\n"), Wait(60)],
            &[
                "syntax|SyntaxError: unexpected token in expression: '}' at 2:1|the line after it was dropped",
            ],
        );
    }

    #[test]
    fn nothing_of_a_broken_paste_runs() {
        let error = |dropped| {
            format!("syntax|SyntaxError: unexpected token in expression: ']' at 1:3|{dropped}")
        };
        check(&[Feed(b"f(]\n"), Wait(49)], &[]);
        check(&[Feed(b"f(]\n"), Wait(50)], &[&error("-")]);
        check(
            &[
                Feed(b"f(]\nkill()\n"),
                Feed(b"kill()\n"),
                Wait(50),
                Feed(b"a\n"),
            ],
            &[&error("the 2 lines after it were dropped"), "a"],
        );
        check(
            &[Feed(b"f(]\nkill()\n\na\n")],
            &[&error("the line after it was dropped"), "a"],
        );
        check(
            &[Feed(b"f(]\nkill("), Wait(50), Wait(500), Feed(b"a\n")],
            &[&error("the line after it was dropped"), "a"],
        );
        check(
            &[Feed(b"f(]\nkill()"), End],
            &[&error("the line after it was dropped")],
        );
        check(
            &[Feed(b"f(]\n!\nkill()\n"), Wait(50)],
            &[&error("the 2 lines after it were dropped")],
        );
    }

    #[test]
    fn a_block_is_one_program_as_it_is() {
        check(
            &[Feed(b"<<A\nf(\n!\n:b\n\nB\nA\nc\n")],
            &["f(\n!\n:b\n\nB", "c"],
        );
        check(&[Feed(b"<<A_1\r\n1\r\nA_1\r\n")], &["1"]);
        check(&[Feed(b"<<A\nA\n")], &[""]);
        check(&[Feed(b"<<A\n1\n"), Wait(29_999)], &[]);
        let unterminated = "unterminated|block <<A of 1 lines has no end|end it with a line A";
        check(
            &[Feed(b"<<A\n1\n"), Wait(30_000), Feed(b"2\n")],
            &[unterminated, "2"],
        );
        check(&[Feed(b"<<A\n1\n"), End], &[unterminated]);
        // Only on a line of its own, and not within text.
        check(
            &[Feed(b"a\n<<1\n"), Wait(50)],
            &[
                "a",
                "syntax|SyntaxError: unexpected token in expression: '<<' at 1:1|-",
            ],
        );
        check(&[Feed(b"a =\n1\n<<A\nA\n")], &["a =\n1", ""]);
    }

    #[test]
    fn an_interrupt_is_seen_in_its_place() {
        check(&[Feed(b"a\n!\nb\n")], &["a", "INTERRUPT", "b"]);
        check(&[Feed(b"a\nb\x03c\n")], &["a", "INTERRUPT", "bc"]);
        check(&[Feed(b"<<A\n\x031\nA\n")], &["INTERRUPT", "1"]);
        check(&[Feed(b"f(\n!\n1)\n")], &["INTERRUPT", "f(\n1)"]);
        check(&[Feed(b" !a\n!b\n")], &[" !a", "!b"]);
    }

    #[test]
    fn a_colon_line_is_answered_with_the_call() {
        check(
            &[Feed(b":step 3\n")],
            &["command|':step 3' is not JavaScript|use step(3)"],
        );
        check(
            &[Feed(b"a\n :bt\n")],
            &["a", "command|':bt' is not JavaScript|use backtrace()"],
        );
    }

    #[test]
    fn text_that_is_none_is_refused() {
        check(
            &[Feed(b"\xff\nkill()\n"), Wait(50)],
            &["syntax|the text is not UTF-8|the line after it was dropped"],
        );
        check(
            &[Feed(b"<<A\n\xff\nA\n")],
            &["syntax|the text is not UTF-8|-"],
        );
        let long = vec![b'a'; MAX_TEXT + 1];
        check(
            &[Feed(&long), Feed(b"b"), Feed(b"\n"), Wait(50), Feed(b"c\n")],
            &["syntax|a program of more than 4 MiB|-", "c"],
        );
        check(
            &[Feed(b"<<A\n"), Feed(&long), Feed(b"\nA\n")],
            &["syntax|a program of more than 4 MiB|-"],
        );
    }

    #[test]
    fn a_long_text_is_cut_where_its_brackets_close() {
        let text = format!(
            "function f() {{\n{}}}",
            "  g(1, 2, 3) // a line\n".repeat(2_000)
        );
        let both = format!("{text}\nh()\n");
        check(&[Feed(both.as_bytes())], &[&text, "h()"]);
    }

    /// Every line is complete but for its operator, so that each is tried.
    struct Never;
    impl Check for Never {
        fn check(&mut self, _: &str) -> Completeness {
            Completeness::Incomplete
        }
    }

    #[test]
    fn the_search_for_an_end_is_bounded() {
        let mut framing = Framing::new(Never, Times::new(Duration::from_millis(500)));
        let mut events = Vec::new();
        let now = Instant::now();
        framing.feed(
            format!("{}\n", "a + ".repeat(100)).repeat(1_000).as_bytes(),
            now,
        );
        framing.settle(&mut events);
        framing.tick(now + Duration::from_secs(1), &mut events);
        assert_eq!(events.len(), 1);
        assert!(show(&events[0]).contains("<<TAG"), "{events:?}");
    }

    mod properties {
        use super::*;
        use proptest::prelude::*;

        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

            #[test]
            fn nothing_is_lost_however_the_input_is_cut(
                lines in proptest::collection::vec("x[0-9]{0,4}", 1..8),
                cuts in proptest::collection::vec(1usize..6, 1..20),
            ) {
                let text = lines.join("\n") + "\n";
                let mut actions = Vec::new();
                let mut rest = text.as_bytes();
                for cut in cuts {
                    let (now, later) = rest.split_at(cut.min(rest.len()));
                    actions.push(Feed(now));
                    rest = later;
                }
                actions.push(Feed(rest));
                prop_assert_eq!(run(&actions), lines);
            }
        }
    }
}
