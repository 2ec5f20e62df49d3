//! `unsafe` has two homes, and every use says why it is sound.

use crate::report::Faults;
use crate::rust::{code_of, line_of, words};
use crate::tree::{File, rust_files};

fn is_home(name: &str) -> bool {
    name.starts_with("src/os/") || name.starts_with("src/script/raw")
}

fn check(file: &File, faults: &mut Faults) {
    let code = code_of(&file.text);
    let lines: Vec<&str> = file.text.lines().collect();
    for at in words(&code, "unsafe") {
        let line = line_of(&code, at);
        if !is_home(&file.name) {
            faults.add(&file.name, line, "`unsafe` outside os/ and script/raw.rs");
            continue;
        }
        let after = code[at + "unsafe".len()..].trim_start();
        let needs_reason = after.starts_with('{') || after.starts_with("impl");
        if needs_reason && !is_explained(&lines, line) {
            faults.add(&file.name, line, "`unsafe` without `// SAFETY:` above it");
        }
    }
}

/// A SAFETY comment stands directly above the statement.
fn is_explained(lines: &[&str], line: usize) -> bool {
    let near = &lines[line.saturating_sub(8)..=line];
    let reason = near.iter().rposition(|line| line.contains("// SAFETY:"));
    reason.is_some_and(|at| {
        let between = &near[at..near.len() - 1];
        // Nothing but the rest of the comment and the beginning of the statement itself.
        !between.iter().any(|line| {
            line.trim_end().ends_with([';', '}']) && !line.trim_start().starts_with("//")
        })
    })
}

#[test]
fn unsafe_code_is_at_home_and_explained() {
    let mut faults = Faults::default();
    for folder in ["src", "tests", "benches", "examples"] {
        for file in rust_files(folder) {
            check(&file, &mut faults);
        }
    }
    faults.none();
}

#[test]
fn the_check_itself_finds_faults() {
    let faulty = |name: &str, text: &str| {
        let mut faults = Faults::default();
        let file = File {
            name: name.into(),
            text: text.into(),
        };
        check(&file, &mut faults);
        std::panic::catch_unwind(|| faults.none()).is_err()
    };
    assert!(faulty("src/base/x.rs", "// SAFETY: no\nunsafe { f() }"));
    assert!(faulty("src/os/x.rs", "let x = unsafe { f() };"));
    assert!(faulty(
        "src/os/x.rs",
        "// SAFETY: for a\nunsafe { a() };\nunsafe { b() };"
    ));
    assert!(!faulty(
        "src/os/x.rs",
        "// SAFETY: yes\nlet x =\n    unsafe { f() };"
    ));
    assert!(!faulty("src/os/x.rs", "// the word unsafe in prose"));
    assert!(!faulty("src/os/x.rs", "unsafe extern \"C\" fn f() {}"));
}
