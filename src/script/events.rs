//! Events as scripts see them: what a run returns, and what a listener gets.

use super::convert::{self, Record};
use super::error::Error;
use super::host::Host;
use super::listeners::{SharedEvent, SharedKey};
use super::raw::text;
use super::raw::view::{self, Source};
use crate::base::id::Tid;
use crate::output::stop;
use crate::session::event::{Reason, StopEvent};
use crate::session::info::{BatchCount, BatchSummary, Stream};
use rquickjs::{Ctx, Persistent, Value};
use std::rc::Rc;

/// What a run verb returns.
pub fn stop_event<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    event: &StopEvent,
) -> Result<Value<'js>, Error> {
    let prototype = host.internal(ctx, "stop_event")?;
    let record = Record::with_prototype(ctx, &prototype)?;
    let mut record = reason_fields(record, &event.reason)?;
    if let Some(tid) = event.tid {
        record = record.signed("tid", i64::from(tid.raw()))?;
    }
    if let Some(pc) = event.pc {
        record = record.address("pc", pc)?;
    }
    if !event.also.is_empty() {
        let also = convert::array(ctx, &event.also, |reason| {
            let record = Record::with_prototype(ctx, &prototype)?;
            Ok(reason_fields(record, reason)?.finish())
        })?;
        record = record.with("also", also)?;
    }
    Ok(record.finish())
}

/// What happened in a batch of steps.
pub fn summary<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    summary: &BatchSummary,
) -> Result<Value<'js>, Error> {
    let counted = |name: &str, count| -> Result<Value<'js>, Error> {
        let record = Record::new(ctx)?.text("name", name)?;
        Ok(record.number("count", count)?.finish())
    };
    let name = |place: &BatchCount| match &place.symbol {
        Some(symbol) => stop::symbol_words(symbol),
        None => place.addr.to_string(),
    };
    let places =
        |list: &[BatchCount]| convert::array(ctx, list, |place| counted(&name(place), place.count));
    let syscalls = convert::array(ctx, &summary.syscalls, |(number, count)| {
        counted(&stop::syscall_words(*number), *count)
    })?;
    let prototype = host.internal(ctx, "summary")?;
    Ok(Record::with_prototype(ctx, &prototype)?
        .address("first", summary.first.addr)?
        .text("symbol", &name(&summary.first))?
        .with("calls", places(&summary.calls)?)?
        .with("loops", places(&summary.loops)?)?
        .with("syscalls", syscalls)?
        .address("sp_min", summary.sp.0)?
        .address("sp_max", summary.sp.1)?
        .number("others", summary.others)?
        .finish())
}

/// Calls `work` with the object that stands for one reason of an event. Steps and hits of breakpoints,
/// the hot paths, have one object for all of them, unless somebody keeps it.
pub fn with_event<'js, T>(
    ctx: &Ctx<'js>,
    host: &Host,
    event: &StopEvent,
    reason: &Reason,
    work: impl FnOnce(&Value<'js>) -> Result<T, Error>,
) -> Result<T, Error> {
    let key = SharedKey::of(reason);
    let shared = key.and_then(|key| host.listeners.take_shared(key));
    let (object, state, known) = if let Some(shared) = shared {
        (
            shared.event.restore(ctx)?,
            shared.state.restore(ctx)?,
            shared.tid,
        )
    } else {
        let state = live_state(ctx, host)?;
        (listener_event(ctx, host, reason, &state)?, state, None)
    };
    let tid = event.tid.map(Tid::raw);
    if let Some(object) = object.as_object() {
        if tid != known {
            convert::define(object, "tid", tid)?;
        }
        if let Reason::Breakpoint(hit) = reason {
            convert::define(object, "hits", convert::number(ctx, hit.hits)?)?;
        }
    }
    let result = work(&object);
    if is_kept(host, &object, &state)? {
        freeze(ctx, host, &object, &state)?;
    } else if let Some(key) = key {
        host.listeners.put_shared(
            key,
            SharedEvent {
                event: Persistent::save(ctx, object),
                state: Persistent::save(ctx, state),
                tid,
            },
        );
    }
    result
}

/// An object for listeners of anything but output; tid and hits are brought up to date by the caller.
fn listener_event<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    reason: &Reason,
    state: &Value<'js>,
) -> Result<Value<'js>, Error> {
    let prototype = host.internal(ctx, "event")?;
    let record = Record::with_prototype(ctx, &prototype)?.with("state", state.clone())?;
    if let Reason::Step { .. } = reason {
        // How far the batch is changes with every step; who wants to know counts.
        return Ok(record
            .text("reason", "step")?
            .text("stop_reason", "step")?
            .finish());
    }
    Ok(reason_fields(record, reason)?.finish())
}

