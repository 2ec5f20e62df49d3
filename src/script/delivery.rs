//! Events to listeners, their verdicts back.

use super::error::Error;
use super::events;
use super::host::Host;
use super::raw::{self, text};
use crate::session::event::{EventKind, Reason, StopEvent, Verdict};
use rquickjs::{Ctx, Function, Value};

/// What is to happen at an event: each thing that happened has its listeners and its default.
pub fn judge(
    ctx: &Ctx<'_>,
    host: &Host,
    event: &StopEvent,
    default: Verdict,
) -> Result<Verdict, Error> {
    let mut stop = deliver(ctx, host, event, &event.reason)?
        .unwrap_or_else(|| default_of(event, &event.reason, default))
        == Verdict::Stop;
    for reason in &event.also {
        let verdict = deliver(ctx, host, event, reason)?
            .unwrap_or_else(|| default_of(event, reason, default));
        stop |= verdict == Verdict::Stop;
    }
    Ok(if stop {
        Verdict::Stop
    } else {
        Verdict::Continue
    })
}

/// The session's default is for the whole event. When several things happened, those that never
/// stop by themselves are not what it is about.
fn default_of(event: &StopEvent, reason: &Reason, whole: Verdict) -> Verdict {
    if reason.goes_on() && !event.also.is_empty() {
        return Verdict::Continue;
    }
    whole
}

/// Calls the listeners of one reason; None when none had an opinion.
fn deliver(
    ctx: &Ctx<'_>,
    host: &Host,
    event: &StopEvent,
    reason: &Reason,
) -> Result<Option<Verdict>, Error> {
    let Some(kind) = reason.kind() else {
        return Ok(None);
    };
    if !host.listeners.wants().has(kind) {
        return Ok(None);
    }
    events::with_event(ctx, host, event, reason, |object| {
        call_all(ctx, host, kind, object)
    })
}

/// 'stop' wins over 'continue'; all are called, whatever the first ones say.
fn call_all<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    kind: EventKind,
    event: &Value<'js>,
) -> Result<Option<Verdict>, Error> {
    let Some(_active) = host.listeners.activate(kind) else {
        return Ok(None);
    };
    let mut verdict = None;
    for listener in host.listeners.of(kind).iter() {
        let Some(function) = listener.function(ctx)? else {
            continue;
        };
        match call(host, &function, event)? {
            Some(Verdict::Stop) => verdict = Some(Verdict::Stop),
            Some(Verdict::Continue) if verdict.is_none() => verdict = Some(Verdict::Continue),
            _ => {}
        }
    }
    Ok(verdict)
}

fn call<'js>(
    host: &Host,
    function: &Function<'js>,
    event: &Value<'js>,
) -> Result<Option<Verdict>, Error> {
    host.clock.enter_listener();
    let returned = raw::call_listener(function, event);
    host.clock.leave_listener();
    let returned = returned?;
    let said_continue = host.listeners.take_said_continue();
    if returned.is_string() {
        match text::to_bytes(&returned).as_slice() {
            b"stop" => return Ok(Some(Verdict::Stop)),
            b"continue" => return Ok(Some(Verdict::Continue)),
            _ => {}
        }
    }
    Ok(said_continue.then_some(Verdict::Continue))
}

/// Gives output to its listeners.
pub fn hear(ctx: &Ctx<'_>, host: &Host) -> Result<Option<Verdict>, Error> {
    let mut verdict = None;
    while let Some((stream, bytes)) = host.listeners.next_unheard() {
        let state = events::live_state(ctx, host)?;
        let event = events::output_event(ctx, host, stream, &bytes, &state)?;
        let said = call_all(ctx, host, EventKind::Output, &event);
        if events::is_kept(host, &event, &state)? {
            events::freeze(ctx, host, &event, &state)?;
        }
        if said? == Some(Verdict::Stop) {
            verdict = Some(Verdict::Stop);
        }
    }
    Ok(verdict)
}
