//! What the documents promise.

use std::collections::BTreeSet;

use llmdbg::base::code::Code;

use crate::report::Faults;
use crate::tree::{files, root};

/// Codes no transcript shows yet. It only ever gets shorter.
const UNSHOWN: &[&str] = &["bad_register", "ambiguous", "gone", "internal"];

/// The codes in the error lines of all expectations.
fn shown() -> BTreeSet<String> {
    files("tests/transcripts")
        .iter()
        .flat_map(|file| file.text.lines())
        .filter_map(|line| Some(line.strip_prefix("error\t")?.split('\t').next()?.to_owned()))
        .collect()
}

#[test]
fn every_error_code_has_a_transcript() {
    let mut faults = Faults::default();
    let shown = shown();
    let known: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    for code in &known {
        if !shown.contains(*code) && !UNSHOWN.contains(code) {
            faults.add_about(code, "no transcript shows this error");
        }
    }
    for code in UNSHOWN {
        if shown.contains(*code) || !known.contains(code) {
            faults.add_about(code, "listed as unshown, and it is not");
        }
    }
    for code in &shown {
        if !known.contains(code.as_str()) {
            faults.add_about(code, "a transcript shows a code that does not exist");
        }
    }
    faults.none();
}

#[test]
fn the_architecture_fits_in_one_sitting() {
    if let Ok(text) = std::fs::read_to_string(root().join("ARCHITECTURE.md")) {
        let lines = text.lines().count();
        assert!(
            lines <= 250,
            "ARCHITECTURE.md has {lines} lines, the budget is 250"
        );
    }
}

/// The documents that a reader is sent to.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
    "test-targets/README.md",
];

/// A path or a recipe that a document names must be there.
#[test]
fn documents_name_what_exists() {
    let mut faults = Faults::default();
    let recipes = std::fs::read_to_string(root().join("Justfile")).unwrap_or_default();
    for document in DOCUMENTS {
        let Ok(text) = std::fs::read_to_string(root().join(document)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            for path in paths_in(line) {
                if !root().join(path).exists() {
                    faults.add(document, number, format!("{path} is not there"));
                }
            }
            for recipe in recipes_in(line) {
                let defined = recipes.lines().any(|line| {
                    line.strip_prefix(recipe)
                        .is_some_and(|rest| rest.starts_with([':', ' ']))
                });
                if !defined {
                    faults.add(
                        document,
                        number,
                        format!("no recipe `{recipe}` in the Justfile"),
                    );
                }
            }
        }
    }
    faults.none();
}

/// Words that begin with a folder of the repository.
fn paths_in(line: &str) -> impl Iterator<Item = &str> {
    const FOLDERS: &[&str] = &[
        "ci/",
        "src/",
        "tests/",
        "benches/",
        "examples/",
        "sandbox/",
        "test-targets/",
    ];
    line.split(|letter: char| {
        letter.is_whitespace()
            || matches!(
                letter,
                '`' | '(' | ')' | '"' | '\'' | ',' | ';' | '<' | '>' | '|'
            )
    })
    .map(|word| {
        word.trim_start_matches("./")
            .trim_end_matches(['.', ':', '/'])
    })
    .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
    // A pattern, a made-up name, or what is built.
    .filter(|word| !word.contains(['*', '{', '…', '$', '[']) && !word.contains("NAME"))
    .filter(|word| !word.starts_with("test-targets/build"))
}

/// What stands behind `just` in a command: in code, or at the start of a line.
fn recipes_in(line: &str) -> impl Iterator<Item = &str> {
    let commands = line
        .split('`')
        .skip(1)
        .step_by(2)
        .chain([line.trim_start().trim_start_matches("$ ")]);
    commands.filter_map(|command| {
        let rest = command.strip_prefix("just ")?;
        let name = rest
            .split(|letter: char| letter.is_whitespace() || letter == '`')
            .next()?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        (is_name && !name.is_empty()).then_some(name)
    })
}

#[test]
fn commands_are_found_in_prose_and_code() {
    let line = "Run `just test-host` or (see `ci/test.sh`); test-targets/build is built, `src/*/mod.rs` a pattern.";
    assert_eq!(paths_in(line).collect::<Vec<_>>(), ["ci/test.sh"]);
    assert_eq!(recipes_in(line).collect::<Vec<_>>(), ["test-host"]);
    assert_eq!(recipes_in("$ just demo").collect::<Vec<_>>(), ["demo"]);
    assert!(recipes_in("it is just `text`").next().is_none());
}
