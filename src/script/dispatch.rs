//! Runs: the session advances, listeners judge, until the run is over.
//!
//! A listener may run the debuggee itself; the outer run then goes on from where that left it, or
//! ends with it. No borrow of the session is held while a listener runs.

use super::error::Error;
use super::events;
use super::host::Host;
use super::listeners::StepEvent;
use super::raw::view::Source;
use super::raw::{self, text};
use super::report;
use crate::session::event::{EventKind, Patience, Progress, Reason, State, StopEvent, Verdict};
use crate::session::request::RunRequest;
use crate::session::run::Run;
use rquickjs::{Ctx, Function, Persistent, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How deep listeners may run the debuggee from within each other.
const MAX_DEPTH: usize = 16;

/// A run that goes on between programs, and how the last one ended.
#[derive(Default)]
pub struct Background {
    run: RefCell<Option<Run>>,
    /// Told once: by `wait()`, or at the beginning of the next reply.
    finished: RefCell<Option<StopEvent>>,
    interrupted: Cell<bool>,
}

impl Background {
    pub fn is_running(&self) -> bool {
        self.run.borrow().is_some()
    }

    pub fn take_finished(&self) -> Option<StopEvent> {
        self.finished.borrow_mut().take()
    }

    /// The process that ran is gone, or another one took its place.
    pub fn forget(&self) {
        self.run.take();
        self.finished.take();
    }

    /// Whether the program was ended on request; asking forgets it.
    pub fn take_interrupted(&self) -> bool {
        self.interrupted.replace(false)
    }
}

/// Where driving a run led.
enum Driven {
    /// The session ended the run.
    Over(StopEvent),
    /// A listener did, or nobody objected to the default.
    Stop(StopEvent),
    /// A listener threw: the run ends at this event.
    Threw(StopEvent, Error),
    Pending,
}

/// Runs the debuggee until something ends that.
pub fn run(ctx: &Ctx<'_>, host: &Host, request: RunRequest) -> Result<StopEvent, Error> {
    if host.listeners.depth() >= MAX_DEPTH {
        return Err(Error::TooDeep(MAX_DEPTH));
    }
    let paused = host.clock.pause();
    let outcome = run_through(ctx, host, request);
    host.clock.resume(paused);
    host.pull_output();
    end_if_interrupted(host, outcome?)
}

fn run_through(ctx: &Ctx<'_>, host: &Host, request: RunRequest) -> Result<StopEvent, Error> {
    let mut run = host.ask(|session| session.begin(request))?;
    match drive(ctx, host, &mut run, Patience::Event)? {
        // Not with this patience; the debuggee must not be left running without an owner.
        Driven::Pending => host.ask(|session| session.interrupt_run(&mut run)),
        driven => conclude(host, run, driven),
    }
}

/// Tells the session that a run is over.
fn conclude(host: &Host, run: Run, driven: Driven) -> Result<StopEvent, Error> {
    match driven {
        Driven::Over(event) => Ok(event),
        Driven::Stop(event) => Ok(host.session(|session| session.end_run(run, event))),
        Driven::Threw(event, error) => {
            host.session(|session| session.end_run(run, event));
            Err(error)
        }
        Driven::Pending => Err(Error::NotRunning),
    }
}

/// An interrupt on request ends the program too, after its stop was told.
fn end_if_interrupted(host: &Host, event: StopEvent) -> Result<StopEvent, Error> {
    let asked = host.session(|session| session.control().is_interrupted());
    if asked && matches!(event.reason, Reason::Interrupted { .. }) {
        tell(host, &event);
        host.background.interrupted.set(true);
        return Err(Error::Ended);
    }
    Ok(event)
}

/// Appends the stop line of an event.
pub fn tell(host: &Host, event: &StopEvent) {
    let place = event
        .pc
        .and_then(|pc| host.ask(|session| session.place(pc)).ok());
    for row in crate::output::stop::rows(event, place.as_ref()) {
        host.payload(|payload| payload.stop(row));
    }
}

/// Appends the stop line of a background run, unless `wait()` has given that to somebody.
pub fn tell_finished(host: &Host) {
    if let Some(event) = host.background.take_finished() {
        tell(host, &event);
    }
}

fn drive(ctx: &Ctx<'_>, host: &Host, run: &mut Run, patience: Patience) -> Result<Driven, Error> {
    loop {
        let wants = host.listeners.wants();
        let progress = host.ask(|session| session.advance(run, wants, patience))?;
        match progress {
            Progress::Event { event, default } => {
                let verdict = hear(ctx, host).and_then(|_| judge(ctx, host, &event, default));
                let latest = latest_of(host, event);
                match verdict {
                    Err(error) => return Ok(Driven::Threw(latest, error)),
                    Ok(_) if !is_stopped(host) => return Ok(Driven::Over(latest)),
                    Ok(Verdict::Stop) => return Ok(Driven::Stop(latest)),
                    Ok(Verdict::Continue) => {}
                }
            }
            Progress::Done(event) => {
                host.pull_output();
                let verdict = hear(ctx, host).and_then(|_| judge(ctx, host, &event, Verdict::Stop));
                let latest = latest_of(host, event);
                return Ok(match verdict {
                    Err(error) => Driven::Threw(latest, error),
                    Ok(_) => Driven::Over(latest),
                });
            }
            Progress::Output => {
                host.pull_output();
                let verdict = hear(ctx, host);
                if !matches!(verdict, Ok(Some(Verdict::Stop)) | Err(_)) {
                    continue;
                }
                let event = host.ask(|session| session.interrupt_run(run))?;
                return Ok(match verdict {
                    Err(error) => Driven::Threw(event, error),
                    Ok(_) => Driven::Over(event),
                });
            }
            Progress::Pending => return Ok(Driven::Pending),
        }
    }
}

fn is_stopped(host: &Host) -> bool {
    host.session(|session| session.state() == State::Stopped)
}

/// The event, or a later one when listeners ran the debuggee on since.
fn latest_of(host: &Host, event: StopEvent) -> StopEvent {
    host.session(|session| match session.last_stop() {
        Some(latest) if latest.seq > event.seq => latest.clone(),
        _ => event,
    })
}

/// What is to happen at an event: each thing that happened has its listeners and its default.
fn judge(
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
    let goes_on = matches!(
        reason.kind(),
        Some(EventKind::Step | EventKind::Exec | EventKind::Fork | EventKind::Thread)
    );
    if goes_on && !event.also.is_empty() {
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
    if kind == EventKind::Step {
        return deliver_step(ctx, host, event);
    }
    let state = live_state(ctx, host)?;
    let object = events::listener_event(ctx, host, event, reason, &state)?;
    let verdict = call_all(ctx, host, kind, &object);
    if events::is_kept(host, &object, &state)? {
        events::freeze(ctx, host, &object, &state)?;
    }
    verdict
}

/// The hot path: one event object for all steps, unless a listener keeps it.
fn deliver_step(ctx: &Ctx<'_>, host: &Host, event: &StopEvent) -> Result<Option<Verdict>, Error> {
    let tid = event.tid.map(crate::base::id::Tid::raw);
    let (object, state, known) = if let Some(kept) = host.listeners.take_step_event() {
        (kept.event.restore(ctx)?, kept.state.restore(ctx)?, kept.tid)
    } else {
        let state = live_state(ctx, host)?;
        (events::step_event(ctx, host, &state)?, state, None)
    };
    if known != tid
        && let (Some(object), Some(tid)) = (object.as_object(), tid)
    {
        object.set("tid", tid)?;
    }
    let verdict = call_all(ctx, host, EventKind::Step, &object);
    if events::is_kept(host, &object, &state)? {
        events::freeze(ctx, host, &object, &state)?;
    } else {
        host.listeners.put_step_event(StepEvent {
            event: Persistent::save(ctx, object),
            state: Persistent::save(ctx, state),
            tid,
        });
    }
    verdict
}

fn live_state<'js>(ctx: &Ctx<'js>, host: &Host) -> Result<Value<'js>, Error> {
    events::state(ctx, host, &Rc::new(Source::default()))
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
fn hear(ctx: &Ctx<'_>, host: &Host) -> Result<Option<Verdict>, Error> {
    let mut verdict = None;
    while let Some((stream, bytes)) = host.listeners.next_unheard() {
        let state = live_state(ctx, host)?;
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

/// Starts a run that goes on when this returns.
pub fn start_background(host: &Host, request: RunRequest) -> Result<(), Error> {
    let run = host.ask(|session| {
        let mut run = session.begin(request)?;
        session.start_background(&mut run)?;
        Ok(run)
    })?;
    host.background.take_finished();
    *host.background.run.borrow_mut() = Some(run);
    Ok(())
}

/// Waits for the background run, at most this long; None leaves it running.
pub fn wait(ctx: &Ctx<'_>, host: &Host, bound: Duration) -> Result<Option<StopEvent>, Error> {
    if let Some(event) = host.background.take_finished() {
        return Ok(Some(event));
    }
    let mut run = host.background.run.take().ok_or(Error::NotRunning)?;
    let paused = host.clock.pause();
    let until = Instant::now() + bound;
    let outcome = loop {
        let outcome = drive(ctx, host, &mut run, Patience::Until(until));
        // A request that was queued meanwhile wakes this thread too; it is not what is waited for.
        if !matches!(outcome, Ok(Driven::Pending)) || Instant::now() >= until {
            break outcome;
        }
    };
    host.clock.resume(paused);
    host.pull_output();
    let driven = outcome?;
    if matches!(driven, Driven::Pending) {
        *host.background.run.borrow_mut() = Some(run);
        return Ok(None);
    }
    let event = conclude(host, run, driven)?;
    end_if_interrupted(host, event).map(Some)
}

/// Stops the background run.
pub fn interrupt(host: &Host) -> Result<StopEvent, Error> {
    let mut run = host.background.run.take().ok_or(Error::NotRunning)?;
    let event = host.ask(|session| session.interrupt_run(&mut run));
    host.pull_output();
    event
}

/// Between programs: lets a background run go on until something wakes this thread. Its output and
/// what listeners print is kept for the next reply.
pub fn idle(ctx: &Ctx<'_>, host: &Host) {
    let Some(mut run) = host.background.run.take() else {
        return;
    };
    let outcome = drive(ctx, host, &mut run, Patience::Wake);
    host.pull_output();
    if matches!(outcome, Ok(Driven::Pending)) {
        *host.background.run.borrow_mut() = Some(run);
        return;
    }
    let event = match outcome.and_then(|driven| conclude(host, run, driven)) {
        Ok(event) => Some(event),
        Err(error) => {
            report::Failure::from_error(ctx, host, &error).tell(host);
            host.session(|session| session.last_stop().cloned())
        }
    };
    *host.background.finished.borrow_mut() = event;
}
