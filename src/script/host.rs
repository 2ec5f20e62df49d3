//! The one door from scripts to the session.
//!
//! No borrow taken here outlives the Rust function that took it, and none is held while JavaScript
//! runs: that is what makes `step()` inside a listener legal.

use super::conditions::Conditions;
use super::convert;
use super::dispatch::{self, Background};
use super::error::Error;
use super::limits::Clock;
use super::listeners::Listeners;
use super::programs::Programs;
use super::raw::Native;
use super::raw::view::ViewClass;
use crate::arch::registers::RegId;
use crate::output::budget::{self, More};
use crate::output::payload::{self, Payload};
use crate::output::rows;
use crate::session::info::Stream;
use crate::session::session::Session;
use crate::session::snapshot::Snapshot;
use rquickjs::{Ctx, Function, Object, Persistent, Value};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// How long a run may take, unless `config.timeout` or `cont({timeout})` says otherwise.
const RUN_TIMEOUT: Duration = Duration::from_secs(10);

/// What the engine, the natives and the run loop share.
pub struct Host {
    session: RefCell<Session>,
    payload: RefCell<Payload>,
    more: RefCell<More>,
    natives: Vec<Native>,
    view_class: Cell<Option<ViewClass>>,
    /// What the prelude hands to Rust: functions to call, prototypes of what Rust makes.
    internals: RefCell<Option<Persistent<Object<'static>>>>,
    panic: RefCell<Option<String>>,
    pub(super) clock: Clock,
    pub(super) listeners: Listeners,
    pub(super) conditions: Conditions,
    pub(super) background: Background,
    pub(super) programs: RefCell<Programs>,
    pub(super) budget: Cell<usize>,
    pub(super) run_timeout: Cell<Duration>,
    /// layer, state, detail: what the sandbox reports of itself.
    pub(super) sandbox: RefCell<Vec<[String; 3]>>,
}

impl Host {
    pub fn new(session: Session, natives: Vec<Native>) -> Self {
        Self {
            session: RefCell::new(session),
            payload: RefCell::new(Payload::new()),
            more: RefCell::new(More::new()),
            natives,
            view_class: Cell::new(None),
            internals: RefCell::new(None),
            panic: RefCell::new(None),
            clock: Clock::default(),
            listeners: Listeners::default(),
            conditions: Conditions::default(),
            background: Background::default(),
            programs: RefCell::default(),
            budget: Cell::new(budget::REPLY),
            run_timeout: Cell::new(RUN_TIMEOUT),
            sandbox: RefCell::default(),
        }
    }

    /// Works on the session; `work` must not run JavaScript.
    pub fn session<T>(&self, work: impl FnOnce(&mut Session) -> T) -> T {
        work(&mut self.session.borrow_mut())
    }

    /// As `session`, for what may fail there.
    pub fn ask<T>(
        &self,
        work: impl FnOnce(&mut Session) -> crate::session::error::Result<T>,
    ) -> Result<T, Error> {
        Ok(work(&mut self.session.borrow_mut())?)
    }

    /// Appends to the reply; `work` must not run JavaScript. The end of a background run that nobody
    /// was told of comes first.
    pub fn payload<T>(&self, work: impl FnOnce(&mut Payload) -> T) -> T {
        dispatch::tell_finished(self);
        work(&mut self.payload.borrow_mut())
    }

    /// The text of the reply so far; the payload is empty afterwards.
    pub fn render(&self) -> String {
        let budget = self.budget.get();
        self.payload
            .borrow_mut()
            .render(budget, &mut self.more.borrow_mut())
    }

    /// Shows the rest of an earlier reply.
    pub fn show_more(&self) {
        self.payload
            .borrow_mut()
            .continue_with(&mut self.more.borrow_mut());
    }

    /// Moves what the debuggee has written into the reply, and keeps it for output listeners.
    pub fn pull_output(&self) {
        let (chunks, signals, notes) = self.session(|session| {
            session.drain_output();
            let signals = session.take_passed_signals();
            (session.take_output(), signals, session.take_notes())
        });
        for note in notes {
            self.payload(|payload| payload.note(&note));
        }
        for signal in signals {
            let row = rows::row(["signal", &signal.to_string(), "passed"]);
            self.payload(|payload| payload.print(&row));
        }
        for (stream, bytes) in chunks {
            let name = match stream {
                Stream::Stdout => payload::Stream::Out,
                Stream::Stderr => payload::Stream::Err,
            };
            self.payload(|payload| payload.out(name, &bytes));
            self.listeners.hear(stream, bytes);
        }
    }

