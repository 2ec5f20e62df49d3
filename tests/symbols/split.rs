//! Debug information outside the program: what is found through .dwo and .dwp files is what the same program
//! built whole has.

use crate::build::{compile, compile_rust, image};
use llmdbg::symbols::dwarf::SourceFrame;
use llmdbg::symbols::image::Image;
use llmdbg::symbols::name::Query;
use std::path::Path;
use std::process::Command;

/// The frames at every byte of the program's own functions.
fn frames(image: &Image) -> Vec<Vec<SourceFrame>> {
    let dwarf = image.dwarf().unwrap();
    let mut all = Vec::new();
    // Rust's `main` has a symbol of its own.
    for name in ["work", "::main"] {
        let found = image.symbols().find(&Query::new(name));
        let symbol = found[0].symbol;
        for offset in 0..symbol.size {
            all.push(dwarf.frames(symbol.addr.checked_add(offset).unwrap()));
        }
    }
    all
}

#[track_caller]
fn check_same(image: &Image, expected: &[Vec<SourceFrame>]) {
    let found = frames(image);
    let problem = image.dwarf().unwrap().problem();
    assert!(problem.is_none(), "{problem:?}");
    assert_eq!(found, expected);
    assert!(found.iter().any(|frames| frames.len() >= 2));
}

fn flags(version: &str, split: bool) -> Vec<&str> {
    let split = if split { &["-gsplit-dwarf"][..] } else { &[] };
    [&["-O2", "-g", version][..], split].concat()
}

fn dwo_in(folder: &Path) -> std::path::PathBuf {
    let mut files = folder.read_dir().unwrap().map(|file| file.unwrap().path());
    files
        .find(|path| path.extension().is_some_and(|end| end == "dwo"))
        .unwrap()
}

#[test]
fn functions_are_read_from_dwo_files() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let folder = tempfile::tempdir().unwrap();
        let whole = compile(folder.path(), "shapes.c", "whole", &flags(version, false));
        let split = compile(folder.path(), "shapes.c", "split", &flags(version, true));
        let expected = frames(&image(&whole));
        check_same(&image(&split), &expected);

        // Moved away together, they still find each other.
        let elsewhere = tempfile::tempdir().unwrap();
        let dwo = dwo_in(folder.path());
        let moved = elsewhere.path().join(dwo.file_name().unwrap());
        std::fs::rename(&dwo, &moved).unwrap();
        let program = elsewhere.path().join("split");
        std::fs::copy(&split, &program).unwrap();
        check_same(&image(&program), &expected);

        // Alone, lines stay known, and it is said what is missing.
        let alone = image(&split);
        let dwarf = alone.dwarf().unwrap();
        for (found, expected) in frames(&alone).iter().zip(&expected) {
            let lines = [found, expected].map(|frames| frames.first().and_then(|f| f.at.clone()));
            assert_eq!(lines[0], lines[1]);
            assert!(found.len() < 2);
        }
        let problem = dwarf.problem().unwrap().to_string();
        let name = dwo.file_name().unwrap().to_string_lossy();
        assert!(
            problem.ends_with(&format!("{name}' is missing")),
            "{problem}"
        );
    }
}

#[test]
fn functions_are_read_from_a_package() {
    let folder = tempfile::tempdir().unwrap();
    let flags = flags("-gdwarf-4", true);
    let split = compile(folder.path(), "shapes.c", "split", &flags);
    let whole = compile(folder.path(), "shapes.c", "whole", &flags[..3]);
    let status = Command::new("dwp")
        .args(["-e", "split"])
        .current_dir(folder.path())
        .status();
    assert!(status.unwrap().success());
    std::fs::remove_file(dwo_in(folder.path())).unwrap();
    check_same(&image(&split), &frames(&image(&whole)));
}

/// What dwp(1) cannot do: a package in the form of DWARF 5.
#[test]
fn functions_are_read_from_a_package_of_rustc() {
    let folder = tempfile::tempdir().unwrap();
    for version in ["-Cdwarf-version=4", "-Cdwarf-version=5"] {
        let build = |name: &str, split: &str| {
            let flags = ["-O", "-g", "-Cstrip=none", version, split];
            compile_rust(folder.path(), "calls.rs", name, &flags)
        };
        let whole = build("whole", "-Csplit-debuginfo=off");
        let packed = build("packed", "-Csplit-debuginfo=packed");
        check_same(&image(&packed), &frames(&image(&whole)));
    }
}

#[test]
fn a_dwo_of_another_build_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let flags = flags("-gdwarf-5", true);
    let split = compile(folder.path(), "shapes.c", "split", &flags);
    let dwo = dwo_in(folder.path());
    let other: Vec<&str> = flags.iter().chain(&["-DOTHER", "-O1"]).copied().collect();
    compile(folder.path(), "calls.c", "other", &other);
    std::fs::remove_file(&dwo).unwrap();
    std::fs::rename(dwo_in(folder.path()), &dwo).unwrap();
    let program = image(&split);
    let frames = frames(&program);
    assert!(frames.iter().all(|frames| frames.len() < 2));
    assert!(program.dwarf().unwrap().problem().is_some());
}
