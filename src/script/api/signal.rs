//! signal.handle: what happens to a signal that the debuggee gets.

use super::{Answer, Entry};
use crate::base::signal::Signal;
use crate::script::convert::{self, Record};
use crate::script::error::Error;
use crate::script::raw::Call;
use rquickjs::Value;

pub const NATIVES: &[Entry] = &[("signal_handle", handle)];

/// A signal by name or number.
pub fn parse(value: &Value<'_>, what: &str) -> Result<Signal, Error> {
    let found = if value.is_string() {
        Signal::parse(&convert::string(value, what)?)
    } else {
        let number = convert::integer(value, what)?;
        i32::try_from(number).ok().and_then(Signal::new)
    };
    found.ok_or_else(|| {
        Error::argument_hint(
            format!("{what}: {} is no signal", convert::describe(value)),
            "'SIGUSR1', 'SIGRTMIN+3', or a number from 1 to 64",
        )
    })
}

/// Changes what is given of {stop, pass, print}, and answers all three.
fn handle<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let signal = parse(&call.arg(0), "signal.handle")?;
    let mut policy = call.host.session(|session| session.signal_policy(signal));
    let known = ["stop", "pass", "print"];
    if let Some(options) = convert::options(&call.arg(1), "signal.handle", &known)? {
        for (name, target) in [
            ("stop", &mut policy.stop),
            ("pass", &mut policy.pass),
            ("print", &mut policy.print),
        ] {
            let value: Value<'js> = options.get(name)?;
            if !value.is_undefined() {
                *target = convert::boolean(&value, name)?;
            }
        }
        call.host
            .ask(|session| session.set_signal_policy(signal, policy))?;
    }
    Ok(Record::new(call.ctx)?
        .text("signal", &signal.to_string())?
        .flag("stop", policy.stop)?
        .flag("pass", policy.pass)?
        .flag("print", policy.print)?
        .finish())
}
