//! What happened in a batch of steps that nobody listened to: calls, loops, system calls, the stack.
//!
//! It costs one look at the registers a step, and one decoding for each instruction that is new.

use super::error::Result;
use super::info::{BatchCount, BatchSummary};
use super::session::Session;
use crate::arch::disasm::{self, Flow};
use crate::arch::registers::{RegId, Registers};
use crate::base::addr::VirtAddr;
use crate::base::memory::ReadMemory;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Instructions that are remembered; a batch that walks through more decodes some again.
const REMEMBERED: usize = 1 << 16;
/// Different things that are counted of a kind.
const COUNTED: usize = 256;

/// A batch under way.
#[derive(Debug)]
pub(super) struct Trace {
    first: VirtAddr,
    /// Where the thread stood before the last step.
    last: At,
    sp: (VirtAddr, VirtAddr),
    calls: Tally<VirtAddr>,
    loops: Tally<VirtAddr>,
    syscalls: Tally<u64>,
    /// What was called last, while it may still be a stub that only leads to the function.
    entered: Option<VirtAddr>,
    /// What is counted, by name: asked for at once, because the process may end with the batch.
    names: HashMap<VirtAddr, (String, u64)>,
    /// By address: code that changes within a batch is seen as it was first.
    known: HashMap<VirtAddr, (Flow, u8)>,
}

#[derive(Clone, Copy, Debug)]
struct At {
    pc: VirtAddr,
    sp: VirtAddr,
    /// The number of the system call, if this is one.
    rax: u64,
}

impl At {
    fn of(registers: &Registers) -> Self {
        let rax = RegId::by_name("rax").map_or(0, |rax| registers.get(rax));
        Self {
            pc: registers.pc(),
            sp: registers.sp(),
            rax,
        }
    }
}

/// Things with how often they happened, in the order in which they first did.
#[derive(Debug)]
struct Tally<K> {
    index: HashMap<K, usize>,
    counts: Vec<(K, u64)>,
    /// Happenings beyond `COUNTED` different ones.
    others: u64,
}

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self {
            index: HashMap::new(),
            counts: Vec::new(),
            others: 0,
        }
    }
}

impl<K: Copy + Eq + std::hash::Hash> Tally<K> {
    /// Answers the key when it is new and there is room for it.
    fn add(&mut self, key: K) -> Option<K> {
        match self.index.entry(key) {
            Entry::Occupied(at) => {
                if let Some((_, count)) = self.counts.get_mut(*at.get()) {
                    *count += 1;
                }
                None
            }
            Entry::Vacant(at) if self.counts.len() < COUNTED => {
                at.insert(self.counts.len());
                self.counts.push((key, 1));
                Some(key)
            }
            Entry::Vacant(_) => {
                self.others += 1;
                None
            }
        }
    }
}

