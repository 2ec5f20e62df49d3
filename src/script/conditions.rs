//! What stands between a hit and everybody else: the options of breakpoints and watchpoints.
//!
//! In this order: a hit of another thread, or with a false condition, does not count; one that counts
//! but not by number goes on; a log prints and goes on; what is left is heard.

use super::error::Error;
use super::events;
use super::host::Host;
use super::snippet::Snippet;
use crate::base::id::{BreakpointId, Tid, WatchpointId};
use crate::session::event::{Reason, StopEvent, Verdict};
use crate::session::request::BreakpointKey;
use rquickjs::{Ctx, Value};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Options by the id of what they belong to. They stay over a restart, as the ids do.
#[derive(Default)]
pub struct Conditions {
    breakpoints: RefCell<BTreeMap<BreakpointId, Rc<Options>>>,
    watchpoints: RefCell<BTreeMap<WatchpointId, Rc<Options>>>,
    /// A condition or log is being evaluated.
    judging: Cell<bool>,
}

#[derive(Default)]
pub struct Options {
    pub condition: Option<Snippet>,
    pub hits: Option<Hits>,
    pub log: Option<Snippet>,
    /// Removed when it has stopped.
    pub once: bool,
    pub thread: Option<Tid>,
    /// How it was set, for the list.
    pub pending: bool,
    pub hardware: bool,
}

impl Options {
    pub fn is_empty(&self) -> bool {
        self.condition.is_none()
            && self.hits.is_none()
            && self.log.is_none()
            && !self.once
            && self.thread.is_none()
            && !self.pending
            && !self.hardware
    }

    /// As a list shows them: `if x > 3, hits %2, once`.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.thread.map(|tid| format!("thread {tid}")));
        words.extend(
            self.condition
                .as_ref()
                .map(|it| format!("if {}", it.text())),
        );
        words.extend(self.hits.map(|hits| format!("hits {hits}")));
        words.extend(self.log.as_ref().map(|it| format!("log {}", it.text())));
        let flags = [
            (self.once, "once"),
            (self.pending, "pending"),
            (self.hardware, "hardware"),
        ];
        let set = flags.into_iter().filter(|(is_set, _)| *is_set);
        words.extend(set.map(|(_, name)| name.to_owned()));
        words.join(", ")
    }
}

/// Which hits are heard, by their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hits {
    Exactly(u64),
    AtLeast(u64),
    Every(u64),
}

impl Hits {
    /// `3`, `>=3`, `%2`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (make, number): (fn(u64) -> Self, &str) = match text.strip_prefix(">=") {
            Some(number) => (Self::AtLeast, number),
            None => match text.strip_prefix('%') {
                Some(number) => (Self::Every, number),
                None => (Self::Exactly, text),
            },
        };
        let number = number.trim().parse().ok().filter(|number| *number > 0)?;
        Some(make(number))
    }

    const fn includes(self, hit: u64) -> bool {
        match self {
            Self::Exactly(number) => hit == number,
            Self::AtLeast(number) => hit >= number,
            Self::Every(number) => hit.is_multiple_of(number),
        }
    }
}

impl std::fmt::Display for Hits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exactly(number) => write!(f, "{number}"),
            Self::AtLeast(number) => write!(f, ">={number}"),
            Self::Every(number) => write!(f, "%{number}"),
        }
    }
}

/// What the options leave of an event.
pub enum Screened {
    /// The event, without what nobody is to hear of, and its default.
    Heard(StopEvent, Verdict),
    Nothing,
    /// An option threw: the run ends here.
    Threw(StopEvent, Error),
}

impl Conditions {
    pub fn set_breakpoint(&self, id: BreakpointId, options: Options) {
        if !options.is_empty() {
            self.breakpoints.borrow_mut().insert(id, Rc::new(options));
        }
    }

    pub fn set_watchpoint(&self, id: WatchpointId, options: Options) {
        if !options.is_empty() {
            self.watchpoints.borrow_mut().insert(id, Rc::new(options));
        }
    }

    pub fn drop_breakpoint(&self, id: BreakpointId) {
        self.breakpoints.borrow_mut().remove(&id);
    }

    pub fn drop_watchpoint(&self, id: WatchpointId) {
        self.watchpoints.borrow_mut().remove(&id);
    }

    pub fn of_breakpoint(&self, id: BreakpointId) -> Option<Rc<Options>> {
        self.breakpoints.borrow().get(&id).cloned()
    }

    pub fn of_watchpoint(&self, id: WatchpointId) -> Option<Rc<Options>> {
        self.watchpoints.borrow().get(&id).cloned()
    }

