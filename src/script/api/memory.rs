//! state.memory(a): typed reads and writes.

use super::{Answer, Entry};
use crate::base::addr::VirtAddr;
use crate::output::hex;
use crate::script::convert;
use crate::script::error::Error;
use crate::script::host::Host;
use crate::script::raw::view::Source;
use crate::script::raw::{Call, text};
use rquickjs::{BigInt, Ctx, Value};
use std::rc::Rc;

pub const NATIVES: &[Entry] = &[
    ("memory_types", types),
    ("read", read),
    ("read_bytes", read_bytes),
    ("read_string", read_string),
    ("read_array", read_array),
    ("find", find),
    ("write", write),
    ("write_bytes", write_bytes),
    ("write_string", write_string),
];

/// Bytes that one read returns at most; as text they take twice that.
const READ_MAX: usize = 4 << 20;
/// Elements that one array holds at most.
const ARRAY_MAX: usize = 1 << 20;
/// Bytes of a string, unless asked otherwise.
const STRING_DEFAULT: usize = 64 << 10;
/// Bytes that one search looks through at most.
const FIND_MAX: u64 = 1 << 40;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Unsigned,
    Signed,
    /// Always a BigInt.
    UnsignedBig,
    SignedBig,
    Float,
}

/// Name, bytes, shape: the accessors of `state.memory(a)` and of its `write`.
pub(super) const TYPES: [(&str, usize, Shape); 13] = [
    ("u8", 1, Shape::Unsigned),
    ("u16", 2, Shape::Unsigned),
    ("u32", 4, Shape::Unsigned),
    ("u64", 8, Shape::Unsigned),
    ("i8", 1, Shape::Signed),
    ("i16", 2, Shape::Signed),
    ("i32", 4, Shape::Signed),
    ("i64", 8, Shape::Signed),
    ("u64n", 8, Shape::UnsignedBig),
    ("i64n", 8, Shape::SignedBig),
    ("f32", 4, Shape::Float),
    ("f64", 8, Shape::Float),
    ("ptr", 8, Shape::Unsigned),
];

fn types<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    convert::array(call.ctx, TYPES, |(name, ..)| call.text(name))
}

/// What every access begins with: what answers, and where.
struct Access {
    source: Rc<Source>,
    addr: VirtAddr,
}

impl Access {
    fn of(call: &Call<'_, '_>) -> Result<Self, Error> {
        let source = call.host.view_class()?.source(&call.arg(0));
        Ok(Self {
            source: source.ok_or(Error::NotAView)?,
            addr: VirtAddr::new(convert::unsigned(&call.arg(1), "memory")?),
        })
    }

    /// The bytes; None when the stop is past and nobody read them then.
    fn read(&self, host: &Host, len: usize) -> Result<Option<Vec<u8>>, Error> {
        if let Some(snapshot) = self.source.snapshot() {
            return Ok(snapshot.memory(self.addr, len).map(<[u8]>::to_vec));
        }
        let mut bytes = vec![0; len];
        host.ask(|session| session.read_memory(self.addr, &mut bytes))?;
        Ok(Some(bytes))
    }

    fn write(&self, host: &Host, bytes: &[u8]) -> Result<(), Error> {
        if self.source.snapshot().is_some() {
            return Err(Error::Past);
        }
        host.ask(|session| session.write_memory(self.addr, bytes))
    }
}

fn type_at(value: &Value<'_>) -> Result<(&'static str, usize, Shape), Error> {
    let index = convert::count_or(value, "type", 0, 0, TYPES.len() - 1)?;
    TYPES.get(index).copied().ok_or(Error::NotAView)
}

fn read<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let access = Access::of(call)?;
    let (_, size, shape) = type_at(&call.arg(2))?;
    match access.read(call.host, size)? {
        Some(bytes) => decode(call.ctx, &bytes, shape),
        None => Ok(call.undefined()),
    }
}

