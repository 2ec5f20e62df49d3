//! Limits for input that nobody vouches for: a crafted file costs an error, never the session.

use std::time::{Duration, Instant};

/// No file larger than this is mapped.
pub const MAX_FILE: u64 = 512 << 20;
pub const MAX_SECTIONS: usize = 1 << 16;
/// A compressed section may grow to this size, and to this many times its size in the file.
pub const MAX_INFLATED: u64 = 1 << 30;
pub const MAX_INFLATION: u64 = 200;
pub const MAX_SYMBOLS: usize = 2_000_000;
/// Longer names are cut.
pub const MAX_NAME: usize = 4096;
/// Bytes of names that one search looks at: hostile symbols may share one huge name.
pub const MAX_NAME_BYTES: usize = 256 << 20;
pub const MAX_UNITS: usize = 1 << 18;
/// Line rows, entries and ranges that are kept of one unit.
pub const MAX_ROWS: usize = 8_000_000;
pub const MAX_RANGES: usize = 4_000_000;
/// One answer from debug information takes no longer.
pub const MAX_TIME: Duration = Duration::from_secs(10);

/// What one operation may still spend. Steps are counted so that the clock is read rarely.
#[derive(Debug)]
pub struct Budget {
    deadline: Instant,
    steps: u32,
    spent: bool,
}

impl Budget {
    pub fn new() -> Self {
        Self::until(Instant::now() + MAX_TIME)
    }

    pub fn until(deadline: Instant) -> Self {
        Self {
            deadline,
            steps: 0,
            spent: false,
        }
    }

    /// Counts one step; false once the time is up, and from then on always.
    pub fn step(&mut self) -> bool {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(1024) {
            self.spent |= Instant::now() >= self.deadline;
        }
        !self.spent
    }

    pub fn is_spent(&self) -> bool {
        self.spent
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new()
    }
}
