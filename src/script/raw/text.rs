//! Strings between scripts and bytes, without loss.
//!
//! What a debuggee writes need not be UTF-8. A byte that is not becomes the lone surrogate U+DC00 plus
//! its value (as Python's PEP 383 has it), so that a script can tell and compare such bytes, and give
//! them back; on the way out they are bytes again, which the writer shows as `\xNN`.
#![allow(unsafe_code)]

use super::own;
use crate::script::error::Error;
use rquickjs::{Ctx, String as JsString, Value, qjs};

/// Where the bytes that are no UTF-8 are kept among the surrogates.
const ESCAPE: u16 = 0xdc00;

/// A string of any bytes.
pub fn from_bytes<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<Value<'js>, Error> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Ok(JsString::from_str(ctx.clone(), text)?.into_value());
    }
    let mut units: Vec<u16> = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        units.extend(chunk.valid().encode_utf16());
        units.extend(chunk.invalid().iter().map(|byte| ESCAPE + u16::from(*byte)));
    }
    let len = qjs::size_t::try_from(units.len()).unwrap_or(0);
    // SAFETY: the units are live for the call, which copies them.
    unsafe {
        let raw = qjs::JS_NewStringUTF16(ctx.as_raw().as_ptr(), units.as_ptr(), len);
        own(ctx, raw)
    }
}

/// The bytes of a string; empty for what is none. A surrogate that stands for no byte becomes the
/// three bytes that would encode it, which are not UTF-8 either.
pub fn to_bytes(value: &Value<'_>) -> Vec<u8> {
    let ctx = value.ctx().as_raw().as_ptr();
    let mut len = 0;
    // SAFETY: the value is a live string, so no script runs; the bytes are copied before they are freed.
    unsafe {
        if !qjs::JS_IsString(value.as_raw()) {
            return Vec::new();
        }
        let text = qjs::JS_ToCStringLen(ctx, &raw mut len, value.as_raw());
        if text.is_null() {
            return Vec::new();
        }
        let encoded = std::slice::from_raw_parts(text.cast::<u8>(), len);
        let bytes = decode(encoded);
        qjs::JS_FreeCString(ctx, text);
        bytes
    }
}

/// Turns the encoded surrogates that stand for bytes into these: U+DC80 to U+DCFF are ED B2 80 to
/// ED B3 BF.
fn decode(encoded: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&first, after)) = rest.split_first() {
        match *after {
            [second @ 0xb2..=0xb3, third @ 0x80..=0xbf, ..] if first == 0xed => {
                bytes.push(((second & 0b11) << 6) | (third & 0b11_1111));
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use rquickjs::{Context, Runtime};

    #[track_caller]
    fn check(bytes: &[u8]) {
        let runtime = Runtime::new().expect("a runtime");
        let context = Context::full(&runtime).expect("a context");
        context.with(|ctx| {
            let value = from_bytes(&ctx, bytes).expect("a string");
            assert_eq!(to_bytes(&value), bytes, "{bytes:x?}");
        });
    }

    #[test]
    fn any_bytes_come_back() {
        check(b"");
        check(b"plain");
        check("žluť \u{1f40e}".as_bytes());
        check(&[0, 0x80, 0xff, b'a', 0xc3]);
        check(&[0xed, 0xb2, 0x80]);
        check(&(0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn two_halves_of_a_character_join() {
        let (head, tail) = "ž".as_bytes().split_at(1);
        let runtime = Runtime::new().expect("a runtime");
        let context = Context::full(&runtime).expect("a context");
        context.with(|ctx| {
            let globals = ctx.globals();
            for (name, bytes) in [("a", head), ("b", tail)] {
                let half = from_bytes(&ctx, bytes).expect("a string");
                globals.set(name, half).expect("set");
            }
            let whole: Value<'_> = ctx.eval("a + b").expect("a string");
            assert_eq!(to_bytes(&whole), "ž".as_bytes());
        });
    }
}
