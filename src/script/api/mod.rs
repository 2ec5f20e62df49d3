//! The API that scripts see. A native takes its arguments, asks the session, converts the answer;
//! what needs no debuggee is in `prelude.js`, what all of it means in `api.d.ts`.

pub mod breakpoint;
pub mod config;
pub mod control;
pub mod env;
mod extended;
pub mod listener;
pub mod memory;
pub mod number;
pub mod print;
pub mod signal;
pub mod spawn;
pub mod state;
pub mod stdio;
pub mod symbols;
mod watchpoint;

use super::error::Error;
use super::events;
use super::host::Host;
use super::raw::view::{self, Field};
use super::raw::{self, Native};
use crate::arch::flags;
use crate::arch::registers::{RegId, TABLE};
use rquickjs::{Ctx, Function, Object, Value};
use std::rc::Rc;

/// What a native answers.
pub type Answer<'js> = Result<Value<'js>, Error>;

/// A name for the prelude, and the function behind it.
pub type Entry = (&'static str, Native);

const PRELUDE: &str = include_str!("../prelude.js");

/// The file name of the prelude in stack traces, which no position is taken from.
const PRELUDE_FILE: &str = "<api>";

/// The globals, in the order in which `help()` speaks of them. All are constants.
pub const GLOBALS: &[&str] = &[
    "spawn",
    "attach",
    "detach",
    "kill",
    "restart",
    "step",
    "next",
    "stepIn",
    "finish",
    "until",
    "cont",
    "wait",
    "interrupt",
    "breakpoint",
    "watchpoint",
    "addEventListener",
    "removeEventListener",
    "listeners",
    "thread",
    "processes",
    "signal",
    "hang",
    "frame",
    "frames",
    "backtrace",
    "symbols",
    "modules",
    "maps",
    "source",
    "state",
    "ctx",
    "config",
    "print",
    "console",
    "hex",
    "align_down",
    "align_up",
    "band",
    "bor",
    "bxor",
    "bnot",
    "shl",
    "shr",
    "s64",
    "u64",
    "help",
    "env",
    "more",
    "stdin",
    "stdout",
    "stderr",
    "DebuggerError",
    "__cont__",
];

/// Globals that cannot be constants: the value of `prev` changes, `continue` is a reserved word.
const SPECIAL: [&str; 2] = ["prev", "continue"];

/// Whether a script may not declare this name at its top level.
pub fn is_reserved(name: &str) -> bool {
    GLOBALS.contains(&name) || SPECIAL.contains(&name)
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    [
        breakpoint::NATIVES,
        watchpoint::NATIVES,
        config::NATIVES,
        control::NATIVES,
        env::NATIVES,
        extended::NATIVES,
        listener::NATIVES,
        memory::NATIVES,
        number::NATIVES,
        print::NATIVES,
        signal::NATIVES,
        spawn::NATIVES,
        state::NATIVES,
        stdio::NATIVES,
        symbols::NATIVES,
    ]
    .into_iter()
    .flatten()
}

/// The functions that natives' magic numbers index.
pub fn natives() -> Vec<Native> {
    entries().map(|(_, native)| *native).collect()
}

/// Builds the API in a fresh context.
pub fn install(ctx: &Ctx<'_>, host: &Host) -> Result<(), Error> {
    let natives = Object::new(ctx.clone())?;
    for (index, (name, _)) in entries().enumerate() {
        natives.set(*name, raw::native_function(ctx, name, index)?)?;
    }
    let prelude = raw::compile_program(ctx, PRELUDE, PRELUDE_FILE, raw::Mode::Script)?.run()?;
    let prelude = Function::from_value(prelude)?;
    let names = |row: &'static crate::arch::registers::Row| row.name;
    let registers: Vec<&str> = TABLE.iter().map(names).collect();
    let parts: Object<'_> = prelude.call((natives, registers))?;
    define_fields(&parts)?;
    host.set_internals(ctx, parts.clone());
    let globals: Object<'_> = parts.get("globals")?;
    globals.set("state", events::state(ctx, host, &Rc::default())?)?;
    define_constants(ctx, &globals)?;
    parts.get::<_, Function<'_>>("seal")?.call::<_, ()>(())?;
    Ok(())
}

/// The getters that run on every step.
fn define_fields(parts: &Object<'_>) -> Result<(), Error> {
    let state: Object<'_> = parts.get("state")?;
    let registers: Object<'_> = parts.get("registers")?;
    let registers_big: Object<'_> = parts.get("registers_big")?;
    let flags: Object<'_> = parts.get("flags")?;
    let all = (0..).map_while(RegId::by_index).map(|id| (id.name(), id));
    let aliases = ["pc", "sp"].map(|name| RegId::by_name(name).map(|id| (name, id)));
    let aliases: Vec<_> = aliases.into_iter().flatten().collect();
    for (name, id) in all.chain(aliases.iter().copied()) {
        view::define_field(&registers, name, Field::Register(id))?;
        view::define_field(&registers_big, name, Field::RegisterBig(id))?;
    }
    for (name, id) in aliases {
        view::define_field(&state, name, Field::Register(id))?;
    }
    view::define_field(&state, "registers", Field::Child(0))?;
    view::define_field(&state, "flags", Field::Child(1))?;
    view::define_field(&registers, "n", Field::Child(0))?;
    for (name, bit) in flags::FLAGS {
        view::define_field(&flags, name, Field::Flag(bit))?;
    }
    Ok(())
}

/// Makes the API's names constants: fast to look up, and an error to assign or redeclare.
fn define_constants<'js>(ctx: &Ctx<'js>, globals: &Object<'js>) -> Result<(), Error> {
    const CARRIER: &str = "__api__";
    let assignments: Vec<String> = GLOBALS
        .iter()
        .map(|name| format!("{name} = {CARRIER}.{name}"))
        .collect();
    ctx.globals().set(CARRIER, globals.clone())?;
    let text = format!("const {};", assignments.join(", "));
    raw::compile_program(ctx, &text, PRELUDE_FILE, raw::Mode::Script)?.run()?;
    ctx.globals().remove(CARRIER)?;
    Ok(())
}
