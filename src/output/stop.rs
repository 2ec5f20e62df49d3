//! A stop as a row: reason, detail, pc, symbol, file:line (interface.md, section 4).

use super::hex;
use crate::arch::syscall;
use crate::base::addr::VirtAddr;
use crate::session::event::{
    Access, Doing, ForkKind, Reason, SignalStop, StopEvent, WatchpointHit,
};
use crate::session::info::Place;

/// What the event is called, the first cell.
pub const fn name(reason: &Reason) -> &'static str {
    match reason {
        Reason::Entry => "entry",
        Reason::Attached => "attached",
        Reason::Step { .. } => "step",
        Reason::Breakpoint(_) => "breakpoint",
        Reason::Watchpoint(_) => "watchpoint",
        Reason::Until => "until",
        Reason::Finish { .. } => "finish",
        Reason::Signal(_) => "signal",
        Reason::Exit { .. } => "exit",
        Reason::Killed { .. } => "killed",
        Reason::Timeout { .. } => "timeout",
        Reason::Interrupted { .. } => "interrupted",
        Reason::Blocked { .. } => "blocked",
        Reason::Exec { .. } => "exec",
        Reason::Fork { .. } => "fork",
        Reason::Library { .. } => "library",
        Reason::Thread { .. } => "thread",
        Reason::Detached => "detached",
    }
}

/// What is particular about it, the second cell; empty when the name says all.
pub fn detail(reason: &Reason) -> String {
    match reason {
        Reason::Entry | Reason::Attached | Reason::Detached | Reason::Until => String::new(),
        Reason::Finish { value } => format!("rax={}", hex::cell_integer(i128::from(*value))),
        Reason::Step { done, total } => format!("{done}/{total}"),
        Reason::Breakpoint(hit) => match &hit.name {
            Some(name) => format!("{} {name}", hit.id),
            None => hit.id.to_string(),
        },
        Reason::Watchpoint(hit) => watchpoint_detail(hit),
        Reason::Signal(stop) => signal_detail(stop),
        Reason::Exit { status } => status.to_string(),
        Reason::Killed { signal } => signal.to_string(),
        Reason::Timeout { bound, doing } => {
            format!("{}ms {}", bound.as_millis(), doing_words(doing))
        }
        Reason::Interrupted { doing } | Reason::Blocked { doing } => doing_words(doing),
        Reason::Exec { path } => path.clone(),
        Reason::Fork {
            child,
            kind: ForkKind::Fork,
        } => child.to_string(),
        Reason::Fork { child, kind } => format!("{child} {}", fork_name(*kind)),
        Reason::Library { name, loaded: true } => name.clone(),
        Reason::Library {
            name,
            loaded: false,
        } => format!("{name} unloaded"),
        Reason::Thread { tid, started: true } => tid.to_string(),
        Reason::Thread {
            tid,
            started: false,
        } => format!("{tid} ended"),
    }
}

/// `1 total 3->6`; `1 total read 6` when nothing changed.
fn watchpoint_detail(hit: &WatchpointHit) -> String {
    let value = |value: Option<u64>| match value {
        Some(value) => hex::cell_integer(i128::from(value)),
        None => "unreadable".to_owned(),
    };
    let mut words = vec![hit.id.to_string()];
    words.extend(hit.name.clone());
    if hit.old == hit.new {
        words.push(hit.access.map_or("touched", access_word).to_owned());
        words.push(value(hit.new));
    } else {
        words.push(format!("{}->{}", value(hit.old), value(hit.new)));
    }
    if hit.by_kernel {
        words.push("by a system call".to_owned());
    }
    words.join(" ")
}

/// What was done to a watched place.
pub const fn access_word(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "written",
        Access::ReadWrite => "read and written",
    }
}

/// The same in the letters that a watchpoint is set with.
pub const fn access_letters(access: Access) -> &'static str {
    match access {
        Access::Read => "r",
        Access::Write => "w",
        Access::ReadWrite => "rw",
    }
}

fn signal_detail(stop: &SignalStop) -> String {
    let mut words = vec![stop.signal.to_string()];
    words.extend(stop.addr.map(|addr| format!("si_addr={addr:#x}")));
    words.extend(Some(stop.code.clone()).filter(|code| !code.is_empty()));
    words.extend(stop.sender.map(|sender| format!("from {sender}")));
    words.join(" ")
}

pub const fn fork_name(kind: ForkKind) -> &'static str {
    match kind {
        ForkKind::Fork => "fork",
        ForkKind::Vfork => "vfork",
        ForkKind::Clone => "clone",
    }
}

