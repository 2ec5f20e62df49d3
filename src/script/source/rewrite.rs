//! The small differences between what agents write and what QuickJS compiles as a script:
//! redeclared names, `continue(` as a call, an object literal as a statement.
//!
//! Lines stay lines. Columns move only behind an insertion, and `Form::position` moves them back.

use super::declare::{self, Tokens};
use super::lexer::{self, Kind, Lexer, Token};

/// What `continue` is called by; of the same width.
pub const CONTINUE_ALIAS: &str = "__cont__";

/// One way to read a text, ready to compile.
#[derive(Clone, Debug)]
pub struct Form<'t> {
    original: &'t str,
    pub text: String,
    /// Bytes put in, by their place in the original.
    insertions: Vec<(usize, usize)>,
}

/// A place in the agent's own text: counted from one, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// The place of a byte of `text`.
    pub(super) fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: 1 + before.matches('\n').count(),
            column: 1 + before.get(line_start..).unwrap_or_default().chars().count(),
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One change of the text.
enum Edit<'t> {
    Insert(usize, &'t str),
    /// Replaces as many bytes as it has.
    Overwrite(usize, &'static str),
}

/// The ways to read a text, in the order in which to try to compile them.
pub fn forms(text: &str) -> Vec<Form<'_>> {
    let mut lexer = Lexer::default();
    let list: Vec<Token> = std::iter::from_fn(|| lexer.next(text)).collect();
    let tokens = Tokens { text, list: &list };
    let expression = expression_edits(tokens, !lexer.is_open());
    let continues = continue_edits(tokens);
    let declarations = declaration_edits(tokens);
    let mut forms = Vec::new();
    for with_continue in [false, true] {
        if with_continue && continues.is_empty() {
            break;
        }
        for edits in [expression.as_deref(), Some(&declarations)]
            .into_iter()
            .flatten()
        {
            let continues = continues.iter().filter(|_| with_continue);
            forms.push(Form::new(text, edits.iter().chain(continues)));
        }
    }
    forms
}

/// The first top-level declaration of a name that must not be declared, with its position.
pub fn find_declared(text: &str, is_taken: impl Fn(&str) -> bool) -> Option<(&str, Position)> {
    let list = lexer::tokens(text);
    declare::declared_names(Tokens { text, list: &list })
        .into_iter()
        .find(|found| is_taken(found.name))
        .map(|found| {
            (
                &text[found.at..found.at + found.name.len()],
                Position::of(text, found.at),
            )
        })
}

/// Whether there is anything to evaluate but blanks and comments.
pub fn has_code(text: &str) -> bool {
    Lexer::default().next(text).is_some()
}

impl<'t> Form<'t> {
    fn new<'e>(original: &'t str, edits: impl Iterator<Item = &'e Edit<'t>>) -> Self
    where
        't: 'e,
    {
        let mut edits: Vec<_> = edits.collect();
        edits.sort_by_key(|edit| edit.at());
        let mut text = String::with_capacity(original.len() + 16);
        let mut insertions = Vec::new();
        let mut copied = 0;
        for edit in edits {
            text.push_str(original.get(copied..edit.at()).unwrap_or_default());
            copied = edit.at();
            match *edit {
                Edit::Insert(at, inserted) => {
                    text.push_str(inserted);
                    insertions.push((at, inserted.len()));
                }
                Edit::Overwrite(_, replacement) => {
                    text.push_str(replacement);
                    copied += replacement.len();
                }
            }
        }
        text.push_str(original.get(copied..).unwrap_or_default());
        Self {
            original,
            text,
            insertions,
        }
    }

    /// The place in the agent's text of one in this form, given as QuickJS gives it: counted from one,
    /// columns in bytes.
    pub fn position(&self, line: usize, byte_column: usize) -> Position {
        let line_start = line_start(&self.text, line);
        let line_length = self
            .text
            .get(line_start..)
            .map_or(0, |rest| rest.find('\n').unwrap_or(rest.len()));
        let in_form = line_start + byte_column.saturating_sub(1).min(line_length);
        let mut shift = 0;
        for &(at, width) in &self.insertions {
            if at + shift >= in_form {
                break;
            }
            // Inside an insertion means at its place.
            shift += width.min(in_form - (at + shift));
        }
        let at = self.original.floor_char_boundary(in_form - shift);
        Position::of(self.original, at)
    }

    /// Whether QuickJS means the end of the text by this place.
    pub fn is_end(&self, line: usize, byte_column: usize) -> bool {
        let last_start = self.text.rfind('\n').map_or(0, |newline| newline + 1);
        line == 1 + self.text.matches('\n').count() && byte_column > self.text.len() - last_start
    }
}

