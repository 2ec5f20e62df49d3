//! Paths that a file names, resolved to the module they start in.

use crate::rust::{inline_modules, is_word, words};

/// A path as written, with groups taken apart: `crate::{a::b, c}` is two.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    pub at: usize,
    pub segments: Vec<String>,
    /// It stands in a `pub use`.
    pub reexport: bool,
}

/// Every `crate::…` and `super::…` path, in `use` items and elsewhere, as segments from the crate's root.
pub fn own_paths(code: &str, module: &[String]) -> Vec<Named> {
    let mut found = Vec::new();
    for head in ["crate", "super"] {
        for at in words(code, head) {
            if !code[at + head.len()..].trim_start().starts_with("::") || is_inside_path(code, at) {
                continue;
            }
            let reexport = is_reexport(code, at);
            for segments in expand(&code[at..]) {
                if let Some(segments) = resolve(&segments, &module_at(code, module, at)) {
                    found.push(Named {
                        at,
                        segments,
                        reexport,
                    });
                }
            }
        }
    }
    found.sort_by_key(|named| named.at);
    found
}

/// `super::super` and `pub(in crate::x)` must not count twice or at all.
fn is_inside_path(code: &str, at: usize) -> bool {
    code[..at].trim_end().ends_with("::")
}

fn is_reexport(code: &str, at: usize) -> bool {
    let item = code[..at].rfind([';', '}']).map_or(0, |end| end + 1);
    let before = code[item..at].trim_start();
    before.starts_with("pub") && before.trim_end().ends_with("use")
}

/// The segments of the path at the start of `text`, one list for each leaf of its groups.
fn expand(text: &str) -> Vec<Vec<String>> {
    let mut segments = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(group) = rest.strip_prefix('{') {
            return group_of(group)
                .iter()
                .flat_map(|part| expand(part))
                .map(|tail| segments.iter().cloned().chain(tail).collect())
                .collect();
        }
        if rest.starts_with('*') {
            segments.push("*".to_owned());
            return vec![segments];
        }
        let length = rest.bytes().take_while(|&byte| is_word(byte)).count();
        if length == 0 {
            break;
        }
        segments.push(rest[..length].to_owned());
        match rest[length..].trim_start().strip_prefix("::") {
            Some(next) => rest = next,
            None => break,
        }
    }
    if segments.is_empty() {
        return Vec::new();
    }
    vec![segments]
}

/// The parts of a group, split at the commas of its own level.
fn group_of(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => {
                parts.push(&text[start..at]);
                return parts;
            }
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

/// The module that holds the byte `at`, from the crate's root.
fn module_at(code: &str, file: &[String], at: usize) -> Vec<String> {
    let inside = inline_modules(code)
        .into_iter()
        .filter(|(extent, _)| extent.contains(&at))
        .map(|(_, name)| name);
    file.iter().cloned().chain(inside).collect()
}

fn resolve(segments: &[String], module: &[String]) -> Option<Vec<String>> {
    let supers = segments.iter().take_while(|part| *part == "super").count();
    let skip = if supers == 0 { 1 } else { supers };
    let base = match supers {
        0 => &[],
        _ => &module[..module.len().checked_sub(supers)?],
    };
    Some(base.iter().chain(&segments[skip..]).cloned().collect())
}

/// The module of `src/a/b.rs` is `a::b`; of `src/a/mod.rs`, `a`; of `src/lib.rs`, the root.
pub fn module_of(name: &str) -> Vec<String> {
    let inside = name.strip_prefix("src/").unwrap_or(name);
    let mut module: Vec<String> = inside
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if module.last().is_some_and(|last| last == "mod") || matches!(inside, "lib.rs" | "main.rs") {
        module.pop();
    }
    module
}

#[cfg(test)]
mod tests {
    use super::{module_of, own_paths};

    #[track_caller]
    fn check(file: &str, code: &str, expected: &[&str]) {
        let found: Vec<String> = own_paths(code, &module_of(file))
            .into_iter()
            .map(|named| named.segments.join("::"))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn paths_are_resolved_from_the_root() {
        check("src/a/b.rs", "use crate::{x::y, z};", &["x::y", "z"]);
        check(
            "src/a/b.rs",
            "use super::c::{self, D};",
            &["a::c::self", "a::c::D"],
        );
        check("src/a/b.rs", "use super::super::x;", &["x"]);
        check("src/a/mod.rs", "use super::x;", &["x"]);
        check("src/a/b.rs", "fn f() { crate::x::g(); }", &["x::g"]);
        check("src/a/b.rs", "mod tests { use super::*; }", &["a::b::*"]);
        check(
            "src/a/b.rs",
            "mod tests { use super::super::x; }",
            &["a::x"],
        );
        check("src/a/b.rs", "pub(crate) fn f() {}", &[]);
        check(
            "src/a/b.rs",
            "use crate::{a::{b, c::{d, e}}, f};",
            &["a::b", "a::c::d", "a::c::e", "f"],
        );
    }

    #[test]
    fn reexports_are_known() {
        assert!(own_paths("pub use crate::x::y;", &[])[0].reexport);
        assert!(own_paths("struct A;\npub(crate) use crate::x;", &[])[0].reexport);
        assert!(!own_paths("use crate::x::y;", &[])[0].reexport);
    }
}
