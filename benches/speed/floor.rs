//! The bare C programs beside which the product is measured.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

pub struct Floor {
    tracer: PathBuf,
    program: PathBuf,
    /// Where `hit` lies from the load address.
    hit: String,
}

impl Floor {
    pub fn build() -> Self {
        let tracer = compile("floor.c", &["-O2"]);
        // A frame pointer and no CET mark: `hit` begins with push %rbp, whatever the distribution's defaults.
        let program = compile(
            "calls.c",
            &[
                "-O0",
                "-g",
                "-fno-omit-frame-pointer",
                "-fcf-protection=none",
                "-pie",
                "-fPIE",
            ],
        );
        let listed = Command::new("nm").arg(&program).output().expect("nm runs");
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let hit = listed
            .lines()
            .find_map(|line| line.strip_suffix(" T hit"))
            .expect("calls.c has `hit`")
            .to_owned();
        Self {
            tracer,
            program,
            hit,
        }
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Events a second, as the bare tracer counts them.
    pub fn rate(&self, mode: &str, slice: Duration) -> f64 {
        let output = Command::new(&self.tracer)
            .args([mode, &slice.as_millis().to_string()])
            .arg(&self.program)
            .arg(&self.hit)
            .stderr(Stdio::inherit())
            .output()
            .expect("the floor runs");
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().expect("the floor prints a rate")
    }
}

fn compile(source: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/floor");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source.trim_end_matches(".c"));
    let status = Command::new("cc")
        .args(flags)
        .arg("-o")
        .arg(&out)
        .arg(folder.join(source))
        .status()
        .expect("cc runs");
    assert!(status.success(), "cc {source}");
    out
}

/// The least a program behind two pipes can take: start `cat`, one line there and back.
pub fn echo_once() {
    let mut cat = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cat runs");
    let mut input = cat.stdin.take().unwrap();
    input.write_all(b"1\n").unwrap();
    let mut line = String::new();
    BufReader::new(cat.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    drop(input);
    cat.wait().unwrap();
}

/// While it lives, this process and those it starts have one CPU: a ptrace stop is then two switches
/// on the spot instead of two wake-ups across.
pub struct Pinned(CpuSet);

impl Pinned {
    pub fn to_one_cpu() -> Self {
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this).unwrap();
        let first = (0..CpuSet::count())
            .find(|&cpu| before.is_set(cpu) == Ok(true))
            .unwrap();
        let mut one = CpuSet::new();
        one.set(first).unwrap();
        sched_setaffinity(this, &one).unwrap();
        Self(before)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(Pid::from_raw(0), &self.0);
    }
}