impl Trace {
    fn begin(at: At) -> Self {
        Self {
            first: at.pc,
            last: at,
            sp: (at.sp, at.sp),
            calls: Tally::default(),
            loops: Tally::default(),
            syscalls: Tally::default(),
            entered: None,
            names: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// One more instruction, `flow` and its length, was executed; the thread is `here` now. Answers what
    /// there is no name for yet.
    fn step(&mut self, flow: Option<(Flow, u8)>, here: At) -> [Option<VirtAddr>; 2] {
        let from = std::mem::replace(&mut self.last, here);
        self.sp = (self.sp.0.min(here.sp), self.sp.1.max(here.sp));
        let called = self.enter(flow, from.pc, here.pc);
        let looped = match flow {
            Some((Flow::Call, len)) => {
                let behind = from.pc.checked_add(u64::from(len));
                self.entered = (behind != Some(here.pc)).then_some(here.pc);
                None
            }
            Some((Flow::Syscall, _)) => {
                self.syscalls.add(from.rax);
                None
            }
            Some((Flow::Branch, _)) if here.pc <= from.pc => self.loops.add(here.pc),
            // A string instruction that repeats.
            _ if here.pc == from.pc => self.loops.add(here.pc),
            _ => None,
        };
        [called, looped]
    }

    /// Counts a call once it is known what was called: a stub of the procedure linkage table is an
    /// indirect jump, perhaps behind an `endbr64` (System V ABI, x86-64, 5.2 and 13.1).
    fn enter(
        &mut self,
        flow: Option<(Flow, u8)>,
        from: VirtAddr,
        here: VirtAddr,
    ) -> Option<VirtAddr> {
        const ENDBR64: u64 = 4;
        let callee = self.entered?;
        if from == callee && flow.is_some_and(|(flow, _)| flow == Flow::Next) {
            if callee.checked_add(ENDBR64) == Some(here) {
                return None;
            }
        } else if flow.is_some_and(|(flow, _)| flow == Flow::IndirectBranch) {
            self.entered = None;
            return self.calls.add(here);
        }
        self.entered = None;
        self.calls.add(callee)
    }

    pub(super) fn summary(mut self) -> BatchSummary {
        if let Some(callee) = self.entered.take() {
            self.calls.add(callee);
        }
        let others = self.calls.others + self.loops.others + self.syscalls.others;
        let mut named = |(addr, count)| BatchCount {
            addr,
            symbol: self.names.get(&addr).cloned(),
            count,
        };
        BatchSummary {
            first: named((self.first, 1)),
            sp: self.sp,
            calls: self.calls.counts.into_iter().map(&mut named).collect(),
            loops: self.loops.counts.into_iter().map(&mut named).collect(),
            syscalls: self.syscalls.counts,
            others,
        }
    }
}

impl Session {
    /// A batch of steps of the selected thread begins.
    pub(super) fn begin_trace(&mut self) -> Result<Box<Trace>> {
        let mut trace = Trace::begin(At::of(self.registers()?));
        let first = trace.first;
        self.name_traced(&mut trace, Some(first));
        Ok(Box::new(trace))
    }

    fn name_traced(&mut self, trace: &mut Trace, addr: Option<VirtAddr>) {
        if let Some(addr) = addr
            && let Ok(Some(name)) = self.symbol_at(addr)
        {
            trace.names.insert(addr, name);
        }
    }

    /// The selected thread has made one step.
    pub(super) fn trace_step(&mut self, trace: &mut Trace) -> Result<()> {
        let here = At::of(self.registers()?);
        let from = trace.last.pc;
        let flow = match trace.known.get(&from) {
            Some(known) => Some(*known),
            None => self.flow_at(from),
        };
        if let Some(flow) = flow {
            if trace.known.len() >= REMEMBERED {
                trace.known.clear();
            }
            trace.known.entry(from).or_insert(flow);
        }
        for new in trace.step(flow, here) {
            self.name_traced(trace, new);
        }
        Ok(())
    }

    fn flow_at(&mut self, addr: VirtAddr) -> Option<(Flow, u8)> {
        let mut bytes = [0; disasm::MAX_LENGTH];
        let got = self.stopped().ok()?.read_partial(addr, &mut bytes);
        let (flow, len) = disasm::flow(bytes.get(..got)?, addr)?;
        Some((flow, u8::try_from(len).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pc: u64, sp: u64, rax: u64) -> At {
        At {
            pc: VirtAddr::new(pc),
            sp: VirtAddr::new(sp),
            rax,
        }
    }

    #[test]
    fn what_happened_is_counted_in_the_order_of_its_first_time() {
        let mut trace = Trace::begin(at(0x10, 100, 0));
        trace.step(Some((Flow::Call, 5)), at(0x80, 92, 0));
        trace.step(Some((Flow::Return, 1)), at(0x15, 100, 39));
        trace.step(Some((Flow::Syscall, 2)), at(0x17, 100, 7));
        // A forward branch and one that is not taken are no loops.
        trace.step(Some((Flow::Branch, 2)), at(0x1f, 100, 7));
        trace.step(Some((Flow::Branch, 2)), at(0x10, 100, 7));
        // A call that did not leave, as of the next instruction, is none.
        trace.step(Some((Flow::Call, 5)), at(0x15, 92, 0));
        trace.step(Some((Flow::Next, 2)), at(0x17, 84, 0));
        trace.step(Some((Flow::Next, 2)), at(0x17, 84, 0));
        trace.step(Some((Flow::IndirectBranch, 2)), at(0x10, 84, 0));
        trace.step(Some((Flow::Call, 5)), at(0x80, 92, 0));
        let summary = trace.summary();
        let addr = VirtAddr::new;
        assert_eq!(summary.first.addr, addr(0x10));
        assert_eq!(summary.sp, (addr(84), addr(100)));
        assert_eq!(counts(&summary.calls), [(0x80, 2)]);
        assert_eq!(summary.syscalls, [(39, 1)]);
        assert_eq!(counts(&summary.loops), [(0x10, 1), (0x17, 1)]);
        assert_eq!(summary.others, 0);
    }

    fn counts(list: &[BatchCount]) -> Vec<(u64, u64)> {
        let pairs = list.iter().map(|item| (item.addr.raw(), item.count));
        pairs.collect()
    }

    #[test]
    fn a_call_through_a_stub_is_one_of_the_function() {
        let mut trace = Trace::begin(at(0x10, 100, 0));
        trace.step(Some((Flow::Call, 5)), at(0x80, 92, 0));
        trace.step(Some((Flow::IndirectBranch, 6)), at(0x500, 92, 0));
        trace.step(Some((Flow::Return, 1)), at(0x15, 100, 0));
        trace.step(Some((Flow::Call, 5)), at(0x90, 92, 0));
        trace.step(Some((Flow::Next, 4)), at(0x94, 92, 0));
        trace.step(Some((Flow::IndirectBranch, 6)), at(0x500, 92, 0));
        trace.step(Some((Flow::Return, 1)), at(0x1a, 100, 0));
        trace.step(Some((Flow::Call, 5)), at(0x60, 92, 0));
        trace.step(Some((Flow::Next, 3)), at(0x63, 92, 0));
        assert_eq!(counts(&trace.summary().calls), [(0x500, 2), (0x60, 1)]);
    }

    #[test]
    fn different_things_are_counted_up_to_a_bound() {
        let mut tally = Tally::default();
        for key in 0..COUNTED + 10 {
            tally.add(key);
            tally.add(3);
        }
        assert_eq!(tally.counts.len(), COUNTED);
        assert_eq!(tally.others, 10);
    }
}
