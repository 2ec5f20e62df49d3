//! The stack, read in large pieces: a read of a live process costs as much for 64 KiB as for eight bytes, and
//! a walk goes up the stack in small steps.

use crate::base::addr::VirtAddr;
use crate::base::memory::ReadMemory;
use std::cell::RefCell;

/// The first piece serves the short walks, which are most; the next ones grow.
const FIRST: usize = 2 << 10;
const LARGEST: usize = 64 << 10;

pub(super) struct Window<'m> {
    memory: &'m dyn ReadMemory,
    piece: RefCell<Piece>,
}

#[derive(Default)]
struct Piece {
    start: u64,
    bytes: Vec<u8>,
}

impl<'m> Window<'m> {
    pub(super) fn new(memory: &'m dyn ReadMemory) -> Self {
        Self {
            memory,
            piece: RefCell::default(),
        }
    }
}

impl Piece {
    fn get(&self, addr: u64, len: usize) -> Option<&[u8]> {
        let skip = usize::try_from(addr.checked_sub(self.start)?).ok()?;
        self.bytes.get(skip..skip.checked_add(len)?)
    }

    /// Reads the next piece from `addr` on.
    fn read(&mut self, memory: &dyn ReadMemory, addr: u64) {
        let size = match self.bytes.len() {
            0 => FIRST,
            last => (last * 4).clamp(FIRST, LARGEST),
        };
        self.bytes.resize(size, 0);
        self.start = addr;
        let got = memory.read_partial(VirtAddr::new(addr), &mut self.bytes);
        self.bytes.truncate(got);
    }
}

impl ReadMemory for Window<'_> {
    fn read_partial(&self, addr: VirtAddr, into: &mut [u8]) -> usize {
        let mut piece = self.piece.borrow_mut();
        if piece.get(addr.raw(), into.len()).is_none() {
            piece.read(self.memory, addr.raw());
        }
        match piece.get(addr.raw(), into.len()) {
            Some(bytes) => {
                into.copy_from_slice(bytes);
                into.len()
            }
            // At the end of what is mapped, or more than a piece at once.
            None => self.memory.read_partial(addr, into),
        }
    }

    fn read_u64(&self, addr: VirtAddr) -> Result<u64, crate::base::memory::ReadError> {
        let known = self.piece.borrow();
        if let Some(bytes) = known.get(addr.raw(), 8)
            && let Some(word) = bytes.first_chunk::<8>()
        {
            return Ok(u64::from_le_bytes(*word));
        }
        drop(known);
        let mut bytes = [0; 8];
        self.read_exact(addr, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwind::test_stack::TestMemory;

    #[test]
    fn every_read_is_as_without_it() {
        let bytes: Vec<u8> = (0..10_000u32).map(|n| n.to_le_bytes()[0]).collect();
        let memory = TestMemory::new().with(0x1000, &bytes);
        let window = Window::new(&memory);
        for addr in [
            0x1000, 0x1008, 0x1001, 0x2ff0, 0x1000, 0x3708, 0x370c, 0xff8, 0,
        ] {
            for len in [1, 8, 15, 3000] {
                let mut reads = [vec![0; len], vec![0; len]];
                let addr = VirtAddr::new(addr);
                let got = [
                    memory.read_partial(addr, &mut reads[0]),
                    window.read_partial(addr, &mut reads[1]),
                ];
                assert_eq!(got[0], got[1], "{addr} {len}");
                assert_eq!(reads[0], reads[1], "{addr} {len}");
            }
            let addr = VirtAddr::new(addr);
            assert_eq!(memory.read_u64(addr), window.read_u64(addr));
        }
    }
}
