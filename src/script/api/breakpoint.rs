//! breakpoint.set, remove, list, enable, disable.

use super::{Answer, Entry};
use crate::base::id::{BreakpointId, Tid};
use crate::output::stop;
use crate::script::conditions::{Hits, Options};
use crate::script::convert::{self, Record};
use crate::script::error::Error;
use crate::script::listeners::SharedKey;
use crate::script::raw::Call;
use crate::script::snippet::Snippet;
use crate::session::info::BreakpointInfo;
use crate::session::request::{BreakpointKey, BreakpointSpec};
use crate::session::session::Session;
use rquickjs::{Ctx, Value};

pub const NATIVES: &[Entry] = &[
    ("breakpoint_set", set),
    ("breakpoint_remove", remove),
    ("breakpoint_list", list),
    ("breakpoint_enable", enable),
    ("breakpoint_disable", disable),
];

const OPTIONS: [&str; 9] = [
    "name",
    "if",
    "hits",
    "log",
    "once",
    "temporary",
    "thread",
    "hardware",
    "pending",
];

fn set<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let place = convert::place(&call.arg(0), "breakpoint.set")?;
    let (spec, options) = options(call, &call.arg(1))?;
    let info = call
        .host
        .ask(|session| session.set_breakpoint(&place, spec))?;
    call.host.conditions.set_breakpoint(info.id, options);
    if let Some(note) = &info.note {
        call.host.payload(|payload| payload.note(note));
    }
    convert::number(call.ctx, u64::from(info.id.raw()))
}

/// The second argument: a name, or options of which the name is one.
fn options<'js>(
    call: &Call<'_, 'js>,
    value: &Value<'js>,
) -> Result<(BreakpointSpec, Options), Error> {
    let mut spec = BreakpointSpec::default();
    let mut set = Options::default();
    if value.is_string() {
        spec.name = Some(convert::string(value, "breakpoint.set: name")?);
        return Ok((spec, set));
    }
    let Some(options) = convert::options(value, "breakpoint.set", &OPTIONS)? else {
        return Ok((spec, set));
    };
    let get = |name: &str| -> Result<Option<Value<'js>>, Error> {
        let value: Value<'js> = options.get(name)?;
        Ok(Some(value).filter(|value| !value.is_undefined()))
    };
    if let Some(value) = get("if")? {
        set.condition = Some(condition(call, &value, "breakpoint.set: if")?);
    }
    set.hits = get("hits")?.map(|value| hits(&value)).transpose()?;
    if let Some(value) = get("log")? {
        let what = "breakpoint.set: log";
        let template = convert::string(&value, what)?;
        set.log = Some(Snippet::template(call.ctx, call.host, what, &template)?);
    }
    let flag = |name: &str| match get(name)? {
        Some(value) => convert::boolean(&value, &format!("breakpoint.set: {name}")),
        None => Ok(false),
    };
    set.once = flag("once")? | flag("temporary")?;
    set.pending = flag("pending")?;
    set.hardware = flag("hardware")?;
    (spec.pending, spec.hardware) = (set.pending, set.hardware);
    if let Some(value) = get("thread")? {
        let tid = convert::integer_in(&value, "breakpoint.set: thread", 1, i128::from(i32::MAX))?;
        set.thread = i32::try_from(tid).ok().map(Tid::new);
    }
    if set.once && set.log.is_some() {
        return Err(Error::argument_hint(
            "breakpoint.set: a log does not stop, so it has no end with once",
            "hits: '1' logs one hit",
        ));
    }
    let name = get("name")?.unwrap_or_else(|| call.undefined());
    spec.name = convert::optional_string(&name, "breakpoint.set: name")?;
    Ok((spec, set))
}

