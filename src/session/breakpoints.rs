//! Logical breakpoints: what the user wants, resolved to addresses, with their hits. Where a trap really
//! stands is the tracee layer's business.

use super::error::{Error, Result};
use super::event::BreakpointHit;
use super::info::BreakpointInfo;
use super::places::ResolvedBreakpoint;
use super::request::{BreakpointKey, BreakpointSpec, Where};
use super::session::Session;
use crate::arch::debug_regs::{Slot, Trigger, Watch};
use crate::base::addr::VirtAddr;
use crate::base::id::BreakpointId;
use crate::tracee::stop::Slots;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Breakpoints {
    by_id: BTreeMap<BreakpointId, Breakpoint>,
    last_id: u32,
    /// Those that had no address when it was last looked.
    pending: BTreeSet<BreakpointId>,
    internal: Vec<Internal>,
}

#[derive(Debug)]
struct Breakpoint {
    name: Option<String>,
    place: Where,
    addrs: Vec<VirtAddr>,
    /// Set when debug registers watch the addresses instead of inserted traps.
    slots: Option<Vec<Slot>>,
    enabled: bool,
    hits: u64,
    note: Option<String>,
}

/// A trap that is nobody's breakpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Internal {
    /// A spawn that runs to `main` ends here.
    Main(VirtAddr),
    /// The program's entry: its libraries are loaded, breakpoints in them can be resolved.
    Loaded(VirtAddr),
    /// Where the dynamic linker tells of every library that comes or goes (r_debug, <link.h>).
    Libraries(VirtAddr),
    /// Where the present run wants to get.
    Goal(VirtAddr),
}

impl Internal {
    fn addr(self) -> VirtAddr {
        match self {
            Self::Main(addr) | Self::Loaded(addr) | Self::Libraries(addr) | Self::Goal(addr) => {
                addr
            }
        }
    }
}

/// What hitting a trap means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Hit {
    User(BreakpointHit),
    Internal(Internal),
}

impl Breakpoint {
    /// Whether an inserted trap at `addr` is its own.
    fn is_at(&self, addr: VirtAddr) -> bool {
        self.enabled && self.slots.is_none() && self.addrs.contains(&addr)
    }

    fn count(&mut self, id: BreakpointId) -> BreakpointHit {
        self.hits += 1;
        BreakpointHit {
            id,
            name: self.name.clone(),
            hits: self.hits,
        }
    }
}

impl Breakpoints {
    /// Counts the hits of everything that these debug registers watch.
    pub(super) fn hit_slots(&mut self, slots: Slots) -> Vec<BreakpointHit> {
        self.by_id
            .iter_mut()
            .filter(|(_, breakpoint)| {
                let own = breakpoint.slots.iter().flatten();
                own.into_iter()
                    .any(|own| slots.iter().any(|slot| slot == *own))
            })
            .map(|(&id, breakpoint)| breakpoint.count(id))
            .collect()
    }

    pub(super) fn uses_slot(&self, slot: Slot) -> bool {
        let mut own = self
            .by_id
            .values()
            .flat_map(|breakpoint| breakpoint.slots.iter().flatten());
        own.any(|own| *own == slot)
    }

    /// Whether a user's breakpoint is enabled there.
    pub(super) fn is_users(&self, addr: VirtAddr) -> bool {
        let at = |breakpoint: &Breakpoint| breakpoint.is_at(addr);
        self.by_id.values().any(at)
    }

