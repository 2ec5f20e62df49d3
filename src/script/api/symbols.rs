//! symbols, modules, maps.

use super::{Answer, Entry};
use crate::script::convert::{self, Record};
use crate::script::raw::Call;
use crate::session::session::Session;

pub const NATIVES: &[Entry] = &[("symbols", symbols), ("modules", modules), ("maps", maps)];

/// Symbols that one call returns at most.
const SYMBOLS_MAX: usize = 100_000;

fn symbols<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let pattern = convert::optional_string(&call.arg(0), "symbols")?;
    let (list, more) = call
        .host
        .ask(|session| session.symbols(pattern.as_deref(), SYMBOLS_MAX))?;
    if more {
        let note = format!(
            "~ the first {} symbols: give a narrower pattern",
            list.len()
        );
        call.host.payload(|payload| payload.note(&note));
    }
    convert::array(call.ctx, &list, |symbol| {
        Ok(Record::new(call.ctx)?
            .address("addr", symbol.addr)?
            .number("size", symbol.size)?
            .text("kind", symbol.kind)?
            .text("name", &symbol.name)?
            .text("module", &symbol.module)?
            .finish())
    })
}

fn modules<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let wanted = convert::optional_string(&call.arg(0), "modules")?;
    let list = call.host.ask(Session::modules)?;
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| name.contains(wanted));
    let list = list.iter().filter(|module| is_wanted(&module.name));
    convert::array(call.ctx, list, |module| {
        Ok(Record::new(call.ctx)?
            .text("name", &module.name)?
            .address("start", module.start)?
            .address("end", module.end)?
            .number("bias", module.bias)?
            .text("symbols", &module.symbols)?
            .text_or_null("build_id", module.build_id.as_deref())?
            .text("path", &module.path)?
            .finish())
    })
}

fn maps<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let list = call.host.ask(Session::maps)?;
    convert::array(call.ctx, &list, |map| {
        Ok(Record::new(call.ctx)?
            .address("start", map.start)?
            .address("end", map.end)?
            .text("perms", &map.perms)?
            .number("offset", map.offset)?
            .text("path", &map.path)?
            .finish())
    })
}
