//! The one place that reaps. nix's `waitpid` answers EINVAL for a stop by a real-time signal and the
//! status is lost, so statuses are decoded here (waitpid(2), ptrace(2)).
#![allow(unsafe_code)]

use crate::base::id::Tid;
use crate::base::signal::Signal;
use std::io;

/// What a wait status says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Exited(i32),
    Killed(Signal),
    /// Signal-delivery-stop; for SIGTRAP also every kind of trap.
    Signal(Signal),
    /// Group-stop, reported to a seizing tracer.
    GroupStop(Signal),
    /// PTRACE_EVENT_STOP without a stop signal: after INTERRUPT, at the birth of a thread, after SIGCONT.
    EventStop,
    Event(Event),
    /// A number this program does not know: kept, so that it can be shown.
    Other(i32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Fork,
    Vfork,
    VforkDone,
    Clone,
    Exec,
    Exit,
}

/// One state change of any child or tracee, if there is one to report now.
/// `Err` with ECHILD when nothing is left to wait for.
pub fn try_any() -> io::Result<Option<(Tid, Status)>> {
    wait(-1, libc::WNOHANG)
}

fn wait(which: libc::pid_t, flags: i32) -> io::Result<Option<(Tid, Status)>> {
    loop {
        let mut raw = 0;
        // SAFETY: the status pointer is a live local.
        let tid = unsafe { libc::waitpid(which, &raw mut raw, flags | libc::__WALL) };
        match tid {
            0 => return Ok(None),
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            tid => return Ok(Some((Tid::new(tid), decode(raw)))),
        }
    }
}

/// Blocks until this tracee has something to report; None when a signal came first, as a `Ticker` sends.
pub fn block(tid: Tid) -> io::Result<Option<Status>> {
    let mut raw = 0;
    // SAFETY: the status pointer is a live local.
    let found = unsafe { libc::waitpid(tid.raw(), &raw mut raw, libc::__WALL) };
    if found == tid.raw() {
        return Ok(Some(decode(raw)));
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(None),
        _ => Err(error),
    }
}

/// Lets another thread of this CPU run: with tracer and tracee on one CPU this is the cheapest wait.
pub fn yield_now() {
    // SAFETY: takes nothing, cannot fail on Linux (sched_yield(2)).
    unsafe { libc::sched_yield() };
}

fn decode(raw: i32) -> Status {
    if libc::WIFEXITED(raw) {
        return Status::Exited(libc::WEXITSTATUS(raw));
    }
    if libc::WIFSIGNALED(raw) {
        return Signal::new(libc::WTERMSIG(raw)).map_or(Status::Other(raw), Status::Killed);
    }
    if !libc::WIFSTOPPED(raw) {
        return Status::Other(raw);
    }
    let Some(signal) = Signal::new(libc::WSTOPSIG(raw)) else {
        return Status::Other(raw); // SIGTRAP | 0x80, a system call stop: never asked for
    };
    match raw >> 16 {
        0 => Status::Signal(signal),
        libc::PTRACE_EVENT_STOP if signal.stops_process() => Status::GroupStop(signal),
        libc::PTRACE_EVENT_STOP => Status::EventStop,
        libc::PTRACE_EVENT_FORK => Status::Event(Event::Fork),
        libc::PTRACE_EVENT_VFORK => Status::Event(Event::Vfork),
        libc::PTRACE_EVENT_VFORK_DONE => Status::Event(Event::VforkDone),
        libc::PTRACE_EVENT_CLONE => Status::Event(Event::Clone),
        libc::PTRACE_EVENT_EXEC => Status::Event(Event::Exec),
        libc::PTRACE_EVENT_EXIT => Status::Event(Event::Exit),
        _ => Status::Other(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: i32, wanted: Status) {
        assert_eq!(decode(raw), wanted, "{raw:#x}");
    }

    #[test]
    fn statuses_decode_as_the_manual_says() {
        let signal = |number| Signal::new(number).expect("in range");
        check(0x2a00, Status::Exited(42));
        check(0xff00, Status::Exited(255));
        check(0x0009, Status::Killed(signal(9)));
        check(0x008b, Status::Killed(signal(11)));
        check(0x0022, Status::Killed(signal(34)));
        check(0x0b7f, Status::Signal(signal(11)));
        check(0x227f, Status::Signal(signal(34)));
        check(0x407f, Status::Signal(signal(64)));
        check(0x1_057f, Status::Event(Event::Fork));
        check(0x4_057f, Status::Event(Event::Exec));
        check(0x80_057f, Status::EventStop);
        check(0x80_137f, Status::GroupStop(signal(19)));
        check(0x857f, Status::Other(0x857f));
        check(0xffff, Status::Other(0xffff));
    }
}
