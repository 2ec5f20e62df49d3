//! Functions that have no code of their own, or not only.

use crate::build::{compile, compile_rust, image};
use llmdbg::base::addr::LoadBias;
use llmdbg::symbols::error::Error;
use llmdbg::symbols::location;
use llmdbg::symbols::modules::Modules;
use llmdbg::symbols::resolve::{Purpose, Resolved, resolve};
use std::path::Path;
use std::rc::Rc;

fn modules(program: &Path) -> Modules {
    let mut modules = Modules::new();
    modules.add(
        program.to_owned(),
        LoadBias::new(0),
        Rc::new(image(program)),
    );
    modules
}

fn find(modules: &Modules, text: &str, purpose: Purpose) -> Result<Vec<Resolved>, Error> {
    resolve(modules, &location::parse(text).unwrap(), purpose)
}

/// Where the calls are that copies stand for, and the functions the copies are in.
fn calls(places: &[Resolved]) -> Vec<(String, u32)> {
    let copies = places.iter().filter_map(|place| {
        let call = place.inlined.as_ref()?;
        Some((place.symbol.clone()?.0, call.line))
    });
    copies.collect()
}

fn line_of(source: &str, mark: &str) -> u32 {
    let at = source.lines().position(|line| line.contains(mark)).unwrap();
    u32::try_from(at).unwrap() + 1
}

const SHAPES: &str = include_str!("shapes.c");
const COPIES: &str = include_str!("copies.c");

#[test]
fn a_function_without_a_symbol_stands_for_its_copies() {
    let folder = tempfile::tempdir().unwrap();
    let builds: [&[&str]; 4] = [
        &["-O2", "-g"],
        &["-O2", "-g", "-gdwarf-4"],
        &["-O2", "-g", "-gsplit-dwarf"],
        &["-O2", "-g", "-fdebug-types-section"],
    ];
    for flags in builds {
        let modules = modules(&compile(folder.path(), "shapes.c", "shapes", flags));
        let places = find(&modules, "area", Purpose::Breakpoint).unwrap();
        let line = line_of(SHAPES, "area(it)");
        assert_eq!(calls(&places), [("work".to_owned(), line)], "{flags:?}");
        let error = find(&modules, "area", Purpose::Address).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no symbol 'area': it was inlined into its callers"
        );
        let hint = format!("its copies stand for the calls at shapes.c:{line}");
        assert_eq!(error.hint(), Some(hint));
        let error = find(&modules, "aera", Purpose::Breakpoint).unwrap_err();
        assert_eq!(error.to_string(), "no symbol 'aera'");
    }
}

#[test]
fn a_function_with_a_symbol_has_copies_too() {
    let folder = tempfile::tempdir().unwrap();
    let modules = modules(&compile(
        folder.path(),
        "copies.c",
        "copies",
        &["-O2", "-g"],
    ));
    let places = find(&modules, "twice", Purpose::Breakpoint).unwrap();
    let own = places.iter().filter(|place| place.inlined.is_none());
    let own: Vec<_> = own.map(|place| place.symbol.clone().unwrap().0).collect();
    assert_eq!(own, ["twice"]);
    let mut found = calls(&places);
    found.sort();
    let expected = ["first", "second"].map(|caller| {
        let line = line_of(COPIES, &format!("twice(x) + {}", caller.len()));
        (caller.to_owned(), line)
    });
    assert_eq!(found, expected);
    let exact = find(&modules, "*twice", Purpose::Breakpoint).unwrap();
    assert_eq!(exact.len(), 1);
}

#[test]
fn rust_functions_are_found_by_path() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-O", "-g", "-Cstrip=none"];
    let modules = modules(&compile_rust(folder.path(), "calls.rs", "calls", &flags));
    for name in ["square", "calls::square"] {
        let places = find(&modules, name, Purpose::Breakpoint).unwrap();
        let found = calls(&places);
        assert!(!found.is_empty());
        for (function, _) in found {
            assert_eq!(function, "calls::work", "{name}");
        }
    }
}
