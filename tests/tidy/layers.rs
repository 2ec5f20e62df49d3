//! A layer names only layers below it.

use crate::paths::{module_of, own_paths};
use crate::report::Faults;
use crate::rust::{code_of, line_of};
use crate::tree::{File, root, rust_files};

/// The order as `src/lib.rs` states it: levels bottom-up, siblings on one level.
struct Order(Vec<Vec<String>>);

impl Order {
    fn stated() -> Self {
        let lib = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
        let line = lib
            .lines()
            .find_map(|line| line.strip_prefix("//! base < "))
            .expect("src/lib.rs states the order of the layers");
        let level = |level: &str| {
            level
                .split('|')
                .map(|layer| layer.trim().to_owned())
                .collect()
        };
        Self(format!("base < {line}").split('<').map(level).collect())
    }

    fn rank(&self, layer: &str) -> Option<usize> {
        self.0
            .iter()
            .position(|level| level.iter().any(|have| have == layer))
    }

    fn may_name(&self, from: &str, to: &str) -> bool {
        from == to || self.rank(to) < self.rank(from)
    }
}

fn check(file: &File, order: &Order, faults: &mut Faults) {
    let module = module_of(&file.name);
    let code = code_of(&file.text);
    for named in own_paths(&code, &module) {
        let line = line_of(&code, named.at);
        let path = named.segments.join("::");
        let Some(to) = named.segments.first().filter(|to| order.rank(to).is_some()) else {
            continue;
        };
        // main.rs is above everything.
        let Some(from) = module.first() else { continue };
        if !order.may_name(from, to) {
            faults.add(
                &file.name,
                line,
                format!("{from} names {path}, which is not below it"),
            );
        }
        if named.reexport && from != to {
            faults.add(
                &file.name,
                line,
                format!("re-export of {path} across layers"),
            );
        }
    }
}

#[test]
fn layers_name_only_lower_ones() {
    let mut faults = Faults::default();
    let order = Order::stated();
    for file in rust_files("src") {
        check(&file, &order, &mut faults);
    }
    faults.none();
}

#[test]
fn every_folder_is_a_layer() {
    let mut faults = Faults::default();
    let order = Order::stated();
    for entry in std::fs::read_dir(root().join("src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let layer = name.trim_end_matches(".rs");
        if !matches!(layer, "lib" | "main") && order.rank(layer).is_none() {
            faults.add_about(layer, "no layer by the order that src/lib.rs states");
        }
    }
    faults.none();
}

#[test]
fn every_layer_says_what_it_is_for() {
    let mut faults = Faults::default();
    for file in rust_files("src") {
        let inside = file.name.trim_start_matches("src/");
        if inside.matches('/').count() != 1 || !inside.ends_with("/mod.rs") {
            continue;
        }
        for start in ["//! For: ", "//! May use: ", "//! Must never know: "] {
            if !file
                .text
                .lines()
                .take(6)
                .any(|line| line.starts_with(start))
            {
                faults.add_about(&file.name, format!("no line `{start}…` at its head"));
            }
        }
    }
    faults.none();
}

#[test]
fn nothing_is_imported_by_the_glob() {
    let mut faults = Faults::default();
    for file in rust_files("src") {
        let code = code_of(&file.text);
        for named in own_paths(&code, &module_of(&file.name)) {
            let is_unit_test = code[..named.at].trim_end().ends_with("use")
                && crate::rust::inline_modules(&code)
                    .iter()
                    .any(|(extent, name)| extent.contains(&named.at) && name == "tests");
            if named.segments.last().is_some_and(|last| last == "*") && !is_unit_test {
                faults.add(&file.name, line_of(&code, named.at), "a glob import");
            }
        }
    }
    faults.none();
}

#[test]
fn the_check_itself_finds_faults() {
    let order = Order::stated();
    let faulty = |name: &str, text: &str| {
        let mut faults = Faults::default();
        let file = File {
            name: name.into(),
            text: text.into(),
        };
        check(&file, &order, &mut faults);
        std::panic::catch_unwind(|| faults.none()).is_err()
    };
    assert!(faulty("src/arch/x.rs", "use crate::os::wait;"));
    assert!(faulty(
        "src/base/x.rs",
        "fn f() { super::super::session::g() }"
    ));
    assert!(faulty(
        "src/symbols/a/b.rs",
        "use crate::{base::id, tracee::stop};"
    ));
    assert!(faulty(
        "src/script/mod.rs",
        "pub use crate::session::run::Run;"
    ));
    assert!(!faulty(
        "src/session/run.rs",
        "use crate::{base::id, tracee::stop};"
    ));
    assert!(!faulty(
        "src/session/run.rs",
        "use super::event::{Stop, Reason};"
    ));
}
