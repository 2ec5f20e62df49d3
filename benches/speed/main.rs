//! `just bench`: what the product takes beside what the kernel alone allows, measured in turns in one
//! run, so that only the ratios count. It prints a table and writes the same as JSON. It never
//! fails because of a number: the machine may be busy.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)] // a bench program

mod engine;
mod floor;
mod repl;
mod table;

use std::path::Path;
use std::time::{Duration, Instant};

use floor::Floor;
use repl::Repl;
use table::{Goal, Row};

const ROUNDS: usize = 7;
/// How long one measurement of a rate lasts.
const SLICE: Duration = Duration::from_millis(400);

/// The argument with which this program measures itself in a fresh process.
const ENGINE: &str = "engine";

fn main() {
    if std::env::args().any(|argument| argument == ENGINE) {
        println!("{}", engine::creation_ms());
        return;
    }
    let floor = Floor::build();
    let rows = [
        start_up(),
        engine_creation(),
        first_stop(&floor),
        steps(&floor),
        hits(&floor),
        binary_size(),
        idle_memory(),
    ];
    print!("{}", table::text(&rows));
    let json = Path::new(env!("CARGO_TARGET_TMPDIR")).join("speed.json");
    std::fs::write(&json, table::json(&rows)).expect("the JSON beside the table");
    println!("\nthe same as JSON: {}", json.display());
}

/// The middle one of several measurements, each of the floor and of the product in turn.
fn in_turns(mut floor: impl FnMut() -> f64, mut product: impl FnMut() -> f64) -> (f64, f64) {
    let (floors, products): (Vec<f64>, Vec<f64>) =
        (0..ROUNDS).map(|_| (floor(), product())).unzip();
    (median(floors), median(products))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn milliseconds_of<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    let _done = work();
    start.elapsed().as_secs_f64() * 1e3
}

fn start_up() -> Row {
    let (floor, product) = in_turns(
        || milliseconds_of(floor::echo_once),
        || {
            milliseconds_of(|| {
                let mut repl = Repl::start(&[]);
                repl.request("1");
            })
        },
    );
    Row {
        work: "REPL start to first reply (floor: cat), ms",
        floor: Some(floor),
        product,
        goal: Goal::AtMost(10.0),
    }
}

/// A process makes one engine, before any other thread: so a process each.
fn engine_creation() -> Row {
    let this = std::env::current_exe().unwrap();
    let times = (0..ROUNDS).map(|_| {
        let output = std::process::Command::new(&this).arg(ENGINE).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        text.trim().parse().expect("a number of milliseconds")
    });
    Row {
        work: "JS engine creation, ms",
        floor: None,
        product: median(times.collect()),
        goal: Goal::AtMost(2.0),
    }
}

fn first_stop(floor: &Floor) -> Row {
    let program = floor.program().display();
    let request = format!("spawn({{bin: '{program}', stop: 'main'}})");
    let mut repl = Repl::start(&[]);
    let (raw, product) = in_turns(
        || 1e3 / floor.rate("exec", SLICE),
        || {
            let took = milliseconds_of(|| repl.request(&request));
            repl.request("kill()");
            took
        },
    );
    Row {
        work: "spawn to the stop at main (floor: exec stop, kill), ms",
        floor: Some(raw),
        product,
        goal: Goal::AtMost(12.0),
    }
}

/// A listener that reads pc and sp at every single step.
fn steps(floor: &Floor) -> Row {
    let _pinned = floor::Pinned::to_one_cpu();
    let mut repl = Repl::start(&[]);
    repl.request(&format!("spawn('{}')", floor.program().display()));
    repl.request("addEventListener('step', e => { ctx.pc = e.state.pc; ctx.sp = Math.min(ctx.sp ?? e.state.sp, e.state.sp) })");
    let (raw, product) = in_turns(
        || floor.rate("step", SLICE),
        || {
            let count = 20_000;
            1e3 * f64::from(count) / milliseconds_of(|| repl.request(&format!("step({count})")))
        },
    );
    Row {
        work: "steps a second with a JS listener reading pc and sp",
        floor: Some(raw),
        product,
        goal: Goal::RatioAtLeast(0.85),
    }
}

fn hits(floor: &Floor) -> Row {
    let _pinned = floor::Pinned::to_one_cpu();
    let mut repl = Repl::start(&[]);
    let program = floor.program().display();
    repl.request(&format!("spawn({{bin: '{program}', stop: 'main'}})"));
    repl.request("breakpoint.set('*hit')");
    repl.request("addEventListener('breakpoint', e => { ctx.hits = (ctx.hits ?? 0) + 1; return 'continue' })");
    let (raw, product) = in_turns(
        || floor.rate("hit", SLICE),
        || {
            let request = format!("ctx.hits = 0; cont({{timeout: {}}})", SLICE.as_millis());
            let took = milliseconds_of(|| repl.request(&request));
            let hits: f64 = repl.request("String(ctx.hits)").parse().unwrap_or(0.0);
            1e3 * hits / took
        },
    );
    Row {
        work: "breakpoint hits a second with a JS listener",
        floor: Some(raw),
        product,
        goal: Goal::RatioAtLeast(0.85),
    }
}

fn binary_size() -> Row {
    let bytes = std::fs::metadata(repl::PRODUCT).unwrap().len();
    Row {
        work: "release binary, MB",
        floor: None,
        product: megabytes(bytes),
        goal: Goal::AtMost(8.0),
    }
}

/// Resident, after the first reply.
fn idle_memory() -> Row {
    let mut repl = Repl::start(&[]);
    repl.request("1");
    Row {
        work: "idle memory, MB",
        floor: None,
        product: megabytes(repl.resident_bytes()),
        goal: Goal::AtMost(15.0),
    }
}

fn megabytes(bytes: u64) -> f64 {
    // Exact enough below 2^53.
    #[allow(clippy::cast_precision_loss)]
    let bytes = bytes as f64;
    bytes / 1e6
}
