//! The unwinder against the truth, at every single instruction of real programs: what was called and has not
//! returned is known from watching the calls, and what the callers' registers were as well.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test program

mod debuggee;
mod truth;

use debuggee::{Debuggee, Stop};
use llmdbg::unwind::backtrace::backtrace;
use llmdbg::unwind::frame::{DwarfReg, StopReason};
use llmdbg::unwind::walk::walk;
use std::path::{Path, PathBuf};
use std::process::Command;
use truth::Truth;

fn compile(folder: &Path, flags: &[&str]) -> PathBuf {
    let program = folder.join(format!("program{}", flags.concat()));
    // The linker that Rust itself needs is a C compiler.
    let status = Command::new("cc")
        .args(["-g", "-o"])
        .arg(&program)
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/unwind/program.c"
        ))
        .args(flags)
        .status()
        .unwrap();
    assert!(status.success(), "cc {flags:?}");
    program
}

/// Every stack below `main`, compared; the number of instructions that were looked at.
fn compare_all(program: &Path) -> usize {
    let mut debuggee = Debuggee::start(program);
    debuggee.run_to("main");
    let mut truth = Truth::at_entry(&debuggee);
    let mut steps = 0;
    loop {
        let place = format!("{} step {steps}", program.display());
        check(&debuggee, &truth, &place);
        steps += 1;
        match debuggee.step() {
            Stop::Stepped => truth.follow(&debuggee),
            Stop::Signal => truth.signal_follows(),
            Stop::Exited(status) => {
                assert_eq!(status, 42, "{place}");
                return steps;
            }
        }
        // main's caller goes on to exit(), which is nobody's business here.
        if truth.is_over() {
            debuggee.kill();
            return steps;
        }
    }
}

#[track_caller]
fn check(debuggee: &Debuggee, truth: &Truth, place: &str) {
    let walked = walk(&debuggee.modules, debuggee, &debuggee.registers(), 100);
    let pcs: Vec<u64> = walked
        .frames
        .iter()
        .map(|frame| frame.pc.addr().raw())
        .collect();
    let context = || {
        let shown: Vec<String> = walked
            .frames
            .iter()
            .map(|frame| {
                let symbol = debuggee.modules.symbol_at(frame.pc.lookup());
                let name = symbol.map_or("?".to_owned(), |s| format!("{}+{:#x}", s.name, s.offset));
                format!("{} {name} {:?}", frame.pc.addr(), frame.found)
            })
            .collect();
        format!("{place}: {:?}\n{}", walked.end, shown.join("\n"))
    };
    let expected = truth.callers();
    assert!(pcs.len() > expected.len(), "{}", context());
    for (frame, caller) in walked.frames[1..].iter().zip(&expected) {
        assert_eq!(frame.pc.addr().raw(), caller.pc, "{}", context());
        let Some(preserved) = &caller.preserved else {
            continue;
        };
        for (register, value) in DwarfReg::PRESERVED.iter().zip(preserved) {
            let got = frame.regs.get(*register);
            assert_eq!(
                got,
                Some(*value),
                "register {register:?} of {:#x}: {}",
                caller.pc,
                context()
            );
        }
    }
    assert_eq!(walked.end, StopReason::Outermost, "{}", context());
}

#[test]
fn every_instruction_of_every_build() {
    let folder = tempfile::tempdir().unwrap();
    let no_tables = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];
    let debug_frame_only = [&["-O2"][..], &no_tables].concat();
    let nothing = [&["-O2", "-g0"][..], &no_tables].concat();
    let nothing_plain = [&["-O0", "-g0"][..], &no_tables].concat();
    let builds: [&[&str]; 8] = [
        &["-O0"],
        &["-O2"],
        &["-O2", "-fno-omit-frame-pointer", "-fcf-protection=full"],
        &["-Os", "-fno-pie", "-no-pie"],
        &["-O1", "-static"],
        &debug_frame_only,
        &nothing,
        &nothing_plain,
    ];
    for flags in builds {
        let steps = compare_all(&compile(folder.path(), flags));
        assert!(steps > 1000, "{flags:?}: only {steps} instructions");
    }
    the_names_are_right(&compile(folder.path(), &["-O2"]));
}

/// Called from the one test, because statuses of any child are collected here.
fn the_names_are_right(program: &Path) {
    let mut debuggee = Debuggee::start(program);
    debuggee.run_to("by_value");
    let trace = backtrace(&debuggee.modules, &debuggee, &debuggee.registers(), 100);
    let names: Vec<&str> = trace
        .frames
        .iter()
        .filter_map(|frame| frame.function.as_deref())
        .collect();
    assert_eq!(names.first(), Some(&"by_value"));
    assert!(names.contains(&"main"), "{names:?}");
    let main = trace
        .frames
        .iter()
        .find(|frame| frame.function.as_deref() == Some("main"));
    let line = main.and_then(|frame| frame.at.clone()).expect("line");
    let source = include_str!("program.c")
        .lines()
        .nth(line.line as usize - 1);
    assert!(
        source.is_some_and(|text| text.contains("qsort(")),
        "{line:?}"
    );
    debuggee.kill();
}
