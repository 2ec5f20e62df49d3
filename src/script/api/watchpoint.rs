//! watchpoint.set, remove, list.

use super::breakpoint::condition;
use super::{Answer, Entry};
use crate::base::id::WatchpointId;
use crate::script::conditions::Options;
use crate::script::convert::{self, Record};
use crate::script::error::Error;
use crate::script::raw::Call;
use crate::session::event::Access;
use crate::session::info::WatchpointInfo;
use crate::session::request::{WatchSpec, WatchpointKey};
use rquickjs::{Ctx, Value};

pub const NATIVES: &[Entry] = &[
    ("watchpoint_set", set),
    ("watchpoint_remove", remove),
    ("watchpoint_list", list),
];

const OPTIONS: [&str; 3] = ["name", "size", "if"];

fn set<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let place = convert::place(&call.arg(0), "watchpoint.set")?;
    let access = access(&call.arg(1))?;
    let (spec, options) = spec(call, &call.arg(2), access)?;
    let info = call
        .host
        .ask(|session| session.set_watchpoint(&place, spec))?;
    call.host.conditions.set_watchpoint(info.id, options);
    convert::number(call.ctx, u64::from(info.id.raw()))
}

fn access(value: &Value<'_>) -> Result<Access, Error> {
    match convert::optional_string(value, "watchpoint.set: access")?.as_deref() {
        Some("w") | None => Ok(Access::Write),
        Some("r") => Ok(Access::Read),
        Some("rw") => Ok(Access::ReadWrite),
        Some(other) => Err(Error::argument_hint(
            format!("watchpoint.set: access '{other}'"),
            "'r', 'w' or 'rw'",
        )),
    }
}

/// The third argument: a name, or options of which the name is one.
fn spec<'js>(
    call: &Call<'_, 'js>,
    value: &Value<'js>,
    access: Access,
) -> Result<(WatchSpec, Options), Error> {
    let mut set = Options::default();
    let mut spec = WatchSpec {
        access,
        size: None,
        name: None,
    };
    if value.is_string() {
        spec.name = Some(convert::string(value, "watchpoint.set: name")?);
        return Ok((spec, set));
    }
    let Some(options) = convert::options(value, "watchpoint.set", &OPTIONS)? else {
        return Ok((spec, set));
    };
    let value: Value<'_> = options.get("if")?;
    if !value.is_undefined() {
        set.condition = Some(condition(call, &value, "watchpoint.set: if")?);
    }
    spec.name = convert::optional_string(&options.get("name")?, "watchpoint.set: name")?;
    let size: Value<'_> = options.get("size")?;
    if !size.is_undefined() {
        let size = convert::integer_in(&size, "watchpoint.set: size", 1, 8)?;
        spec.size = u8::try_from(size).ok();
    }
    Ok((spec, set))
}

fn remove<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let value = call.arg(0);
    let key = if value.is_string() {
        WatchpointKey::Name(convert::string(&value, "watchpoint.remove")?)
    } else {
        let id = convert::integer_in(&value, "watchpoint.remove", 0, i128::from(u32::MAX))?;
        WatchpointKey::Id(WatchpointId::new(u32::try_from(id).unwrap_or(u32::MAX)))
    };
    let id = call.host.ask(|session| session.remove_watchpoint(&key))?;
    call.host.conditions.drop_watchpoint(id);
    Ok(call.undefined())
}

fn list<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let list = call.host.session(|session| session.watchpoints());
    convert::array(call.ctx, list, |info| {
        let options = call.host.conditions.of_watchpoint(info.id);
        let options = options.map(|options| options.words());
        record(call.ctx, &info, options.as_deref())
    })
}

fn record<'js>(ctx: &Ctx<'js>, info: &WatchpointInfo, options: Option<&str>) -> Answer<'js> {
    let access = match info.access {
        Access::Read => "r",
        Access::Write => "w",
        Access::ReadWrite => "rw",
    };
    let record = Record::new(ctx)?
        .number("id", u64::from(info.id.raw()))?
        .text_or_null("name", info.name.as_deref())?
        .text("where", &info.spec)?
        .address("addr", info.addr)?
        .number("size", u64::from(info.size))?
        .text("access", access)?
        .number_or_null("value", info.value)?
        .number("hits", info.hits)?
        .flag("active", info.active)?;
    let record = match options {
        Some(options) => record.text("options", options)?,
        None => record,
    };
    Ok(record.finish())
}
