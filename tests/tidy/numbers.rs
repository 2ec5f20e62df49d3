//! Numbers cross between scripts and Rust in one place: rquickjs turns large unsigned integers into
//! negative ones, so nothing else may convert by its traits or expose a function by them.

use crate::report::Faults;
use crate::rust::{code_of, line_of, words};
use crate::tree::rust_files;

/// Where values cross, and where the raw calls are.
const HOMES: &[&str] = &["src/script/convert.rs", "src/script/raw.rs"];

/// What converts integers by their Rust type, or takes a Rust function with its types as they are.
const BYPASSES: &[&str] = &[
    "into_js",
    "from_js",
    "FromJs",
    "IntoJs",
    "Func",
    "MutFn",
    "OnceFn",
    "IntoArgs",
    "FromParams",
];

fn is_home(name: &str) -> bool {
    HOMES.contains(&name) || name.starts_with("src/script/raw/")
}

#[test]
fn numbers_cross_in_one_place() {
    let mut faults = Faults::default();
    for file in rust_files("src/script") {
        if is_home(&file.name) {
            continue;
        }
        let code = code_of(&file.text);
        for word in BYPASSES {
            for at in words(&code, word) {
                let fault = format!("`{word}`: numbers cross in convert.rs only");
                faults.add(&file.name, line_of(&code, at), fault);
            }
        }
        for call in ["Function::new(", "#[rquickjs::"] {
            for (at, _) in code.match_indices(call) {
                let fault = format!("`{call}` exposes Rust types as they are");
                faults.add(&file.name, line_of(&code, at), fault);
            }
        }
    }
    faults.none();
}