/// What a stopped thread was busy with.
pub fn doing_words(doing: &Doing) -> String {
    match doing {
        Doing::WaitingStdin => "waiting stdin".to_owned(),
        Doing::Syscall {
            name: Some(name), ..
        } => format!("in {name}"),
        Doing::Syscall { number, name: None } => format!("in syscall {number}"),
        Doing::GroupStopped => "stopped by a signal until SIGCONT".to_owned(),
        Doing::Running => "running".to_owned(),
    }
}

/// A system call by its name, or its number.
pub fn syscall_words(number: u64) -> String {
    syscall::name(number).map_or_else(|| format!("syscall {number}"), str::to_owned)
}

/// `main+0x4`, `main`.
pub fn symbol_words(symbol: &(String, u64)) -> String {
    match symbol {
        (name, 0) => name.clone(),
        (name, offset) => format!("{name}+{offset:#x}"),
    }
}

/// The last cells of a row: pc, symbol, file:line, as far as they are known.
pub fn place_cells(pc: VirtAddr, place: Option<&Place>) -> Vec<String> {
    let mut cells = vec![pc.to_string()];
    if let Some(place) = place {
        cells.extend(place.symbol.as_ref().map(symbol_words));
        cells.extend(
            place
                .line
                .as_ref()
                .map(|(file, line)| format!("{file}:{line}")),
        );
    }
    cells
}

/// The rows of a stop: what ended the run, then what happened at the same instant.
pub fn rows(event: &StopEvent, place: Option<&Place>) -> Vec<Vec<String>> {
    let mut first = vec![name(&event.reason).to_owned()];
    first.extend(Some(detail(&event.reason)).filter(|detail| !detail.is_empty()));
    if let Some(pc) = event.pc {
        first.extend(place_cells(pc, place));
    }
    let mut rows = vec![first];
    for reason in &event.also {
        let mut row = vec!["also".to_owned(), name(reason).to_owned()];
        row.extend(Some(detail(reason)).filter(|detail| !detail.is_empty()));
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::{BreakpointId, StopSeq};
    use crate::base::signal::Signal;
    use crate::session::event::BreakpointHit;
    use std::time::Duration;

    fn event(reason: Reason, pc: Option<u64>, also: Vec<Reason>) -> StopEvent {
        StopEvent {
            seq: StopSeq::new(1),
            tid: None,
            pc: pc.map(VirtAddr::new),
            reason,
            also,
        }
    }

    #[track_caller]
    fn check(reason: Reason, expected: &str) {
        let rows = rows(&event(reason, None, Vec::new()), None);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].join("\t"), expected);
    }

    fn hit(name: Option<&str>) -> Reason {
        Reason::Breakpoint(BreakpointHit {
            id: BreakpointId::new(3),
            name: name.map(str::to_owned),
            hits: 1,
        })
    }

    #[test]
    fn reasons_are_one_row_each() {
        check(Reason::Entry, "entry");
        check(Reason::Step { done: 2, total: 5 }, "step\t2/5");
        check(hit(Some("main")), "breakpoint\t3 main");
        check(hit(None), "breakpoint\t3");
        check(Reason::Exit { status: 42 }, "exit\t42");
        check(
            Reason::Killed {
                signal: Signal::KILL,
            },
            "killed\tSIGKILL",
        );
        check(
            Reason::Signal(SignalStop {
                signal: Signal::SEGV,
                code: "SEGV_MAPERR".to_owned(),
                addr: Some(0),
                sender: None,
            }),
            "signal\tSIGSEGV si_addr=0x0 SEGV_MAPERR",
        );
        check(
            Reason::Timeout {
                bound: Duration::from_secs(10),
                doing: Doing::WaitingStdin,
            },
            "timeout\t10000ms waiting stdin",
        );
    }

    #[test]
    fn the_place_follows_and_company_is_listed() {
        let place = Place {
            pc: VirtAddr::new(0x40_1136),
            symbol: Some(("main".to_owned(), 4)),
            line: Some(("w.c".to_owned(), 3)),
        };
        let step = Reason::Step { done: 1, total: 1 };
        let rows = rows(
            &event(step, Some(0x40_1136), vec![hit(Some("m"))]),
            Some(&place),
        );
        let lines: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
        assert_eq!(
            lines,
            [
                "step\t1/1\t0x401136\tmain+0x4\tw.c:3",
                "also\tbreakpoint\t3 m"
            ]
        );
    }
}
