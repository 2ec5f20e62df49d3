//! The texts of `help()`, all of them data: pages, and `api.d.ts`, which is the contract.

use super::error::Error;
use super::near::nearest;
use crate::base::code::Code;

const API: &str = include_str!("api.d.ts");

const PAGES: [(&str, &str); 6] = [
    ("help", include_str!("help/overview.txt")),
    ("numbers", include_str!("help/numbers.txt")),
    ("listeners", include_str!("help/listeners.txt")),
    ("breakpoints", include_str!("help/breakpoints.txt")),
    ("signals", include_str!("help/signals.txt")),
    ("tasks", include_str!("help/tasks.txt")),
];

/// The text of `help(topic)`.
pub fn topic(name: Option<&str>) -> Result<String, Error> {
    let name = name.unwrap_or("help").trim().trim_end_matches("()");
    match name {
        "errors" => return Ok(errors()),
        "api" => return Ok(API.to_owned()),
        _ => {}
    }
    if let Some((_, page)) = PAGES.iter().find(|(known, _)| *known == name) {
        return Ok(page.trim_end().to_owned());
    }
    let declared = if name == "continue" { "cont" } else { name };
    for matches in [str::eq, str::eq_ignore_ascii_case] {
        let excerpt = excerpt(|known| matches(known, declared));
        if !excerpt.is_empty() {
            return Ok(excerpt);
        }
    }
    let known = topics();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("help('{near}')"),
        None => "help() lists the topics".to_owned(),
    };
    Err(Error::argument_hint(format!("no help on '{name}'"), hint))
}

/// What an API name is for, in one line: its signature and the comment on it.
pub fn line(name: &str) -> String {
    let (owner, member) = name
        .split_once('.')
        .map_or((name, None), |(owner, member)| (owner, Some(member)));
    let block = declarations().find(|declaration| declaration.name == owner);
    let Some(block) = block else {
        return name.to_owned();
    };
    match member {
        None if block.text.starts_with("declare function") => {
            format!("{}\t{}", signature(&block), block.comment)
        }
        None => format!("{name}\t{}", block.comment),
        Some(member) => member_line(&block, name, member),
    }
}

fn member_line(block: &Declaration<'_>, name: &str, member: &str) -> String {
    let mut comment = "";
    for line in block.text.lines().map(str::trim) {
        if let Some(text) = comment_of(line) {
            comment = text;
        } else if line
            .strip_prefix(member)
            .is_some_and(|rest| rest.starts_with('('))
        {
            let owner = name.trim_end_matches(member);
            return format!("{owner}{}\t{comment}", line.trim_end_matches(';'));
        }
    }
    name.to_owned()
}

fn signature(block: &Declaration<'_>) -> String {
    let line = block.text.lines().next().unwrap_or_default();
    let line = line.trim_start_matches("declare function ");
    line.trim_end_matches([';', '{']).to_owned()
}

