//! What went wrong, as the one error line of a reply.

use super::api;
use super::convert;
use super::error::Error;
use super::host::Host;
use super::limits;
use super::raw;
use crate::base::code::Code;
use rquickjs::{Ctx, Object, Value};

/// An error line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub code: Code,
    pub message: String,
    pub hint: Option<String>,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>, hint: Option<&str>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.map(str::to_owned),
        }
    }

    /// Whether the program was ended from outside, in the middle of what it did.
    pub fn is_ending(&self) -> bool {
        matches!(
            self.code,
            Code::Interrupted | Code::ScriptTimeout | Code::Internal
        )
    }

    pub fn tell(&self, host: &Host) {
        host.payload(|payload| payload.error(self.code, &self.message, self.hint.as_deref()));
    }

    /// What an error of ours or the pending exception means to the reader.
    pub fn from_error(ctx: &Ctx<'_>, host: &Host, error: &Error) -> Self {
        if !matches!(error, Error::Thrown | Error::Ended) {
            return Self {
                code: error.code(),
                message: error.to_string(),
                hint: error.hint(),
            };
        }
        let thrown = ctx.catch();
        Self::of_ending(host).unwrap_or_else(|| Self::from_thrown(host, &thrown))
    }

    /// Why a program was ended that did not end by itself.
    fn of_ending(host: &Host) -> Option<Self> {
        if let Some(panic) = host.take_panic() {
            return Some(Self::new(
                Code::Internal,
                format!("a fault in the debugger: {panic}"),
                Some("the session goes on; please report this"),
            ));
        }
        let interrupted = host.session(|session| session.control().is_interrupted());
        if host.background.take_interrupted() || interrupted {
            return Some(Self::new(Code::Interrupted, "interrupted on request", None));
        }
        if host.clock.expired() {
            let limit = host.clock.limit().as_millis();
            return Some(Self::new(
                Code::ScriptTimeout,
                format!("script interrupted after {limit} ms"),
                Some("config.js_timeout = ms; time inside run verbs does not count"),
            ));
        }
        None
    }

    /// What a script threw, or QuickJS for it.
    pub fn from_thrown(host: &Host, thrown: &Value<'_>) -> Self {
        let Some(object) = thrown.as_object().filter(|_| thrown.is_error()) else {
            return Self::from_other(host, thrown);
        };
        let name = own_text(object, "name").unwrap_or_else(|| "Error".to_owned());
        let message = own_text(object, "message").unwrap_or_default();
        let programs = host.programs.borrow();
        let position = own_text(object, "stack").and_then(|stack| programs.position(&stack));
        if name == "InternalError" && message == "out of memory" {
            return Self::out_of_memory();
        }
        if is_stack_overflow(&name, &message) {
            return Self {
                code: Code::StackOverflow,
                message: with_position("too much recursion", position.as_deref()),
                hint: None,
            };
        }
        let code = own_text(object, "code").and_then(|code| code_by_name(&code));
        if let Some(code) = code.filter(|_| name == "DebuggerError") {
            // In a text of one line the message says enough.
            let position = position.filter(|place| programs.is_long() || place.starts_with('<'));
            return Self {
                code,
                message: with_position(&message, position.as_deref()),
                hint: own_text(object, "hint"),
            };
        }
        let (code, hint) = match name.as_str() {
            "SyntaxError" => (Code::Syntax, None),
            "TypeError" if message.contains("BigInt") => (
                Code::Exception,
                Some("convert with Number(x) or BigInt(x): help('numbers')"),
            ),
            "TypeError" if assigned_api_name(&message) => (
                Code::ReadOnly,
                Some("choose another name, or keep your data in ctx"),
            ),
            _ => (Code::Exception, None),
        };
        let text = if message.is_empty() {
            name
        } else {
            format!("{name}: {message}")
        };
        Self::new(code, with_position(&text, position.as_deref()), hint)
    }

    fn out_of_memory() -> Self {
        Self::new(
            Code::OutOfMemory,
            format!("script out of memory ({} MiB)", limits::MEMORY >> 20),
            Some("ctx.reset(), or let go of what globals hold"),
        )
    }

    /// Anything can be thrown. When memory is out, QuickJS may not even have enough for an error, and
    /// throws null or nothing at all.
    fn from_other(host: &Host, thrown: &Value<'_>) -> Self {
        let is_nothing = !thrown.is_object() && convert::describe(thrown) == thrown.type_name();
        if is_nothing {
            let full = raw::memory_used(thrown.ctx()) > limits::MEMORY / 2;
            if full || !host.programs.borrow().mention("throw") {
                return Self::out_of_memory();
            }
        }
        let what = if thrown.is_string() {
            format!("'{}'", convert::shown(thrown))
        } else {
            convert::describe(thrown)
        };
        Self::new(Code::Exception, format!("thrown: {what}"), None)
    }
}

/// A property of an error, when it is a string. A getter may run, and what it throws is forgotten.
fn own_text(object: &Object<'_>, key: &str) -> Option<String> {
    let value: Result<Value<'_>, _> = object.get(key);
    let Ok(value) = value else {
        object.ctx().catch();
        return None;
    };
    value.is_string().then(|| convert::shown(&value))
}

fn code_by_name(name: &str) -> Option<Code> {
    Code::ALL.iter().copied().find(|code| code.name() == name)
}

fn is_stack_overflow(name: &str, message: &str) -> bool {
    matches!(name, "RangeError" | "InternalError") && message.contains("call stack")
        || message == "stack overflow"
}

/// QuickJS on the assignment to a constant: `'step' is read-only`.
fn assigned_api_name(message: &str) -> bool {
    let name = message.strip_suffix("' is read-only");
    name.and_then(|name| name.strip_prefix('\''))
        .is_some_and(api::is_reserved)
}

fn with_position(message: &str, position: Option<&str>) -> String {
    match position {
        Some(position) => format!("{message} at {position}"),
        None => message.to_owned(),
    }
}
