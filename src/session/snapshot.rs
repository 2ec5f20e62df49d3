//! What was read at a stop, once: the cache while it lasts, `prev` afterwards.

use crate::arch::registers::Registers;
use crate::arch::xstate::Xstate;
use crate::base::addr::VirtAddr;
use crate::base::id::StopSeq;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Everything that was read at one stop. A field that nobody read is None.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub seq: Option<StopSeq>,
    pub registers: Option<Registers>,
    /// Vector and x87 registers, which few ask for.
    pub xstate: Option<Rc<Xstate>>,
    /// Reads by start. They may overlap: each shows what was there at this stop.
    memory: BTreeMap<u64, Box<[u8]>>,
    remembered: usize,
}

/// A script that walks through gigabytes must not take them along.
const LIMIT: usize = 1 << 20;

impl Snapshot {
    /// The bytes at `addr`, if one read at that stop covered them all.
    pub fn memory(&self, addr: VirtAddr, len: usize) -> Option<&[u8]> {
        let (start, bytes) = self.memory.range(..=addr.raw()).next_back()?;
        let skip = usize::try_from(addr.raw() - start).ok()?;
        bytes.get(skip..skip.checked_add(len)?)
    }

    pub(super) fn remember(&mut self, addr: VirtAddr, bytes: &[u8]) {
        if self.remembered + bytes.len() > LIMIT {
            return;
        }
        let known = self.memory.entry(addr.raw()).or_default();
        if known.len() < bytes.len() {
            self.remembered += bytes.len() - known.len();
            *known = bytes.into();
        }
    }

    pub(super) fn forget_memory(&mut self) {
        self.memory.clear();
        self.remembered = 0;
    }

    pub(super) fn empty(&mut self) {
        self.registers = None;
        self.xstate = None;
        self.forget_memory();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_answered_from_what_covers_them() {
        let mut snapshot = Snapshot::default();
        let at = VirtAddr::new;
        snapshot.remember(at(0x1000), &[1, 2, 3, 4]);
        assert_eq!(snapshot.memory(at(0x1001), 2), Some(&[2, 3][..]));
        assert_eq!(snapshot.memory(at(0x1001), 4), None);
        assert_eq!(snapshot.memory(at(0xfff), 1), None);
        snapshot.remember(at(0x1000), &[9]);
        assert_eq!(snapshot.memory(at(0x1000), 4), Some(&[1, 2, 3, 4][..]));
        snapshot.forget_memory();
        assert_eq!(snapshot.memory(at(0x1000), 1), None);
    }
}