/// An expression, or a function of the event.
pub fn condition<'js>(
    call: &Call<'_, 'js>,
    value: &Value<'js>,
    what: &str,
) -> Result<Snippet, Error> {
    if let Some(function) = value.as_function() {
        let text = call.host.internal_function(call.ctx, "function_text")?;
        let text = convert::shown(&text.call((function.clone(),))?);
        return Ok(Snippet::function(call.ctx, function.clone(), text));
    }
    if !value.is_string() {
        return Err(Error::argument_hint(
            format!(
                "{what}: {} is neither an expression nor a function",
                convert::describe(value)
            ),
            "if: 'registers.rdi > 3', if: e => e.state.registers.rdi > 3",
        ));
    }
    let text = convert::string(value, what)?;
    Snippet::expression(call.ctx, call.host, what, &text)
}

/// `3`, `'3'`, `'>=3'`, `'%2'`.
fn hits(value: &Value<'_>) -> Result<Hits, Error> {
    let text = if value.is_string() {
        convert::string(value, "breakpoint.set: hits")?
    } else {
        convert::integer(value, "breakpoint.set: hits")?.to_string()
    };
    Hits::parse(&text).ok_or_else(|| {
        Error::argument_hint(
            format!("breakpoint.set: hits: '{text}' is not a rule"),
            "'3' the third, '>=3' from the third on, '%3' every third",
        )
    })
}

fn key(value: &Value<'_>, what: &str) -> Result<BreakpointKey, Error> {
    if value.is_string() {
        return Ok(BreakpointKey::Name(convert::string(value, what)?));
    }
    if !value.is_number() && !value.is_big_int() {
        return Err(Error::argument_hint(
            format!(
                "{what}: {} is neither an id nor a name",
                convert::describe(value)
            ),
            "breakpoint.list()",
        ));
    }
    let id = convert::integer_in(value, what, 0, i128::from(u32::MAX))?;
    let id = u32::try_from(id).unwrap_or(u32::MAX);
    Ok(BreakpointKey::Id(BreakpointId::new(id)))
}

fn remove<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let key = key(&call.arg(0), "breakpoint.remove")?;
    let id = call.host.ask(|session| session.remove_breakpoint(&key))?;
    call.host.conditions.drop_breakpoint(id);
    call.host.listeners.take_shared(SharedKey::Breakpoint(id));
    Ok(call.undefined())
}

fn enable<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let key = key(&call.arg(0), "breakpoint.enable")?;
    call.host
        .ask(|session| session.enable_breakpoint(&key, true))?;
    Ok(call.undefined())
}

fn disable<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let key = key(&call.arg(0), "breakpoint.disable")?;
    call.host
        .ask(|session| session.enable_breakpoint(&key, false))?;
    Ok(call.undefined())
}

fn list<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let list = call.host.session(Session::breakpoints);
    convert::array(call.ctx, list, |info| {
        let options = call.host.conditions.of_breakpoint(info.id);
        let options = options.map(|options| options.words());
        record(call.ctx, &info, options.as_deref())
    })
}

fn record<'js>(ctx: &Ctx<'js>, info: &BreakpointInfo, options: Option<&str>) -> Answer<'js> {
    let addr = match info.addrs.first() {
        Some(addr) => convert::address(ctx, *addr)?,
        None => Value::new_null(ctx.clone()),
    };
    let place = info.place.as_ref();
    let symbol = place.and_then(|place| place.symbol.as_ref());
    let line = place.and_then(|place| place.line.as_ref());
    let record = Record::new(ctx)?
        .number("id", u64::from(info.id.raw()))?
        .text_or_null("name", info.name.as_deref())?
        .text("where", &info.spec)?
        .with("addr", addr)?
        .text_or_null("symbol", symbol.map(stop::symbol_words).as_deref())?
        .text_or_null(
            "line",
            line.map(|(file, line)| format!("{file}:{line}")).as_deref(),
        )?
        .number("hits", info.hits)?
        .flag("enabled", info.enabled)?;
    let record = match options {
        Some(options) => record.text("options", options)?,
        None => record,
    };
    let record = if info.addrs.len() > 1 {
        let addrs = convert::array(ctx, &info.addrs, |addr| convert::address(ctx, *addr))?;
        record.with("addrs", addrs)?
    } else {
        record
    };
    Ok(record.finish())
}
