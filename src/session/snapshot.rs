//! What was read at a stop, once: the cache while it lasts, `prev` afterwards.

use crate::arch::registers::Registers;
use crate::base::addr::VirtAddr;
use crate::base::id::StopSeq;
use std::collections::BTreeMap;

/// Everything that was read at one stop. A field that nobody read is None.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub seq: Option<StopSeq>,
    pub registers: Option<Registers>,
    /// Non-overlapping by start; longer reads replace shorter ones.
    memory: BTreeMap<u64, Box<[u8]>>,
}

impl Snapshot {
    /// The bytes at `addr`, if one read at that stop covered them all.
    pub fn memory(&self, addr: VirtAddr, len: usize) -> Option<&[u8]> {
        let (start, bytes) = self.memory.range(..=addr.raw()).next_back()?;
        let skip = usize::try_from(addr.raw() - start).ok()?;
        bytes.get(skip..skip.checked_add(len)?)
    }
}