/// Little-endian bytes as the value that they mean.
pub(super) fn decode<'js>(ctx: &Ctx<'js>, bytes: &[u8], shape: Shape) -> Answer<'js> {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let unsigned = u64::from_le_bytes(word);
    let spare = 64 - 8 * u32::try_from(bytes.len()).unwrap_or(8);
    let signed = unsigned.unbounded_shl(spare).cast_signed() >> spare.min(63);
    match shape {
        Shape::Unsigned => convert::number(ctx, unsigned),
        Shape::Signed => convert::signed(ctx, signed),
        Shape::UnsignedBig => Ok(BigInt::from_u64(ctx.clone(), unsigned)?.into_value()),
        Shape::SignedBig => Ok(BigInt::from_i64(ctx.clone(), signed)?.into_value()),
        Shape::Float => {
            let float = match u32::try_from(unsigned) {
                Ok(bits) if bytes.len() == 4 => f64::from(f32::from_bits(bits)),
                _ => f64::from_bits(unsigned),
            };
            Ok(Value::new_number(ctx.clone(), float))
        }
    }
}

/// A value as the little-endian bytes of a type; out of range is an error, never a cut.
pub(super) fn encode(
    value: &Value<'_>,
    what: &str,
    size: usize,
    shape: Shape,
) -> Result<Vec<u8>, Error> {
    if shape == Shape::Float {
        let float = value.as_number().ok_or_else(|| {
            Error::argument(format!(
                "{what}: {} is not a Number",
                convert::describe(value)
            ))
        })?;
        // Rounding to the nearest single is what storing a float means.
        #[allow(clippy::cast_possible_truncation)]
        let bytes = if size == 4 {
            (float as f32).to_le_bytes().to_vec()
        } else {
            float.to_le_bytes().to_vec()
        };
        return Ok(bytes);
    }
    let bits = u32::try_from(8 * size).unwrap_or(64);
    let (min, max) = match shape {
        Shape::Unsigned | Shape::UnsignedBig => (0, (1i128 << bits) - 1),
        _ => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    };
    let number = convert::integer_in(value, what, min, max)?;
    Ok(number.to_le_bytes()[..size].to_vec())
}

fn read_bytes<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let access = Access::of(call)?;
    let len = convert::count_or(&call.arg(2), "bytes", 16, 0, READ_MAX)?;
    match access.read(call.host, len)? {
        Some(bytes) => call.text(&hex_text(&bytes)),
        None => Ok(call.undefined()),
    }
}

/// Two digits a byte.
pub fn hex_text(bytes: &[u8]) -> String {
    hex::bytes(bytes)
}

fn read_string<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let access = Access::of(call)?;
    let max = convert::count_or(&call.arg(2), "str", STRING_DEFAULT, 1, READ_MAX)?;
    if access.source.snapshot().is_some() {
        return past_string(call, &access, max);
    }
    let (bytes, ended) = call
        .host
        .ask(|session| session.read_c_string(access.addr, max))?;
    if !ended {
        let note = format!("~ str: no NUL within {} bytes", bytes.len());
        call.host.payload(|payload| payload.note(&note));
    }
    call.bytes(&bytes)
}

/// A string out of what was read at an earlier stop.
fn past_string<'js>(call: &Call<'_, 'js>, access: &Access, max: usize) -> Answer<'js> {
    let mut bytes = Vec::new();
    let snapshot = access.source.snapshot();
    while bytes.len() < max {
        let offset = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let byte = access.addr.checked_add(offset).and_then(|addr| {
            let bytes = snapshot.as_ref()?.memory(addr, 1)?;
            bytes.first().copied()
        });
        match byte {
            None => return Ok(call.undefined()),
            Some(0) => break,
            Some(byte) => bytes.push(byte),
        }
    }
    call.bytes(&bytes)
}

