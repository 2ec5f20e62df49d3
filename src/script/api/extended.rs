//! state.registers.xmm0 and the others that only some programs use.

use super::memory::{Shape, TYPES, bytes_of, decode, encode, hex_text};
use super::{Answer, Entry};
use crate::arch::xstate::{self, Extended};
use crate::script::convert::{self, Record};
use crate::script::error::Error;
use crate::script::raw::Call;
use crate::script::raw::view::Source;
use crate::session::session::Session;
use rquickjs::{Ctx, Object, Value};
use std::rc::Rc;

pub const NATIVES: &[Entry] = &[
    ("extended_names", names),
    ("extended", get),
    ("set_extended", set),
];

/// The types that a vector is shown as, beside its bytes.
const VIEWS: [&str; 4] = ["u32", "u64", "f32", "f64"];

fn names<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    convert::texts(call.ctx, &Extended::names())
}

/// What every access begins with: what answers, the register and its name.
fn access(call: &Call<'_, '_>) -> Result<(Rc<Source>, Extended, String), Error> {
    let source = call.host.view_class()?.source(&call.arg(0));
    let name = convert::string(&call.arg(1), "register")?;
    let register = Extended::by_name(&name).ok_or(Error::NotAView)?;
    Ok((source.ok_or(Error::NotAView)?, register, name))
}

/// Undefined when the stop is past and nobody read it then, null when the processor has no such register.
fn get<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let (source, register, _) = access(call)?;
    let state = match source.snapshot() {
        Some(snapshot) => match &snapshot.xstate {
            Some(state) => Rc::clone(state),
            None => return Ok(call.undefined()),
        },
        None => call.host.ask(Session::xstate)?,
    };
    match state.get(register) {
        Some(bytes) => shown(call.ctx, register, &bytes),
        None => Ok(call.null()),
    }
}

fn shown<'js>(ctx: &Ctx<'js>, register: Extended, bytes: &[u8]) -> Answer<'js> {
    match register {
        Extended::Xmm(_) | Extended::Ymm(_) => {
            let mut record = Record::new(ctx)?.text("bytes", &hex_text(bytes))?;
            for (name, size, shape) in views() {
                let lanes = convert::array(ctx, bytes.chunks_exact(size), |lane| {
                    decode(ctx, lane, shape)
                })?;
                record = record.with(name, lanes)?;
            }
            Ok(record.finish())
        }
        Extended::St(_) => {
            let value = xstate::extended_to_f64(bytes).unwrap_or(f64::NAN);
            let value = Value::new_number(ctx.clone(), value);
            let record = Record::new(ctx)?.text("bytes", &hex_text(bytes))?;
            Ok(record.with("f64", value)?.finish())
        }
        Extended::Mxcsr | Extended::Fcw | Extended::Fsw | Extended::Ftw => {
            decode(ctx, bytes, Shape::Unsigned)
        }
    }
}

fn views() -> impl Iterator<Item = (&'static str, usize, Shape)> {
    TYPES.into_iter().filter(|(name, ..)| VIEWS.contains(name))
}

fn set<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let (source, register, name) = access(call)?;
    if source.snapshot().is_some() {
        return Err(Error::Past);
    }
    let value = call.arg(2);
    let bytes = match register {
        Extended::Mxcsr | Extended::Fcw | Extended::Fsw | Extended::Ftw => {
            encode(&value, &name, register.width(), Shape::Unsigned)?
        }
        _ => match value.as_object().filter(|_| !value.is_array()) {
            Some(object) => from_view(object, register, &name)?,
            None => bytes_of(&value, &name)?,
        },
    };
    if bytes.len() != register.width() {
        return Err(Error::argument_hint(
            format!("{name}: {} bytes, not {}", bytes.len(), register.width()),
            format!("state.registers.{name}"),
        ));
    }
    call.host
        .ask(|session| session.set_extended(register, &bytes))?;
    Ok(call.undefined())
}

/// `{u64: [1, 2]}`: the bytes of one of the views that a register is shown as.
fn from_view(object: &Object<'_>, register: Extended, name: &str) -> Result<Vec<u8>, Error> {
    let value: Value<'_> = object.get("bytes")?;
    if !value.is_undefined() && object.keys::<String>().count() == 1 {
        return bytes_of(&value, name);
    }
    let is_vector = matches!(register, Extended::Xmm(_) | Extended::Ymm(_));
    for (view, size, shape) in views().filter(|_| is_vector) {
        let value: Value<'_> = object.get(view)?;
        let Some(lanes) = value.as_array() else {
            continue;
        };
        if object.keys::<String>().count() > 1 {
            break;
        }
        let wanted = register.width() / size;
        if lanes.len() != wanted {
            return Err(Error::argument(format!(
                "{name}: {} values of {view}, not {wanted}",
                lanes.len()
            )));
        }
        let mut bytes = Vec::with_capacity(register.width());
        for lane in lanes.iter::<Value<'_>>() {
            bytes.extend(encode(&lane?, &format!("{name}.{view}"), size, shape)?);
        }
        return Ok(bytes);
    }
    Err(Error::argument_hint(
        format!("{name} takes one view of its value"),
        if is_vector {
            "{u32: […]}, {u64: […]}, {f32: […]}, {f64: […]} or {bytes: '00ff…'}"
        } else {
            "{bytes: '00ff…'}"
        },
    ))
}
