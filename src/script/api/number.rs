//! Arithmetic on all 64 bits, for Numbers and BigInts alike.

use super::{Answer, Entry};
use crate::script::convert;
use crate::script::error::Error;
use crate::script::raw::Call;

pub const NATIVES: &[Entry] = &[
    ("hex", hex),
    ("align_down", align_down),
    ("align_up", align_up),
    ("band", band),
    ("bor", bor),
    ("bxor", bxor),
    ("bnot", bnot),
    ("shl", shl),
    ("shr", shr),
    ("s64", s64),
    ("u64", u64),
];

fn hex<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let number = convert::integer(&call.arg(0), "hex")?;
    let sign = if number < 0 { "-" } else { "" };
    call.text(&format!("{sign}{:#x}", number.unsigned_abs()))
}

/// The value and the power of two of an `align` call.
fn alignment(call: &Call<'_, '_>, what: &str) -> Result<(u64, u64), Error> {
    let value = convert::unsigned(&call.arg(0), what)?;
    let to = convert::unsigned(&call.arg(1), what)?;
    if !to.is_power_of_two() {
        return Err(Error::argument_hint(
            format!("{what}: {to} is not a power of two"),
            format!("{what}(value, 4096)"),
        ));
    }
    Ok((value, to))
}

fn align_down<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let (value, to) = alignment(call, "align_down")?;
    convert::number(call.ctx, value & !(to - 1))
}

fn align_up<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let (value, to) = alignment(call, "align_up")?;
    match value.checked_next_multiple_of(to) {
        Some(aligned) => convert::number(call.ctx, aligned),
        None => Err(Error::argument(format!(
            "align_up: {value:#x} is beyond the last multiple of {to}"
        ))),
    }
}

/// Folds all arguments.
fn fold<'js>(call: &Call<'_, 'js>, what: &str, with: impl Fn(u64, u64) -> u64) -> Answer<'js> {
    let mut result = convert::bits(&call.arg(0), what)?;
    for index in 1..call.count().max(2) {
        result = with(result, convert::bits(&call.arg(index), what)?);
    }
    convert::number(call.ctx, result)
}

fn band<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    fold(call, "band", |a, b| a & b)
}

fn bor<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    fold(call, "bor", |a, b| a | b)
}

fn bxor<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    fold(call, "bxor", |a, b| a ^ b)
}

fn bnot<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    convert::number(call.ctx, !convert::bits(&call.arg(0), "bnot")?)
}

/// A value and a distance; beyond 63 nothing of the value is left.
fn shift<'js>(call: &Call<'_, 'js>, what: &str, by: impl Fn(u64, u32) -> u64) -> Answer<'js> {
    let value = convert::bits(&call.arg(0), what)?;
    let distance = convert::integer_in(&call.arg(1), what, 0, i128::from(u32::MAX))?;
    let distance = u32::try_from(distance).unwrap_or(u32::MAX);
    convert::number(call.ctx, by(value, distance))
}

fn shl<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    shift(call, "shl", u64::unbounded_shl)
}

fn shr<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    shift(call, "shr", u64::unbounded_shr)
}

fn s64<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let bits = convert::bits(&call.arg(0), "s64")?;
    convert::signed(call.ctx, bits.cast_signed())
}

fn u64<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    convert::number(call.ctx, convert::bits(&call.arg(0), "u64")?)
}
