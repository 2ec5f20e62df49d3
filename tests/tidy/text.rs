//! Words that may not stand in the repository.

use crate::report::Faults;
use crate::rust::{code_of, line_of};
use crate::tree::{files, rust_files};

#[test]
fn no_test_is_skipped_or_waits_by_the_clock() {
    let mut faults = Faults::default();
    for folder in ["src", "tests", "benches", "examples"] {
        for file in rust_files(folder) {
            let code = code_of(&file.text);
            for word in [
                "#[ignore",
                "thread::sleep",
                "todo!(",
                "unimplemented!(",
                "dbg!(",
            ] {
                for (at, _) in code.match_indices(word) {
                    faults.add(&file.name, line_of(&code, at), format!("`{word}`"));
                }
            }
        }
    }
    faults.none();
}

/// A path or a host of one machine means nothing on another.
#[test]
fn nothing_speaks_of_one_machine() {
    let machines = [
        concat!("/", "work/"),
        concat!("/", "root/"),
        concat!("/", "home/"),
        concat!("/", "Users/"),
    ];
    let mut faults = Faults::default();
    for file in files("") {
        for (number, line) in file.text.lines().enumerate() {
            for path in machines {
                let stands_alone = line.match_indices(path).any(|(at, _)| {
                    !line[..at].ends_with(|letter: char| {
                        letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_' | '/' | '}')
                    })
                });
                if stands_alone {
                    faults.add(&file.name, number, format!("a path of one machine: {path}"));
                }
            }
        }
    }
    faults.none();
}

#[test]
fn nothing_is_left_to_do_without_an_issue() {
    let mut faults = Faults::default();
    for file in rust_files("") {
        for (number, line) in file.text.lines().enumerate() {
            for word in [
                concat!("TO", "DO"),
                concat!("FIX", "ME"),
                concat!("XX", "X:"),
            ] {
                if line.contains(word) && !line.contains('#') {
                    faults.add(&file.name, number, format!("{word} without an issue"));
                }
            }
        }
    }
    faults.none();
}
