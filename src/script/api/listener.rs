//! addEventListener, removeEventListener, listeners.

use super::{Answer, Entry};
use crate::script::convert::{self, Record};
use crate::script::error::Error;
use crate::script::listeners::{self, TYPES};
use crate::script::raw::Call;
use rquickjs::Value;

pub const NATIVES: &[Entry] = &[
    ("add_listener", add),
    ("remove_listener", remove),
    ("listeners", list),
];

fn add<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let kind = listeners::parse_type(&convert::string(&call.arg(0), "addEventListener: type")?)?;
    let function = call.arg(1).into_function().ok_or_else(|| {
        Error::argument_hint(
            format!(
                "addEventListener: {} is not a function",
                convert::describe(&call.arg(1))
            ),
            "addEventListener('step', e => print(hex(e.pc)))",
        )
    })?;
    let id = call.host.listeners.add(call.ctx, kind, function);
    convert::number(call.ctx, u64::from(id))
}

/// By id, by function, or all of the type; answers how many.
fn remove<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let kind = listeners::parse_type(&convert::string(&call.arg(0), "removeEventListener: type")?)?;
    let which: Value<'js> = call.arg(1);
    let removed = if which.is_undefined() {
        call.host.listeners.remove(kind, |_| true)
    } else if which.is_function() {
        let is_it = |listener: &listeners::Listener| {
            let function = listener.function(call.ctx);
            function.is_ok_and(|function| {
                function.is_some_and(|function| *function.as_value() == which)
            })
        };
        call.host.listeners.remove(kind, is_it)
    } else {
        let id = convert::integer(&which, "removeEventListener: id")?;
        let removed = call
            .host
            .listeners
            .remove(kind, |listener| i128::from(listener.id) == id);
        if removed == 0 {
            return Err(Error::NoListener(id.to_string()));
        }
        removed
    };
    convert::count(call.ctx, removed)
}

fn list<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let mut all = Vec::new();
    for (name, kind) in TYPES {
        for listener in call.host.listeners.of(kind).iter() {
            if let Some(function) = listener.function(call.ctx)? {
                all.push((listener.id, name, function));
            }
        }
    }
    all.sort_by_key(|(id, ..)| *id);
    convert::array(call.ctx, all, |(id, name, function)| {
        Ok(Record::new(call.ctx)?
            .number("id", u64::from(id))?
            .text("type", name)?
            .with("listener", function.into_value())?
            .finish())
    })
}
