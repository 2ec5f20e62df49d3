//! Waiting for what a process does, as /proc shows it: the explicit synchronisation of a transcript.

use std::time::{Duration, Instant};

use nix::unistd::Pid;

/// One look at the condition; none when the process is gone.
type Look = fn(Pid) -> Option<bool>;

/// Waits until `what` holds for the REPL `pid`.
pub fn until(what: &str, pid: Pid, deadline: Instant) -> Result<(), String> {
    let look: Look = match what {
        "busy" => is_busy,
        "running" => has_running_debuggee,
        _ => return Err(format!("unknown condition after={what}")),
    };
    while !look(pid).ok_or("the process has ended")? {
        if Instant::now() > deadline {
            return Err(format!(
                "the deadline passed while waiting for after={what}"
            ));
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
    Ok(())
}

/// The process has computed for a while: a tenth of a second is far more than starting up takes.
fn is_busy(pid: Pid) -> Option<bool> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    // proc(5): utime is field 14; field 3 comes first here. A tick is 10 ms.
    let ticks: u64 = fields.get(11)?.parse().ok()?;
    Some(ticks >= 10)
}

/// Some process is traced by this one and not in a stop.
fn has_running_debuggee(pid: Pid) -> Option<bool> {
    std::fs::metadata(format!("/proc/{pid}")).ok()?;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Ok(status) = std::fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .map(str::trim)
        };
        let traced = field("TracerPid").is_some_and(|tracer| tracer == pid.to_string());
        if traced && field("State").is_some_and(|state| state.starts_with(['R', 'S'])) {
            return Some(true);
        }
    }
    Some(false)
}
