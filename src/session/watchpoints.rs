//! Logical watchpoints: a place of 1, 2, 4 or 8 bytes that the processor watches, with its last known
//! value. There are four, and none that watches reads alone: those are sorted out here.

use super::error::{Error, Result};
use super::event::{Access, Reason, WatchpointHit};
use super::info::WatchpointInfo;
use super::request::{WatchSpec, WatchpointKey, Where};
use super::session::Session;
use crate::arch::access;
use crate::arch::debug_regs::{Slot, Trigger, Watch};
use crate::base::addr::VirtAddr;
use crate::base::id::WatchpointId;
use crate::base::memory::ReadMemory;
use crate::tracee::stop::Slots;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Watchpoints {
    by_id: BTreeMap<WatchpointId, Watchpoint>,
    last_id: u32,
}

#[derive(Debug)]
struct Watchpoint {
    name: Option<String>,
    place: Where,
    watch: Watch,
    access: Access,
    /// None while nothing is being debugged.
    slot: Option<Slot>,
    value: Option<u64>,
    hits: u64,
}

/// How far behind a function's start the instruction before the pc is looked for.
const SEARCHED: u64 = 64 * 1024;

impl Watchpoints {
    fn uses(&self, slot: Slot) -> bool {
        self.by_id.values().any(|known| known.slot == Some(slot))
    }

    /// Another process: what happened to the last one is over.
    pub(super) fn count_anew(&mut self) {
        for known in self.by_id.values_mut() {
            known.hits = 0;
        }
    }

    fn find(&self, key: &WatchpointKey) -> Result<WatchpointId> {
        let found = match key {
            WatchpointKey::Id(id) => self.by_id.contains_key(id).then_some(*id),
            WatchpointKey::Name(name) => self
                .by_id
                .iter()
                .find(|(_, known)| known.name.as_ref() == Some(name))
                .map(|(id, _)| *id),
        };
        found.ok_or_else(|| Error::NoWatchpoint {
            wanted: match key {
                WatchpointKey::Id(id) => id.to_string(),
                WatchpointKey::Name(name) => format!("'{name}'"),
            },
        })
    }

    fn in_use(&self) -> Vec<String> {
        self.by_id
            .iter()
            .map(|(id, known)| format!("{id} {} {}", known.watch.addr(), known.watch.width()))
            .collect()
    }
}

impl Session {
    /// A debug register that nobody has, beside those in `taken`.
    pub(super) fn unused_slot(&self, taken: &[Slot]) -> Result<Slot> {
        let is_free = |slot: &Slot| {
            !taken.contains(slot)
                && !self.watchpoints.uses(*slot)
                && !self.breakpoints.uses_slot(*slot)
        };
        Slot::ALL.into_iter().find(is_free).ok_or_else(|| {
            let mut used = self.watchpoints.in_use();
            used.extend(self.breakpoints.slots_in_use());
            Error::NoSlot {
                used: used.join(", "),
            }
        })
    }

    pub fn set_watchpoint(&mut self, place: &Where, spec: WatchSpec) -> Result<WatchpointInfo> {
        if let Some(name) = &spec.name
            && let Ok(id) = self.watchpoints.find(&WatchpointKey::Name(name.clone()))
        {
            return Err(Error::BadArgument(format!(
                "the name '{name}' belongs to watchpoint {id}"
            )));
        }
        let (addr, size) = self.watched_place(place)?;
        let width = spec.size.unwrap_or(size);
        let watch = watch(addr, width, spec.access)?;
        let slot = self.unused_slot(&[])?;
        let value = self.watched_value(watch)?;
        self.stopped()?.set_watch(slot, Some(watch))?;
        self.watchpoints.last_id += 1;
        let id = WatchpointId::new(self.watchpoints.last_id);
        self.watchpoints.by_id.insert(
            id,
            Watchpoint {
                name: spec.name,
                place: place.clone(),
                watch,
                access: spec.access,
                slot: Some(slot),
                value: Some(value),
                hits: 0,
            },
        );
        self.watchpoints()
            .into_iter()
            .find(|info| info.id == id)
            .ok_or(Error::NoProcess)
    }

