//! The one place where numbers, addresses and bytes cross between scripts and Rust.
//!
//! No native takes or gives a bare u32, u64 or usize: rquickjs would make large ones negative. What
//! goes out is a Number where that is exact, else a BigInt; what comes in is checked, never rounded.

use super::error::Error;
use super::raw::{self, text as raw_text};
use crate::base::addr::VirtAddr;
use crate::output::escape::{self, Place};
use crate::session::request::Where;
use rquickjs::object::Property;
use rquickjs::{Array, Ctx, IntoAtom, IntoJs, Object, Value};
use std::time::Duration;

/// An unsigned integer on its way out.
pub fn number<'js>(ctx: &Ctx<'js>, value: u64) -> Result<Value<'js>, Error> {
    raw::number(ctx, value)
}

pub fn address<'js>(ctx: &Ctx<'js>, addr: VirtAddr) -> Result<Value<'js>, Error> {
    number(ctx, addr.raw())
}

/// A count or length on its way out.
pub fn count<'js>(ctx: &Ctx<'js>, value: usize) -> Result<Value<'js>, Error> {
    number(ctx, u64::try_from(value).unwrap_or(u64::MAX))
}

/// A signed integer on its way out.
pub fn signed<'js>(ctx: &Ctx<'js>, value: i64) -> Result<Value<'js>, Error> {
    match u64::try_from(value) {
        Ok(positive) => number(ctx, positive),
        // Down to -(2^53-1) a double is exact.
        Err(_) if value.unsigned_abs() <= raw::MAX_SAFE => {
            #[allow(clippy::cast_precision_loss)]
            let exact = value as f64;
            Ok(Value::new_number(ctx.clone(), exact))
        }
        Err(_) => Ok(Value::new_big_int(ctx.clone(), value)?),
    }
}

/// What an argument is, for error texts: short, whatever was passed.
pub fn describe(value: &Value<'_>) -> String {
    if value.is_string() {
        let text = text(value);
        let shown: String = text.chars().take(60).collect();
        let cut = if shown.len() < text.len() { "…" } else { "" };
        return format!("'{shown}{cut}'");
    }
    if let Some(integer) = raw::big_int(value) {
        return integer.to_string();
    }
    if let Some(number) = value.as_number() {
        return number.to_string();
    }
    if let Some(flag) = value.as_bool() {
        return flag.to_string();
    }
    value.type_name().replace('_', "")
}

/// An exact integer, from a Number or a BigInt, within what 64 bits can mean.
pub fn integer(value: &Value<'_>, what: &str) -> Result<i128, Error> {
    if let Some(small) = value.as_int() {
        return Ok(i128::from(small));
    }
    if let Some(float) = value.as_float() {
        return exact(float).ok_or_else(|| inexact(float, what));
    }
    if value.is_big_int() {
        return raw::big_int(value)
            .ok_or_else(|| Error::argument(format!("{what}: the BigInt needs more than 64 bits")));
    }
    Err(Error::argument(format!(
        "{what}: {} is not an integer",
        describe(value)
    )))
}

fn exact(float: f64) -> Option<i128> {
    const MAX: f64 = 9_007_199_254_740_991.0;
    if float.fract() != 0.0 || float.abs() > MAX {
        return None;
    }
    // Whole, and within 2^53 by the test above.
    #[allow(clippy::cast_possible_truncation)]
    Some(i128::from(float as i64))
}

fn inexact(float: f64, what: &str) -> Error {
    if float.is_finite() && float.fract() == 0.0 {
        return Error::argument_hint(
            format!("{what}: {float} is beyond 2^53 and may have been rounded"),
            "write a BigInt, such as 0x7fffffffffffffffn",
        );
    }
    Error::argument(format!("{what}: {float} is not an integer"))
}

/// An integer within bounds.
pub fn integer_in(value: &Value<'_>, what: &str, min: i128, max: i128) -> Result<i128, Error> {
    let number = integer(value, what)?;
    if (min..=max).contains(&number) {
        return Ok(number);
    }
    Err(Error::argument(format!(
        "{what}: {number} is not between {min} and {max}"
    )))
}

