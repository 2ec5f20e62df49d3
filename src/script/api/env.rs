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
        record = record.text(layer, &layer_words(state, detail))?;
    }
    Ok(record.finish())
}

/// State and detail of a layer, neither said twice.
fn layer_words(state: &str, detail: &str) -> String {
    match detail.strip_prefix(state) {
        Some("") => state.to_owned(),
        Some(rest) if !rest.starts_with(char::is_alphanumeric) => detail.to_owned(),
        _ => format!("{state} {detail}").trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(state: &str, detail: &str, expected: &str) {
        assert_eq!(layer_words(state, detail), expected);
    }

    #[test]
    fn nothing_is_said_twice() {
        check("on", "on", "on");
        check("on", "", "on");
        check("on", "none bounding=empty", "on none bounding=empty");
        check("off", "off: EINVAL", "off: EINVAL");
        check("on", "once", "on once");
    }
}