    /// Answers which one it was.
    pub fn remove_watchpoint(&mut self, key: &WatchpointKey) -> Result<WatchpointId> {
        let id = self.watchpoints.find(key)?;
        self.not_running()?;
        if let Some(gone) = self.watchpoints.by_id.remove(&id)
            && let Some(slot) = gone.slot
            && let Ok(stopped) = self.stopped()
        {
            stopped.set_watch(slot, None)?;
        }
        Ok(id)
    }

    /// Its condition says that the last hit was none.
    pub fn dismiss_watch_hit(&mut self, id: WatchpointId) {
        if let Some(known) = self.watchpoints.by_id.get_mut(&id) {
            known.hits = known.hits.saturating_sub(1);
        }
    }

    pub fn watchpoints(&self) -> Vec<WatchpointInfo> {
        let info = |(&id, known): (&WatchpointId, &Watchpoint)| WatchpointInfo {
            id,
            name: known.name.clone(),
            spec: known.place.to_string(),
            addr: known.watch.addr(),
            size: known.watch.width(),
            access: known.access,
            value: known.value,
            hits: known.hits,
            active: known.slot.is_some(),
        };
        self.watchpoints.by_id.iter().map(info).collect()
    }

    /// The address of a place, and how many bytes there are to watch: the symbol's, or 8.
    fn watched_place(&mut self, place: &Where) -> Result<(VirtAddr, u8)> {
        let (addr, size) = self.resolve_sized(place)?;
        let width = u8::try_from(size)
            .ok()
            .filter(|size| matches!(size, 1 | 2 | 4 | 8));
        Ok((addr, width.unwrap_or(8)))
    }

    /// Sorts out which watchpoints the triggered registers stand for, and what has happened to them. A
    /// read-only one that was merely written has not been hit.
    pub(super) fn watchpoints_hit(&mut self, slots: Slots) -> Vec<Reason> {
        let ids: Vec<WatchpointId> = self
            .watchpoints
            .by_id
            .iter()
            .filter(|(_, known)| slots.iter().any(|slot| known.slot == Some(slot)))
            .map(|(id, _)| *id)
            .collect();
        ids.into_iter().filter_map(|id| self.hit(id)).collect()
    }

    fn hit(&mut self, id: WatchpointId) -> Option<Reason> {
        let known = self.watchpoints.by_id.get(&id)?;
        let (watch, wanted, old) = (known.watch, known.access, known.value);
        let new = self.watched_value(watch).ok();
        let happened = if wanted == Access::Write {
            Some(Access::Write)
        } else {
            match (self.retired_access(watch), old == new) {
                (Some(Access::Read), false) => Some(Access::ReadWrite),
                (None, false) => Some(Access::Write),
                (decoded, _) => decoded,
            }
        };
        let known = self.watchpoints.by_id.get_mut(&id)?;
        known.value = new;
        if wanted == Access::Read && happened == Some(Access::Write) {
            return None;
        }
        known.hits += 1;
        Some(Reason::Watchpoint(WatchpointHit {
            id,
            name: known.name.clone(),
            addr: watch.addr(),
            access: happened,
            old,
            new,
            hits: known.hits,
            by_kernel: false,
        }))
    }

    /// Values that changed although no debug register triggered: the kernel has written them in a system
    /// call, where it does not watch itself.
    pub(super) fn watched_by_kernel(&mut self) -> Vec<Reason> {
        let ids: Vec<WatchpointId> = self.watchpoints.by_id.keys().copied().collect();
        let mut reasons = Vec::new();
        for id in ids {
            let Some(known) = self.watchpoints.by_id.get(&id) else {
                continue;
            };
            let (watch, old) = (known.watch, known.value);
            if known.slot.is_none() || known.access == Access::Read {
                continue;
            }
            let new = self.watched_value(watch).ok();
            let Some(known) = self.watchpoints.by_id.get_mut(&id) else {
                continue;
            };
            if new == old || new.is_none() {
                continue;
            }
            known.value = new;
            known.hits += 1;
            reasons.push(Reason::Watchpoint(WatchpointHit {
                id,
                name: known.name.clone(),
                addr: watch.addr(),
                access: Some(Access::Write),
                old,
                new,
                hits: known.hits,
                by_kernel: true,
            }));
        }
        reasons
    }

