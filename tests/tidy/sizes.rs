//! Budgets: a file has at most 600 lines, a function at most 80.

use crate::report::Faults;
use crate::rust::{code_of, functions};
use crate::tree::rust_files;

const FILE: usize = 600;
const FUNCTION: usize = 80;

/// Pure tables: one row a line, nothing to understand beside the rows.
const TABLES: &[&str] = &[];

/// Names that say nothing: a file is named for its one main type or question.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "misc", "manager", "handler",
];

#[test]
fn files_and_functions_stay_small() {
    let mut faults = Faults::default();
    for folder in ["src", "tests", "benches", "examples"] {
        for file in rust_files(folder) {
            let lines = file.text.lines().count();
            if lines > FILE && !TABLES.contains(&file.name.as_str()) {
                faults.add_about(&file.name, format!("{lines} lines, the budget is {FILE}"));
            }
            for (name, extent) in functions(&code_of(&file.text)) {
                let lines = extent.end() - extent.start() + 1;
                if lines > FUNCTION {
                    let fault = format!("fn {name} has {lines} lines, the budget is {FUNCTION}");
                    faults.add(&file.name, *extent.start(), fault);
                }
            }
        }
    }
    for table in TABLES {
        if !crate::tree::root().join(table).exists() {
            faults.add_about(table, "listed as a table, but not there");
        }
    }
    faults.none();
}

#[test]
fn files_have_telling_names() {
    let mut faults = Faults::default();
    for file in rust_files("src") {
        let stem = file
            .name
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .trim_end_matches(".rs");
        if EMPTY_NAMES.contains(&stem) {
            faults.add_about(&file.name, "the name does not say what is in it");
        }
    }
    faults.none();
}