    /// Counts the hits of everything that is enabled at this address.
    pub(super) fn hit(&mut self, site: VirtAddr) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self
            .by_id
            .iter_mut()
            .filter(|(_, breakpoint)| breakpoint.is_at(site))
            .map(|(&id, breakpoint)| Hit::User(breakpoint.count(id)))
            .collect();
        let internal = self.internal.iter().filter(|at| at.addr() == site);
        hits.extend(internal.copied().map(Hit::Internal));
        hits
    }

    /// Who has debug registers, in words.
    pub(super) fn slots_in_use(&self) -> Vec<String> {
        let hardware = |(_, known): &(&BreakpointId, &Breakpoint)| {
            known.slots.as_ref().is_some_and(|slots| !slots.is_empty())
        };
        let words = |(id, known): (&BreakpointId, &Breakpoint)| {
            let addrs: Vec<String> = known.addrs.iter().map(ToString::to_string).collect();
            format!("breakpoint {id} {}", addrs.join(" "))
        };
        self.by_id.iter().filter(hardware).map(words).collect()
    }

    fn wants(&self, addr: VirtAddr) -> bool {
        self.is_users(addr) || self.internal.iter().any(|at| at.addr() == addr)
    }

    fn find(&self, key: &BreakpointKey) -> Result<BreakpointId> {
        let found = match key {
            BreakpointKey::Id(id) => self.by_id.contains_key(id).then_some(*id),
            BreakpointKey::Name(name) => self
                .by_id
                .iter()
                .find(|(_, breakpoint)| breakpoint.name.as_ref() == Some(name))
                .map(|(id, _)| *id),
        };
        found.ok_or_else(|| Error::NoBreakpoint {
            wanted: match key {
                BreakpointKey::Id(id) => id.to_string(),
                BreakpointKey::Name(name) => format!("'{name}'"),
            },
            known: self
                .by_id
                .iter()
                .take(10)
                .map(|(id, breakpoint)| match &breakpoint.name {
                    Some(name) => format!("{id} {name}"),
                    None => id.to_string(),
                })
                .collect(),
        })
    }
}

impl Session {
    pub fn set_breakpoint(
        &mut self,
        place: &Where,
        spec: BreakpointSpec,
    ) -> Result<BreakpointInfo> {
        if let Some(name) = &spec.name
            && let Ok(id) = self.breakpoints.find(&BreakpointKey::Name(name.clone()))
        {
            return Err(Error::BadArgument(format!(
                "the name '{name}' belongs to breakpoint {id}"
            )));
        }
        let resolved = match self.resolve_breakpoint(place) {
            Ok(resolved) => resolved,
            Err(Error::Symbols(error) | Error::NotLoaded(error)) if spec.pending => {
                ResolvedBreakpoint {
                    addrs: Vec::new(),
                    note: Some(format!("pending: {error}")),
                }
            }
            Err(error) => return Err(error),
        };
        let mut breakpoint = Breakpoint {
            name: spec.name,
            place: place.clone(),
            addrs: resolved.addrs,
            slots: spec.hardware.then(Vec::new),
            enabled: true,
            hits: 0,
            note: resolved.note,
        };
        self.arm(&mut breakpoint)?;
        self.breakpoints.last_id += 1;
        let id = BreakpointId::new(self.breakpoints.last_id);
        self.breakpoints.by_id.insert(id, breakpoint);
        self.breakpoint_info(id)
    }

    /// Has the process stop at every address of the breakpoint, or at none.
    fn arm(&mut self, breakpoint: &mut Breakpoint) -> Result<()> {
        let mut done = Vec::new();
        let mut slots = Vec::new();
        let mut result = Ok(());
        for &addr in &breakpoint.addrs {
            result = if breakpoint.slots.is_some() {
                self.arm_slot(addr, &slots).map(|slot| slots.push(slot))
            } else {
                self.insert_trap(addr)
            };
            if result.is_err() {
                break;
            }
            done.push(addr);
        }
        if result.is_ok() {
            if let Some(own) = &mut breakpoint.slots {
                *own = slots;
            }
            return Ok(());
        }
        for slot in slots {
            self.free_slot(slot);
        }
        for addr in done {
            self.drop_trap(addr);
        }
        result
    }

    fn arm_slot(&mut self, addr: VirtAddr, taken: &[Slot]) -> Result<Slot> {
        let slot = self.unused_slot(taken)?;
        let watch = Watch::new(addr, 1, Trigger::Execute);
        self.stopped()?.set_watch(slot, watch)?;
        Ok(slot)
    }

    fn free_slot(&mut self, slot: Slot) {
        if let Ok(stopped) = self.stopped() {
            // Emptying a register cannot be refused, unless the process is gone.
            let _ = stopped.set_watch(slot, None);
        }
    }

