//! Symbol names: demangled for people, and matched against what people type.

use super::budget::MAX_NAME;
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::fmt::{self, Write};
use std::panic::catch_unwind;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    Rust,
    Cpp,
    /// C, assembly, and whatever does not mangle its names.
    Plain,
}

/// What the stub for an imported function has behind its name.
pub(super) const STUB: &[u8] = b"@plt";

/// The name without a symbol version: `memcpy@@GLIBC_2.14` is `memcpy`. A stub is not what it leads to.
pub fn unversioned(raw: &[u8]) -> &[u8] {
    match memchr::memchr(b'@', raw) {
        Some(at) if raw[at..] == *STUB => raw,
        Some(at) if at > 0 => &raw[..at],
        _ => raw,
    }
}

/// A cheap look at the first letters; `demangle` is the judge.
pub fn may_be_mangled(raw: &[u8]) -> bool {
    raw.starts_with(b"_Z") || raw.starts_with(b"_R") || raw.starts_with(b"__Z")
}

/// The name as a person would write it: demangled, without hash, parameters and version.
pub fn display(raw: &[u8]) -> Cow<'_, str> {
    let name = unversioned(raw);
    let (imported, suffix) = match name.strip_suffix(STUB) {
        Some(imported) => (imported, "@plt"),
        None => (name, ""),
    };
    match demangle(imported) {
        Some((text, _)) => Cow::Owned(text + suffix),
        None => String::from_utf8_lossy(name),
    }
}

/// The source-level path, without the hash of a Rust name or the parameters of a C++ one.
pub fn demangle(name: &[u8]) -> Option<(String, Language)> {
    if !may_be_mangled(name) || name.len() > MAX_NAME {
        return None;
    }
    let text = std::str::from_utf8(name).ok()?;
    if let Ok(rust) = rustc_demangle::try_demangle(text) {
        return Some((bounded(format_args!("{rust:#}")), Language::Rust));
    }
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    Some((demangle_cpp(name, options)?, Language::Cpp))
}

/// Everything that is in the name: the hash in Rust, the parameters in C++.
pub fn demangle_in_full(name: &[u8]) -> Option<String> {
    if !may_be_mangled(name) || name.len() > MAX_NAME {
        return None;
    }
    let text = std::str::from_utf8(name).ok()?;
    if let Ok(rust) = rustc_demangle::try_demangle(text) {
        return Some(bounded(format_args!("{rust}")));
    }
    demangle_cpp(name, cpp_demangle::DemangleOptions::new())
}

fn demangle_cpp(name: &[u8], options: cpp_demangle::DemangleOptions) -> Option<String> {
    // A name is input like any other, and this parser is the least hardened one here.
    let demangled = catch_unwind(|| {
        let symbol = cpp_demangle::BorrowedSymbol::with_tail(name).ok()?.0;
        let mut text = Bounded(String::new());
        let written = symbol.structured_demangle(&mut text, &options);
        (written.is_ok() || text.is_full()).then_some(text.0)
    });
    demangled.ok().flatten()
}

fn bounded(name: fmt::Arguments<'_>) -> String {
    let mut text = Bounded(String::new());
    // An error only means that the limit was reached: the cut name stays useful.
    let _ = text.write_fmt(name);
    text.0
}

/// A string that refuses to grow beyond the name limit: short mangled names can expand without end.
struct Bounded(String);

impl Bounded {
    fn is_full(&self) -> bool {
        self.0.len() >= MAX_NAME
    }
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = MAX_NAME.saturating_sub(self.0.len());
        if part.len() <= room {
            self.0.push_str(part);
            return Ok(());
        }
        let cut = (0..=room).rev().find(|&at| part.is_char_boundary(at));
        self.0.push_str(&part[..cut.unwrap_or(0)]);
        self.0.extend(std::iter::repeat_n('…', 1));
        Err(fmt::Error)
    }
}

/// The parts of a path, split at `::` outside brackets: `<a::B<T> as c::D>::e` has two.
pub fn components(path: &str) -> Vec<&str> {
    let bytes = path.as_bytes();
    let mut parts = Vec::new();
    let mut start = 0;
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let operator = at == start && is_operator(&path[start..]);
        match byte {
            // `operator<` and its kind would unbalance the brackets: nothing follows them.
            _ if operator => break,
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && bytes.get(at + 1) == Some(&b':') => {
                parts.push(&path[start..at]);
                start = at + 2;
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&path[start..]);
    parts
}

fn is_operator(part: &str) -> bool {
    part.strip_prefix("operator").is_some_and(|rest| {
        !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') && !rest.is_empty()
    })
}

/// The components as they are compared: a type in `<…>` stands for its own path, trait implementations for
/// the type they are for, and generic arguments do not count.
fn comparable(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in components(path) {
        match part
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'))
        {
            Some(inner) => {
                parts.extend(components(implementing_type(inner)).into_iter().map(plain));
            }
            None => parts.push(plain(part)),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// `T as Trait`, `impl Trait for T` and `impl T` all are about `T`.
fn implementing_type(inner: &str) -> &str {
    if let Some(rest) = inner.strip_prefix("impl ") {
        return split_at_depth_0(rest, " for ").map_or(rest, |(_, subject)| subject);
    }
    split_at_depth_0(inner, " as ").map_or(inner, |(subject, _)| subject)
}

fn split_at_depth_0<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'[' => depth += 1,
            b'>' | b')' | b']' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 && text[at..].starts_with(separator) => {
                return Some((&text[..at], &text[at + separator.len()..]));
            }
            _ => {}
        }
    }
    None
}

/// A component without its generic arguments and parameters.
fn plain(part: &str) -> &str {
    if is_operator(part) || part.starts_with('{') {
        return part;
    }
    match part.find(['<', '(']) {
        Some(at) if at > 0 => &part[..at],
        _ => part,
    }
}

/// How well a symbol's name fits what was asked for. Better fits are less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fit {
    /// The name itself.
    Whole,
    /// The last components of a path.
    Suffix,
    /// A copy the compiler made of the function: `work.constprop.0`.
    Clone,
}

