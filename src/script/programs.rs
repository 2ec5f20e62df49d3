//! The texts of the last programs, so that a position in any of them is told in the agent's own text.

use super::source::rewrite;
use std::collections::VecDeque;

/// Bytes of text that are remembered; positions in older programs are those of the rewritten text.
const REMEMBERED: usize = 1 << 20;

#[derive(Default, Debug)]
pub struct Programs {
    list: VecDeque<Remembered>,
    size: usize,
    last: u64,
}

#[derive(Debug)]
struct Remembered {
    number: u64,
    text: String,
    /// As it was compiled.
    form: String,
}

impl Programs {
    /// The number of the next program: what its status line will say.
    pub fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub fn last_number(&self) -> u64 {
        self.last
    }

    pub fn remember(&mut self, text: &str, form: &str) {
        let program = Remembered {
            number: self.last,
            text: text.to_owned(),
            form: form.to_owned(),
        };
        self.size += program.size();
        self.list.push_back(program);
        while self.size > REMEMBERED && self.list.len() > 1 {
            self.size -= self.list.pop_front().map_or(0, |program| program.size());
        }
    }

    /// The innermost frame of a stack trace that lies in a program: `3:7`, or `<2>:3:7` when that is
    /// not the present one.
    pub fn position(&self, stack: &str) -> Option<String> {
        stack.lines().find_map(|frame| self.position_of(frame))
    }

    /// Whether any remembered text has this word in it.
    pub fn mention(&self, word: &str) -> bool {
        self.list.iter().any(|program| program.text.contains(word))
    }

    /// Whether the present program has more than one line.
    pub fn is_long(&self) -> bool {
        let present = self.list.back();
        present.is_some_and(|program| program.text.trim_end().contains('\n'))
    }

    /// A frame looks like `    at name (<7>:1:14)`, or `    at <7>:1:14` for a SyntaxError.
    fn position_of(&self, frame: &str) -> Option<String> {
        let frame = frame.trim_end().trim_end_matches(')');
        let (_, place) = frame.rsplit_once('<')?;
        let (number, place) = place.split_once(">:")?;
        let (line, column) = place.split_once(':')?;
        let number: u64 = number.parse().ok()?;
        let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
        let position = self
            .map_back(number, line, column)
            .unwrap_or_else(|| format!("{line}:{column}"));
        Some(if number == self.last {
            position
        } else {
            format!("<{number}>:{position}")
        })
    }

    fn map_back(&self, number: u64, line: usize, column: usize) -> Option<String> {
        let program = self.list.iter().find(|program| program.number == number)?;
        rewrite::forms(&program.text)
            .iter()
            .find(|form| form.text == program.form)
            .map(|form| form.position(line, column).to_string())
    }
}

impl Remembered {
    fn size(&self) -> usize {
        self.text.len() + self.form.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> Programs {
        let mut programs = Programs::default();
        programs.next_number();
        programs.remember("class A {} f()", "var A = class A {}; f()");
        programs.next_number();
        programs.remember("a\nb", "a\nb");
        programs
    }

    #[track_caller]
    fn check(stack: &str, expected: Option<&str>) {
        assert_eq!(programs().position(stack).as_deref(), expected, "{stack}");
    }

    #[test]
    fn the_innermost_frame_of_a_program_counts() {
        check("    at f (native)\n    at <eval> (<2>:2:1)\n", Some("2:1"));
        check("    at <2>:1:1\n", Some("1:1"));
        check(
            "    at g (<api>:3:1)\n    at <anonymous> (<2>:1:1)",
            Some("1:1"),
        );
        check(
            "    at g (<1>:1:21)\n    at <eval> (<2>:1:1)",
            Some("<1>:1:12"),
        );
        check("    at g (native)", None);
        check("", None);
        check("<<>>:::", None);
    }

    #[test]
    fn only_the_last_texts_are_remembered() {
        let mut programs = Programs::default();
        let text = "x".repeat(REMEMBERED / 4);
        for _ in 0..20 {
            programs.next_number();
            programs.remember(&text, &text);
        }
        assert!(programs.size <= REMEMBERED);
        assert_eq!(programs.position("at <1>:1:5").as_deref(), Some("<1>:1:5"));
        assert_eq!(programs.position("at <20>:1:5").as_deref(), Some("1:5"));
    }
}
