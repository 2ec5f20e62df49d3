//! Memory for tests, made of a few pieces.

use crate::base::addr::VirtAddr;
use crate::base::memory::ReadMemory;
use std::collections::BTreeMap;

#[derive(Clone, Default)]
pub struct TestMemory {
    bytes: BTreeMap<u64, u8>,
}

impl TestMemory {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with(mut self, start: u64, bytes: &[u8]) -> Self {
        self.bytes.extend((start..).zip(bytes.iter().copied()));
        self
    }

    pub fn words(mut self, start: u64, words: &[u64]) -> Self {
        for (word, at) in words.iter().zip((start..).step_by(8)) {
            self = self.with(at, &word.to_le_bytes());
        }
        self
    }
}

impl ReadMemory for TestMemory {
    fn read_partial(&self, addr: VirtAddr, into: &mut [u8]) -> usize {
        let mut got = 0;
        for (place, at) in into.iter_mut().zip(addr.raw()..) {
            let Some(byte) = self.bytes.get(&at) else {
                break;
            };
            *place = *byte;
            got += 1;
        }
        got
    }
}
