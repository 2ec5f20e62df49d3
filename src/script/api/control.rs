//! Run control: step, cont, wait, interrupt, detach, kill, restart.

use super::signal;
use super::{Answer, Entry};
use crate::script::convert;
use crate::script::dispatch::{self, Finished};
use crate::script::error::Error;
use crate::script::events;
use crate::script::raw::Call;
use crate::session::event::StopEvent;
use crate::session::info::Started;
use crate::session::request::{RunKind, RunRequest, SignalChoice};
use crate::session::session::Session;
use rquickjs::{Object, Value};
use std::time::Duration;

pub const NATIVES: &[Entry] = &[
    ("attach", attach),
    ("detach", detach),
    ("kill", kill),
    ("restart", restart),
    ("step", step),
    ("next", next),
    ("step_in", step_in),
    ("finish", finish),
    ("until", until),
    ("cont", cont),
    ("wait", wait),
    ("interrupt", interrupt),
];

fn answer<'js>(call: &Call<'_, 'js>, event: &StopEvent) -> Answer<'js> {
    events::stop_event(call.ctx, call.host, event)
}

/// How a run ended; after a batch of steps also what happened on the way.
fn finished<'js>(call: &Call<'_, 'js>, finished: &Finished) -> Answer<'js> {
    let event = answer(call, &finished.event)?;
    if let (Some(event), Some(summary)) = (event.as_object(), &finished.summary) {
        convert::define(
            event,
            "summary",
            events::summary(call.ctx, call.host, summary)?,
        )?;
    }
    Ok(event)
}

/// A process is there: what is worth saying about it, and where it stands.
pub fn started<'js>(call: &Call<'_, 'js>, started: &Started) -> Answer<'js> {
    call.host.background.forget();
    for note in &started.notes {
        call.host.payload(|payload| payload.note(note));
    }
    answer(call, &started.event)
}

fn attach<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let pid = convert::integer_in(
        &call.arg(0),
        "attach",
        i128::from(i64::MIN),
        i128::from(i64::MAX),
    )?;
    let pid = i64::try_from(pid).unwrap_or(i64::MAX);
    started(call, &call.host.ask(|session| session.attach(pid))?)
}

fn detach<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let event = call.host.ask(Session::detach)?;
    call.host.background.forget();
    call.host.pull_output();
    answer(call, &event)
}

fn kill<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let event = call.host.ask(Session::kill)?;
    call.host.background.forget();
    call.host.pull_output();
    answer(call, &event)
}

fn restart<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    started(call, &call.host.ask(Session::restart)?)
}

/// What the options of a run verb say on the pending signal: undefined, 0 or null, or a signal.
fn signal_choice(options: Option<&Object<'_>>, what: &str) -> Result<SignalChoice, Error> {
    let Some(options) = options else {
        return Ok(SignalChoice::Policy);
    };
    let value: Value<'_> = options.get("signal")?;
    if value.is_undefined() {
        return Ok(SignalChoice::Policy);
    }
    if value.is_null() || value.as_int() == Some(0) {
        return Ok(SignalChoice::Suppress);
    }
    signal::parse(&value, what).map(SignalChoice::Deliver)
}

fn bound(call: &Call<'_, '_>, options: Option<&Object<'_>>, what: &str) -> Result<Duration, Error> {
    let value: Option<Value<'_>> = options.map(|options| options.get("timeout")).transpose()?;
    match value.filter(|value| !value.is_undefined()) {
        Some(value) => convert::duration(&value, what),
        None => Ok(call.host.run_timeout.get()),
    }
}

/// The largest count that is exact as a Number.
const STEPS_MAX: i128 = (1 << 53) - 1;

fn step<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let first = call.arg(0);
    let known = ["count", "signal", "timeout"];
    let options = if first.is_object() {
        convert::options(&first, "step", &known)?
    } else {
        convert::options(&call.arg(1), "step", &known)?
    };
    let count = match &options {
        Some(options) if first.is_object() => options.get("count")?,
        _ => first,
    };
    let count = if count.is_undefined() {
        1
    } else {
        convert::integer_in(&count, "step", 1, STEPS_MAX)?
    };
    let request = RunRequest {
        kind: RunKind::Step {
            count: u64::try_from(count).unwrap_or(1),
        },
        bound: Some(bound(call, options.as_ref(), "step: timeout")?),
        signal: signal_choice(options.as_ref(), "step: signal")?,
    };
    finished(call, &dispatch::run(call.ctx, call.host, request)?)
}

fn next<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    lines(call, "next", false)
}

fn step_in<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    lines(call, "stepIn", true)
}

fn lines<'js>(call: &Call<'_, 'js>, what: &str, into: bool) -> Answer<'js> {
    let count = call.arg(0);
    let count = if count.is_undefined() {
        1
    } else {
        convert::integer_in(&count, what, 1, STEPS_MAX)?
    };
    let count = u64::try_from(count).unwrap_or(1);
    run_to(call, RunKind::Line { count, into }, 1, what)
}

fn finish<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    run_to(call, RunKind::Finish, 0, "finish")
}

fn until<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let place = convert::place(&call.arg(0), "until")?;
    let addr = call.host.ask(|session| session.resolve_goal(&place))?;
    run_to(call, RunKind::Until(addr), 1, "until")
}

/// The options are the argument behind the verb's own.
fn run_to<'js>(call: &Call<'_, 'js>, kind: RunKind, options: usize, what: &str) -> Answer<'js> {
    let options = convert::options(&call.arg(options), what, &["timeout", "signal"])?;
    let request = RunRequest {
        kind,
        bound: Some(bound(call, options.as_ref(), what)?),
        signal: signal_choice(options.as_ref(), what)?,
    };
    finished(call, &dispatch::run(call.ctx, call.host, request)?)
}

fn cont<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let known = ["timeout", "background", "signal"];
    let options = convert::options(&call.arg(0), "cont", &known)?;
    if call.host.listeners.depth() > 0 && !call.host.conditions.is_judging() {
        // In a listener it is a verdict.
        call.host.listeners.say_continue();
        return Ok(call.undefined());
    }
    let background: Option<Value<'js>> = options
        .as_ref()
        .map(|options| options.get("background"))
        .transpose()?;
    let background = match background.filter(|value| !value.is_undefined()) {
        Some(value) => convert::boolean(&value, "cont: background")?,
        None => false,
    };
    let signal = signal_choice(options.as_ref(), "cont: signal")?;
    let bound = bound(call, options.as_ref(), "cont: timeout")?;
    let request = RunRequest {
        kind: RunKind::Continue,
        bound: (!background).then_some(bound),
        signal,
    };
    if background {
        dispatch::start_background(call.host, request)?;
        return Ok(call.undefined());
    }
    finished(call, &dispatch::run(call.ctx, call.host, request)?)
}

fn wait<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let bound = match call.arg(0) {
        value if value.is_undefined() => call.host.run_timeout.get(),
        value => convert::duration(&value, "wait")?,
    };
    match dispatch::wait(call.ctx, call.host, bound)? {
        Some(event) => answer(call, &event),
        None => Ok(call.null()),
    }
}

fn interrupt<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let event = dispatch::interrupt(call.ctx, call.host)?;
    answer(call, &event)
}
