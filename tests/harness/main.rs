//! Runs every Markdown transcript under `tests/transcripts/` against the real binary. What a
//! transcript may say is told in `tests/transcripts/README.md`.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a test program

mod attend;
mod checks;
mod markdown;
mod marks;
mod outcome;
mod pattern;
mod place;
mod repl;
mod run;
mod shell;
mod survivors;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use markdown::Transcript;
use place::{Place, Verdict};

/// A transcript that cannot run here, and what it lacks.
struct Skip {
    name: String,
    reason: String,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let place = match Place::from_environment() {
        Ok(place) => place,
        Err(reason) => {
            println!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials = checks::trials();
    let mut skips = Vec::new();
    let mut elsewhere = 0_usize;
    for path in transcripts() {
        let name = name_of(&path);
        let trial = match Transcript::read(&path) {
            Err(reason) => Some(Trial::test(name, move || Err(reason.into()))),
            Ok(transcript) => match place.verdict(&transcript.header) {
                Verdict::Run => Some(transcript_trial(name, transcript, &place)),
                Verdict::Lacking(reason) => Some(lacking_trial(name, reason, &place, &mut skips)),
                Verdict::Elsewhere => {
                    elsewhere += 1;
                    None
                }
            },
        };
        trials.extend(trial);
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        print!("{}", closing(&place, &skips, elsewhere));
    }
    conclusion.exit_code()
}

fn transcript_trial(name: String, transcript: Transcript, place: &Place) -> Trial {
    let place = place.clone();
    Trial::test(name, move || {
        run::transcript(&transcript, &place).map_err(Into::into)
    })
}

/// A missing capability is a listed skip, and a failure where everything is required.
fn lacking_trial(name: String, reason: String, place: &Place, skips: &mut Vec<Skip>) -> Trial {
    if place.requires_all() {
        return Trial::test(name, move || {
            Err(format!("needs {reason}, and LLMDBG_REQUIRE=all").into())
        });
    }
    skips.push(Skip {
        name: name.clone(),
        reason,
    });
    Trial::test(name, || Ok(())).with_ignored_flag(true)
}

fn closing(place: &Place, skips: &[Skip], elsewhere: usize) -> String {
    let mut text = String::new();
    for Skip { name, reason } in skips {
        let _ = writeln!(text, "skipped {name}: needs {reason}");
    }
    let _ = writeln!(
        text,
        "transcripts on the {place}: {} skipped for want of a capability, {elsewhere} belong elsewhere\n",
        skips.len()
    );
    text
}

fn transcripts() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") && folder != root() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// `breakpoint::listener-resumes` for `tests/transcripts/breakpoint/listener-resumes.md`.
fn name_of(path: &Path) -> String {
    let inside = path.strip_prefix(root()).unwrap_or(path).with_extension("");
    inside.to_string_lossy().replace('/', "::")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}
