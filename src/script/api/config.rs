//! The fields of `config`.

use super::{Answer, Entry};
use crate::script::convert;
use crate::script::error::Error;
use crate::script::raw::Call;
use std::time::Duration;

pub const NATIVES: &[Entry] = &[
    ("budget", budget),
    ("set_budget", set_budget),
    ("timeout", timeout),
    ("set_timeout", set_timeout),
    ("js_timeout", js_timeout),
    ("set_js_timeout", set_js_timeout),
    ("set_follow", set_follow),
];

/// The least that a reply is readable with, and the most that one write should be.
const BUDGET: (usize, usize) = (500, 1 << 20);
/// The longest that a script may be allowed.
const JS_TIMEOUT_MAX: Duration = Duration::from_mins(10);

fn budget<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    convert::count(call.ctx, call.host.budget.get())
}

fn set_budget<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let (min, max) = BUDGET;
    let value = call.arg(0);
    let bytes = convert::integer_in(
        &value,
        "config.budget",
        i128::try_from(min).unwrap_or(0),
        i128::try_from(max).unwrap_or(i128::MAX),
    )?;
    call.host.budget.set(usize::try_from(bytes).unwrap_or(min));
    Ok(call.undefined())
}

fn milliseconds<'js>(call: &Call<'_, 'js>, duration: Duration) -> Answer<'js> {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    convert::number(call.ctx, ms)
}

fn timeout<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    milliseconds(call, call.host.run_timeout.get())
}

fn set_timeout<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let bound = convert::duration(&call.arg(0), "config.timeout")?;
    call.host.run_timeout.set(bound);
    Ok(call.undefined())
}

fn js_timeout<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    milliseconds(call, call.host.clock.limit())
}

fn set_js_timeout<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let limit = convert::duration(&call.arg(0), "config.js_timeout")?;
    if limit < Duration::from_millis(1) || limit > JS_TIMEOUT_MAX {
        return Err(Error::argument(format!(
            "config.js_timeout: {} is not between 1 and {} ms",
            convert::describe(&call.arg(0)),
            JS_TIMEOUT_MAX.as_millis()
        )));
    }
    call.host.clock.set_limit(limit);
    Ok(call.undefined())
}

/// Only 'parent' is there so far.
fn set_follow<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    match convert::string(&call.arg(0), "config.follow")?.as_str() {
        "parent" => Ok(call.undefined()),
        other @ ("child" | "both") => Err(Error::NotYet {
            what: format!("config.follow = '{other}'"),
            hint: Some("'parent' works".to_owned()),
        }),
        other => Err(Error::argument_hint(
            format!("config.follow: '{other}' is none of its values"),
            "'parent'",
        )),
    }
}
