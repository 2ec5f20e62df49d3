//! The order in which the sandbox closes around the debugger. Irreversible; each step is reported as it came out.

use super::caps::{self, Left};
use super::error::{Error, Result};
use crate::os::privileges;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// What this machine offers; the report says what is missing.
    Auto,
    /// Everything, or an error; root only when `allow_root`.
    Require { allow_root: bool },
    /// Nothing. For developers of this program.
    Off,
}

/// A layer as it came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layer {
    pub name: &'static str,
    pub on: bool,
    pub detail: String,
}

/// What is in force, in the order it was applied.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Enforcement {
    pub layers: Vec<Layer>,
}

impl Enforcement {
    pub fn missing(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| !layer.on)
    }
}

/// Closes the sandbox around the calling thread and all it will start.
///
/// Call it once, before any other thread runs and before anything foreign is read; a process that the operator named
/// is attached first. Privileges belong to a thread: one started earlier would keep them, so that is an error.
pub fn debugger(mode: Mode) -> Result<Enforcement> {
    if mode == Mode::Off {
        return Ok(Enforcement::default());
    }
    let count = privileges::thread_count().map_err(|source| Error::System {
        action: "counting the threads in /proc/self/task",
        source,
    })?;
    admit(mode, privileges::is_root(), count)?;
    let dropped = caps::drop_all();
    let enforcement = Enforcement {
        layers: layers(&Left::read()?, dropped.err()),
    };
    if mode != Mode::Auto
        && let Some(layer) = enforcement.missing().next()
    {
        return Err(Error::Missing {
            layer: layer.name,
            detail: layer.detail.clone(),
        });
    }
    Ok(enforcement)
}

/// Whether the process is in a state to close the sandbox at all.
fn admit(mode: Mode, root: bool, threads: usize) -> Result<()> {
    if root && mode == (Mode::Require { allow_root: false }) {
        return Err(Error::Root);
    }
    if threads > 1 {
        return Err(Error::Threads { count: threads });
    }
    Ok(())
}

/// Judges by what the kernel says is left, not by which calls went well.
fn layers(left: &Left, failure: Option<String>) -> Vec<Layer> {
    let why = failure.map(|text| format!(": {text}")).unwrap_or_default();
    let capabilities = match left.capabilities {
        0 => "none".to_owned(),
        count => format!("{count} left{why}"),
    };
    let bounding = match left.bounding {
        0 => "empty".to_owned(),
        count => count.to_string(),
    };
    vec![
        Layer {
            name: "no_new_privs",
            on: left.new_privileges_forbidden,
            detail: if left.new_privileges_forbidden {
                "on".to_owned()
            } else {
                format!("off{why}")
            },
        },
        Layer {
            name: "caps",
            on: left.capabilities == 0,
            detail: format!("{capabilities} bounding={bounding}"),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(left: &Left, failure: Option<&str>, expected: &[(&str, bool, &str)]) {
        let layers = layers(left, failure.map(str::to_owned));
        let got: Vec<_> = layers
            .iter()
            .map(|layer| (layer.name, layer.on, layer.detail.as_str()))
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn layers_tell_what_is_left() {
        let mut left = Left {
            capabilities: 0,
            bounding: 0,
            new_privileges_forbidden: true,
        };
        check(
            &left,
            None,
            &[
                ("no_new_privs", true, "on"),
                ("caps", true, "none bounding=empty"),
            ],
        );
        left.bounding = 41;
        check(
            &left,
            None,
            &[
                ("no_new_privs", true, "on"),
                ("caps", true, "none bounding=41"),
            ],
        );
        left.capabilities = 3;
        left.new_privileges_forbidden = false;
        check(
            &left,
            Some("no_new_privs: EINVAL"),
            &[
                ("no_new_privs", false, "off: no_new_privs: EINVAL"),
                ("caps", false, "3 left: no_new_privs: EINVAL bounding=41"),
            ],
        );
    }

    #[test]
    fn off_applies_nothing() {
        let before = Left::read().unwrap();
        assert_eq!(debugger(Mode::Off).unwrap(), Enforcement::default());
        assert_eq!(Left::read().unwrap(), before);
    }

    #[test]
    fn only_a_single_thread_and_no_unwanted_root_are_admitted() {
        let require = |allow_root| Mode::Require { allow_root };
        for (mode, root, threads, expected) in [
            (Mode::Auto, false, 1, None),
            (Mode::Auto, true, 1, None),
            (require(false), false, 1, None),
            (require(true), true, 1, None),
            (
                require(false),
                true,
                1,
                Some("refusing to run as root (use --allow-root)"),
            ),
            (Mode::Auto, false, 2, Some("2 threads are running already")),
            (
                require(true),
                true,
                7,
                Some("7 threads are running already"),
            ),
        ] {
            let answer = admit(mode, root, threads)
                .err()
                .map(|error| error.to_string());
            match (&answer, expected) {
                (None, None) => {}
                (Some(text), Some(part)) => assert!(text.contains(part), "{text}"),
                _ => panic!("{mode:?} root {root} threads {threads}: {answer:?}"),
            }
        }
    }
}
