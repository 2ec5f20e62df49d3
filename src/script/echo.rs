//! How a value is shown (interface.md, section 3): the completion value of a program, and what
//! `print` is given. Whatever a script made it of, the text is bounded and the time is the script's.

mod layout;

use super::convert;
use super::error::Error;
use super::host::Host;
use super::raw::{self, text};
use crate::output::hex;
use crate::output::rows::Rows;
use rquickjs::{Array, Ctx, Object, Value};

/// Bytes of text that one value may become.
const TEXT_MAX: usize = 16 << 20;
/// Items of an array, or keys of a record, that are shown.
const ITEMS_MAX: usize = 100_000;
/// As many where a value stands inside of another.
const ITEMS_INLINE: usize = 32;

/// Shows the completion value of a program.
pub fn echo<'js>(ctx: &Ctx<'js>, host: &Host, value: &Value<'js>) -> Result<(), Error> {
    if value.is_undefined() {
        return Ok(());
    }
    if let Some(rows) = stop_rows(ctx, host, value)? {
        for row in rows {
            host.payload(|payload| payload.stop(row));
        }
        return Ok(());
    }
    let mut text = Vec::new();
    Echo { ctx, host }.push_top(value, &mut text)?;
    host.payload(|payload| payload.print_bytes(&text));
    Ok(())
}

/// Appends an argument of `print`: primitives as `String` would make them, objects as the echo shows
/// them.
pub fn push_printed<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    value: &Value<'js>,
    into: &mut Vec<u8>,
) -> Result<(), Error> {
    let echo = Echo { ctx, host };
    if value.is_string() {
        into.extend_from_slice(&text::to_bytes(value));
        return Ok(());
    }
    if value.is_object() {
        return echo.push_top(value, into);
    }
    into.extend_from_slice(echo.primitive(value)?.as_bytes());
    Ok(())
}

/// The rows of a stop event; None for anything else.
fn stop_rows<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    value: &Value<'js>,
) -> Result<Option<Vec<Vec<String>>>, Error> {
    if !value.is_object() || value.is_array() {
        return Ok(None);
    }
    let shown = Echo { ctx, host }.hook(value)?;
    let Some(rows) = shown.as_array() else {
        return Ok(None);
    };
    let mut all = Vec::new();
    for row in rows.iter::<Array<'js>>() {
        let cells = row?
            .iter::<Value<'js>>()
            .map(|cell| Ok(convert::shown(&cell?)));
        all.push(cells.collect::<Result<Vec<_>, Error>>()?);
    }
    Ok(Some(all))
}

struct Echo<'a, 'js> {
    ctx: &'a Ctx<'js>,
    host: &'a Host,
}

