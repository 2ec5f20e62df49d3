//! spawn(binary, ...args) and spawn({bin, args, env, …}).

use super::control::started;
use super::{Answer, Entry};
use crate::os::spawn::Resource;
use crate::script::convert;
use crate::script::error::Error;
use crate::script::raw::{Call, text};
use crate::session::request::{SpawnSpec, StdinSpec};
use rquickjs::{Object, Value};
use std::path::PathBuf;

pub const NATIVES: &[Entry] = &[("spawn", spawn)];

const OPTIONS: [&str; 9] = [
    "bin", "args", "env", "cwd", "stdin", "tty", "aslr", "stop", "limits",
];

const USAGE: &str = "spawn('/path/to/program', 'arg') or spawn({bin, args, env, cwd, stdin, tty, aslr, stop, limits})";

fn spawn<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let first = call.arg(0);
    let spec = if first.is_string() {
        let rest = (1..call.count()).map(|index| argument(&call.arg(index)));
        SpawnSpec {
            program: convert::string(&first, "spawn")?,
            args: rest.collect::<Result<_, _>>()?,
            ..SpawnSpec::default()
        }
    } else {
        if call.count() > 1 {
            return Err(Error::argument_hint(
                "spawn: options stand alone; arguments go into args",
                "spawn({bin: '/path', args: ['a', 'b']})",
            ));
        }
        match convert::options(&first, "spawn", &OPTIONS)? {
            Some(options) => from_options(&options)?,
            None => {
                return Err(Error::argument_hint("spawn: no program given", USAGE));
            }
        }
    };
    started(call, &call.host.ask(|session| session.spawn(spec))?)
}

fn from_options(options: &Object<'_>) -> Result<SpawnSpec, Error> {
    let get = |name: &str| -> Result<Option<Value<'_>>, Error> {
        let value: Value<'_> = options.get(name)?;
        Ok(Some(value).filter(|value| !value.is_undefined()))
    };
    let program = match get("bin")? {
        Some(bin) => convert::string(&bin, "spawn: bin")?,
        None => return Err(Error::argument_hint("spawn: bin is missing", USAGE)),
    };
    let flag = |name: &str| match get(name)? {
        Some(value) => convert::boolean(&value, &format!("spawn: {name}")),
        None => Ok(false),
    };
    Ok(SpawnSpec {
        program,
        args: get("args")?.map_or(Ok(Vec::new()), |args| arguments(&args))?,
        env: get("env")?.map_or(Ok(Vec::new()), |env| environment(&env))?,
        cwd: match get("cwd")? {
            Some(cwd) => Some(PathBuf::from(convert::string(&cwd, "spawn: cwd")?)),
            None => None,
        },
        stdin: get("stdin")?.map_or(Ok(StdinSpec::Pipe), |stdin| standard_input(&stdin))?,
        tty: flag("tty")?,
        aslr: flag("aslr")?,
        stop_at_main: get("stop")?.map_or(Ok(false), |stop| stops_at_main(&stop))?,
        limits: get("limits")?.map_or(Ok(Vec::new()), |limits| resource_limits(&limits))?,
    })
}

/// One argument; numbers and the like are taken as their text.
fn argument(value: &Value<'_>) -> Result<Vec<u8>, Error> {
    let bytes = if value.is_string() {
        text::to_bytes(value)
    } else if value.is_number() || value.is_big_int() || value.is_bool() {
        convert::describe(value).into_bytes()
    } else {
        return Err(Error::argument(format!(
            "spawn: the argument {} is not a string",
            convert::describe(value)
        )));
    };
    if bytes.contains(&0) {
        return Err(Error::argument("spawn: an argument cannot contain NUL"));
    }
    Ok(bytes)
}

fn arguments(value: &Value<'_>) -> Result<Vec<Vec<u8>>, Error> {
    let array = value.as_array().ok_or_else(|| {
        Error::argument_hint(
            format!("spawn: args: {} is not an array", convert::describe(value)),
            "args: ['a', 'b']",
        )
    })?;
    array
        .iter::<Value<'_>>()
        .map(|item| argument(&item?))
        .collect()
}

/// Names and values; null or undefined removes a name.
fn environment(value: &Value<'_>) -> Result<Vec<(String, Option<String>)>, Error> {
    let object = value
        .as_object()
        .filter(|_| !value.is_array())
        .ok_or_else(|| {
            Error::argument_hint(
                format!("spawn: env: {} is not an object", convert::describe(value)),
                "env: {NAME: 'value', GONE: null}",
            )
        })?;
    let mut all = Vec::new();
    for entry in object.props::<String, Value<'_>>() {
        let (name, value) = entry?;
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Error::argument(format!(
                "spawn: env: '{name}' cannot be a name"
            )));
        }
        let value = if value.is_null() || value.is_undefined() {
            None
        } else {
            let bytes = argument(&value)?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        all.push((name, value));
    }
    Ok(all)
}

/// Numbers, or 'unlimited'.
fn resource_limits(value: &Value<'_>) -> Result<Vec<(Resource, u64)>, Error> {
    let names: Vec<&str> = Resource::names().collect();
    let Some(options) = convert::options(value, "spawn: limits", &names)? else {
        return Ok(Vec::new());
    };
    let mut limits = Vec::new();
    for name in names {
        let value: Value<'_> = options.get(name)?;
        let Some(resource) = Resource::by_name(name).filter(|_| !value.is_undefined()) else {
            continue;
        };
        let is_unlimited = value.is_string() && text::to_bytes(&value) == b"unlimited";
        let limit = if is_unlimited {
            u64::MAX
        } else {
            convert::unsigned(&value, &format!("spawn: limits: {name}"))?
        };
        limits.push((resource, limit));
    }
    Ok(limits)
}

fn standard_input(value: &Value<'_>) -> Result<StdinSpec, Error> {
    if value.is_string() {
        let bytes = text::to_bytes(value);
        return Ok(match bytes.as_slice() {
            b"null" => StdinSpec::Null,
            _ => StdinSpec::Text(bytes),
        });
    }
    match convert::options(value, "spawn: stdin", &["file"])? {
        Some(options) => {
            let file: Value<'_> = options.get("file")?;
            let path = convert::string(&file, "spawn: stdin: file")?;
            Ok(StdinSpec::File(PathBuf::from(path)))
        }
        None => Ok(StdinSpec::Null),
    }
}

fn stops_at_main(value: &Value<'_>) -> Result<bool, Error> {
    match convert::string(value, "spawn: stop")?.as_str() {
        "main" => Ok(true),
        "entry" => Ok(false),
        other => Err(Error::argument_hint(
            format!("spawn: stop: '{other}' is no place to stop at"),
            "'main' or 'entry'",
        )),
    }
}
