//! Inserted traps: one int3 per address, in place while the process stands still or runs, and hidden
//! from everybody who reads the memory.

use super::emergency;
use super::error::{Error, Result};
use crate::base::addr::VirtAddr;
use crate::base::id::{Pid, Tid};
use crate::os::ptrace;
use crate::os::vm::Memory;
use std::collections::{BTreeMap, BTreeSet};

const INT3: u8 = 0xcc;

#[derive(Debug, Default)]
pub(super) struct Sites {
    by_addr: BTreeMap<u64, Site>,
    /// Out of the memory while a thread is stepped over the instruction there.
    lifted: Option<VirtAddr>,
    /// Threads whose vfork child lives in this memory: meanwhile no trap is in it.
    vforking: BTreeSet<Tid>,
}

#[derive(Clone, Copy, Debug)]
struct Site {
    /// The byte that belongs there.
    original: u8,
    /// The trap is in the memory. Told by no byte: the program may have an int3 of its own.
    inserted: bool,
}

impl Sites {
    pub(super) fn contains(&self, addr: VirtAddr) -> bool {
        self.by_addr.contains_key(&addr.raw())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_addr.is_empty()
    }

    /// The site in front of `pc`: an executed int3 leaves the pc behind itself.
    pub(super) fn before(&self, pc: VirtAddr) -> Option<VirtAddr> {
        pc.checked_sub(1).filter(|addr| self.contains(*addr))
    }

    pub(super) fn insert(&mut self, pid: Pid, memory: &Memory, addr: VirtAddr) -> Result<()> {
        if self.contains(addr) {
            return Ok(());
        }
        let mut original = [0; 1];
        if memory.read_partial(addr, &mut original) != 1 {
            return Err(unwritable(addr));
        }
        let site = Site {
            original: original[0],
            inserted: false,
        };
        self.by_addr.insert(addr.raw(), site);
        self.enter(pid, memory, addr);
        if self.must_stay_out(addr) || self.by_addr.get(&addr.raw()).is_some_and(|s| s.inserted) {
            return Ok(());
        }
        self.by_addr.remove(&addr.raw());
        emergency::forget(pid, addr);
        Err(unwritable(addr))
    }

    /// Takes the trap out. Memory that is gone, or that the program has overwritten, is left alone.
    pub(super) fn remove(&mut self, pid: Pid, memory: &Memory, addr: VirtAddr) {
        self.leave(memory, addr);
        self.by_addr.remove(&addr.raw());
        emergency::forget(pid, addr);
    }

    /// Puts the original byte back until `put_back`. One site at a time is lifted.
    pub(super) fn lift(&mut self, memory: &Memory, addr: VirtAddr) {
        self.leave(memory, addr);
        self.lifted = Some(addr);
    }

    /// Inserts the lifted trap again.
    pub(super) fn put_back(&mut self, pid: Pid, memory: &Memory) {
        if let Some(addr) = self.lifted.take() {
            self.enter(pid, memory, addr);
        }
    }

    fn must_stay_out(&self, addr: VirtAddr) -> bool {
        !self.vforking.is_empty() || self.lifted == Some(addr)
    }

    /// Puts a trap into the memory unless it has to stay out for now. What stands there is the new
    /// original: the program may have rewritten itself meanwhile.
    fn enter(&mut self, pid: Pid, memory: &Memory, addr: VirtAddr) {
        if self.must_stay_out(addr) {
            return;
        }
        let Some(site) = self.by_addr.get_mut(&addr.raw()) else {
            return;
        };
        let mut present = [0; 1];
        if site.inserted || memory.read_partial(addr, &mut present) != 1 {
            return;
        }
        site.original = present[0];
        // Noted first: were we to die between the two, the note would only rewrite what is there.
        emergency::note(pid, addr, present[0]);
        site.inserted = memory.write(addr, &[INT3]).is_ok();
    }

    fn leave(&mut self, memory: &Memory, addr: VirtAddr) {
        if let Some(site) = self.by_addr.get_mut(&addr.raw())
            && std::mem::take(&mut site.inserted)
        {
            restore(memory, addr, site.original);
        }
    }

    fn addrs(&self) -> Vec<VirtAddr> {
        self.by_addr.keys().copied().map(VirtAddr::new).collect()
    }

    /// Takes every trap out, for good.
    pub(super) fn remove_all(&mut self, pid: Pid, memory: &Memory) {
        for addr in self.addrs() {
            self.leave(memory, addr);
        }
        self.clear(pid);
    }

    /// Takes every trap out of a forked copy of the memory, through its stopped thread: this debugger may
    /// have given up the right to open the files of a privileged child (see `Facts`).
    pub(super) fn clean_copy(&self, child: Tid) {
        for (&addr, site) in &self.by_addr {
            // Where nothing is mapped in the copy, there is no trap either.
            let _ = ptrace::replace_byte(child, VirtAddr::new(addr), INT3, site.original);
        }
    }

    /// The child of this thread's vfork runs in this very memory, without a tracer: no trap may be there.
    pub(super) fn hide(&mut self, memory: &Memory, parent: Tid) {
        self.vforking.insert(parent);
        for addr in self.addrs() {
            self.leave(memory, addr);
        }
    }