fn read_array<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let access = Access::of(call)?;
    let (name, size, shape) = type_named(&call.arg(2))?;
    let count = call.arg(3);
    if count.is_undefined() {
        return Err(Error::argument_hint(
            "array: how many is missing",
            format!("array('{name}', 4)"),
        ));
    }
    let count = convert::count_or(&count, "array", 0, 0, ARRAY_MAX)?;
    match access.read(call.host, count * size)? {
        Some(bytes) => convert::array(call.ctx, bytes.chunks_exact(size), |bytes| {
            decode(call.ctx, bytes, shape)
        }),
        None => Ok(call.undefined()),
    }
}

fn type_named(value: &Value<'_>) -> Result<(&'static str, usize, Shape), Error> {
    let name = convert::string(value, "array: type")?;
    let found = TYPES.iter().find(|(known, ..)| *known == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = TYPES.iter().map(|(name, ..)| *name).collect();
        Error::argument_hint(
            format!("array: '{name}' is no type"),
            format!("types: {}", names.join(" ")),
        )
    })
}

/// Bytes from a text of hex digits, or from an array of byte values.
pub(super) fn bytes_of(value: &Value<'_>, what: &str) -> Result<Vec<u8>, Error> {
    if let Some(array) = value.as_array() {
        let mut bytes = Vec::new();
        for item in array.iter::<Value<'_>>() {
            let byte = convert::integer_in(&item?, what, 0, 255)?;
            bytes.push(u8::try_from(byte).unwrap_or(0));
        }
        return Ok(bytes);
    }
    let text = if value.is_string() {
        convert::text(value)
    } else {
        String::new()
    };
    let digits: String = text
        .strip_prefix("0x")
        .unwrap_or(&text)
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect();
    parse_hex(&digits).ok_or_else(|| {
        Error::argument_hint(
            format!("{what}: {} are no bytes", convert::describe(value)),
            "hex digits such as '7f454c46', or an array such as [0x7f, 0x45]",
        )
    })
}

fn parse_hex(digits: &str) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.is_ascii() || digits.len() % 2 == 1 {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect()
}

/// The first place of some bytes within `len` bytes, or null.
fn find<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let access = Access::of(call)?;
    if access.source.snapshot().is_some() {
        return Err(Error::Past);
    }
    let pattern = bytes_of(&call.arg(2), "find")?;
    let len = convert::integer_in(&call.arg(3), "find: length", 0, i128::from(FIND_MAX))?;
    let len = u64::try_from(len).unwrap_or(FIND_MAX);
    let found = call
        .host
        .ask(|session| session.find_memory(access.addr, len, &pattern))?;
    match found {
        Some(addr) => convert::address(call.ctx, addr),
        None => Ok(call.null()),
    }
}

fn write<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let access = Access::of(call)?;
    let (name, size, shape) = type_at(&call.arg(2))?;
    let bytes = encode(&call.arg(3), &format!("write.{name}"), size, shape)?;
    access.write(call.host, &bytes)?;
    Ok(call.undefined())
}

fn write_bytes<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let access = Access::of(call)?;
    access.write(call.host, &bytes_of(&call.arg(2), "write.bytes")?)?;
    Ok(call.undefined())
}

/// The text and a NUL.
fn write_string<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let access = Access::of(call)?;
    let text = call.arg(2);
    if !text.is_string() {
        return Err(Error::argument(format!(
            "write.str: {} is not a string",
            convert::describe(&text)
        )));
    }
    let mut bytes = text::to_bytes(&text);
    bytes.push(0);
    access.write(call.host, &bytes)?;
    Ok(call.undefined())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_digits_are_bytes() {
        assert_eq!(parse_hex("7f45"), Some(vec![0x7f, 0x45]));
        for bad in ["", "7", "7g", "žž"] {
            assert_eq!(parse_hex(bad), None, "{bad}");
        }
        assert_eq!(hex_text(&[0, 0xff]), "00ff");
    }
}
