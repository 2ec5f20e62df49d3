//! breakpoint.set, remove, list, enable, disable.

use super::{Answer, Entry};
use crate::base::id::BreakpointId;
use crate::output::stop;
use crate::script::convert::{self, Record};
use crate::script::error::Error;
use crate::script::raw::Call;
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

const OPTIONS: [&str; 8] = [
    "name", "if", "hits", "log", "once", "thread", "hardware", "pending",
];

fn set<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let place = convert::place(&call.arg(0), "breakpoint.set")?;
    let name = name_of(&call.arg(1))?;
    let info = call.host.ask(|session| {
        session.set_breakpoint(
            &place,
            BreakpointSpec {
                name,
                ..BreakpointSpec::default()
            },
        )
    })?;
    if let Some(note) = &info.note {
        call.host.payload(|payload| payload.note(note));
    }
    convert::number(call.ctx, u64::from(info.id.raw()))
}

/// The second argument: a name, or options of which the name is one.
fn name_of(value: &Value<'_>) -> Result<Option<String>, Error> {
    if value.is_string() {
        return convert::string(value, "breakpoint.set: name").map(Some);
    }
    let Some(options) = convert::options(value, "breakpoint.set", &OPTIONS)? else {
        return Ok(None);
    };
    for later in OPTIONS.iter().filter(|name| **name != "name") {
        if !options.get::<_, Value<'_>>(*later)?.is_undefined() {
            return Err(Error::NotYet {
                what: format!("the breakpoint option '{later}'"),
                hint: Some(
                    "addEventListener('breakpoint', e => condition ? 'stop' : 'continue')"
                        .to_owned(),
                ),
            });
        }
    }
    convert::optional_string(&options.get("name")?, "breakpoint.set: name")
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
    call.host.ask(|session| session.remove_breakpoint(&key))?;
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
    convert::array(call.ctx, list, |info| record(call.ctx, &info))
}

fn record<'js>(ctx: &Ctx<'js>, info: &BreakpointInfo) -> Answer<'js> {
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
    let record = if info.addrs.len() > 1 {
        let addrs = convert::array(ctx, &info.addrs, |addr| convert::address(ctx, *addr))?;
        record.with("addrs", addrs)?
    } else {
        record
    };
    Ok(record.finish())
}
