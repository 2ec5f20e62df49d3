//! Numbers and bytes in base sixteen.

/// From here on an integer is more likely an address or a bit pattern than a count.
const HEX_FROM: i128 = 65_536;

/// `0x401136`
pub fn hex(value: u64) -> String {
    format!("{value:#x}")
}

/// `48656c6c6f`
pub fn bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        push_byte(&mut text, *byte);
    }
    text
}

/// Appends the two digits of a byte.
pub(super) fn push_byte(text: &mut String, byte: u8) {
    for digit in [byte >> 4, byte & 0xf] {
        text.extend(char::from_digit(u32::from(digit), 16));
    }
}

/// An integer that stands alone: in both bases when it is large. Wide enough for every i64 and u64;
/// a larger `BigInt` has no address to be.
pub fn echo_integer(value: i128) -> String {
    if value >= HEX_FROM {
        format!("{value}\t{value:#x}")
    } else {
        value.to_string()
    }
}

/// An integer in a cell, where a second column would break the row.
pub fn cell_integer(value: i128) -> String {
    if value >= HEX_FROM {
        format!("{value:#x}")
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: i128, echo: &str, cell: &str) {
        assert_eq!(echo_integer(value), echo);
        assert_eq!(cell_integer(value), cell);
    }

    #[test]
    fn large_integers_are_shown_in_hex() {
        check(0, "0", "0");
        check(-70_000, "-70000", "-70000");
        check(65_535, "65535", "65535");
        check(65_536, "65536\t0x10000", "0x10000");
        check(
            u64::MAX.into(),
            "18446744073709551615\t0xffffffffffffffff",
            "0xffffffffffffffff",
        );
    }

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(bytes(&[]), "");
        assert_eq!(bytes(&[0x00, 0x7f, 0xff]), "007fff");
        assert_eq!(hex(0x40_1136), "0x401136");
    }
}