/// What an object is, as far as showing it goes.
enum Kind<'js> {
    /// Its text is known.
    Text(String),
    List(Vec<Value<'js>>, usize),
    Record(Vec<(String, Value<'js>)>, usize),
}

impl<'js> Echo<'_, 'js> {
    fn push_top(&self, value: &Value<'js>, into: &mut Vec<u8>) -> Result<(), Error> {
        if value.is_string() {
            into.extend_from_slice(&text::to_bytes(value));
            return Ok(());
        }
        if !value.is_object() {
            let text = match integer_of(value) {
                Some(integer) => hex::echo_integer(integer),
                None => self.scalar(value)?,
            };
            into.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        let text = match self.kind(value, ITEMS_MAX)? {
            Kind::Text(text) => text,
            Kind::List(items, length) => self.list(&items, length)?,
            Kind::Record(entries, length) => self.record(&entries, length)?,
        };
        into.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// As `String(x)`, but a zero keeps its sign.
    fn scalar(&self, value: &Value<'js>) -> Result<String, Error> {
        if is_negative_zero(value) {
            return Ok("-0".to_owned());
        }
        self.primitive(value)
    }

    /// `String(x)`, for what is no object.
    fn primitive(&self, value: &Value<'js>) -> Result<String, Error> {
        if value.is_string() {
            return Ok(convert::shown(value));
        }
        self.text_by("to_text", value)
    }

    /// What an API object says of itself; undefined for others.
    fn hook(&self, value: &Value<'js>) -> Result<Value<'js>, Error> {
        if value.is_proxy() {
            return Ok(Value::new_undefined(self.ctx.clone()));
        }
        let show = self.host.internal_function(self.ctx, "show")?;
        Ok(show.call((value.clone(),))?)
    }

    fn kind(&self, value: &Value<'js>, max: usize) -> Result<Kind<'js>, Error> {
        self.check()?;
        let Some(object) = value.as_object() else {
            return Ok(Kind::Text(self.primitive(value)?));
        };
        let shown = self.hook(value)?;
        if shown.is_string() {
            return Ok(Kind::Text(convert::shown(&shown)));
        }
        if let Some(rows) = shown.as_array() {
            return Ok(Kind::Text(joined_rows(rows)?));
        }
        match raw::class_of(value) {
            _ if value.is_error() => Ok(Kind::Text(error_line(object)?)),
            _ if value.is_function() => Ok(Kind::Text(self.function_line(value)?)),
            _ if value.is_promise() => Ok(Kind::Text(self.promise_line(value)?)),
            _ if value.is_array() => {
                let length = object.get::<_, f64>("length").map_or(0, length_of);
                self.indexed(object, length, max)
            }
            raw::Class::Indexed => {
                let length = self.size("indexed_size", value)?;
                self.indexed(object, length, max)
            }
            raw::Class::Map => self.entries(value, max),
            raw::Class::Set => {
                let items = self.items(value, false, max)?;
                Ok(Kind::List(items, self.size("set_size", value)?))
            }
            raw::Class::Date => Ok(Kind::Text(self.text_by("date_text", value)?)),
            raw::Class::RegExp => Ok(Kind::Text(self.text_by("regexp_text", value)?)),
            raw::Class::Other if value.is_proxy() => self.properties(object, max),
            raw::Class::Other => match self.words_by("own_words", value)? {
                Some(text) => Ok(Kind::Text(text)),
                None => self.properties(object, max),
            },
        }
    }

    /// What a function of the prelude makes of a value: a text.
    fn text_by(&self, function: &str, value: &Value<'js>) -> Result<String, Error> {
        let function = self.host.internal_function(self.ctx, function)?;
        Ok(convert::shown(&function.call((value.clone(),))?))
    }

    /// The same where there may be none, also because a script's own method threw.
    fn words_by(&self, function: &str, value: &Value<'js>) -> Result<Option<String>, Error> {
        let function = self.host.internal_function(self.ctx, function)?;
        let words = self.forgiven(function.call::<_, Value<'js>>((value.clone(),)))?;
        Ok(words
            .filter(Value::is_string)
            .map(|words| convert::shown(&words)))
    }

    /// None for an exception, unless it ends the program.
    fn forgiven<T>(&self, result: rquickjs::Result<T>) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(rquickjs::Error::Exception) => {
                let thrown = self.ctx.catch();
                if thrown.is_uncatchable_error() {
                    self.ctx.throw(thrown);
                    return Err(Error::Thrown);
                }
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn size(&self, function: &str, value: &Value<'js>) -> Result<usize, Error> {
        let function = self.host.internal_function(self.ctx, function)?;
        Ok(length_of(function.call((value.clone(),))?))
    }

    /// Whether it is settled, and with what.
    fn promise_line(&self, value: &Value<'js>) -> Result<String, Error> {
        let Some(promise) = value.as_promise() else {
            return Ok("Promise".to_owned());
        };
        match promise.result::<Value<'js>>() {
            None => Ok("Promise pending".to_owned()),
            Some(Ok(value)) => {
                let mut text = "Promise fulfilled ".to_owned();
                self.push_inline(&value, 1, false, &mut text)?;
                Ok(text)
            }
            Some(Err(_)) => {
                // The error line of the program tells why, unless somebody takes care of it.
                self.ctx.catch();
                Ok("Promise rejected".to_owned())
            }
        }
    }

    fn indexed(&self, object: &Object<'js>, length: usize, max: usize) -> Result<Kind<'js>, Error> {
        let mut items = Vec::new();
        for index in 0..length.min(max) {
            if index % 256 == 0 {
                self.check()?;
            }
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            items.push(self.get(object, index)?);
        }
        Ok(Kind::List(items, length))
    }

    fn items(
        &self,
        value: &Value<'js>,
        is_map: bool,
        max: usize,
    ) -> Result<Vec<Value<'js>>, Error> {
        let items = self.host.internal_function(self.ctx, "items")?;
        let limit = f64::from(u32::try_from(max).unwrap_or(u32::MAX));
        let list: Array<'js> = items.call((value.clone(), is_map, limit))?;
        list.iter::<Value<'js>>().map(|item| Ok(item?)).collect()
    }

    /// A Map: a key and a value a line.
    fn entries(&self, map: &Value<'js>, max: usize) -> Result<Kind<'js>, Error> {
        let size = self.size("map_size", map)?;
        let mut entries = Vec::new();
        for item in self.items(map, true, max)? {
            let Some(pair) = item.as_array() else {
                continue;
            };
            let key: Value<'js> = pair.get(0)?;
            let mut text = String::new();
            self.push_inline(&key, 0, true, &mut text)?;
            entries.push((text, pair.get(1)?));
        }
        Ok(Kind::Record(entries, size))
    }

    fn properties(&self, object: &Object<'js>, max: usize) -> Result<Kind<'js>, Error> {
        let mut entries = Vec::new();
        let mut length = 0;
        for key in object.keys::<Value<'js>>() {
            length += 1;
            if entries.len() < max {
                let key = key?;
                let value = self.get(object, key.clone())?;
                entries.push((convert::shown(&key), value));
            }
        }
        if length == 0
            && !object.as_value().is_proxy()
            && let Some(name) = self.words_by("class_name", object.as_value())?
        {
            return Ok(Kind::Text(name));
        }
        Ok(Kind::Record(entries, length))
    }

    /// A property, whose getter may throw: then its value is what it threw.
    fn get<K: rquickjs::IntoAtom<'js>>(
        &self,
        object: &Object<'js>,
        key: K,
    ) -> Result<Value<'js>, Error> {
        match object.get::<_, Value<'js>>(key) {
            Ok(value) => Ok(value),
            Err(rquickjs::Error::Exception) => {
                let thrown = self.ctx.catch();
                if thrown.is_uncatchable_error() {
                    self.ctx.throw(thrown);
                    return Err(Error::Thrown);
                }
                Ok(thrown)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The script's time counts while its values are shown, too.
    fn check(&self) -> Result<(), Error> {
        let interrupted = self
            .host
            .session(|session| session.control().is_interrupted());
        if interrupted || self.host.clock.check() {
            return Err(Error::Ended);
        }
        Ok(())
    }

    /// The beginning of a function's source, which has its name and arguments.
    fn function_line(&self, value: &Value<'js>) -> Result<String, Error> {
        let text = self.text_by("function_text", value)?;
        let line = text.lines().next().unwrap_or_default();
        let shown: String = line.chars().take(100).collect();
        let cut = if shown.len() < text.len() { " …" } else { "" };
        Ok(format!("{shown}{cut}"))
    }
}

/// Rows of a stop event inside of something else.
fn joined_rows(rows: &Array<'_>) -> Result<String, Error> {
    let mut lines = Rows::new();
    for row in rows.iter::<Array<'_>>() {
        let cells = row?
            .iter::<Value<'_>>()
            .map(|cell| Ok(convert::shown(&cell?)));
        lines.push(cells.collect::<Result<Vec<_>, Error>>()?);
    }
    Ok(lines.finish())
}

/// `Name: message`, from properties that are texts already.
fn error_line(object: &Object<'_>) -> Result<String, Error> {
    let get = |key: &str| -> Result<String, Error> {
        let value: Value<'_> = object.get(key)?;
        Ok(convert::shown(&value))
    };
    let (name, message) = (get("name")?, get("message")?);
    Ok(if message.is_empty() {
        name
    } else {
        format!("{name}: {message}")
    })
}

/// A length as scripts give it: anything may stand there.
fn length_of(length: f64) -> usize {
    const MAX: f64 = 9_007_199_254_740_991.0;
    if !length.is_finite() {
        return 0;
    }
    // In range by the clamp; the fraction goes.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    {
        length.clamp(0.0, MAX) as usize
    }
}

/// The value of what is an integer, exactly.
fn integer_of(value: &Value<'_>) -> Option<i128> {
    if !value.is_number() && !value.is_big_int() || is_negative_zero(value) {
        return None;
    }
    convert::integer(value, "").ok()
}

fn is_negative_zero(value: &Value<'_>) -> bool {
    value
        .as_float()
        .is_some_and(|float| float == 0.0 && float.is_sign_negative())
}