/// An unsigned 64-bit value.
pub fn unsigned(value: &Value<'_>, what: &str) -> Result<u64, Error> {
    let number = integer_in(value, what, 0, i128::from(u64::MAX))?;
    Ok(u64::try_from(number).unwrap_or(u64::MAX))
}

/// Sixty-four bits: from -2^63 to 2^64-1, negative ones in two's complement.
pub fn bits(value: &Value<'_>, what: &str) -> Result<u64, Error> {
    let number = integer_in(value, what, i128::from(i64::MIN), i128::from(u64::MAX))?;
    // Keeps the low 64 bits, which is what two's complement means.
    Ok(match i64::try_from(number) {
        Ok(signed) => signed.cast_unsigned(),
        Err(_) => u64::try_from(number).unwrap_or(u64::MAX),
    })
}

/// A count: `default` when it was left out.
pub fn count_or(
    value: &Value<'_>,
    what: &str,
    default: usize,
    min: usize,
    max: usize,
) -> Result<usize, Error> {
    if value.is_undefined() {
        return Ok(default);
    }
    let bound = |bound: usize| i128::try_from(bound).unwrap_or(i128::MAX);
    let number = integer_in(value, what, bound(min), bound(max))?;
    Ok(usize::try_from(number).unwrap_or(max))
}

/// The longest time that may be given, in milliseconds: a day.
const MAX_MS: f64 = 86_400_000.0;

/// Milliseconds.
pub fn duration(value: &Value<'_>, what: &str) -> Result<Duration, Error> {
    match value.as_number() {
        Some(ms) if (0.0..=MAX_MS).contains(&ms) => Ok(Duration::from_secs_f64(ms / 1000.0)),
        _ => Err(Error::argument(format!(
            "{what}: {} is not a number of milliseconds between 0 and {MAX_MS}",
            describe(value)
        ))),
    }
}

pub fn string(value: &Value<'_>, what: &str) -> Result<String, Error> {
    if value.is_string() {
        return Ok(text(value));
    }
    Err(Error::argument(format!(
        "{what}: {} is not a string",
        describe(value)
    )))
}

/// A string's text to be read; what is not well-formed in it is shown escaped.
pub fn shown(value: &Value<'_>) -> String {
    let bytes = raw_text::to_bytes(value);
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut text = String::new();
        escape::push_bytes(&mut text, error.as_bytes(), Place::Text, usize::MAX);
        text
    })
}

/// A string's text to be used; what is not well-formed in it becomes U+FFFD.
pub fn text(value: &Value<'_>) -> String {
    String::from_utf8_lossy(&raw_text::to_bytes(value)).into_owned()
}

pub fn boolean(value: &Value<'_>, what: &str) -> Result<bool, Error> {
    value
        .as_bool()
        .ok_or_else(|| Error::argument(format!("{what}: {} is not true or false", describe(value))))
}

/// A place in the program: a Number, a BigInt, or text that the session resolves.
pub fn place(value: &Value<'_>, what: &str) -> Result<Where, Error> {
    if value.is_string() {
        let text = string(value, what)?;
        if text.trim().is_empty() {
            return Err(Error::argument_hint(
                format!("{what}: the text is empty"),
                "an address, 'main', 'main+0x10', 'file.c:12'",
            ));
        }
        return Ok(Where::Text(text));
    }
    if value.is_number() || value.is_big_int() {
        return Ok(Where::Addr(VirtAddr::new(unsigned(value, what)?)));
    }
    Err(Error::argument_hint(
        format!("{what}: {} is not an address", describe(value)),
        "a Number, a BigInt, '0x…', 'main', 'main+0x10', 'file.c:12'",
    ))
}

/// Gives an object a property of its own, whatever setters its prototypes have.
pub fn define<'js>(
    object: &Object<'js>,
    key: impl IntoAtom<'js>,
    value: impl IntoJs<'js>,
) -> Result<(), Error> {
    let property = Property::from(value).writable().enumerable().configurable();
    Ok(object.prop(key, property)?)
}

