//! What the documents promise.

use std::collections::BTreeSet;

use llmdbg::base::code::Code;

use crate::report::Faults;
use crate::tree::{files, root};

/// Codes no transcript shows yet. It only ever gets shorter.
const UNSHOWN: &[&str] = &[
    "syntax",
    "exception",
    "unterminated",
    "command",
    "interrupted",
    "script_timeout",
    "out_of_memory",
    "stack_overflow",
    "bad_argument",
    "bad_property",
    "read_only",
    "not_yet",
    "no_process",
    "exited",
    "running",
    "not_running",
    "no_program",
    "not_executable",
    "wrong_architecture",
    "bad_elf",
    "spawn_failed",
    "attach_refused",
    "no_such_process",
    "ptrace_denied",
    "bad_address",
    "bad_register",
    "no_symbol",
    "ambiguous",
    "no_location",
    "no_breakpoint",
    "no_listener",
    "stdin_closed",
    "no_output",
    "gone",
    "kernel",
    "internal",
];

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
