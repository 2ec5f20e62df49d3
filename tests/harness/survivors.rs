//! No debuggee may outlive its debugger. Every process of a transcript carries the transcript's id
//! in its environment, so it is found whoever its parent is by now.

use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::place::{MARKER, Place};

/// How long the death of what was killed, or the end of what was let go, may take.
const GRACE: Duration = Duration::from_secs(2);

/// The processes of the transcript `id` that do not end; they are ended here.
pub fn end_all(id: &str, place: &Place) -> Result<(), String> {
    let until = Instant::now() + GRACE;
    loop {
        let last = Instant::now() >= until;
        let found = match place.container() {
            None => on_host(id, last),
            Some(container) => in_container(id, container, last),
        };
        if found.is_empty() {
            return Ok(());
        }
        if last {
            return Err(format!("left behind: {}", found.join(", ")));
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

fn on_host(id: &str, end: bool) -> Vec<String> {
    let wanted = format!("{MARKER}={id}");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment
            .split(|&byte| byte == 0)
            .any(|variable| variable == wanted.as_bytes())
        {
            let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push(format!("{pid} ({})", name.trim()));
            if end {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
    found
}

/// The same look from inside, as the user of the container. The shell that looks has the id only
/// as an argument.
fn in_container(id: &str, container: &str, end: bool) -> Vec<String> {
    const LOOK: &str = r#"for p in /proc/[0-9]*; do
        if tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qx "$1"; then
            echo "${p#/proc/} ($(cat "$p/comm"))"
            [ "$2" = keep ] || kill -KILL "${p#/proc/}"
        fi
    done"#;
    let wanted = format!("{MARKER}={id}");
    let end = if end { "end" } else { "keep" };
    let looked = Command::new("docker")
        .args(["exec", container, "sh", "-c", LOOK, "look", &wanted, end])
        .output();
    match looked {
        Ok(output) => String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect(),
        Err(error) => vec![format!("unknown, because docker exec failed: {error}")],
    }
}
