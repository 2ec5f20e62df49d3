//! Expected text with placeholders. Whatever is not a placeholder must be equal to the byte.

use std::collections::BTreeMap;

/// What `[addr:A]` and the like stood for so far in this transcript.
pub type Bindings = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `0x` and lower-case hexadecimal digits.
    Addr,
    /// The same number written in decimal: it shares its bindings with `Addr`.
    Dec,
    Tid,
    Pid,
    /// A count of milliseconds.
    Ms,
    /// Anything up to a blank, a tab or the end of the line.
    Path,
    /// The rest of the line: a place in a library, whose version no test knows.
    Where,
    /// Nothing, or a blank and a place: whether a spinning process was found elsewhere is chance.
    Moved,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Literal(String),
    Hole { kind: Kind, name: Option<String> },
}

#[derive(Debug)]
pub struct Pattern {
    tokens: Vec<Token>,
}

impl Pattern {
    pub fn new(text: &str) -> Result<Self, String> {
        if text.contains("[..]") {
            return Err("`[..]` is not allowed: an expectation is exact".into());
        }
        let mut tokens = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('[') {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some((hole, length)) = hole(rest) {
                if !literal.is_empty() {
                    tokens.push(Token::Literal(std::mem::take(&mut literal)));
                }
                tokens.push(hole);
                rest = &rest[length..];
            } else {
                literal.push('[');
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            tokens.push(Token::Literal(literal));
        }
        Ok(Self { tokens })
    }

    /// Whether `text` is what the pattern says; new bindings are kept only when it is.
    pub fn matches(&self, text: &str, bindings: &mut Bindings) -> bool {
        let mut tried = bindings.clone();
        let mut rest = text;
        for token in &self.tokens {
            let taken = match token {
                Token::Literal(literal) => rest.starts_with(literal).then_some(literal.len()),
                Token::Hole { kind, name } => take(*kind, name.as_deref(), rest, &mut tried),
            };
            let Some(taken) = taken else { return false };
            rest = &rest[taken..];
        }
        if rest.is_empty() {
            *bindings = tried;
        }
        rest.is_empty()
    }
}

fn hole(text: &str) -> Option<(Token, usize)> {
    let end = text.find(']')?;
    let inside = &text[1..end];
    let (kind, name) = match inside.split_once(':') {
        Some((kind, name)) => (kind, Some(name)),
        None => (inside, None),
    };
    let kind = match kind {
        "addr" => Kind::Addr,
        "dec" => Kind::Dec,
        "tid" => Kind::Tid,
        "pid" => Kind::Pid,
        "ms" => Kind::Ms,
        "path" => Kind::Path,
        "where" => Kind::Where,
        "moved" => Kind::Moved,
        _ => return None,
    };
    let name = name.map(str::to_owned);
    Some((Token::Hole { kind, name }, end + 1))
}

/// How many bytes of `rest` the hole takes; none when the text is of another kind or value.
fn take(kind: Kind, name: Option<&str>, rest: &str, bindings: &mut Bindings) -> Option<usize> {
    let run = |text: &str, part: fn(char) -> bool| {
        text.find(|letter| !part(letter)).unwrap_or(text.len())
    };
    let length = match kind {
        Kind::Addr => {
            let digits = rest.strip_prefix("0x")?;
            2 + run(digits, |letter| matches!(letter, '0'..='9' | 'a'..='f'))
        }
        Kind::Dec | Kind::Tid | Kind::Pid | Kind::Ms => run(rest, |letter| letter.is_ascii_digit()),
        Kind::Path => run(rest, |letter| !letter.is_whitespace()),
        Kind::Where => run(rest, |letter| letter != '\n'),
        Kind::Moved if rest.starts_with(' ') => run(rest, |letter| letter != '\n'),
        Kind::Moved => 0,
    };
    let text = &rest[..length];
    let value = match kind {
        Kind::Addr => u64::from_str_radix(text.strip_prefix("0x")?, 16)
            .ok()?
            .to_string(),
        Kind::Path | Kind::Where if text.is_empty() => return None,
        Kind::Path | Kind::Where | Kind::Moved => text.to_owned(),
        _ => text.parse::<u64>().ok()?.to_string(),
    };
    if let Some(name) = name
        && *bindings
            .entry(name.to_owned())
            .or_insert_with(|| value.clone())
            != value
    {
        return None;
    }
    Some(length)
}

pub mod checks {
    use super::{Bindings, Pattern};

    pub const ALL: crate::checks::Table = &[
        ("literals_are_exact", literals),
        ("holes_take_their_kind_only", kinds),
        ("a_name_binds_once", names),
        ("a_failed_match_binds_nothing", failure_binds_nothing),
        ("the_wildcard_is_refused", wildcard),
    ];

    #[track_caller]
    fn check(pattern: &str, text: &str, expected: bool) {
        let pattern = Pattern::new(pattern).unwrap();
        assert_eq!(pattern.matches(text, &mut Bindings::new()), expected);
    }

    fn literals() {
        check("a\tb\n", "a\tb\n", true);
        check("a b", "a\tb", false);
        check("[1, 2] [x:y] [", "[1, 2] [x:y] [", true);
        check("a", "ab", false);
        check("ab", "a", false);
        check("", "", true);
    }

    fn kinds() {
        check("[addr]", "0x401136", true);
        check("[addr]", "0x", false);
        check("[addr]", "401136", false);
        check("[addr]", "0xABC", false);
        check("[dec]", "4198710", true);
        check("[dec]", "-1", false);
        check("[tid] [pid]", "12 13", true);
        check("timeout [ms]ms", "timeout 10000ms", true);
        check("[path]\tx", "/a/b-c.d\tx", true);
        check("[path]", "", false);
        check("[where]\n2", "0x10\tread+0x4 read.c:5\n2", true);
        check("[where]", "", false);
        check("stopped[moved]\n", "stopped 0x10 f+0x4\n", true);
        check("stopped[moved]\n", "stopped\n", true);
        check("stopped[moved]\n", "stoppedx\n", false);
    }

    fn names() {
        check("[addr:A]\t[addr:A]", "0x10\t0x10", true);
        check("[addr:A]\t[addr:A]", "0x10\t0x11", false);
        check("[dec:A]\t[addr:A]", "16\t0x10", true);
        check("[dec:A]\t[addr:A]", "16\t0x11", false);
        check("[addr:A]\t[addr:B]", "0x10\t0x11", true);
    }

    fn failure_binds_nothing() {
        let mut bindings = Bindings::new();
        let pattern = Pattern::new("[addr:A] end").unwrap();
        assert!(!pattern.matches("0x10 other", &mut bindings));
        assert!(bindings.is_empty());
        assert!(pattern.matches("0x10 end", &mut bindings));
        assert_eq!(bindings["A"], "16");
    }

    fn wildcard() {
        assert!(Pattern::new("stop [..]").is_err());
    }
}
