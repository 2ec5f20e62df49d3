//! Runs: the session advances, listeners judge, until the run is over.
//!
//! A listener may run the debuggee itself; the outer run then goes on from where that left it, or
//! ends with it. No borrow of the session is held while a listener runs.

use super::conditions::{self, Screened};
use super::delivery::{hear, judge};
use super::error::Error;
use super::host::Host;
use super::report;
use crate::session::event::{Patience, Progress, Reason, State, StopEvent, Verdict};
use crate::session::info::BatchSummary;
use crate::session::request::RunRequest;
use crate::session::run::Run;
use rquickjs::Ctx;
use std::cell::{Cell, RefCell};
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

    /// Whether the program was ended on request.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.get()
    }

    /// The same; asking forgets it.
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

/// How a run ended, and what happened on the way if it was a batch of steps.
pub struct Finished {
    pub event: StopEvent,
    pub summary: Option<BatchSummary>,
}

/// Runs the debuggee until something ends that.
pub fn run(ctx: &Ctx<'_>, host: &Host, request: RunRequest) -> Result<Finished, Error> {
    allowed(host)?;
    if host.listeners.depth() >= MAX_DEPTH {
        return Err(Error::TooDeep(MAX_DEPTH));
    }
    let paused = host.clock.pause();
    let outcome = run_through(ctx, host, request);
    host.clock.resume(paused);
    host.pull_output();
    let Finished { event, summary } = outcome?;
    let event = end_if_interrupted(host, event)?;
    Ok(Finished { event, summary })
}

/// A condition or a log looks; it does not run.
fn allowed(host: &Host) -> Result<(), Error> {
    if host.conditions.is_judging() {
        return Err(Error::Judging);
    }
    Ok(())
}

fn run_through(ctx: &Ctx<'_>, host: &Host, request: RunRequest) -> Result<Finished, Error> {
    let mut run = host.ask(|session| session.begin(request))?;
    let driven = match drive(ctx, host, &mut run, Patience::Event) {
        Err(error) if host.session(|session| session.state()) == State::Running => {
            // It could not be stopped: from now on it runs in the background, where wait() finds it.
            host.background.run.replace(Some(run));
            return Err(error);
        }
        driven => driven?,
    };
    let summary = run.take_summary();
    let event = match driven {
        // Not with this patience; the debuggee must not be left running without an owner.
        Driven::Pending => stop(ctx, host, &mut run)?,
        driven => conclude(host, run, driven)?,
    };
    Ok(Finished { event, summary })
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
        let driven = match host.ask(|session| session.advance(run, wants, patience))? {
            Progress::Event { event, default } => at_event(ctx, host, event, default),
            Progress::Done(event) => at_end(ctx, host, event),
            Progress::Output => at_output(ctx, host, run)?,
            Progress::Pending => Some(Driven::Pending),
        };
        if let Some(driven) = driven {
            return Ok(driven);
        }
    }
}

/// The debuggee stands still and may go on; None when it is to.
fn at_event(ctx: &Ctx<'_>, host: &Host, event: StopEvent, default: Verdict) -> Option<Driven> {
    let (event, default) = match conditions::screen(ctx, host, event, default) {
        Screened::Heard(event, default) => (event, default),
        Screened::Threw(event, error) => return Some(threw(host, event, error)),
        // A condition may have ended the process.
        Screened::Nothing if is_stopped(host) => return None,
        Screened::Nothing => return ended(host),
    };
    let verdict = hear(ctx, host).and_then(|_| judge(ctx, host, &event, default));
    match verdict {
        Err(error) => Some(threw(host, event, error)),
        Ok(_) if !is_stopped(host) => Some(Driven::Over(latest_of(host, event))),
        Ok(Verdict::Stop) => {
            conditions::retire(host, &event);
            Some(Driven::Stop(latest_of(host, event)))
        }
        Ok(Verdict::Continue) => None,
    }
}

/// The run is over. None when what ended it is not to be heard of: then the session finds another reason.
fn at_end(ctx: &Ctx<'_>, host: &Host, event: StopEvent) -> Option<Driven> {
    host.pull_output();
    let event = match conditions::screen(ctx, host, event, Verdict::Stop) {
        Screened::Heard(event, _) => event,
        Screened::Threw(event, error) => return Some(threw(host, event, error)),
        Screened::Nothing if is_stopped(host) => return None,
        Screened::Nothing => return ended(host),
    };
    let verdict = hear(ctx, host).and_then(|_| judge(ctx, host, &event, Verdict::Stop));
    conditions::retire(host, &event);
    let latest = latest_of(host, event);
    Some(match verdict {
        Err(error) => Driven::Threw(latest, error),
        Ok(_) => Driven::Over(latest),
    })
}

fn at_output(ctx: &Ctx<'_>, host: &Host, run: &mut Run) -> Result<Option<Driven>, Error> {
    host.pull_output();
    let verdict = hear(ctx, host);
    if !matches!(verdict, Ok(Some(Verdict::Stop)) | Err(_)) {
        return Ok(None);
    }
    let event = stop(ctx, host, run)?;
    Ok(Some(match verdict {
        Err(error) => Driven::Threw(event, error),
        Ok(_) => Driven::Over(event),
    }))
}

/// Stops a run. A hit of the same instant that nobody is to hear of is not the reason.
fn stop(ctx: &Ctx<'_>, host: &Host, run: &mut Run) -> Result<StopEvent, Error> {
    loop {
        let event = host.ask(|session| session.interrupt_run(run))?;
        match conditions::screen(ctx, host, event, Verdict::Stop) {
            Screened::Heard(event, _) => {
                conditions::retire(host, &event);
                return Ok(event);
            }
            // The debuggee stands still: asked again, the session says so and nothing else.
            Screened::Nothing => {}
            Screened::Threw(_, error) => return Err(error),
        }
    }
}

fn threw(host: &Host, event: StopEvent, error: Error) -> Driven {
    conditions::retire(host, &event);
    Driven::Threw(latest_of(host, event), error)
}

/// The process is gone, in the middle of a run.
fn ended(host: &Host) -> Option<Driven> {
    let last = host.session(|session| session.last_stop().cloned());
    last.map(Driven::Over)
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

/// Starts a run that goes on when this returns.
pub fn start_background(host: &Host, request: RunRequest) -> Result<(), Error> {
    allowed(host)?;
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
pub fn interrupt(ctx: &Ctx<'_>, host: &Host) -> Result<StopEvent, Error> {
    let mut run = host.background.run.take().ok_or(Error::NotRunning)?;
    let event = stop(ctx, host, &mut run);
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
