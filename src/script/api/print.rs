//! Text for the reply: print, more, and what the prelude's own texts need.

use super::{Answer, Entry};
use crate::script::convert;
use crate::script::echo;
use crate::script::error::Error;
use crate::script::help;
use crate::script::near;
use crate::script::raw::Call;

pub const NATIVES: &[Entry] = &[
    ("print", print),
    ("more", more),
    ("help", help),
    ("help_line", help_line),
    ("unknown_property", unknown_property),
    ("reads_only", reads_only),
];

fn print<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let mut line = Vec::new();
    for index in 0..call.count() {
        if index > 0 {
            line.push(b'\t');
        }
        echo::push_printed(call.ctx, call.host, &call.arg(index), &mut line)?;
    }
    // What the debuggee wrote before comes first; nothing can have come while no run is going.
    if call.host.listeners.depth() > 0 || call.host.background.is_running() {
        call.host.pull_output();
    }
    call.host.payload(|payload| payload.print_bytes(&line));
    Ok(call.undefined())
}

fn more<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    if call.count() > 0 {
        return Err(Error::argument("more: takes no argument"));
    }
    call.host.show_more();
    Ok(call.undefined())
}

fn help<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let topic = convert::optional_string(&call.arg(0), "help")?;
    call.text(&help::topic(topic.as_deref())?)
}

/// The one line on an API name.
fn help_line<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let name = convert::string(&call.arg(0), "help")?;
    call.text(&help::line(&name))
}

/// Bytes that a list of all names may take.
const NAMES_MAX: usize = 120;

/// Throws what a name that is not there deserves: (object, name, the names that are there).
fn unknown_property<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let object = convert::string(&call.arg(0), "object")?;
    let name = convert::string(&call.arg(1), "name")?;
    let mut known = Vec::new();
    if let Some(array) = call.arg(2).as_array() {
        for name in array.iter::<String>() {
            known.push(name?);
        }
    }
    let hint = match near::nearest(&name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}"),
        None => in_short("it has:", &known),
    };
    Err(Error::BadProperty {
        object,
        name,
        hint: Some(hint),
    })
}

/// As many of the names as fit.
fn in_short(begin: &str, names: &[String]) -> String {
    let mut text = begin.to_owned();
    for name in names {
        if text.len() + 1 + name.len() > NAMES_MAX {
            text.push_str(" …");
            break;
        }
        text.push(' ');
        text.push_str(name);
    }
    text
}

/// Throws what a reader deserves that was given a value: (its name, the value).
fn reads_only<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let name = convert::string(&call.arg(0), "name")?;
    let value = convert::describe(&call.arg(1));
    Err(Error::argument_hint(
        format!("{name}() reads and takes no value"),
        format!("state.memory(a).write.{name}({value})"),
    ))
}
