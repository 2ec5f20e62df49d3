//! Inserted traps: one int3 per address, in place while the process stands still or runs, and hidden
//! from everybody who reads the memory.

use super::emergency;
use super::error::{Error, Result};
use crate::base::addr::VirtAddr;
use crate::base::id::Pid;
use crate::os::vm::Memory;
use std::collections::BTreeMap;

const INT3: u8 = 0xcc;

#[derive(Debug, Default)]
pub(super) struct Sites {
    /// Address to the byte that belongs there.
    originals: BTreeMap<u64, u8>,
    /// Out of the memory for as long as a vfork child lives in it.
    hidden: bool,
}

impl Sites {
    pub(super) fn contains(&self, addr: VirtAddr) -> bool {
        self.originals.contains_key(&addr.raw())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.originals.is_empty()
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
        self.originals.insert(addr.raw(), original[0]);
        if self.hidden {
            return Ok(());
        }
        // Noted first: were we to die between the two, the note would only rewrite what is there.
        emergency::note(pid, addr, original[0]);
        if memory.write(addr, &[INT3]).is_err() {
            self.originals.remove(&addr.raw());
            emergency::forget(pid, addr);
            return Err(unwritable(addr));
        }
        Ok(())
    }

    /// Takes the trap out. Memory that is gone, or that the program has overwritten, is left alone.
    pub(super) fn remove(&mut self, pid: Pid, memory: &Memory, addr: VirtAddr) {
        self.lift(memory, addr);
        self.originals.remove(&addr.raw());
        emergency::forget(pid, addr);
    }

    /// Puts the original byte back for a moment.
    pub(super) fn lift(&self, memory: &Memory, addr: VirtAddr) {
        let mut present = [0; 1];
        if let Some(&original) = self.originals.get(&addr.raw())
            && memory.read_partial(addr, &mut present) == 1
            && present[0] == INT3
        {
            // A failed write means that the memory or the process is gone: nothing is left to restore.
            let _ = memory.write(addr, &[original]);
        }
    }

    /// Inserts a lifted trap again. What stands there now is the new original: the program may have
    /// rewritten itself meanwhile.
    pub(super) fn put_back(&mut self, pid: Pid, memory: &Memory, addr: VirtAddr) {
        if self.hidden {
            return;
        }
        let Some(original) = self.originals.get_mut(&addr.raw()) else {
            return;
        };
        let mut present = [0; 1];
        if memory.read_partial(addr, &mut present) != 1 {
            return;
        }
        if present[0] != *original {
            *original = present[0];
            emergency::note(pid, addr, present[0]);
        }
        let _ = memory.write(addr, &[INT3]);
    }

    /// Takes every trap out of `memory` (the process itself, or a forked copy of it).
    pub(super) fn lift_all(&self, memory: &Memory) {
        for &addr in self.originals.keys() {
            self.lift(memory, VirtAddr::new(addr));
        }
    }

    /// A vfork child runs in this very memory, without a tracer: no trap may be there.
    pub(super) fn hide(&mut self, memory: &Memory) {
        self.lift_all(memory);
        self.hidden = true;
    }

    pub(super) fn show(&mut self, pid: Pid, memory: &Memory) {
        self.hidden = false;
        let addrs: Vec<u64> = self.originals.keys().copied().collect();
        for addr in addrs {
            self.put_back(pid, memory, VirtAddr::new(addr));
        }
    }

    /// The memory that held them is gone.
    pub(super) fn clear(&mut self, pid: Pid) {
        self.originals.clear();
        self.hidden = false;
        emergency::forget_all(pid);
    }

    /// Shows the original bytes in what was read from `addr` on.
    pub(super) fn mask(&self, addr: VirtAddr, bytes: &mut [u8]) {
        if self.originals.is_empty() || bytes.is_empty() {
            return;
        }
        let last = addr.raw().saturating_add(bytes.len() as u64 - 1);
        for (&site, &original) in self.originals.range(addr.raw()..=last) {
            let index = usize::try_from(site - addr.raw()).unwrap_or(usize::MAX);
            if let Some(byte) = bytes.get_mut(index)
                && *byte == INT3
            {
                *byte = original;
            }
        }
    }

    /// Takes over, as originals, the bytes that are about to be written, and leaves the traps in place.
    pub(super) fn overwrite(&mut self, pid: Pid, addr: VirtAddr, bytes: &mut [u8]) {
        if self.originals.is_empty() || bytes.is_empty() {
            return;
        }
        let last = addr.raw().saturating_add(bytes.len() as u64 - 1);
        for (&site, original) in self.originals.range_mut(addr.raw()..=last) {
            let index = usize::try_from(site - addr.raw()).unwrap_or(usize::MAX);
            if let Some(byte) = bytes.get_mut(index) {
                *original = *byte;
                if !self.hidden {
                    emergency::note(pid, VirtAddr::new(site), *byte);
                    *byte = INT3;
                }
            }
        }
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

    #[test]
    fn reads_show_originals_and_writes_keep_traps() {
        let mut sites = Sites {
            originals: BTreeMap::from([(0x1001, 0x55), (0x1003, 0x90)]),
            hidden: false,
        };
        let at = VirtAddr::new(0x1000);
        let mut read = [1, INT3, 2, 0x77, 3];
        sites.mask(at, &mut read);
        assert_eq!(
            read,
            [1, 0x55, 2, 0x77, 3],
            "an overwritten trap is not hidden"
        );
        let mut written = [9, 8, 7];
        sites.overwrite(Pid::new(1), at, &mut written);
        assert_eq!(written, [9, INT3, 7]);
        assert_eq!(sites.originals[&0x1001], 8);
        assert_eq!(
            sites.before(VirtAddr::new(0x1002)),
            Some(VirtAddr::new(0x1001))
        );
        assert_eq!(sites.before(VirtAddr::new(0)), None);
    }
}
