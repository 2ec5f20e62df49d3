//! The engine: programs in, replies out, with the limits of a script in between.

use super::api;
use super::dispatch;
use super::echo;
use super::error::Error;
use super::host::Host;
use super::limits;
use super::raw::view::ViewClass;
use super::raw::{self, Mode};
use super::reply::{Program, Rejection, Reply};
use super::report::Failure;
use super::source::{check, rewrite};
use super::watchdog::Watchdog;
use crate::base::code::Code;
use crate::os::poll::{self, Interest};
use crate::output::stop;
use crate::session::control::Control;
use crate::session::event::State;
use crate::session::request::SpawnSpec;
use crate::session::session::{Config, Session};
use rquickjs::promise::PromiseState;
use rquickjs::runtime::RejectionTracker;
use rquickjs::{Context, Ctx, Object, Persistent, Runtime, Value};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Rejected promises that are remembered; one is reported.
const REJECTIONS: usize = 100;

/// What an engine is made with.
pub struct EngineConfig {
    pub control: Arc<Control>,
    /// Pure JavaScript per program.
    pub js_timeout: Duration,
    /// Bytes of stack that scripts may use, of what the thread has.
    pub js_stack: usize,
    /// See `session::session::Config`.
    pub tracee_filter: Vec<(u16, u8, u8, u32)>,
    pub allow_spawn: Vec<PathBuf>,
    /// Frees the debuggee from traps when the process has to end at once. Called on another thread.
    pub emergency: fn(),
}

impl EngineConfig {
    pub fn new(control: Arc<Control>) -> Self {
        Self {
            control,
            js_timeout: limits::JS_TIMEOUT,
            js_stack: limits::STACK,
            tracee_filter: Vec::new(),
            allow_spawn: Vec::new(),
            emergency: || {},
        }
    }
}

