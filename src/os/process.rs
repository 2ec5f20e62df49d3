//! Small calls about whole processes.
#![allow(unsafe_code)]

use crate::base::id::{Pid, Tid};
use crate::base::signal::Signal;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io;

pub fn kill(pid: Pid, signal: Signal) -> io::Result<()> {
    // SAFETY: plain numbers (kill(2)).
    result(unsafe { libc::kill(pid.raw(), signal.number()) })
}

/// One thread of a process (tgkill(2)).
pub fn kill_thread(pid: Pid, tid: Tid, signal: Signal) -> io::Result<()> {
    // SAFETY: plain numbers.
    let value = unsafe { libc::syscall(libc::SYS_tgkill, pid.raw(), tid.raw(), signal.number()) };
    if value == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Every process of the group that `leader` leads.
pub fn kill_group(leader: Pid, signal: Signal) -> io::Result<()> {
    // SAFETY: plain numbers (kill(2)).
    result(unsafe { libc::kill(-leader.raw(), signal.number()) })
}

pub fn own_pid() -> Pid {
    // SAFETY: takes nothing, cannot fail.
    Pid::new(unsafe { libc::getpid() })
}

pub fn own_uid() -> u32 {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::getuid() }
}

/// Lets the stack of the main thread grow to `bytes`, where a lower limit was inherited. The kernel looks
/// at the limit whenever the stack grows (getrlimit(2)), so this works while the process runs.
pub fn allow_stack(bytes: u64) -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_STACK)?;
    if soft < bytes {
        setrlimit(Resource::RLIMIT_STACK, bytes.min(hard), hard)?;
    }
    Ok(())
}

/// Bytes by which the main thread's stack may still grow from here. The kernel counts from the end of the
/// stack's mapping, at which it put the name of the executable (execve(2), getauxval(3)).
pub fn stack_left() -> io::Result<u64> {
    let (soft, _) = getrlimit(Resource::RLIMIT_STACK)?;
    // SAFETY: takes a plain number, cannot fail.
    let top = unsafe { libc::getauxval(libc::AT_EXECFN) };
    let here = u64::try_from((&raw const soft).addr()).unwrap_or(u64::MAX);
    let used = top.checked_sub(here).ok_or(io::ErrorKind::Unsupported)?;
    Ok(soft.saturating_sub(used))
}

/// Ends this process at once: no destructors, no other thread gets a word in.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(status) }
}

/// The processors a thread may run on.
#[derive(Clone)]
pub struct Affinity(libc::cpu_set_t);

impl Affinity {
    pub fn of(tid: Tid) -> io::Result<Self> {
        // SAFETY: all zeroes is an empty set; the kernel fills it up to its size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            result(libc::sched_getaffinity(
                tid.raw(),
                size_of_val(&set),
                &raw mut set,
            ))?;
            Ok(Self(set))
        }
    }

    /// The processor that this thread runs on at this moment.
    pub fn here() -> io::Result<Self> {
        // SAFETY: takes nothing; the number is checked before it indexes the set.
        unsafe {
            let cpu = libc::sched_getcpu();
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            match usize::try_from(cpu) {
                Ok(cpu) if cpu < 8 * size_of_val(&set) => libc::CPU_SET(cpu, &mut set),
                _ => return Err(io::Error::last_os_error()),
            }
            Ok(Self(set))
        }
    }

    pub fn apply(&self, tid: Tid) -> io::Result<()> {
        // SAFETY: the set is a whole one.
        result(unsafe {
            libc::sched_setaffinity(tid.raw(), size_of_val(&self.0), &raw const self.0)
        })
    }
}

impl PartialEq for Affinity {
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: compares two whole sets.
        unsafe { libc::CPU_EQUAL(&self.0, &other.0) }
    }
}

impl std::fmt::Debug for Affinity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: counts bits of a whole set.
        write!(f, "Affinity({} cpus)", unsafe { libc::CPU_COUNT(&self.0) })
    }
}

fn result(value: i32) -> io::Result<()> {
    if value == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