    fn disarm(&mut self, breakpoint: &mut Breakpoint) {
        if let Some(slots) = &mut breakpoint.slots {
            for slot in std::mem::take(slots) {
                self.free_slot(slot);
            }
            return;
        }
        for addr in breakpoint.addrs.clone() {
            self.drop_trap(addr);
        }
    }

    /// Answers which one it was.
    pub fn remove_breakpoint(&mut self, key: &BreakpointKey) -> Result<BreakpointId> {
        let id = self.breakpoints.find(key)?;
        self.not_running()?;
        if let Some(mut gone) = self.breakpoints.by_id.remove(&id) {
            self.disarm(&mut gone);
        }
        Ok(id)
    }

    /// Its condition says that the last hit was none.
    pub fn dismiss_hit(&mut self, id: BreakpointId) {
        if let Some(breakpoint) = self.breakpoints.by_id.get_mut(&id) {
            breakpoint.hits = breakpoint.hits.saturating_sub(1);
        }
    }

    pub fn enable_breakpoint(&mut self, key: &BreakpointKey, enabled: bool) -> Result<()> {
        let id = self.breakpoints.find(key)?;
        self.not_running()?;
        // Taken out meanwhile: a trap that somebody else wants stays.
        let Some(mut breakpoint) = self.breakpoints.by_id.remove(&id) else {
            return Ok(());
        };
        let result = match (enabled, breakpoint.enabled) {
            (true, false) => self.arm(&mut breakpoint),
            (false, true) => {
                self.disarm(&mut breakpoint);
                Ok(())
            }
            _ => Ok(()),
        };
        if result.is_ok() {
            breakpoint.enabled = enabled;
        }
        self.breakpoints.by_id.insert(id, breakpoint);
        result
    }

    pub fn breakpoints(&mut self) -> Vec<BreakpointInfo> {
        let ids: Vec<BreakpointId> = self.breakpoints.by_id.keys().copied().collect();
        ids.into_iter()
            .filter_map(|id| self.breakpoint_info(id).ok())
            .collect()
    }

    fn breakpoint_info(&mut self, id: BreakpointId) -> Result<BreakpointInfo> {
        let breakpoint = self
            .breakpoints
            .by_id
            .get(&id)
            .ok_or_else(|| Error::NoBreakpoint {
                wanted: id.to_string(),
                known: Vec::new(),
            })?;
        let mut info = BreakpointInfo {
            id,
            name: breakpoint.name.clone(),
            spec: breakpoint.place.to_string(),
            addrs: breakpoint.addrs.clone(),
            place: None,
            enabled: breakpoint.enabled,
            hits: breakpoint.hits,
            note: breakpoint.note.clone(),
        };
        // After the end of the process its places have no names any more.
        info.place = match info.addrs.first() {
            Some(&addr) => self.place(addr).ok(),
            None => None,
        };
        Ok(info)
    }

    fn insert_trap(&mut self, addr: VirtAddr) -> Result<()> {
        self.forget_memory();
        Ok(self.stopped()?.insert_site(addr)?)
    }

    /// Takes a trap out unless somebody else still wants it there.
    fn drop_trap(&mut self, addr: VirtAddr) {
        if !self.breakpoints.wants(addr)
            && let Ok(stopped) = self.stopped()
        {
            stopped.remove_site(addr);
        }
    }

    /// The program is another one, or the same one anew: every breakpoint is resolved again. What cannot
    /// be, for now, waits until the start-up libraries are loaded.
    pub(super) fn rebind_breakpoints(&mut self) -> Result<()> {
        self.rebind_where(|_| true);
        self.note_pending();
        if let Some(entry) = self.program_entry() {
            self.set_internal(Internal::Loaded(entry))?;
        }
        Ok(())
    }