/// Promises that were rejected with nobody to handle it, and why.
type Rejections = Rc<RefCell<Vec<(Persistent<Value<'static>>, Failure)>>>;

/// The JavaScript runtime with the session behind it. Everything happens on the thread that made it,
/// whose stack has to have room for more than `EngineConfig::js_stack`: see `limits::stack_within`.
pub struct Engine {
    // The context goes before the runtime, both before the host that their functions point to.
    context: Option<Context>,
    runtime: Option<Runtime>,
    host: Rc<Host>,
    control: Arc<Control>,
    /// None before `ready`.
    watchdog: Option<Watchdog>,
    emergency: fn(),
    js_stack: usize,
    rejections: Rejections,
    /// The memory limit is above the usual one.
    starved: Cell<bool>,
}

impl Engine {
    /// Make it before any other thread starts: the session depends on that.
    pub fn new(config: EngineConfig) -> Result<Self, Error> {
        let control = config.control;
        let session = Session::new(Config {
            control: Arc::clone(&control),
            tracee_filter: config.tracee_filter,
            allow_spawn: config.allow_spawn,
        })
        .map_err(Error::Start)?;
        let host = Rc::new(Host::new(session, api::natives()));
        host.clock.set_limit(config.js_timeout);
        let engine = |attempt| move |source| Error::Engine { attempt, source };
        let runtime = Runtime::new().map_err(engine("create the runtime"))?;
        runtime.set_memory_limit(limits::MEMORY);
        runtime.set_max_stack_size(config.js_stack);
        runtime.set_gc_threshold(limits::GC_THRESHOLD);
        runtime.set_interrupt_handler(Some(interrupt_handler(&host, &control)));
        let rejections = Rejections::default();
        runtime.set_host_promise_rejection_tracker(Some(track(&host, &rejections)));
        let context = Context::full(&runtime).map_err(engine("create the context"))?;
        let engine = Self {
            context: Some(context.clone()),
            runtime: Some(runtime),
            host,
            control,
            watchdog: None,
            emergency: config.emergency,
            js_stack: config.js_stack,
            rejections,
            starved: Cell::new(false),
        };
        // From here on a failure, too, takes things down in the right order.
        context.with(|ctx| {
            raw::attach_host(&ctx, &engine.host);
            engine.host.set_view_class(ViewClass::register(&ctx)?);
            api::install(&ctx, &engine.host)
        })?;
        Ok(engine)
    }

    /// Ends the preparations: the sandbox is closed, as `sandbox` tells by layer, state and detail, and
    /// from now on there may be other threads, the watchdog first. `attach_first` goes before, because
    /// the sandbox may put the process out of reach, everything else after.
    pub fn ready(&mut self, sandbox: Vec<[String; 3]>) -> Result<(), Error> {
        self.host.sandbox.replace(sandbox);
        let pulse = Arc::clone(self.host.clock.pulse());
        self.watchdog = Some(Watchdog::start(pulse, self.emergency).map_err(Error::Start)?);
        Ok(())
    }

    /// Evaluates one program.
    pub fn eval(&mut self, program: &Program) -> Reply {
        // An interrupt that came before this program was meant for the background run.
        if self.host.background.is_running() && self.control.is_interrupted() {
            self.idle();
        }
        let number = self.host.programs.borrow_mut().next_number();
        self.control.set_busy(true);
        if let Some(watchdog) = &self.watchdog {
            watchdog.arm(number);
        }
        self.host.clock.start();
        let failure = self.guarded(|engine, ctx| engine.evaluate(ctx, program));
        self.host.clock.stop();
        if let Some(watchdog) = &self.watchdog {
            watchdog.disarm();
        }
        self.finish(failure)
    }

    /// Answers an input that framing refused.
    pub fn reject(&mut self, rejection: &Rejection) -> Reply {
        self.host.programs.borrow_mut().next_number();
        let failure = Failure::new(
            rejection.code,
            rejection.message.clone(),
            rejection.hint.as_deref(),
        );
        failure.tell(&self.host);
        self.finish(Some(failure))
    }

    /// Waits until something wakes this thread: a request, or a signal. A background run goes on.
    pub fn idle(&mut self) {
        if self.host.background.is_running() {
            self.control.set_busy(true);
            let failure = self.guarded(|engine, ctx| {
                dispatch::idle(ctx, &engine.host);
                None
            });
            drop(failure);
            self.settle();
            return;
        }
        let waker = self.control.waker();
        let mut ready = Vec::new();
        // A failure to wait ends the wait; what there is to do is looked for anyway.
        let _ = poll::wait(&[(waker.raw_fd(), Interest::Read)], None, &mut ready);
        waker.clear();
    }

    pub fn state(&self) -> State {
        self.host.session(|session| session.state())
    }

    /// Starts the program of the command line.
    pub fn spawn_first(&mut self, program: &str, args: &[Vec<u8>]) -> Result<(), Failure> {
        let spec = SpawnSpec {
            program: program.to_owned(),
            args: args.to_vec(),
            ..SpawnSpec::default()
        };
        self.start(|session| session.spawn(spec))
    }

    /// Attaches to the process of the command line.
    pub fn attach_first(&mut self, pid: i64) -> Result<(), Failure> {
        self.start(|session| session.attach(pid))
    }

    fn start(
        &mut self,
        work: impl FnOnce(&mut Session) -> crate::session::error::Result<crate::session::info::Started>,
    ) -> Result<(), Failure> {
        let started = self.host.ask(work).map_err(|error| Failure {
            code: error.code(),
            message: error.to_string(),
            hint: error.hint(),
        })?;
        for note in &started.notes {
            self.host.payload(|payload| payload.note(note));
        }
        Ok(())
    }

    /// Kills what was spawned, detaches what was attached. How the debuggee ended, if it did.
    pub fn shutdown(self) -> State {
        self.host.session(|session| {
            let state = session.state();
            session.shutdown();
            state
        })
    }

    /// Runs `work` in the context; a panic becomes an error line and leaves the engine usable.
    fn guarded(
        &mut self,
        work: impl FnOnce(&Self, &Ctx<'_>) -> Option<Failure>,
    ) -> Option<Failure> {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let context = self.context.as_ref()?;
            context.with(|ctx| work(self, &ctx))
        }));
        outcome
            .unwrap_or_else(|panic| {
                self.host.record_panic(panic.as_ref());
                let text = self.host.take_panic().unwrap_or_default();
                Some(Failure::new(
                    Code::Internal,
                    format!("a fault in the debugger: {text}"),
                    Some("the session goes on; please report this"),
                ))
            })
            .inspect(|failure| failure.tell(&self.host))
    }

    fn evaluate(&self, ctx: &Ctx<'_>, program: &Program) -> Option<Failure> {
        let failure = self.run(ctx, &program.text).err();
        self.adjust_memory(ctx, failure.as_ref());
        if failure.as_ref().is_some_and(Failure::is_ending) {
            raw::discard_jobs(ctx, self.js_stack);
            self.rejections.borrow_mut().clear();
        }
        let lost = self.rejections.borrow_mut().drain(..).next();
        failure.or(lost.map(|(_, failure)| failure))
    }

    fn run(&self, ctx: &Ctx<'_>, text: &str) -> Result<(), Failure> {
        let fail = |error| Failure::from_error(ctx, &self.host, &error);
        refuse_api_names(text)?;
        let form = check::select(ctx, text).map_err(|rejected| {
            Failure::new(
                Code::Syntax,
                format!("SyntaxError: {}", rejected.error),
                None,
            )
        })?;
        let file = {
            let mut programs = self.host.programs.borrow_mut();
            programs.remember(text, &form.text);
            format!("<{}>", programs.last_number())
        };
        // Synchronous programs run as plain scripts: `await` is the only difference.
        let mode = if text.contains("await") {
            Mode::Async
        } else {
            Mode::Script
        };
        let value = raw::compile_program(ctx, &form.text, &file, mode)
            .and_then(raw::Compiled::run)
            .and_then(|value| self.settle_promises(ctx, mode, value))
            .map_err(fail)?;
        echo::echo(ctx, &self.host, &value).map_err(fail)
    }

    /// Runs the jobs that promises left, and takes the value out of an asynchronous program.
    fn settle_promises<'js>(
        &self,
        ctx: &Ctx<'js>,
        mode: Mode,
        value: Value<'js>,
    ) -> Result<Value<'js>, Error> {
        while ctx.execute_pending_job() {
            if self.host.clock.check() || self.control.is_interrupted() {
                return Err(Error::Ended);
            }
        }
        if mode == Mode::Script {
            return Ok(value);
        }
        let Some(promise) = value.as_promise() else {
            return Ok(value);
        };
        // QuickJS wraps the result of a program in an object, which such a method would take for a promise.
        let inherited = self.host.internal_function(ctx, "inherited_then")?;
        if inherited.call(())? {
            return Err(Error::argument_hint(
                "Object.prototype.then makes a promise of every object: await cannot answer",
                "delete Object.prototype.then",
            ));
        }
        if promise.state() == PromiseState::Pending {
            return Err(Error::argument_hint(
                "the program awaits a promise that nothing will settle",
                "there are no timers: run verbs return when the debuggee has stopped",
            ));
        }
        match promise.result::<Object<'js>>() {
            Some(Ok(result)) => Ok(result.get("value")?),
            Some(Err(error)) => Err(error.into()),
            None => Ok(value.clone()),
        }
    }

    /// When memory ran out, and the heap is still full of what globals hold, the next program gets a
    /// reserve on top, so that it can let go of something.
    fn adjust_memory(&self, ctx: &Ctx<'_>, failure: Option<&Failure>) {
        let ran_out = failure.is_some_and(|failure| failure.code == Code::OutOfMemory);
        if !ran_out && !self.starved.get() {
            return;
        }
        ctx.run_gc();
        let wanted = raw::memory_used(ctx) + limits::MEMORY_RESERVE;
        self.starved.set(wanted > limits::MEMORY);
        let most = limits::MEMORY + 4 * limits::MEMORY_RESERVE;
        raw::set_memory_limit(ctx, wanted.clamp(limits::MEMORY, most));
    }

    /// Between programs: nothing that was asked of this program is left for the next.
    fn settle(&self) {
        self.control.set_busy(self.host.background.is_running());
        if !self.control.is_terminated() {
            self.control.take_interrupt();
        }
    }

    fn finish(&self, failure: Option<Failure>) -> Reply {
        self.host.pull_output();
        dispatch::tell_finished(&self.host);
        self.settle();
        let state = self.state();
        Reply {
            payload: self.host.render(),
            ok: failure.is_none(),
            code: failure.map(|failure| failure.code),
            state,
            place: (state == State::Stopped).then(|| self.place()).flatten(),
        }
    }

    /// Where the selected thread stands, as the status line tells it.
    fn place(&self) -> Option<String> {
        self.host.session(|session| {
            let pc = session.registers().ok()?.pc();
            let place = session.place(pc).ok();
            let cells = stop::place_cells(pc, place.as_ref());
            let cells = cells.iter().map(|cell| crate::output::escape::cell(cell));
            Some(cells.collect::<Vec<_>>().join(" "))
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.host.session(Session::shutdown);
        self.host.release_scripts();
        self.rejections.borrow_mut().clear();
        self.context.take();
        self.runtime.take();
    }
}

/// Called by QuickJS every few thousand steps of a script.
fn interrupt_handler(host: &Rc<Host>, control: &Arc<Control>) -> Box<dyn FnMut() -> bool> {
    // Weak: the runtime owns the handler, and the host lives longer than the runtime.
    let (host, control) = (Rc::downgrade(host), Arc::clone(control));
    Box::new(move || {
        control.is_interrupted() || host.upgrade().is_some_and(|host| host.clock.check())
    })
}

/// Remembers rejections until somebody handles them.
fn track(host: &Rc<Host>, rejections: &Rejections) -> RejectionTracker {
    let (host, rejections) = (Rc::downgrade(host), Rc::clone(rejections));
    Box::new(move |ctx, promise, reason, is_handled| {
        let mut list = rejections.borrow_mut();
        if is_handled {
            list.retain(|(known, _)| {
                let known = known.clone().restore(&ctx);
                known.is_ok_and(|known| known != promise)
            });
        } else if let Some(host) = host.upgrade().filter(|_| list.len() < REJECTIONS) {
            let failure = Failure::from_thrown(&host, &reason);
            list.push((Persistent::save(&ctx, promise), failure));
        }
    })
}

/// Redeclaring what the API is called is refused before anything runs.
fn refuse_api_names(text: &str) -> Result<(), Failure> {
    match rewrite::find_declared(text, api::is_reserved) {
        None => Ok(()),
        Some((name, position)) => Err(Failure::new(
            Code::ReadOnly,
            format!("'{name}' at {position} belongs to the debugger and cannot be redefined"),
            Some("choose another name, or keep your data in ctx"),
        )),
    }
}

#[cfg(test)]
mod patched;
#[cfg(test)]
mod tests;