impl Edit<'_> {
    const fn at(&self) -> usize {
        match self {
            Self::Insert(at, _) | Self::Overwrite(at, _) => *at,
        }
    }
}

/// Where a line, counted from one, begins.
fn line_start(text: &str, line: usize) -> usize {
    match line.checked_sub(2) {
        None => 0,
        Some(newlines) => text
            .match_indices('\n')
            .nth(newlines)
            .map_or(text.len(), |(newline, _)| newline + 1),
    }
}

/// `let` and `const` become `var`, and `class A {}` becomes `var A = class A {};`, so that a later
/// program may declare the name again.
fn declaration_edits<'t>(tokens: Tokens<'t, '_>) -> Vec<Edit<'t>> {
    let mut edits = Vec::new();
    for (index, token) in tokens.list.iter().enumerate() {
        if token.kind != Kind::Word || !tokens.starts_statement(index) {
            continue;
        }
        match token.text(tokens.text) {
            "let" if tokens.let_declares(index) => edits.push(Edit::Overwrite(token.start, "var")),
            "const" => edits.push(Edit::Overwrite(token.start, "var  ")),
            "class" => edits.extend(class_edits(tokens, index)),
            _ => {}
        }
    }
    edits
}

fn class_edits<'t>(tokens: Tokens<'t, '_>, index: usize) -> Vec<Edit<'t>> {
    let name = tokens.word(index + 1);
    let (Some(class), true) = (tokens.get(index), tokens.is(index + 1, Kind::Word)) else {
        return Vec::new();
    };
    if name == "extends" {
        return Vec::new();
    }
    let mut edits: Vec<_> = ["var ", name, " = "]
        .into_iter()
        .map(|part| Edit::Insert(class.start, part))
        .collect();
    // Without the semicolon a bracket in the next line would go on with the expression.
    let end = tokens.class_end(index).and_then(|end| tokens.get(end));
    edits.extend(end.map(|end| Edit::Insert(end.end, ";")));
    edits
}

/// `continue(` outside of strings and the like, where it cannot be a property or a method.
fn continue_edits<'t>(tokens: Tokens<'t, '_>) -> Vec<Edit<'t>> {
    let is_call = |index: usize| {
        let after = tokens.get(index + 1);
        let is_member = index > 0 && matches!(tokens.word(index - 1), "." | "?.");
        tokens.word(index) == "continue"
            && tokens.word(index + 1) == "("
            && after.is_some_and(|paren| !paren.after_newline)
            && !is_member
            && !is_method(tokens, index + 1)
    };
    (0..tokens.list.len())
        .filter(|&index| is_call(index))
        .filter_map(|index| tokens.get(index))
        .map(|token| Edit::Overwrite(token.start, CONTINUE_ALIAS))
        .collect()
}

/// Whether a body follows the parentheses that open at `index`.
fn is_method(tokens: Tokens<'_, '_>, index: usize) -> bool {
    let Some(open) = tokens.get(index) else {
        return false;
    };
    (index + 1..tokens.list.len())
        .find(|&at| {
            tokens
                .get(at)
                .is_some_and(|token| token.depth <= open.depth)
        })
        .is_some_and(|close| tokens.word(close + 1) == "{")
}

