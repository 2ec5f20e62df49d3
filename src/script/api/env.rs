//! env(): what this environment is and allows.

use super::{Answer, Entry};
use crate::script::convert::Record;
use crate::script::raw::Call;
use std::fs;

pub const NATIVES: &[Entry] = &[("env", env)];

/// What the kernel says of itself: a name, and the file that tells (proc(5)).
const KERNEL_FACTS: [(&str, &str); 3] = [
    ("kernel", "/proc/sys/kernel/osrelease"),
    ("aslr", "/proc/sys/kernel/randomize_va_space"),
    ("ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope"),
];

fn env<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let mut record = Record::new(call.ctx)?
        .text("version", env!("CARGO_PKG_VERSION"))?
        .text("arch", std::env::consts::ARCH)?;
    for (name, file) in KERNEL_FACTS {
        let fact = fs::read_to_string(file).unwrap_or_else(|_| "unknown".to_owned());
        record = record.text(name, fact.trim())?;
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    record = record.number("cpus", u64::try_from(cpus).unwrap_or(1))?;
    for [layer, state, detail] in call.host.sandbox.borrow().iter() {
        record = record.text(layer, format!("{state} {detail}").trim_end())?;
    }
    Ok(record.finish())
}