    fn of(&self, reason: &Reason) -> Option<Rc<Options>> {
        match reason {
            Reason::Breakpoint(hit) => self.of_breakpoint(hit.id),
            Reason::Watchpoint(hit) => self.of_watchpoint(hit.id),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        self.breakpoints.borrow().is_empty() && self.watchpoints.borrow().is_empty()
    }

    /// Whether a condition or log is being evaluated: it may look, and not run.
    pub fn is_judging(&self) -> bool {
        self.judging.get()
    }

    /// Before the runtime ends.
    pub fn clear(&self) {
        self.breakpoints.borrow_mut().clear();
        self.watchpoints.borrow_mut().clear();
    }
}

/// Asks the options of everything that happened. No borrow is held while they are evaluated.
pub fn screen(ctx: &Ctx<'_>, host: &Host, event: StopEvent, default: Verdict) -> Screened {
    if host.conditions.is_empty() {
        return Screened::Heard(event, default);
    }
    match reduce(ctx, host, &event) {
        Err(error) => Screened::Threw(event, error),
        Ok(None) => Screened::Heard(event, default),
        Ok(Some(reasons)) => {
            let mut reasons = reasons.into_iter();
            let Some(first) = reasons.next() else {
                host.session(crate::session::session::Session::pass_over);
                return Screened::Nothing;
            };
            let event = StopEvent {
                reason: first,
                also: reasons.collect(),
                ..event
            };
            host.session(|session| session.amend_last_stop(&event));
            let mut left = std::iter::once(&event.reason).chain(&event.also);
            let default = if left.all(Reason::goes_on) {
                Verdict::Continue
            } else {
                default
            };
            Screened::Heard(event, default)
        }
    }
}

/// The reasons that are left; None when all are.
fn reduce(ctx: &Ctx<'_>, host: &Host, event: &StopEvent) -> Result<Option<Vec<Reason>>, Error> {
    let mut left = Vec::new();
    let mut dropped = false;
    for reason in std::iter::once(&event.reason).chain(&event.also) {
        if !passes(ctx, host, event, reason)? {
            dropped = true;
        } else if !event.also.is_empty() {
            left.push(reason.clone());
        }
    }
    Ok(dropped.then_some(left))
}

/// Whether a hit is to be heard.
fn passes(ctx: &Ctx<'_>, host: &Host, event: &StopEvent, reason: &Reason) -> Result<bool, Error> {
    let Some(options) = host.conditions.of(reason) else {
        return Ok(true);
    };
    let elsewhere = options.thread.is_some() && options.thread != event.tid;
    let counts = !elsewhere
        && match &options.condition {
            Some(condition) => evaluate(ctx, host, event, reason, "if", condition, is_true)?,
            None => true,
        };
    if !counts {
        dismiss(host, reason);
        return Ok(false);
    }
    if !options
        .hits
        .is_none_or(|hits| hits.includes(hits_of(reason)))
    {
        return Ok(false);
    }
    let Some(log) = &options.log else {
        return Ok(true);
    };
    evaluate(ctx, host, event, reason, "log", log, |value| {
        super::snippet::print(ctx, host, value)
    })?;
    Ok(false)
}

fn is_true(value: &Value<'_>) -> Result<bool, Error> {
    Ok(value.get::<rquickjs::convert::Coerced<bool>>()?.0)
}

fn hits_of(reason: &Reason) -> u64 {
    match reason {
        Reason::Breakpoint(hit) => hit.hits,
        Reason::Watchpoint(hit) => hit.hits,
        _ => 0,
    }
}

fn dismiss(host: &Host, reason: &Reason) {
    host.session(|session| match reason {
        Reason::Breakpoint(hit) => session.dismiss_hit(hit.id),
        Reason::Watchpoint(hit) => session.dismiss_watch_hit(hit.id),
        _ => {}
    });
}

/// Calls a condition or log with the event; what it throws says whose it is.
fn evaluate<'js, T>(
    ctx: &Ctx<'js>,
    host: &Host,
    event: &StopEvent,
    reason: &Reason,
    option: &str,
    snippet: &Snippet,
    then: impl FnOnce(&Value<'js>) -> Result<T, Error>,
) -> Result<T, Error> {
    let outer = host.conditions.judging.replace(true);
    let result = events::with_event(ctx, host, event, reason, |object| {
        host.clock.enter_listener();
        let result = snippet
            .call(ctx, object)
            .and_then(|value| then(&value))
            .map_err(|error| {
                // While the clock runs: what was thrown may run a script when it is looked at.
                Error::in_script(ctx, host, &format!("{option} of {}", owner(reason)), error)
            });
        host.clock.leave_listener();
        result
    });
    host.conditions.judging.set(outer);
    result
}

fn owner(reason: &Reason) -> String {
    let (kind, id, name) = match reason {
        Reason::Breakpoint(hit) => ("breakpoint", hit.id.to_string(), hit.name.as_deref()),
        Reason::Watchpoint(hit) => ("watchpoint", hit.id.to_string(), hit.name.as_deref()),
        _ => return String::new(),
    };
    match name {
        Some(name) => format!("{kind} {id} {name}"),
        None => format!("{kind} {id}"),
    }
}

/// The run has stopped at this event: what was to stop once is removed.
pub fn retire(host: &Host, event: &StopEvent) {
    if host.conditions.is_empty() {
        return;
    }
    for reason in std::iter::once(&event.reason).chain(&event.also) {
        if let Reason::Breakpoint(hit) = reason
            && host
                .conditions
                .of(reason)
                .is_some_and(|options| options.once)
        {
            // A listener may have removed it, or started a background run that keeps it for now.
            if host
                .ask(|session| session.remove_breakpoint(&BreakpointKey::Id(hit.id)))
                .is_ok()
            {
                host.conditions.drop_breakpoint(hit.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, heard: &[u64]) {
        let hits = Hits::parse(text).expect("a rule");
        let all: Vec<u64> = (1..=6).filter(|hit| hits.includes(*hit)).collect();
        assert_eq!(all, heard, "{text}");
    }

    #[test]
    fn hits_are_chosen_by_number() {
        check("3", &[3]);
        check(" >= 5 ", &[5, 6]);
        check("%2", &[2, 4, 6]);
        for wrong in ["", "0", "%0", "-1", "x", "3.5", "=3", ">3", "%"] {
            assert_eq!(Hits::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn options_are_listed_in_the_order_in_which_they_are_asked() {
        let options = Options {
            hits: Hits::parse("%2"),
            once: true,
            thread: Some(Tid::new(7)),
            ..Options::default()
        };
        assert_eq!(options.words(), "thread 7, hits %2, once");
        assert!(Options::default().is_empty());
    }
}