/// An object for listeners of output.
pub fn output_event<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    stream: Stream,
    bytes: &[u8],
    state: &Value<'js>,
) -> Result<Value<'js>, Error> {
    let prototype = host.internal(ctx, "event")?;
    let name = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    Ok(Record::with_prototype(ctx, &prototype)?
        .with("state", state.clone())?
        .text("reason", "output")?
        .text("stop_reason", "output")?
        .text("stream", name)?
        .with("text", text::from_bytes(ctx, bytes)?)?
        .finish())
}

/// A `state` of the present stop.
pub fn live_state<'js>(ctx: &Ctx<'js>, host: &Host) -> Result<Value<'js>, Error> {
    state(ctx, host, &Rc::new(Source::default()))
}

/// A `state`: with registers and flags below it, answering from `source`.
pub fn state<'js>(ctx: &Ctx<'js>, host: &Host, source: &Rc<Source>) -> Result<Value<'js>, Error> {
    let class = host.view_class()?;
    let prototype = |name| host.internal(ctx, name);
    let big = class.instantiate(&prototype("registers_big")?, source, [None, None])?;
    let registers = class.instantiate(&prototype("registers")?, source, [Some(&big), None])?;
    let flags = class.instantiate(&prototype("flags")?, source, [None, None])?;
    class.instantiate(
        &prototype("state")?,
        source,
        [Some(&registers), Some(&flags)],
    )
}

/// What was read at the previous stop, as a `state`; null before the second stop.
pub fn previous<'js>(ctx: &Ctx<'js>, host: &Host) -> Result<Value<'js>, Error> {
    match host.previous() {
        None => Ok(Value::new_null(ctx.clone())),
        Some(snapshot) => {
            let source = Rc::new(Source::default());
            source.freeze(snapshot);
            state(ctx, host, &source)
        }
    }
}

/// Makes an event that a listener kept answer from what was read so far, for ever.
pub fn freeze<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    event: &Value<'js>,
    state: &Value<'js>,
) -> Result<(), Error> {
    let previous = previous(ctx, host)?;
    if let Some(source) = host.view_class()?.source(state) {
        source.freeze(host.present());
    }
    if let Some(event) = event.as_object() {
        event.prop("prev", rquickjs::object::Property::from(previous))?;
    }
    Ok(())
}

/// Whether a listener kept the event, its state, or a part of that. `event` and `state` are the only
/// references here, beside the one from the event to its state.
pub fn is_kept(host: &Host, event: &Value<'_>, state: &Value<'_>) -> Result<bool, Error> {
    Ok(view::reference_count(event) > 1 || host.view_class()?.is_kept(state, 2))
}

fn reason_fields<'js>(record: Record<'js>, reason: &Reason) -> Result<Record<'js>, Error> {
    let name = stop::name(reason);
    let record = record
        .text("reason", name)?
        .text("stop_reason", name)?
        .text("detail", &stop::detail(reason))?;
    match reason {
        Reason::Entry | Reason::Attached | Reason::Detached | Reason::Until => Ok(record),
        Reason::Finish { value } => record.number("value", *value),
        Reason::Step { done, total } => record.number("done", *done)?.number("total", *total),
        Reason::Breakpoint(hit) => record
            .number("breakpoint_id", u64::from(hit.id.raw()))?
            .text_or_null("name", hit.name.as_deref())?
            .number("hits", hit.hits),
        Reason::Watchpoint(hit) => record
            .number("watchpoint_id", u64::from(hit.id.raw()))?
            .text_or_null("name", hit.name.as_deref())?
            .address("addr", hit.addr)?
            .text_or_null("access_type", hit.access.map(stop::access_letters))?
            .number_or_null("old", hit.old)?
            .number_or_null("new", hit.new)?
            .number("hits", hit.hits)?
            .flag("by_kernel", hit.by_kernel),
        Reason::Signal(signal) => record
            .text("signal", &signal.signal.to_string())?
            .text("code", &signal.code)?
            .number_or_null("addr", signal.addr)?
            .signed_or_null("sender", signal.sender.map(|pid| i64::from(pid.raw()))),
        Reason::Exit { status } => record.signed("status", i64::from(*status)),
        Reason::Killed { signal } => record.text("signal", &signal.to_string()),
        Reason::Timeout { bound, doing } => record
            .number(
                "timeout",
                u64::try_from(bound.as_millis()).unwrap_or(u64::MAX),
            )?
            .text("doing", &stop::doing_words(doing)),
        Reason::Interrupted { doing } | Reason::Blocked { doing } => {
            record.text("doing", &stop::doing_words(doing))
        }
        Reason::Exec { path } => record.text("path", path),
        Reason::Fork { child, kind } => record
            .signed("child", i64::from(child.raw()))?
            .text("kind", stop::fork_name(*kind)),
        Reason::Library { name, loaded } => record.text("name", name)?.flag("loaded", *loaded),
        Reason::Thread { tid, started } => record
            .signed("thread", i64::from(tid.raw()))?
            .flag("started", *started),
    }
}
