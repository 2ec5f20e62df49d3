//! The traps that stand in processes which outlive this debugger, for the moment when everything else
//! has failed: a watchdog or a fatal signal handler may not touch the session, but it may write memory.

use crate::base::addr::VirtAddr;
use crate::base::id::Pid;
use crate::os::vm::Memory;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// (process, address) to the byte that belongs there.
static TRAPS: Mutex<BTreeMap<(i32, u64), u8>> = Mutex::new(BTreeMap::new());

pub(super) fn note(pid: Pid, addr: VirtAddr, original: u8) {
    lock().insert((pid.raw(), addr.raw()), original);
}

pub(super) fn forget(pid: Pid, addr: VirtAddr) {
    lock().remove(&(pid.raw(), addr.raw()));
}

pub(super) fn forget_all(pid: Pid) {
    lock().retain(|(owner, _), _| *owner != pid.raw());
}

/// Puts every original byte back. From any thread; the process is about to end.
pub fn restore() {
    for (&(pid, addr), &original) in lock().iter() {
        if let Ok(memory) = Memory::open(Pid::new(pid)) {
            // The process may be gone: nothing is left to restore then.
            let _ = memory.write(VirtAddr::new(addr), &[original]);
        }
    }
}

fn lock() -> std::sync::MutexGuard<'static, BTreeMap<(i32, u64), u8>> {
    TRAPS.lock().unwrap_or_else(PoisonError::into_inner)
}
