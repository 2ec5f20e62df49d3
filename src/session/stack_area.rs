//! The stack of the selected thread: how far it reaches, and how far it may still grow.

use super::error::{Error, Result};
use super::session::Session;
use crate::base::addr::VirtAddr;
use crate::os::proc::{self, MappedPath, Mapping};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackArea {
    /// The first address behind it.
    pub top: VirtAddr,
    /// The lowest address that can be used, now or after the stack has grown.
    pub usable_base: VirtAddr,
    /// Bytes below that are kept free so that an overflow faults; 0 when nothing guards it.
    pub guard_size: u64,
}

/// The kernel's stack_guard_gap, 256 pages unless the kernel command line says otherwise, which cannot be
/// read: below a growing stack so much stays free of other mappings (mm/mmap.c).
const STACK_GUARD_GAP: u64 = 256 * PAGE;
const PAGE: u64 = 4096;

impl Session {
    pub fn stack_area(&mut self) -> Result<StackArea> {
        let sp = self.registers()?.sp();
        let mappings = self.mappings()?;
        let index = mappings
            .iter()
            .position(|mapping| mapping.range.contains(sp))
            .ok_or_else(|| Error::BadArgument(format!("sp {sp} is in no mapping: not a stack")))?;
        let below = index.checked_sub(1).and_then(|below| mappings.get(below));
        let stack = &mappings[index];
        if stack.path == MappedPath::Special("[stack]".to_owned()) {
            return Ok(self.growing(stack, below));
        }
        Ok(fixed(stack, below))
    }

    /// The main thread's: grows down to its limit, or to the gap above what is mapped below.
    fn growing(&self, stack: &Mapping, below: Option<&Mapping>) -> StackArea {
        let top = stack.range.end.raw();
        let limit = self.pid().and_then(proc::stack_limit).unwrap_or(u64::MAX);
        // The kernel allows growth while the whole stack is not larger than the limit.
        let by_limit = top.saturating_sub(limit).next_multiple_of(PAGE);
        let by_gap = below
            .filter(|below| below.perms.starts_with("---").eq(&false))
            .map_or(0, |below| {
                below.range.end.raw().saturating_add(STACK_GUARD_GAP)
            });
        let base = by_limit.max(by_gap).min(stack.range.start.raw());
        StackArea {
            top: stack.range.end,
            usable_base: VirtAddr::new(base),
            guard_size: STACK_GUARD_GAP,
        }
    }
}

/// A thread's, or one that a program has made itself: a mapping of fixed size, guarded by an inaccessible
/// one below, if at all.
fn fixed(stack: &Mapping, below: Option<&Mapping>) -> StackArea {
    let guard = below
        .filter(|below| below.range.end == stack.range.start && below.perms.starts_with("---"));
    StackArea {
        top: stack.range.end,
        usable_base: stack.range.start,
        guard_size: guard.map_or(0, |guard| guard.range.len()),
    }
}
