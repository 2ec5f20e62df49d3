//! Each crate has a home: the comment behind it in Cargo.toml names the layers that may use it.

use crate::report::Faults;
use crate::rust::{code_of, line_of, words};
use crate::tree::{root, rust_files};

/// A dependency and its homes: layers, or files without `.rs`; none means every layer.
type Home = (String, Option<Vec<String>>);

fn homes(manifest: &str, faults: &mut Faults) -> Vec<Home> {
    let section = manifest
        .split("\n[")
        .find_map(|section| section.strip_prefix("dependencies]\n"))
        .unwrap_or_default();
    let mut homes = Vec::new();
    for line in section.lines() {
        let Some((name, _)) = line.split_once(" = ") else {
            continue;
        };
        match line.rsplit_once(" # ") {
            Some((_, "every layer")) => homes.push((name.replace('-', "_"), None)),
            Some((_, places)) => {
                let places = places.split(", ").map(str::to_owned).collect();
                homes.push((name.replace('-', "_"), Some(places)));
            }
            None => faults.add_about("Cargo.toml", format!("{name} does not name its home")),
        }
    }
    homes
}

/// Where `code` names the crate: its name, a path separator behind it and none before it.
fn uses(code: &str, name: &str) -> Vec<usize> {
    words(code, name)
        .into_iter()
        .filter(|&at| {
            let before = code[..at].trim_end();
            let after = code[at + name.len()..].trim_start();
            let inside_path = before.ends_with("::") || before.ends_with('.');
            let imported = before.ends_with("use") && after.starts_with([';', ' ']);
            !inside_path && (after.starts_with("::") || imported)
        })
        .collect()
}

fn is_home(file: &str, places: &[String]) -> bool {
    let inside = file.trim_start_matches("src/").trim_end_matches(".rs");
    places.iter().any(|place| {
        inside
            .strip_prefix(place.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[test]
fn crates_stay_at_home() {
    let mut faults = Faults::default();
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let homes = homes(&manifest, &mut faults);
    assert!(!homes.is_empty(), "no [dependencies] in Cargo.toml");
    for file in rust_files("src") {
        let code = code_of(&file.text);
        for (name, places) in &homes {
            let Some(places) = places else { continue };
            if is_home(&file.name, places) {
                continue;
            }
            for at in uses(&code, name) {
                let fault = format!("{name} is used outside {}", places.join(", "));
                faults.add(&file.name, line_of(&code, at), fault);
            }
        }
    }
    faults.none();
}

#[test]
fn uses_are_told_from_other_words() {
    assert_eq!(uses("use libc::c_int;", "libc"), [4]);
    assert_eq!(uses("let x = libc::getpid();", "libc"), [8]);
    assert!(uses("use crate::libc::x; libc.x(); let libc = 1;", "libc").is_empty());
    let places = ["symbols".to_owned(), "unwind/cfi_step".to_owned()];
    assert!(is_home("src/symbols/dwarf/lines.rs", &places));
    assert!(is_home("src/unwind/cfi_step.rs", &places));
    assert!(!is_home("src/unwind/walk.rs", &places));
    assert!(!is_home("src/symbols_other.rs", &places));
}
