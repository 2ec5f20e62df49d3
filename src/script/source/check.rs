//! Which form of a text compiles, and whether one that does not may still become complete.

use rquickjs::{Context, Ctx, Exception, Runtime};

use super::rewrite::{self, Form, Position};
use crate::script::raw;

/// Why a text is not JavaScript.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    pub message: String,
    pub position: Position,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.message, self.position)
    }
}

/// What framing has to know of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Completeness {
    Complete,
    /// More text may make it complete.
    Incomplete,
    Broken(SyntaxError),
}

/// Judges texts for framing.
pub trait Check {
    fn check(&mut self, text: &str) -> Completeness;
}

/// A text of which no form compiles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejected {
    /// Of the form that got furthest.
    pub error: SyntaxError,
    /// The compiler reached the end of the text and wanted more.
    pub incomplete: bool,
}

/// The first form of `text` that compiles.
pub fn select<'t>(ctx: &Ctx<'_>, text: &'t str) -> Result<Form<'t>, Rejected> {
    if let Some(at) = text.find('\0') {
        return Err(Rejected::at(text, at, "a NUL byte is not JavaScript"));
    }
    let mut rejected: Option<Rejected> = None;
    for form in rewrite::forms(text) {
        match compile(ctx, &form) {
            Ok(()) => return Ok(form),
            Err(other) => {
                rejected = Some(match rejected {
                    Some(best) => furthest(best, other),
                    None => other,
                });
            }
        }
    }
    Err(rejected.unwrap_or_else(|| Rejected::at(text, 0, "nothing to compile")))
}

impl Rejected {
    fn at(text: &str, at: usize, message: &str) -> Self {
        Self {
            error: SyntaxError {
                message: message.into(),
                position: Position::of(text, at),
            },
            incomplete: false,
        }
    }
}

fn furthest(a: Rejected, b: Rejected) -> Rejected {
    let incomplete = a.incomplete || b.incomplete;
    // A rewritten form, which comes later, says more about the same place.
    let best = if a.error.position > b.error.position {
        a
    } else {
        b
    };
    Rejected { incomplete, ..best }
}

fn compile(ctx: &Ctx<'_>, form: &Form<'_>) -> Result<(), Rejected> {
    let Err(error) = raw::compile(ctx, &form.text) else {
        return Ok(());
    };
    let thrown = ctx.catch();
    let exception = thrown.as_exception();
    let message = exception.and_then(Exception::message);
    let place = exception
        .and_then(Exception::stack)
        .and_then(|stack| parse_place(&stack));
    let at_end = place.is_some_and(|(line, column)| form.is_end(line, column));
    let (line, column) = place.unwrap_or((1, 1));
    let message = match message {
        // QuickJS quotes the token, and the end of the text has none.
        Some(message) if at_end && message.ends_with("''") => "unexpected end of the text".into(),
        Some(message) => message,
        None => error.to_string(),
    };
    Err(Rejected {
        incomplete: may_go_on(&message, at_end, &form.text),
        error: SyntaxError {
            message: lower_first(&message),
            position: form.position(line, column),
        },
    })
}

/// Whether the compiler merely missed what comes after the end.
fn may_go_on(message: &str, at_end: bool, text: &str) -> bool {
    match message {
        "unexpected end of comment" => true,
        // Of a template, or of a string whose last line ends in a continuation.
        "unexpected end of string" => super::lexer::is_open(text),
        // Complained of after the last token was read, but not for want of another one.
        _ if message.contains("must be inside") || message.contains("not in a function") => false,
        _ => at_end,
    }
}

/// The line and column of the innermost frame: `    at <repl>:1:14`.
fn parse_place(stack: &str) -> Option<(usize, usize)> {
    let name = raw::FILE_NAME.to_str().ok()?;
    let (_, after) = stack.split_once(name)?;
    let mut numbers = after
        .strip_prefix(':')?
        .split(|c: char| !c.is_ascii_digit());
    let line = numbers.next()?.parse().ok()?;
    let column = numbers.next()?.parse().ok()?;
    Some((line, column))
}

fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(characters).collect()
    })
}

/// A compiler of its own for the thread that reads the input.
pub struct SyntaxChecker {
    context: Context,
}

/// Bytes that judging one text may take.
const MEMORY_LIMIT: usize = 64 << 20;
/// Bytes of stack that the parser may take; the thread that reads has more.
const STACK_LIMIT: usize = 512 << 10;

impl SyntaxChecker {
    pub fn new() -> Result<Self, rquickjs::Error> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(MEMORY_LIMIT);
        runtime.set_max_stack_size(STACK_LIMIT);
        Ok(Self {
            context: Context::full(&runtime)?,
        })
    }
}

impl Check for SyntaxChecker {
    fn check(&mut self, text: &str) -> Completeness {
        self.context.with(|ctx| match select(&ctx, text) {
            Ok(_) => Completeness::Complete,
            Err(rejected) if rejected.incomplete => Completeness::Incomplete,
            Err(rejected) => Completeness::Broken(rejected.error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut checker = SyntaxChecker::new().expect("a runtime");
        let found = match checker.check(text) {
            Completeness::Complete => "complete".into(),
            Completeness::Incomplete => "incomplete".into(),
            Completeness::Broken(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text:.60}");
    }

    #[test]
    fn complete_texts_compile() {
        for text in [
            "1+1",
            "let a = 1; let a = 2",
            "class A {} class A {}",
            "continue()",
            "if (x) { continue() }",
            "{a: 1, b: 2}",
            "{a: 1};",
            "{ let a = 1; f(a) }",
            "await f()",
            "for (const a of b) { if (a) continue; continue(1) }",
            "x = 5 /* c */ // d",
            "with (a) b",
            "",
        ] {
            check(text, "complete");
        }
    }

    #[test]
    fn what_more_text_can_complete_is_incomplete() {
        for text in [
            "f(",
            "f(1, // c",
            "a +",
            "a +\n",
            "a + /* b",
            "if (x)",
            "if (x) {\n continue()",
            "do f()",
            "try {}",
            "x = {",
            "{a: 1,",
            "{a: 1,\n b:",
            "class A {",
            "`abc",
            "`a ${",
            "`a\n${b}\nc",
            "'a\\",
            "'a\\\n",
            "/* a",
            "let a =",
            "x = async () =>",
            "function f() {\n return 1",
            "a ? b",
        ] {
            check(text, "incomplete");
        }
    }

    #[test]
    fn what_nothing_can_mend_is_broken_at_its_place() {
        check("f(]", "unexpected token in expression: ']' at 1:3");
        check("}", "unexpected token in expression: '}' at 1:1");
        check("\n  foo bar", "expecting ';' at 2:7");
        check("'abc", "unexpected end of string at 1:1");
        check("/abc", "unexpected end of regexp at 1:1");
        check("continue", "continue must be inside loop at 1:9");
        check("break", "break must be inside loop or switch at 1:6");
        check("return 1", "return not in a function at 1:1");
        check("a\n\0b", "a NUL byte is not JavaScript at 2:1");
        check(
            &"(".repeat(1_000_000),
            "maximum call stack size exceeded at 1:1",
        );
    }

    #[test]
    fn an_end_that_came_too_early_is_called_so() {
        let checker = SyntaxChecker::new().expect("a runtime");
        checker.context.with(|ctx| {
            let error = select(&ctx, "f(").expect_err("incomplete").error;
            assert_eq!(error.to_string(), "unexpected end of the text at 1:3");
        });
    }

    #[test]
    fn the_place_is_that_in_the_text_as_it_was_written() {
        check(
            "class A {} )",
            "unexpected token in expression: ')' at 1:12",
        );
        check("{a: 1, b: }", "unexpected token in expression: '}' at 1:11");
        check("'žž' )", "expecting ';' at 1:6");
        check(
            "continue() +* 2",
            "unexpected token in expression: '*' at 1:13",
        );
        check(
            "for (;;) { continue( } )",
            "unexpected token in expression: '}' at 1:22",
        );
    }
}
