//! Small texts of JavaScript that are compiled once and evaluated at every hit: conditions and logs.

use super::echo;
use super::error::Error;
use super::host::Host;
use super::raw;
use rquickjs::{Ctx, Function, Persistent, Value};

/// Bytes of a text.
const LONGEST: usize = 4096;

/// Names that a text may use, beside `e` and every global, and where they come from.
const SCOPE: [(&str, &str); 4] = [
    ("state", "e.state"),
    ("registers", "e.state.registers"),
    ("flags", "e.state.flags"),
    ("hits", "e.hits"),
];

pub struct Snippet {
    text: String,
    function: Persistent<Function<'static>>,
}

impl Snippet {
    /// A function of the event.
    pub fn function<'js>(ctx: &Ctx<'js>, function: Function<'js>, text: String) -> Self {
        Self {
            text,
            function: Persistent::save(ctx, function),
        }
    }

    /// An expression, with the names of `SCOPE` in reach.
    pub fn expression(ctx: &Ctx<'_>, host: &Host, what: &str, text: &str) -> Result<Self, Error> {
        check_length(what, text)?;
        if !is_expression(ctx, text) {
            let error = wrong_expression(ctx, text);
            return Err(Error::in_script(ctx, host, what, error));
        }
        Self::compile(ctx, text, &format!("({text}\n)"))
    }

    /// A template: `x={expression}`, with `{{` and `}}` for braces. Its value is an array of the parts.
    pub fn template(ctx: &Ctx<'_>, host: &Host, what: &str, text: &str) -> Result<Self, Error> {
        check_length(what, text)?;
        let mut parts = Vec::new();
        for part in split(text, |candidate| is_expression(ctx, candidate)) {
            match part {
                Part::Text(literal) => parts.push(literal_of(&literal)),
                Part::Expression(expression) => parts.push(format!("({expression}\n)")),
                Part::Open(rest) => {
                    let first = rest.split('}').next().unwrap_or_default();
                    if rest.contains('}') {
                        let error = wrong_expression(ctx, first);
                        return Err(Error::in_script(ctx, host, what, error));
                    }
                    return Err(Error::argument_hint(
                        format!("{what}: '{{{first}' has no closing }}"),
                        "{{ stands for a brace",
                    ));
                }
            }
        }
        Self::compile(ctx, text, &format!("[{}]", parts.join(", ")))
    }

    fn compile(ctx: &Ctx<'_>, text: &str, value: &str) -> Result<Self, Error> {
        let declared: String = SCOPE
            .iter()
            .filter(|(name, _)| value.contains(name))
            .map(|(name, source)| format!("const {name} = {source}; "))
            .collect();
        let function = format!("(function (e) {{ {declared}return {value} }})");
        let function = raw::compile_program(ctx, &function, FILE, raw::Mode::Script)?.run()?;
        Ok(Self::function(
            ctx,
            Function::from_value(function)?,
            text.to_owned(),
        ))
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn call<'js>(&self, ctx: &Ctx<'js>, event: &Value<'js>) -> Result<Value<'js>, Error> {
        let function = self.function.clone().restore(ctx)?;
        raw::call_listener(&function, event)
    }
}

/// What these texts are called in stack traces; no position is taken from it.
const FILE: &str = "<option>";

fn check_length(what: &str, text: &str) -> Result<(), Error> {
    if text.len() > LONGEST {
        return Err(Error::argument_hint(
            format!("{what}: {} bytes are more than {LONGEST}", text.len()),
            "define a function and call it",
        ));
    }
    Ok(())
}

/// Whether a text is one expression by itself, which nothing in it can break out of.
fn is_expression(ctx: &Ctx<'_>, text: &str) -> bool {
    let compiled = compile_expression(ctx, text).is_ok();
    if !compiled {
        ctx.catch();
    }
    compiled
}

fn compile_expression(ctx: &Ctx<'_>, text: &str) -> Result<(), Error> {
    raw::compile_program(ctx, &format!("({text}\n)"), FILE, raw::Mode::Script)?;
    Ok(())
}

/// The SyntaxError of a text that is no expression, pending again.
fn wrong_expression(ctx: &Ctx<'_>, text: &str) -> Error {
    match compile_expression(ctx, text) {
        Err(error) => error,
        Ok(()) => Error::argument("not an expression"),
    }
}

/// A part of a template.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Text(String),
    Expression(String),
    /// A brace that no expression follows, and all that does.
    Open(String),
}

/// Cuts a template. An expression ends at the first brace up to which it is one.
fn split(template: &str, is_expression: impl Fn(&str) -> bool) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let doubled = after.strip_prefix(c).filter(|_| matches!(c, '{' | '}'));
        if c != '{' || doubled.is_some() {
            literal.push(c);
            rest = doubled.unwrap_or(after);
            continue;
        }
        if !literal.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut literal)));
        }
        let ends = after.match_indices('}').map(|(at, _)| after.split_at(at));
        let mut whole = ends.filter(|(inside, _)| is_expression(inside));
        let Some((inside, behind)) = whole.next() else {
            parts.push(Part::Open(after.to_owned()));
            return parts;
        };
        parts.push(Part::Expression(inside.to_owned()));
        rest = behind.strip_prefix('}').unwrap_or(behind);
    }
    if !literal.is_empty() {
        parts.push(Part::Text(literal));
    }
    parts
}

/// A string literal of JavaScript.
fn literal_of(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\u{2028}' => literal.push_str("\\u2028"),
            '\u{2029}' => literal.push_str("\\u2029"),
            _ => literal.push(c),
        }
    }
    literal.push('\'');
    literal
}

/// Prints the parts that a template has come to, as one line.
pub fn print<'js>(ctx: &Ctx<'js>, host: &Host, parts: &Value<'js>) -> Result<(), Error> {
    let mut line = Vec::new();
    if let Some(parts) = parts.as_array() {
        for part in parts.iter::<Value<'_>>() {
            echo::push_printed(ctx, host, &part?, &mut line)?;
        }
    }
    // What the debuggee wrote before comes first.
    host.pull_output();
    host.payload(|payload| payload.print_bytes(&line));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, expected: &[Part]) {
        // Balanced braces are expression enough here.
        let balanced =
            |text: &str| !text.is_empty() && text.matches('{').count() == text.matches('}').count();
        assert_eq!(split(template, balanced), expected, "{template}");
    }

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn expression(text: &str) -> Part {
        Part::Expression(text.to_owned())
    }

    #[test]
    fn only_single_braces_interpolate() {
        check("", &[]);
        check("plain $x `y` \\n", &[text("plain $x `y` \\n")]);
        check("x={x}", &[text("x="), expression("x")]);
        check("{x}{y}", &[expression("x"), expression("y")]);
        check("{{x}} {y}", &[text("{x} "), expression("y")]);
        check("{f({a: 1})}!", &[expression("f({a: 1})"), text("!")]);
        check("a } b", &[text("a } b")]);
        check("{x", &[Part::Open("x".to_owned())]);
        check("{}", &[Part::Open("}".to_owned())]);
    }

    #[test]
    fn literals_are_quoted() {
        assert_eq!(literal_of("a'b\\\n\u{2028}"), "'a\\'b\\\\\\n\\u2028'");
    }
}