    fn watched_value(&mut self, watch: Watch) -> Result<u64> {
        let mut bytes = [0; 8];
        let width = usize::from(watch.width());
        self.stopped()?
            .read_exact(watch.addr(), &mut bytes[..width])?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// What the instruction that has just been executed did to the watched place, when that can be told.
    fn retired_access(&mut self, watch: Watch) -> Option<Access> {
        let registers = self.registers().ok()?.clone();
        let pc = registers.pc();
        // A repeated string instruction is still at the pc while it is not done.
        let code = self.code(pc, 16);
        let at = if access::is_repeated(&code, pc) {
            pc
        } else {
            self.instruction_before(pc)?
        };
        let code = self.code(at, 16);
        let (accesses, _) = access::accesses(&code, at, &registers)?;
        let end = watch.addr().raw() + u64::from(watch.width());
        let covers = |access: &access::Access| {
            access.addr.is_some_and(|addr| {
                addr.raw() < end && watch.addr().raw() < addr.raw().saturating_add(access.width)
            })
        };
        // An operand whose address is not known any more is meant only when no other one is.
        let is_known = accesses.iter().any(covers);
        let (mut reads, mut writes) = (false, false);
        for access in &accesses {
            if !covers(access) && (is_known || access.addr.is_some()) {
                continue;
            }
            reads |= access.reads;
            writes |= access.writes;
        }
        match (reads, writes) {
            (true, false) => Some(Access::Read),
            (false, true) => Some(Access::Write),
            (true, true) => Some(Access::ReadWrite),
            (false, false) => None,
        }
    }

    /// The instruction that ends at `pc`, found by decoding its function from the start.
    fn instruction_before(&mut self, pc: VirtAddr) -> Option<VirtAddr> {
        let last = pc.checked_sub(1)?;
        let (_, offset) = self.symbol_at(last).ok()??;
        if offset > SEARCHED {
            return None;
        }
        let start = last.checked_sub(offset)?;
        let code = self.code(start, usize::try_from(offset).ok()? + 1);
        let mut at = start;
        while at < pc {
            let done = usize::try_from(at.offset_from(start)?).ok()?;
            let (_, len) = crate::arch::disasm::flow(code.get(done..)?, at)?;
            let next = at.checked_add(len as u64)?;
            if next == pc {
                return Some(at);
            }
            at = next;
        }
        None
    }

    fn code(&mut self, addr: VirtAddr, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let got = self
            .stopped()
            .map_or(0, |stopped| stopped.read_partial(addr, &mut bytes));
        bytes.truncate(got);
        bytes
    }

    /// Another process, or another program in it: watches by name move, watches by address stay.
    pub(super) fn rebind_watchpoints(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        let ids: Vec<WatchpointId> = self.watchpoints.by_id.keys().copied().collect();
        for id in ids {
            if let Err(error) = self.rebind_watchpoint(id) {
                notes.push(format!("watchpoint {id} is off: {error}"));
            }
        }
        notes
    }

    fn rebind_watchpoint(&mut self, id: WatchpointId) -> Result<()> {
        let Some(known) = self.watchpoints.by_id.get_mut(&id) else {
            return Ok(());
        };
        known.slot = None;
        let (place, width, access) = (known.place.clone(), known.watch.width(), known.access);
        let (addr, _) = self.watched_place(&place)?;
        let watch = watch(addr, width, access)?;
        let value = self.watched_value(watch)?;
        let slot = self.unused_slot(&[])?;
        self.stopped()?.set_watch(slot, Some(watch))?;
        if let Some(known) = self.watchpoints.by_id.get_mut(&id) {
            known.watch = watch;
            known.slot = Some(slot);
            known.value = Some(value);
        }
        Ok(())
    }

    pub(super) fn unbind_watchpoints(&mut self) {
        for known in self.watchpoints.by_id.values_mut() {
            known.slot = None;
        }
    }

    pub(super) fn has_watchpoints(&self) -> bool {
        self.watchpoints
            .by_id
            .values()
            .any(|known| known.slot.is_some())
    }
}

fn watch(addr: VirtAddr, width: u8, access: Access) -> Result<Watch> {
    let trigger = match access {
        Access::Write => Trigger::Write,
        Access::Read | Access::ReadWrite => Trigger::ReadWrite,
    };
    Watch::new(addr, width, trigger).ok_or_else(|| {
        Error::BadArgument(if matches!(width, 1 | 2 | 4 | 8) {
            format!("{addr} is not aligned to {width} bytes, as the processor wants it")
        } else {
            format!("a watchpoint covers 1, 2, 4 or 8 bytes, not {width}")
        })
    })
}