/// A name someone typed, prepared for many comparisons.
#[derive(Debug)]
pub struct Query<'a> {
    text: &'a str,
    /// Whether only whole paths fit: the text began with `::`.
    anchored: bool,
    parts: Vec<&'a str>,
    /// The text has generic arguments or parameters, so these are compared as well.
    exact: Option<String>,
    /// How the last identifier appears in mangled names, if it must: its length and itself.
    needle: Option<Finder<'static>>,
}

impl<'a> Query<'a> {
    pub fn new(typed: &'a str) -> Self {
        let text = typed.strip_prefix("::").unwrap_or(typed);
        let mut parts = comparable(text);
        if has_hash(text) {
            parts.pop();
        }
        let detailed = text.contains(['<', '(', '[']) || has_hash(text);
        let last = parts.last().map_or("", |last| last.trim_start_matches('~'));
        let identifier = !last.is_empty()
            && last.is_ascii()
            && last
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        Self {
            text,
            anchored: text.len() < typed.len(),
            exact: detailed.then(|| without_spaces(text)),
            // v0 names put `_` between length and an identifier that begins with one; the older schemes
            // do not, so such an identifier is looked for alone.
            needle: identifier.then(|| {
                let needle = if last.starts_with('_') {
                    last.to_owned()
                } else {
                    format!("{}{last}", last.len())
                };
                Finder::new(needle.as_bytes()).into_owned()
            }),
            parts,
        }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The last component, without generic arguments.
    pub fn last_part(&self) -> &'a str {
        self.parts.last().copied().unwrap_or(self.text)
    }

    /// Whether only a whole path is meant.
    pub fn is_anchored(&self) -> bool {
        self.anchored
    }

    /// Whether no plain name can be meant.
    pub fn is_path(&self) -> bool {
        self.parts.len() > 1 || self.exact.is_some()
    }

    /// How a name that is not mangled fits.
    pub fn fit_plain(&self, raw: &[u8]) -> Option<Fit> {
        let asked = self.text.as_bytes();
        if raw == asked || unversioned(raw) == asked {
            return Some(Fit::Whole);
        }
        let rest = unversioned(raw).strip_prefix(asked)?;
        let copies: [&[u8]; 4] = [b".constprop.", b".isra.", b".lto_priv.", b".llvm."];
        copies
            .iter()
            .any(|copy| rest.starts_with(copy))
            .then_some(Fit::Clone)
    }

    /// How a mangled name fits.
    pub fn fit_mangled(&self, raw: &[u8]) -> Option<(Fit, Language, usize)> {
        let name = unversioned(raw);
        if name.ends_with(STUB) {
            return None;
        }
        if let Some(needle) = &self.needle
            && needle.find(name).is_none()
        {
            return None;
        }
        let (path, language) = demangle(name)?;
        let parts = comparable(&path);
        let whole = parts.len() == self.parts.len();
        if self.parts.is_empty() || !parts.ends_with(&self.parts) || (self.anchored && !whole) {
            return None;
        }
        if let Some(exact) = &self.exact {
            let ends = |text: &str| is_path_suffix(&without_spaces(text), exact);
            if !ends(&path) && !demangle_in_full(name).is_some_and(|full| ends(&full)) {
                return None;
            }
        }
        let fit = if whole { Fit::Whole } else { Fit::Suffix };
        Some((fit, language, parts.len()))
    }
}

/// Whether `text` ends with `suffix` at the beginning of a component.
fn is_path_suffix(text: &str, suffix: &str) -> bool {
    text.strip_suffix(suffix)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}

