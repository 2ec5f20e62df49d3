//! No debuggee may outlive its debugger. Every process of a transcript carries the transcript's id
//! in its environment, so it is found whoever its parent is by now.

use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::place::{MARKER, Place};

/// The processes of the transcript `id` that are still alive; they are ended here.
pub fn end_all(id: &str, place: &Place) -> Result<(), String> {
    let found = match place.container() {
        None => on_host(id),
        Some(container) => in_container(id, container),
    };
    if found.is_empty() {
        return Ok(());
    }
    Err(format!("left behind: {}", found.join(", ")))
}

fn on_host(id: &str) -> Vec<String> {
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
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
    found
}

/// The same look from inside, as the user of the container. The shell that looks has the id only
/// as an argument.
fn in_container(id: &str, container: &str) -> Vec<String> {
    const LOOK: &str = r#"for p in /proc/[0-9]*; do
        if tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qx "$1"; then
            echo "${p#/proc/} ($(cat "$p/comm"))"
            kill -KILL "${p#/proc/}"
        fi
    done"#;
    let wanted = format!("{MARKER}={id}");
    let looked = Command::new("docker")
        .args(["exec", container, "sh", "-c", LOOK, "look", &wanted])
        .output();
    match looked {
        Ok(output) => String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect(),
        Err(error) => vec![format!("unknown, because docker exec failed: {error}")],
    }
}