/// Parentheses round a text that begins with `{`, which makes it an object rather than a block. While
/// a bracket is open, the last one is left to come.
fn expression_edits<'t>(tokens: Tokens<'t, '_>, closed: bool) -> Option<Vec<Edit<'t>>> {
    let first = tokens.get(0)?;
    if tokens.word(0) != "{" {
        return None;
    }
    let mut edits = vec![Edit::Insert(first.start, "(")];
    if !closed {
        return Some(edits);
    }
    let semicolons = tokens
        .list
        .iter()
        .rev()
        .take_while(|token| token.text(tokens.text) == ";")
        .count();
    let (kept, dropped) = tokens.list.split_at(tokens.list.len() - semicolons);
    edits.extend(kept.last().map(|last| Edit::Insert(last.end, ")")));
    edits.extend(
        dropped
            .iter()
            .map(|token| Edit::Overwrite(token.start, " ")),
    );
    Some(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let forms = forms(text);
        let texts: Vec<_> = forms.iter().map(|form| form.text.as_str()).collect();
        assert_eq!(texts, expected, "{text}");
    }

    #[test]
    fn top_level_declarations_may_be_repeated() {
        check("let a = 1; const b = 2", &["var a = 1; var   b = 2"]);
        check(
            "const {a, b} = c\nlet [d] = e",
            &["var   {a, b} = c\nvar [d] = e"],
        );
        check("let\na", &["var\na"]);
        check("a = 1\nlet b", &["a = 1\nvar b"]);
        check(
            "f()\nconst a = `x`\nconst b = 1",
            &["f()\nvar   a = `x`\nvar   b = 1"],
        );
        check(
            "class A extends B {}\n(f)()",
            &["var A = class A extends B {};\n(f)()"],
        );
        check("i++\nclass A {", &["i++\nvar A = class A {"]);
        check(
            "class A extends class {} {}",
            &["var A = class A extends class {} {};"],
        );
    }

    #[test]
    fn what_is_no_top_level_declaration_stays() {
        for text in [
            "for (let i = 0; i < 3; i++) {}",
            "for (const a of b) f(a)",
            "if (a) { let b = 1; const c = 2; class D {} }",
            "x = class A {}",
            "x =\nclass A {}",
            "a.let = b.const; a.class",
            "let = 1; let.a; let(b)",
            "f(() => { let a })",
            "'let a'; `const b ${`let c`}`; /let d/; // class E {}\n/* const f */",
            "async function f() { let a }",
            "class extends B {}",
        ] {
            check(text, &[text]);
        }
    }

    #[test]
    fn continue_as_a_call_has_a_second_form() {
        check("continue()", &["continue()", "__cont__()"]);
        check(
            "let a = continue (1)",
            &["var a = continue (1)", "var a = __cont__ (1)"],
        );
        check("`${continue()}`", &["`${continue()}`", "`${__cont__()}`"]);
        check("a[continue()]", &["a[continue()]", "a[__cont__()]"]);
        for text in [
            "continue\n(x)",
            "x.continue()",
            "x?.continue()",
            "class A { continue() {} }",
            "'continue()'; `continue()`; /continue()/; // continue()\n/* continue() */",
            "for (;;) continue",
            "a: for (;;) continue a",
            "continues()",
            "x = { continue(a, {b}) { } }",
        ] {
            assert!(
                forms(text)
                    .iter()
                    .all(|form| !form.text.contains(CONTINUE_ALIAS)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_brace_is_tried_as_an_object_first() {
        check("{a: 1}", &["({a: 1})", "{a: 1}"]);
        check(
            "// c\n{a: 1}; // d",
            &["// c\n({a: 1})  // d", "// c\n{a: 1}; // d"],
        );
        check("{a: 1,", &["({a: 1,", "{a: 1,"]);
        check(
            "{ continue() }",
            &[
                "({ continue() })",
                "{ continue() }",
                "({ __cont__() })",
                "{ __cont__() }",
            ],
        );
        check("", &[""]);
    }

    #[track_caller]
    fn check_position(text: &str, form: usize, line: usize, column: usize, expected: &str) {
        let forms = forms(text);
        assert_eq!(forms[form].position(line, column).to_string(), expected);
    }

    #[test]
    fn positions_are_those_of_the_agents_own_text() {
        check_position("let a = b", 0, 1, 9, "1:9");
        check_position("const a = b", 0, 1, 11, "1:11");
        check_position("class A {} b", 0, 1, 21, "1:12");
        check_position("class A {} b", 0, 1, 1, "1:1");
        check_position("class A {} b", 0, 1, 6, "1:1");
        check_position("a\nclass A {}\nb", 0, 3, 1, "3:1");
        check_position("{a: b}", 0, 1, 6, "1:5");
        check_position("'žž' + b", 0, 1, 10, "1:8");
        check_position("a", 0, 99, 99, "1:2");
        check_position("a", 0, 0, 0, "1:1");
    }

    #[test]
    fn names_that_are_taken_are_found() {
        let find = |text| {
            find_declared(text, |name| name == "state").map(|(_, position)| position.to_string())
        };
        assert_eq!(find("let a, state = 1").as_deref(), Some("1:8"));
        assert_eq!(find("1\nfunction state() {}").as_deref(), Some("2:10"));
        assert_eq!(find("const {pc, state} = x").as_deref(), Some("1:12"));
        assert_eq!(find("state.pc; f(state); ({state}); { let state }"), None);
    }

    #[test]
    fn blanks_and_comments_are_no_code() {
        for text in [
            "",
            " \t\n",
            "// a",
            "/* a\n*/ // b",
            "/* a",
            "#!/bin/llmdbg",
        ] {
            assert!(!has_code(text), "{text}");
        }
        assert!(has_code(";"));
    }

    mod properties {
        use super::*;
        use proptest::prelude::*;

        fn config() -> ProptestConfig {
            ProptestConfig {
                failure_persistence: None,
                ..ProptestConfig::default()
            }
        }

        const WORDS: &[&str] = &[
            "let ",
            "const ",
            "class ",
            "A ",
            "b ",
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            "=",
            ";",
            "\n",
            "continue(",
            "`",
            "${",
            "'",
            "/",
            "//",
            "/*",
            "*/",
            ".",
            "=>",
            "é",
            "extends ",
        ];

        fn program() -> impl Strategy<Value = String> {
            proptest::collection::vec(proptest::sample::select(WORDS), 0..30)
                .prop_map(|words| words.concat())
        }

        proptest! {
            #![proptest_config(config())]

            #[test]
            fn every_position_outside_insertions_maps_back(text in program()) {
                for form in forms(&text) {
                    prop_assert_eq!(form.text.matches('\n').count(), text.matches('\n').count());
                    let inserted: usize = form.insertions.iter().map(|(_, width)| width).sum();
                    prop_assert_eq!(form.text.len(), text.len() + inserted);
                    for (index, line) in form.text.split('\n').enumerate() {
                        let mut last = Position { line: index + 1, column: 0 };
                        for column in 1..=line.len() + 1 {
                            let position = form.position(index + 1, column);
                            prop_assert_eq!(position.line, index + 1);
                            prop_assert!(last <= position);
                            last = position;
                        }
                    }
                }
            }

            #[test]
            fn strings_templates_regexes_and_comments_stay(text in "[a-z ();{}.=]{0,20}") {
                for (open, close) in [("'", "'"), ("`", "`"), ("x = /", "/"), ("/*", "*/"), ("//", "\n")] {
                    let hidden = format!("{open}let a; continue({text}{close}");
                    let forms = forms(&hidden);
                    prop_assert_eq!(forms.len(), 1);
                    prop_assert_eq!(&forms[0].text, &hidden);
                }
            }
        }
    }
}