    pub fn native(&self, magic: i32) -> Option<Native> {
        self.natives.get(usize::try_from(magic).ok()?).copied()
    }

    /// The class of views; set before any script runs.
    pub fn view_class(&self) -> Result<ViewClass, Error> {
        self.view_class.get().ok_or(Error::Ended)
    }

    pub fn set_view_class(&self, class: ViewClass) {
        self.view_class.set(Some(class));
    }

    /// One of the things that the prelude handed over.
    pub fn internal<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Object<'js>, Error> {
        let internals = self.internals.borrow().clone().ok_or(Error::Ended)?;
        Ok(internals.restore(ctx)?.get(name)?)
    }

    /// One that is to be called.
    pub fn internal_function<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
    ) -> Result<Function<'js>, Error> {
        Ok(Function::from_value(
            self.internal(ctx, name)?.into_value(),
        )?)
    }

    pub fn set_internals<'js>(&self, ctx: &Ctx<'js>, internals: Object<'js>) {
        *self.internals.borrow_mut() = Some(Persistent::save(ctx, internals));
    }

    /// Lets go of everything that belongs to the JavaScript runtime, which is about to end.
    pub fn release_scripts(&self) {
        self.internals.borrow_mut().take();
        self.listeners.clear();
        self.conditions.clear();
    }

    /// Whether the program is being ended, and nothing that it does matters any more.
    pub fn is_ending(&self) -> bool {
        self.panic.borrow().is_some()
            || self.clock.expired()
            || self.background.is_interrupted()
            || self.session(|session| session.control().is_interrupted())
    }

    /// A panic in a native: the program ends, the reply tells.
    pub fn record_panic(&self, panic: &(dyn Any + Send)) {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_owned());
        self.panic.borrow_mut().get_or_insert(text);
    }

    pub fn take_panic(&self) -> Option<String> {
        self.panic.borrow_mut().take()
    }

    pub fn register(&self, register: RegId) -> Result<u64, Error> {
        self.ask(|session| Ok(session.registers()?.get(register)))
    }

    pub fn set_register(&self, register: RegId, value: &Value<'_>) -> Result<(), Error> {
        let row = register.row();
        let max = i128::from(u64::MAX.unbounded_shr(64 - u32::from(row.bits)));
        let min = -(max / 2) - 1;
        let number = convert::integer_in(value, row.name, min, max)?;
        // Negative values are written in two's complement of the register's width.
        let bits = u64::try_from(number & max).unwrap_or(0);
        self.ask(|session| session.set_register(register, bits))
    }

    /// `pc` and `sp`: an address, or a location that has one.
    pub fn set_pointer(&self, register: RegId, value: &Value<'_>) -> Result<(), Error> {
        let what = if register.name() == "rip" { "pc" } else { "sp" };
        let place = convert::place(value, what)?;
        self.ask(|session| {
            let addr = session.resolve(&place)?;
            session.set_register(register, addr.raw())
        })
    }

    pub fn set_flag(&self, bit: u32, value: &Value<'_>) -> Result<(), Error> {
        let on = match value.as_bool() {
            Some(on) => on,
            None => convert::integer_in(value, "flag", 0, 1)? == 1,
        };
        let Some(register) = RegId::by_name("rflags") else {
            return Err(Error::NotAView);
        };
        let flags = self.register(register)?;
        let mask = 1u64.unbounded_shl(bit);
        let flags = if on { flags | mask } else { flags & !mask };
        self.ask(|session| session.set_register(register, flags))
    }

    /// What was read at the previous stop; None before the second one.
    pub fn previous(&self) -> Option<Rc<Snapshot>> {
        self.session(|session| session.previous())
    }

    /// What was read at this stop so far, registers included.
    pub fn present(&self) -> Rc<Snapshot> {
        self.session(|session| {
            let registers = session.registers().ok().cloned();
            let mut snapshot = session.present().clone();
            snapshot.registers = registers;
            Rc::new(snapshot)
        })
    }
}
