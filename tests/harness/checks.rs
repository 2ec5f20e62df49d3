//! The unit tests of the harness itself. They are trials beside the transcripts, because a test
//! program with its own `main` has no `#[test]`.

use libtest_mimic::Trial;

/// Named checks at the foot of the file they check; each panics when it fails.
pub type Table = &'static [(&'static str, fn())];

pub fn trials() -> Vec<Trial> {
    [
        ("markdown", crate::markdown::checks::ALL),
        ("marks", crate::marks::checks::ALL),
        ("outcome", crate::outcome::checks::ALL),
        ("pattern", crate::pattern::checks::ALL),
        ("repl", crate::repl::checks::ALL),
    ]
    .into_iter()
    .flat_map(|(module, table)| table.iter().map(move |check| (module, check)))
    .map(|(module, &(name, check))| {
        Trial::test(format!("harness::{module}::{name}"), move || {
            check();
            Ok(())
        })
    })
    .collect()
}