    /// Libraries have come: what waited for them is resolved, and said.
    pub(super) fn rebind_pending(&mut self) {
        self.rebind_where(|breakpoint| breakpoint.addrs.is_empty());
        let found = self
            .breakpoints
            .by_id
            .iter()
            .filter_map(|(id, breakpoint)| {
                let addr = breakpoint.addrs.first()?;
                let was_pending = self.breakpoints.pending.contains(id);
                was_pending
                    .then(|| format!("breakpoint {id} {} resolved: {addr}", breakpoint.place))
            });
        self.notes.extend(found);
        self.note_pending();
    }

    /// Libraries have gone: what was in them waits for them to come back.
    pub(super) fn unbind_unmapped(&mut self, is_mapped: impl Fn(VirtAddr) -> bool) {
        let mut gone = Vec::new();
        for (id, breakpoint) in &mut self.breakpoints.by_id {
            let (kept, lost): (Vec<_>, Vec<_>) = breakpoint
                .addrs
                .iter()
                .copied()
                .partition(|addr| is_mapped(*addr));
            if lost.is_empty() {
                continue;
            }
            if kept.is_empty() {
                self.notes.push(format!(
                    "breakpoint {id} {} is pending again",
                    breakpoint.place
                ));
                breakpoint.note = Some("pending: its library was unloaded".to_owned());
            }
            breakpoint.addrs = kept;
            gone.extend(lost);
        }
        for addr in gone {
            self.drop_trap(addr);
        }
        self.note_pending();
    }

    fn note_pending(&mut self) {
        let ids = self.breakpoints.by_id.iter();
        self.breakpoints.pending = ids
            .filter(|(_, breakpoint)| breakpoint.addrs.is_empty())
            .map(|(id, _)| *id)
            .collect();
    }

    fn rebind_where(&mut self, wanted: impl Fn(&Breakpoint) -> bool) {
        let ids: Vec<BreakpointId> = self.breakpoints.by_id.keys().copied().collect();
        for id in ids {
            let Some(mut breakpoint) = self.breakpoints.by_id.remove(&id) else {
                continue;
            };
            if wanted(&breakpoint) {
                self.rebind(&mut breakpoint);
            }
            self.breakpoints.by_id.insert(id, breakpoint);
        }
    }

    fn rebind(&mut self, breakpoint: &mut Breakpoint) {
        let resolved = match self.resolve_breakpoint(&breakpoint.place) {
            Ok(resolved) => resolved,
            Err(error) => {
                breakpoint.addrs.clear();
                breakpoint.note = Some(format!("pending: {error}"));
                return;
            }
        };
        breakpoint.addrs = resolved.addrs;
        breakpoint.note = resolved.note;
        if breakpoint.enabled
            && let Err(error) = self.arm(breakpoint)
        {
            breakpoint.addrs.clear();
            breakpoint.note = Some(format!("not inserted: {error}"));
        }
    }

    /// Between the exec and the program's entry: start-up libraries are not there yet.
    pub(super) fn is_before_entry(&self) -> bool {
        let mut internal = self.breakpoints.internal.iter();
        self.is_spawned() && internal.any(|at| matches!(at, Internal::Loaded(_)))
    }

    pub(super) fn set_internal(&mut self, internal: Internal) -> Result<()> {
        self.insert_trap(internal.addr())?;
        self.breakpoints.internal.push(internal);
        Ok(())
    }

    pub(super) fn clear_internal(&mut self, which: impl Fn(&Internal) -> bool) {
        let all = std::mem::take(&mut self.breakpoints.internal);
        let (gone, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(which);
        self.breakpoints.internal = kept;
        for internal in gone {
            self.drop_trap(internal.addr());
        }
    }

    /// A new process: hits count anew.
    pub(super) fn reset_hits(&mut self) {
        for breakpoint in self.breakpoints.by_id.values_mut() {
            breakpoint.hits = 0;
        }
    }

    /// The process is gone: nothing has an address any more.
    pub(super) fn unbind_breakpoints(&mut self) {
        self.breakpoints.internal.clear();
        for breakpoint in self.breakpoints.by_id.values_mut() {
            breakpoint.addrs.clear();
            if let Some(slots) = &mut breakpoint.slots {
                slots.clear();
            }
        }
        self.note_pending();
    }
}
