//! Who listens to which events.

use super::error::Error;
use super::near::nearest;
use crate::base::id::BreakpointId;
use crate::session::event::{EventKind, Reason, Wants};
use crate::session::info::Stream;
use rquickjs::{Ctx, Function, Persistent, Value};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The types that `addEventListener` takes.
pub const TYPES: [(&str, EventKind); 10] = [
    ("step", EventKind::Step),
    ("breakpoint", EventKind::Breakpoint),
    ("watchpoint", EventKind::Watchpoint),
    ("signal", EventKind::Signal),
    ("exit", EventKind::Exit),
    ("output", EventKind::Output),
    ("exec", EventKind::Exec),
    ("fork", EventKind::Fork),
    ("library", EventKind::Library),
    ("thread", EventKind::Thread),
];

/// Output that nobody has listened to yet; beyond this the oldest is dropped (it stays in the streams).
const UNHEARD: usize = 1 << 20;

pub struct Listener {
    pub id: u32,
    removed: Cell<bool>,
    function: Persistent<Function<'static>>,
}

impl Listener {
    /// None when it was removed since the list was taken.
    pub fn function<'js>(&self, ctx: &Ctx<'js>) -> Result<Option<Function<'js>>, Error> {
        if self.removed.get() {
            return Ok(None);
        }
        Ok(Some(self.function.clone().restore(ctx)?))
    }
}

type List = Rc<Vec<Rc<Listener>>>;

#[derive(Default)]
pub struct Listeners {
    /// By type. A change makes a new list, so that one being called through stays as it is.
    lists: RefCell<[List; TYPES.len()]>,
    wants: Cell<Wants>,
    last_id: Cell<u32>,
    /// Types whose listeners are being called.
    active: Cell<Wants>,
    /// Listeners that are being called, one inside the other.
    depth: Cell<usize>,
    /// `continue()` was called by the innermost of them.
    said_continue: Cell<bool>,
    shared: RefCell<BTreeMap<SharedKey, SharedEvent>>,
    unheard: RefCell<VecDeque<(Stream, Vec<u8>)>>,
}

/// What shares an event object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SharedKey {
    /// All steps.
    Step,
    /// All hits of a breakpoint.
    Breakpoint(BreakpointId),
}

impl SharedKey {
    pub const fn of(reason: &Reason) -> Option<Self> {
        match reason {
            Reason::Step { .. } => Some(Self::Step),
            Reason::Breakpoint(hit) => Some(Self::Breakpoint(hit.id)),
            _ => None,
        }
    }
}

/// An event object that is used again, and the state in it.
pub struct SharedEvent {
    pub event: Persistent<Value<'static>>,
    pub state: Persistent<Value<'static>>,
    pub tid: Option<i32>,
}

/// The type's listeners are being called until this is dropped.
pub struct Active<'a> {
    listeners: &'a Listeners,
    before: Wants,
    said_continue: bool,
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.listeners.active.set(self.before);
        self.listeners.said_continue.set(self.said_continue);
        self.listeners.depth.set(self.listeners.depth.get() - 1);
    }
}

pub fn parse_type(name: &str) -> Result<EventKind, Error> {
    if let Some((_, kind)) = TYPES.iter().find(|(known, _)| *known == name) {
        return Ok(*kind);
    }
    let names = || TYPES.iter().map(|(name, _)| *name);
    Err(Error::argument_hint(
        format!("there is no event '{name}'"),
        match nearest(name, names()) {
            Some(near) => format!("did you mean {near}"),
            None => format!("events: {}", names().collect::<Vec<_>>().join(" ")),
        },
    ))
}

impl Listeners {
    pub fn add<'js>(&self, ctx: &Ctx<'js>, kind: EventKind, function: Function<'js>) -> u32 {
        let id = self.last_id.get().wrapping_add(1);
        self.last_id.set(id);
        let listener = Rc::new(Listener {
            id,
            removed: Cell::new(false),
            function: Persistent::save(ctx, function),
        });
        let mut lists = self.lists.borrow_mut();
        Rc::make_mut(&mut lists[kind as usize]).push(listener);
        drop(lists);
        self.update_wants();
        id
    }

    /// Removes those that match; answers how many.
    pub fn remove(&self, kind: EventKind, matches: impl Fn(&Listener) -> bool) -> usize {
        let mut lists = self.lists.borrow_mut();
        let list = Rc::make_mut(&mut lists[kind as usize]);
        let before = list.len();
        list.retain(|listener| {
            let gone = matches(listener);
            listener.removed.set(listener.removed.get() || gone);
            !gone
        });
        let removed = before - list.len();
        drop(lists);
        self.update_wants();
        removed
    }

    pub fn of(&self, kind: EventKind) -> List {
        Rc::clone(&self.lists.borrow()[kind as usize])
    }

    pub fn wants(&self) -> Wants {
        self.wants.get()
    }

    fn update_wants(&self) {
        let mut wants = Wants::default();
        for (_, kind) in TYPES {
            if !self.lists.borrow()[kind as usize].is_empty() {
                wants.add(kind);
            }
        }
        self.wants.set(wants);
    }

    /// Begins to call the listeners of a type; None while they are being called already.
    pub fn activate(&self, kind: EventKind) -> Option<Active<'_>> {
        let before = self.active.get();
        if before.has(kind) {
            return None;
        }
        let mut active = before;
        active.add(kind);
        self.active.set(active);
        self.depth.set(self.depth.get() + 1);
        Some(Active {
            listeners: self,
            before,
            said_continue: self.said_continue.replace(false),
        })
    }

    pub fn depth(&self) -> usize {
        self.depth.get()
    }

    /// A listener called `continue()`.
    pub fn say_continue(&self) {
        self.said_continue.set(true);
    }

    pub fn take_said_continue(&self) -> bool {
        self.said_continue.replace(false)
    }

    pub fn take_shared(&self, key: SharedKey) -> Option<SharedEvent> {
        self.shared.borrow_mut().remove(&key)
    }

    pub fn put_shared(&self, key: SharedKey, event: SharedEvent) {
        self.shared.borrow_mut().insert(key, event);
    }

    /// Keeps output for the listeners of 'output', when there are any.
    pub fn hear(&self, stream: Stream, bytes: Vec<u8>) {
        if !self.wants().has(EventKind::Output) {
            return;
        }
        let mut unheard = self.unheard.borrow_mut();
        unheard.push_back((stream, bytes));
        let mut total: usize = unheard.iter().map(|(_, bytes)| bytes.len()).sum();
        while total > UNHEARD {
            match unheard.pop_front() {
                Some((_, dropped)) => total -= dropped.len(),
                None => break,
            }
        }
    }

    pub fn next_unheard(&self) -> Option<(Stream, Vec<u8>)> {
        self.unheard.borrow_mut().pop_front()
    }

    /// Before the runtime ends.
    pub fn clear(&self) {
        *self.lists.borrow_mut() = Default::default();
        self.shared.borrow_mut().clear();
        self.update_wants();
    }
}