    /// The child of this thread's vfork has left. Another thread's may still be there.
    pub(super) fn show(&mut self, pid: Pid, memory: &Memory, parent: Tid) {
        self.vforking.remove(&parent);
        for addr in self.addrs() {
            self.enter(pid, memory, addr);
        }
    }

    /// Whether this thread waits in vfork(2) for its child.
    pub(super) fn is_hidden_for(&self, parent: Tid) -> bool {
        self.vforking.contains(&parent)
    }

    /// The memory that held them is gone.
    pub(super) fn clear(&mut self, pid: Pid) {
        *self = Self::default();
        emergency::forget_all(pid);
    }

    /// Shows the original bytes in what was read from `addr` on.
    pub(super) fn mask(&self, addr: VirtAddr, bytes: &mut [u8]) {
        for (&at, site) in self.by_addr.range(addr.raw()..) {
            match offset(addr, at).and_then(|index| bytes.get_mut(index)) {
                Some(byte) if site.inserted && *byte == INT3 => *byte = site.original,
                Some(_) => {}
                None => break,
            }
        }
    }

    /// The bytes to write so that `bytes` become the program's own and every trap stays.
    pub(super) fn shield(&self, addr: VirtAddr, bytes: &[u8]) -> Vec<u8> {
        let mut shielded = bytes.to_vec();
        for (&at, site) in self.by_addr.range(addr.raw()..) {
            match offset(addr, at).and_then(|index| shielded.get_mut(index)) {
                Some(byte) if site.inserted => *byte = INT3,
                Some(_) => {}
                None => break,
            }
        }
        shielded
    }

    /// These bytes of the program have been written over the traps.
    pub(super) fn adopt(&mut self, pid: Pid, addr: VirtAddr, bytes: &[u8]) {
        for (&at, site) in self.by_addr.range_mut(addr.raw()..) {
            let Some(&byte) = offset(addr, at).and_then(|index| bytes.get(index)) else {
                break;
            };
            if site.inserted {
                site.original = byte;
                emergency::note(pid, VirtAddr::new(at), byte);
            }
        }
    }
}

fn offset(from: VirtAddr, to: u64) -> Option<usize> {
    usize::try_from(to.checked_sub(from.raw())?).ok()
}

/// A failed write means that the memory or the process is gone: nothing is left to restore.
fn restore(memory: &Memory, addr: VirtAddr, original: u8) {
    let mut present = [0; 1];
    if memory.read_partial(addr, &mut present) == 1 && present[0] == INT3 {
        let _ = memory.write(addr, &[original]);
    }
}

fn unwritable(addr: VirtAddr) -> Error {
    Error::Unwritable {
        addr,
        wanted: 1,
        first_bad: addr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(original: u8, inserted: bool) -> Site {
        Site { original, inserted }
    }

    #[test]
    fn reads_show_originals_and_writes_keep_traps() {
        let mut sites = Sites {
            by_addr: BTreeMap::from([
                (0x1001, site(0x55, true)),
                (0x1003, site(0x90, true)),
                (0x1004, site(0x11, false)),
            ]),
            ..Sites::default()
        };
        let at = VirtAddr::new(0x1000);
        let mut read = [1, INT3, 2, 0x77, INT3];
        sites.mask(at, &mut read);
        assert_eq!(
            read,
            [1, 0x55, 2, 0x77, INT3],
            "neither an overwritten trap is hidden nor an int3 of the program's own"
        );
        assert_eq!(sites.shield(at, &[9, 8, 7, 6, 5]), [9, INT3, 7, INT3, 5]);
        sites.adopt(Pid::new(1), at, &[9, 8, 7]);
        assert_eq!(sites.by_addr[&0x1001].original, 8);
        assert_eq!(sites.by_addr[&0x1003].original, 0x90, "not written");
        assert_eq!(
            sites.before(VirtAddr::new(0x1002)),
            Some(VirtAddr::new(0x1001))
        );
        assert_eq!(sites.before(VirtAddr::new(0)), None);
    }

    #[test]
    fn a_trap_is_out_while_anybody_needs_that() {
        let code = [0x90u8, 0x90];
        let pid = Pid::new(std::process::id().cast_signed());
        let memory = Memory::open(pid).expect("own memory");
        let at = VirtAddr::new(code.as_ptr().addr() as u64);
        let seen = || {
            let mut byte = [0; 1];
            memory.read_partial(at, &mut byte);
            byte[0]
        };
        let mut sites = Sites::default();
        sites.insert(pid, &memory, at).expect("writable");
        assert_eq!(seen(), INT3);
        let (one, other) = (Tid::new(1), Tid::new(2));
        sites.hide(&memory, one);
        sites.hide(&memory, other);
        sites.show(pid, &memory, one);
        assert_eq!(seen(), 0x90, "the other thread's child is still there");
        sites.lift(&memory, at);
        sites.show(pid, &memory, other);
        assert_eq!(seen(), 0x90, "a thread is being stepped over it");
        sites.put_back(pid, &memory);
        sites.put_back(pid, &memory);
        assert_eq!(seen(), INT3);
        sites.remove(pid, &memory, at);
        assert_eq!(seen(), 0x90);
    }
}