/// The options of a call: an object whose every key is known. What its prototype has is no option.
pub fn options<'js>(
    value: &Value<'js>,
    what: &str,
    known: &[&str],
) -> Result<Option<Object<'js>>, Error> {
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    let object = value
        .as_object()
        .filter(|_| !value.is_function() && !value.is_array())
        .ok_or_else(|| {
            Error::argument_hint(
                format!("{what}: {} is not an object of options", describe(value)),
                format!("{{{}}}", known.join(", ")),
            )
        })?;
    let own = Object::new_proto(object.ctx().clone(), None)?;
    for key in object.keys::<String>() {
        let key = key?;
        if !known.contains(&key.as_str()) {
            let near = super::near::nearest(&key, known.iter().copied());
            return Err(Error::argument_hint(
                format!("{what}: unknown option '{key}'"),
                match near {
                    Some(near) => format!("did you mean {near}"),
                    None => format!("options: {}", known.join(" ")),
                },
            ));
        }
        own.set(key.as_str(), object.get::<_, Value<'js>>(key.as_str())?)?;
    }
    Ok(Some(own))
}

/// A string or nothing.
pub fn optional_string(value: &Value<'_>, what: &str) -> Result<Option<String>, Error> {
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    string(value, what).map(Some)
}

/// An array of what `convert` makes of each item.
pub fn array<'js, T>(
    ctx: &Ctx<'js>,
    items: impl IntoIterator<Item = T>,
    convert: impl Fn(T) -> Result<Value<'js>, Error>,
) -> Result<Value<'js>, Error> {
    let array = Array::new(ctx.clone())?;
    for (index, item) in items.into_iter().enumerate() {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        define(array.as_object(), index, convert(item)?)?;
    }
    Ok(array.into_value())
}

/// An array of strings.
pub fn texts<'js>(ctx: &Ctx<'js>, texts: &[String]) -> Result<Value<'js>, Error> {
    array(ctx, texts, |text| {
        let text = rquickjs::String::from_str(ctx.clone(), text)?;
        Ok(text.into_value())
    })
}

/// A plain record under construction.
pub struct Record<'js> {
    object: Object<'js>,
}

impl<'js> Record<'js> {
    pub fn new(ctx: &Ctx<'js>) -> Result<Self, Error> {
        Ok(Self {
            object: Object::new(ctx.clone())?,
        })
    }

    pub fn with_prototype(ctx: &Ctx<'js>, prototype: &Object<'js>) -> Result<Self, Error> {
        Ok(Self {
            object: Object::new_proto(ctx.clone(), Some(prototype))?,
        })
    }

    pub fn with(self, key: &str, value: Value<'js>) -> Result<Self, Error> {
        define(&self.object, key, value)?;
        Ok(self)
    }

    pub fn text(self, key: &str, value: &str) -> Result<Self, Error> {
        define(&self.object, key, value)?;
        Ok(self)
    }

    /// Null when there is none.
    pub fn text_or_null(self, key: &str, value: Option<&str>) -> Result<Self, Error> {
        match value {
            Some(text) => self.text(key, text),
            None => self.null(key),
        }
    }

    fn null(self, key: &str) -> Result<Self, Error> {
        let null = Value::new_null(self.object.ctx().clone());
        self.with(key, null)
    }

    pub fn signed(self, key: &str, value: i64) -> Result<Self, Error> {
        let value = signed(self.object.ctx(), value)?;
        self.with(key, value)
    }

    pub fn signed_or_null(self, key: &str, value: Option<i64>) -> Result<Self, Error> {
        match value {
            Some(value) => self.signed(key, value),
            None => self.null(key),
        }
    }

    pub fn number_or_null(self, key: &str, value: Option<u64>) -> Result<Self, Error> {
        match value {
            Some(value) => self.number(key, value),
            None => self.null(key),
        }
    }

    pub fn flag(self, key: &str, value: bool) -> Result<Self, Error> {
        define(&self.object, key, value)?;
        Ok(self)
    }

    pub fn number(self, key: &str, value: u64) -> Result<Self, Error> {
        let value = number(self.object.ctx(), value)?;
        self.with(key, value)
    }

    pub fn address(self, key: &str, addr: VirtAddr) -> Result<Self, Error> {
        self.number(key, addr.raw())
    }

    pub fn finish(self) -> Value<'js> {
        self.object.into_value()
    }
}