/// The members that the contract gives an object or interface.
#[cfg(test)]
pub fn members(name: &str) -> Vec<String> {
    let text = declarations()
        .find(|declaration| declaration.name == name)
        .map_or("", |declaration| declaration.text);
    let mut found = Vec::new();
    let (mut depth, mut word, mut fresh) = (0, String::new(), false);
    for line in text.lines() {
        let line = line.trim();
        let code = line.split("// ").next().unwrap_or_default();
        if line.starts_with("/**") {
            continue;
        }
        for c in code.chars() {
            let is_name = c.is_alphanumeric() || c == '_';
            if depth == 1 && fresh && is_name {
                word.push(c);
                continue;
            }
            if depth == 1 && matches!(c, '(' | ':' | '?') && !word.is_empty() {
                found.push(std::mem::take(&mut word));
                fresh = false;
            }
            match c {
                '{' | '(' | '<' => depth += 1,
                '}' | ')' | '>' => depth -= 1,
                _ => {}
            }
            if depth == 1 && matches!(c, '{' | ';') {
                fresh = true;
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Everything of the contract under one name, comments included.
fn excerpt(is_wanted: impl Fn(&str) -> bool) -> String {
    let texts: Vec<String> = declarations()
        .filter(|declaration| is_wanted(declaration.name))
        .map(|declaration| match declaration.comment {
            "" => declaration.text.to_owned(),
            comment => format!("{comment}\n{}", declaration.text),
        })
        .collect();
    texts.join("\n")
}

fn errors() -> String {
    let lines = Code::ALL
        .iter()
        .map(|code| format!("{}\t{}", code.name(), code.meaning()));
    lines.collect::<Vec<_>>().join("\n")
}

fn topics() -> Vec<&'static str> {
    let mut all: Vec<&str> = PAGES.iter().map(|(name, _)| *name).collect();
    all.extend(["errors", "api"]);
    all.extend(declarations().map(|declaration| declaration.name));
    all
}

/// One top-level item of the contract.
struct Declaration<'a> {
    name: &'a str,
    comment: &'a str,
    text: &'a str,
}

/// The top-level items: each begins in the first column and ends before the next line that does.
fn declarations() -> impl Iterator<Item = Declaration<'static>> {
    let mut rest = API;
    let mut comment = "";
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = item_end(rest);
            let (item, after) = rest.split_at(end);
            rest = after;
            let item = item.trim_end();
            if let Some(text) = comment_of(item) {
                comment = text;
            } else if let Some(name) = declared_name(item) {
                let declaration = Declaration {
                    name,
                    comment,
                    text: item,
                };
                comment = "";
                return Some(declaration);
            }
        }
        None
    })
}

/// Where the item at the beginning of `text` ends: its first line, and those that are indented or
/// close it.
fn item_end(text: &str) -> usize {
    let mut end = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let goes_on = line.starts_with([' ', '}']);
        if index > 0 && !goes_on {
            break;
        }
        end += line.len();
    }
    end
}

fn comment_of(line: &str) -> Option<&str> {
    line.strip_prefix("/** ")?.strip_suffix(" */")
}

fn declared_name(item: &str) -> Option<&str> {
    const KEYWORDS: [&str; 5] = [
        "declare function ",
        "declare const ",
        "declare class ",
        "interface ",
        "type ",
    ];
    let rest = KEYWORDS
        .iter()
        .find_map(|keyword| item.strip_prefix(keyword))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    rest.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::api;

    #[test]
    fn every_global_is_declared_with_a_comment() {
        let special = ["__cont__"];
        for name in api::GLOBALS.iter().filter(|name| !special.contains(name)) {
            let found = declarations().find(|declaration| declaration.name == *name);
            let found = found.unwrap_or_else(|| panic!("{name} is not in api.d.ts"));
            assert!(!found.comment.is_empty(), "{name} has no comment");
        }
    }

    #[test]
    fn every_declared_global_exists() {
        for declaration in declarations() {
            if declaration.text.starts_with("declare") && declaration.name != "continue_" {
                assert!(api::is_reserved(declaration.name), "{}", declaration.name);
            }
        }
    }

    #[test]
    fn pages_are_short() {
        for (name, page) in PAGES {
            assert!(page.lines().count() <= 60, "{name}");
            assert!(topic(Some(name)).is_ok());
        }
    }

    #[test]
    fn a_name_has_its_line_and_its_excerpt() {
        assert!(line("wait").starts_with("wait(ms?: number): StopEvent | null\tWaits"));
        assert!(line("breakpoint.set").starts_with("breakpoint.set(where: Where"));
        assert!(line("config").starts_with("config\tSettings"));
        let spawn = topic(Some("spawn")).expect("a topic");
        assert!(spawn.contains("stdin?:") && spawn.contains("Starts a program"));
        assert!(topic(Some("memory")).is_ok_and(|text| text.contains("u8(): number")));
        assert!(topic(Some("continue")).is_ok_and(|text| text.contains("function cont(")));
        let error = topic(Some("braekpoint")).expect_err("no topic");
        assert_eq!(error.hint().as_deref(), Some("help('breakpoint')"));
    }
}