/// A legacy Rust name ends with `::h` and sixteen hexadecimal digits.
fn has_hash(text: &str) -> bool {
    text.rsplit_once("::h")
        .is_some_and(|(_, hash)| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| *c != ' ').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEGACY: &str = "_ZN5hello4work17h0123456789abcdefE";
    const V0: &str = "_RNvCs1234_5hello4work";
    const TRAIT: &str =
        "_ZN51_$LT$hello..Point$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE";
    const CPP: &str = "_ZN2ns4workEiPKc";
    const TEMPLATE: &str = "_ZN2ns4workIiEEvT_";

    #[track_caller]
    fn check_display(raw: &str, text: &str) {
        assert_eq!(display(raw.as_bytes()), text);
    }

    #[test]
    fn names_are_shown_as_written_in_the_source() {
        check_display("main", "main");
        check_display("memcpy@@GLIBC_2.14", "memcpy");
        check_display(LEGACY, "hello::work");
        check_display(V0, "hello::work");
        check_display(TRAIT, "<hello::Point as core::fmt::Display>::fmt");
        check_display(CPP, "ns::work");
        check_display(TEMPLATE, "ns::work<int>");
        check_display("_Znot_mangled", "_Znot_mangled");
        check_display("@odd", "@odd");
        check_display("puts@plt", "puts@plt");
        check_display("_ZN2ns4workEiPKc@plt", "ns::work@plt");
    }

    #[track_caller]
    fn check_components(path: &str, parts: &[&str]) {
        assert_eq!(components(path), parts);
    }

    #[test]
    fn paths_split_outside_brackets() {
        check_components("main", &["main"]);
        check_components("a::b<c::D>::e", &["a", "b<c::D>", "e"]);
        check_components("<a::B as c::D>::e", &["<a::B as c::D>", "e"]);
        check_components("a::f<fn() -> b::C>::g", &["a", "f<fn() -> b::C>", "g"]);
        check_components("ns::operator<", &["ns", "operator<"]);
        check_components("ns::operator()::x", &["ns", "operator()::x"]);
        check_components("a::{closure#0}", &["a", "{closure#0}"]);
        check_components("", &[""]);
    }

    #[track_caller]
    fn check_fit(query: &str, raw: &str, fit: Option<Fit>) {
        let query = Query::new(query);
        let found = if may_be_mangled(raw.as_bytes()) {
            query.fit_mangled(raw.as_bytes()).map(|(fit, _, _)| fit)
        } else {
            query.fit_plain(raw.as_bytes())
        };
        assert_eq!(found, fit, "{query:?}");
    }

    #[test]
    fn plain_names_fit_whole_or_as_copies() {
        check_fit("work", "work", Some(Fit::Whole));
        check_fit("memcpy", "memcpy@@GLIBC_2.14", Some(Fit::Whole));
        check_fit("memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14", Some(Fit::Whole));
        check_fit("work", "work.constprop.0", Some(Fit::Clone));
        check_fit("work.constprop.0", "work.constprop.0", Some(Fit::Whole));
        check_fit("work", "work.cold", None);
        check_fit("work", "worker", None);
        check_fit("::main", "main", Some(Fit::Whole));
    }

    #[test]
    fn paths_fit_by_their_last_components() {
        for raw in [LEGACY, V0] {
            check_fit("hello::work", raw, Some(Fit::Whole));
            check_fit("work", raw, Some(Fit::Suffix));
            check_fit("::hello::work", raw, Some(Fit::Whole));
            check_fit("::work", raw, None);
            check_fit("ello::work", raw, None);
            check_fit("hello", raw, None);
        }
        check_fit("hello::work::h0123456789abcdef", LEGACY, Some(Fit::Whole));
        check_fit("hello::work::h0123456789abcdee", LEGACY, None);
        check_fit("Point::fmt", TRAIT, Some(Fit::Suffix));
        check_fit("hello::Point::fmt", TRAIT, Some(Fit::Whole));
        check_fit(
            "<hello::Point as core::fmt::Display>::fmt",
            TRAIT,
            Some(Fit::Whole),
        );
        check_fit("Display::fmt", TRAIT, None);
        check_fit("ns::work", CPP, Some(Fit::Whole));
        check_fit("ns::work(int, char const*)", CPP, Some(Fit::Whole));
        check_fit("work(int,char const*)", CPP, Some(Fit::Suffix));
        check_fit("ns::work(int)", CPP, None);
        check_fit("ns::work", TEMPLATE, Some(Fit::Whole));
        check_fit("ns::work<int>", TEMPLATE, Some(Fit::Whole));
        check_fit("work<int>", TEMPLATE, Some(Fit::Suffix));
        check_fit("work<long>", TEMPLATE, None);
    }

    #[test]
    fn hostile_names_are_cut() {
        // Each substitution doubles what comes before it.
        let doubling = "S1_S1_ES2_S2_ES3_S3_ES4_S4_E".repeat(10);
        let name = format!("_Z1fI1aS_S0_{doubling}E");
        assert!(display(name.as_bytes()).len() <= MAX_NAME + '…'.len_utf8());
        let long = vec![b'x'; 3 * MAX_NAME];
        assert_eq!(display(&long).len(), long.len());
        let nested = format!("_Z{}", "N".repeat(100_000));
        assert!(!display(nested.as_bytes()).is_empty());
    }
}
