//! Logical breakpoints: what the user wants, resolved to addresses, with their hits. Where a trap really
//! stands is the tracee layer's business.

use super::error::{Error, Result};
use super::event::BreakpointHit;
use super::info::BreakpointInfo;
use super::request::{BreakpointKey, Where};
use super::session::Session;
use crate::base::addr::VirtAddr;
use crate::base::id::BreakpointId;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Breakpoints {
    by_id: BTreeMap<BreakpointId, Breakpoint>,
    last_id: u32,
    internal: Vec<Internal>,
}

#[derive(Debug)]
struct Breakpoint {
    name: Option<String>,
    place: Where,
    addrs: Vec<VirtAddr>,
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
    /// Where the present run wants to get.
    Goal(VirtAddr),
}

impl Internal {
    fn addr(self) -> VirtAddr {
        match self {
            Self::Main(addr) | Self::Loaded(addr) | Self::Goal(addr) => addr,
        }
    }
}

/// What hitting a trap means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Hit {
    User(BreakpointHit),
    Internal(Internal),
}

impl Breakpoints {
    /// Whether a user's breakpoint is enabled there.
    pub(super) fn is_users(&self, addr: VirtAddr) -> bool {
        let at = |breakpoint: &Breakpoint| breakpoint.enabled && breakpoint.addrs.contains(&addr);
        self.by_id.values().any(at)
    }

    /// Counts the hits of everything that is enabled at this address.
    pub(super) fn hit(&mut self, site: VirtAddr) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self
            .by_id
            .iter_mut()
            .filter(|(_, breakpoint)| breakpoint.enabled && breakpoint.addrs.contains(&site))
            .map(|(&id, breakpoint)| {
                breakpoint.hits += 1;
                Hit::User(BreakpointHit {
                    id,
                    name: breakpoint.name.clone(),
                    hits: breakpoint.hits,
                })
            })
            .collect();
        let internal = self.internal.iter().filter(|at| at.addr() == site);
        hits.extend(internal.copied().map(Hit::Internal));
        hits
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
        name: Option<String>,
    ) -> Result<BreakpointInfo> {
        if let Some(name) = &name
            && let Ok(id) = self.breakpoints.find(&BreakpointKey::Name(name.clone()))
        {
            return Err(Error::BadArgument(format!(
                "the name '{name}' belongs to breakpoint {id}"
            )));
        }
        let resolved = self.resolve_breakpoint(place)?;
        let mut inserted = Vec::new();
        for &addr in &resolved.addrs {
            if let Err(error) = self.insert_trap(addr) {
                for &addr in &inserted {
                    self.drop_trap(addr);
                }
                return Err(error);
            }
            inserted.push(addr);
        }
        self.breakpoints.last_id += 1;
        let id = BreakpointId::new(self.breakpoints.last_id);
        self.breakpoints.by_id.insert(
            id,
            Breakpoint {
                name,
                place: place.clone(),
                addrs: resolved.addrs,
                enabled: true,
                hits: 0,
                note: resolved.note,
            },
        );
        self.breakpoint_info(id)
    }

    pub fn remove_breakpoint(&mut self, key: &BreakpointKey) -> Result<()> {
        let id = self.breakpoints.find(key)?;
        self.not_running()?;
        if let Some(gone) = self.breakpoints.by_id.remove(&id) {
            for addr in gone.addrs {
                self.drop_trap(addr);
            }
        }
        Ok(())
    }

    pub fn enable_breakpoint(&mut self, key: &BreakpointKey, enabled: bool) -> Result<()> {
        let id = self.breakpoints.find(key)?;
        self.not_running()?;
        let Some(breakpoint) = self.breakpoints.by_id.get_mut(&id) else {
            return Ok(());
        };
        breakpoint.enabled = enabled;
        for addr in breakpoint.addrs.clone() {
            if enabled {
                self.insert_trap(addr)?;
            } else {
                self.drop_trap(addr);
            }
        }
        Ok(())
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
        let ids: Vec<BreakpointId> = self.breakpoints.by_id.keys().copied().collect();
        let mut unresolved = false;
        for id in ids {
            unresolved |= !self.rebind(id);
        }
        if unresolved && let Some(entry) = self.program_entry() {
            self.set_internal(Internal::Loaded(entry))?;
        }
        Ok(())
    }

    /// The libraries are there now.
    pub(super) fn libraries_loaded(&mut self) {
        self.clear_internal(|internal| matches!(internal, Internal::Loaded(_)));
        self.forget_modules();
        let ids: Vec<BreakpointId> = self.breakpoints.by_id.keys().copied().collect();
        for id in ids {
            let waits = |breakpoint: &Breakpoint| breakpoint.addrs.is_empty();
            if self.breakpoints.by_id.get(&id).is_some_and(waits) {
                self.rebind(id);
            }
        }
    }

    /// Answers whether the breakpoint has an address now.
    fn rebind(&mut self, id: BreakpointId) -> bool {
        let Some(breakpoint) = self.breakpoints.by_id.get(&id) else {
            return true;
        };
        let (place, enabled) = (breakpoint.place.clone(), breakpoint.enabled);
        let (addrs, note) = match self.resolve_breakpoint(&place) {
            Ok(resolved) => (resolved.addrs, resolved.note),
            Err(error) => (Vec::new(), Some(format!("not resolved: {error}"))),
        };
        let mut kept = Vec::new();
        let mut problem = None;
        for addr in addrs {
            match if enabled {
                self.insert_trap(addr)
            } else {
                Ok(())
            } {
                Ok(()) => kept.push(addr),
                Err(error) => problem = Some(format!("not inserted: {error}")),
            }
        }
        let resolved = !kept.is_empty();
        if let Some(breakpoint) = self.breakpoints.by_id.get_mut(&id) {
            breakpoint.addrs = kept;
            breakpoint.note = problem.or(note);
        }
        resolved
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

    /// The process is gone: nothing has an address any more, and hits count anew.
    pub(super) fn unbind_breakpoints(&mut self) {
        self.breakpoints.internal.clear();
        for breakpoint in self.breakpoints.by_id.values_mut() {
            breakpoint.addrs.clear();
        }
    }
}
