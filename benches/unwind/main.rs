//! How often in a second the stack of a stopped process can be unwound: the frames alone with all their
//! registers, and with names and lines. `cargo bench --bench unwind`.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)] // a bench program

#[path = "../../tests/unwind/debuggee.rs"]
#[allow(dead_code)] // the test needs more of it
mod debuggee;

use debuggee::Debuggee;
use llmdbg::unwind::backtrace::backtrace;
use llmdbg::unwind::walk::walk;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const SLICE: Duration = Duration::from_secs(1);
const MOST: usize = 100_000;

fn rate(mut work: impl FnMut() -> usize) -> (usize, f64) {
    let frames = work();
    let start = Instant::now();
    let mut count = 0u32;
    while start.elapsed() < SLICE {
        assert_eq!(work(), frames);
        count += 1;
    }
    (frames, f64::from(count) / start.elapsed().as_secs_f64())
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("deep");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/unwind/deep.c");
    let status = Command::new("cc")
        .args(["-O2", "-g", "-fno-optimize-sibling-calls", "-o"])
        .args([&program, &source])
        .status()
        .unwrap();
    assert!(status.success());
    let mut debuggee = Debuggee::start(&program);
    println!("stop\tframes\tunwinds/s\twith names/s");
    for stop in ["shallow", "deep"] {
        debuggee.run_to(stop);
        let registers = debuggee.registers();
        let modules = &debuggee.modules;
        let (frames, plain) = rate(|| walk(modules, &debuggee, &registers, MOST).frames.len());
        let (_, named) = rate(|| backtrace(modules, &debuggee, &registers, MOST).frames.len());
        println!("{stop}\t{frames}\t{plain:.0}\t{named:.0}");
    }
    debuggee.kill();
}
