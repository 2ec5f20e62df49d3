//! The registers beyond the general ones, in the layout of XSAVE: x87, SSE, AVX (Intel SDM volume 1,
//! 10.5 and 13.4). Linux gives and takes the standard format, whatever the processor uses itself.

/// The area that FXSAVE fills, and the least that there is.
pub const LEGACY: usize = 512;
/// Where Linux tells which components there are (`sw_reserved`, asm/sigcontext.h).
const FEATURES: usize = 464;
/// Which components are not in their initial state (XSTATE_BV).
const IN_USE: usize = LEGACY;
const X87: u64 = 1 << 0;
const SSE: u64 = 1 << 1;
const AVX: u64 = 1 << 2;
/// The upper halves of ymm0 to ymm15.
const YMM_HIGH: usize = 576;

/// One of these registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extended {
    Xmm(u8),
    Ymm(u8),
    /// From the top of the x87 stack.
    St(u8),
    Mxcsr,
    /// x87 control word.
    Fcw,
    /// x87 status word.
    Fsw,
    /// x87 tag word, abridged: a bit for each register that is not empty.
    Ftw,
}

impl Extended {
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "mxcsr" => Self::Mxcsr,
            "fcw" => Self::Fcw,
            "fsw" => Self::Fsw,
            "ftw" => Self::Ftw,
            _ => {
                let digits = name.find(|c: char| c.is_ascii_digit())?;
                let (kind, digits) = name.split_at(digits);
                let number: u8 = digits.parse().ok().filter(|_| !has_leading_zero(digits))?;
                match kind {
                    "xmm" if number < 16 => Self::Xmm(number),
                    "ymm" if number < 16 => Self::Ymm(number),
                    "st" if number < 8 => Self::St(number),
                    _ => return None,
                }
            }
        })
    }

    /// All names, in the order in which they are told.
    pub fn names() -> Vec<String> {
        let numbered =
            |kind: &'static str, count: u8| (0..count).map(move |n| format!("{kind}{n}"));
        let words = ["mxcsr", "fcw", "fsw", "ftw"].map(str::to_owned);
        let vectors = numbered("xmm", 16).chain(numbered("ymm", 16));
        vectors.chain(numbered("st", 8)).chain(words).collect()
    }

    /// In bytes.
    pub const fn width(self) -> usize {
        match self {
            Self::Xmm(_) => 16,
            Self::Ymm(_) => 32,
            Self::St(_) => 10,
            Self::Mxcsr => 4,
            Self::Fcw | Self::Fsw => 2,
            Self::Ftw => 1,
        }
    }

    const fn component(self) -> u64 {
        match self {
            Self::Xmm(_) | Self::Mxcsr => SSE,
            Self::Ymm(_) => SSE | AVX,
            Self::St(_) | Self::Fcw | Self::Fsw | Self::Ftw => X87,
        }
    }

    /// Where its parts are: offset and length of each.
    fn parts(self) -> [(usize, usize); 2] {
        const NONE: (usize, usize) = (0, 0);
        match self {
            Self::Fcw => [(0, 2), NONE],
            Self::Fsw => [(2, 2), NONE],
            Self::Ftw => [(4, 1), NONE],
            Self::Mxcsr => [(24, 4), NONE],
            Self::St(n) => [(32 + 16 * usize::from(n), 10), NONE],
            Self::Xmm(n) => [(160 + 16 * usize::from(n), 16), NONE],
            Self::Ymm(n) => {
                let n = 16 * usize::from(n);
                [(160 + n, 16), (YMM_HIGH + n, 16)]
            }
        }
    }
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

/// All of them, of one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Xstate {
    bytes: Vec<u8>,
}

impl Xstate {
    /// What the kernel has given: the XSAVE area, or the FXSAVE area of a processor without it.
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() >= LEGACY).then_some(Self { bytes })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The register's bytes, lowest first; None when the processor does not have it.
    pub fn get(&self, register: Extended) -> Option<Vec<u8>> {
        let mut value = Vec::with_capacity(register.width());
        if let Extended::Ymm(_) = register
            && !self.has_avx()
        {
            return None;
        }
        for (offset, len) in register.parts() {
            value.extend_from_slice(self.bytes.get(offset..offset + len)?);
        }
        Some(value)
    }

    /// Answers whether there is such a register, of as many bytes.
    #[must_use]
    pub fn set(&mut self, register: Extended, value: &[u8]) -> bool {
        if value.len() != register.width() || self.get(register).is_none() {
            return false;
        }
        let mut rest = value;
        for (offset, len) in register.parts() {
            let (part, behind) = rest.split_at(len.min(rest.len()));
            if let Some(place) = self.bytes.get_mut(offset..offset + len) {
                place.copy_from_slice(part);
            }
            rest = behind;
        }
        let in_use = self.word(IN_USE) | register.component();
        if let Some(place) = self.bytes.get_mut(IN_USE..IN_USE + 8) {
            place.copy_from_slice(&in_use.to_le_bytes());
        }
        true
    }

    fn has_avx(&self) -> bool {
        self.bytes.len() >= YMM_HIGH + 16 * 16 && self.word(FEATURES) & AVX != 0
    }

    fn word(&self, offset: usize) -> u64 {
        let bytes = self.bytes.get(offset..offset + 8);
        let word = bytes.and_then(|bytes| bytes.try_into().ok());
        word.map_or(0, u64::from_le_bytes)
    }
}

/// The value of an x87 register as a double, rounded as the processor's own conversion does. `value` is
/// ten bytes: 64 bits of significand with its integer bit, 15 of exponent, the sign (SDM volume 1, 4.2.2).
pub fn extended_to_f64(value: &[u8]) -> Option<f64> {
    const BIAS: i32 = 16383;
    let significand = u64::from_le_bytes(value.get(..8)?.try_into().ok()?);
    let top = u16::from_le_bytes(value.get(8..10)?.try_into().ok()?);
    let exponent = i32::from(top & 0x7fff);
    let sign = if top & 0x8000 == 0 { 1.0 } else { -1.0 };
    if exponent == 0x7fff {
        let fraction = significand & (u64::MAX >> 1);
        return Some(if fraction == 0 {
            sign * f64::INFINITY
        } else {
            f64::NAN
        });
    }
    if significand == 0 {
        return Some(sign * 0.0);
    }
    Some(sign * scaled(significand, exponent.max(1) - BIAS - 63))
}

/// `significand` times two to the power of `exponent`, rounded once, to nearest and ties to even.
fn scaled(significand: u64, exponent: i32) -> f64 {
    const MANTISSA: i32 = 52;
    let top = 63 - i32::try_from(significand.leading_zeros()).unwrap_or(63);
    // The exponent of the lowest bit that the result can hold: subnormals end at 2^-1074.
    let lowest = (exponent + top - MANTISSA).max(-1074);
    let drop = u32::try_from(lowest - exponent).unwrap_or(0);
    let kept = significand.unbounded_shr(drop);
    let rest = significand & !u64::MAX.unbounded_shl(drop);
    let half = 1u64.unbounded_shl(drop.saturating_sub(1));
    let up = drop > 0 && drop <= 64 && (rest > half || rest == half && kept & 1 == 1);
    let rounded = kept + u64::from(up);
    let lowest = if drop == 0 { exponent } else { lowest };
    // `rounded` has at most 53 bits and the scaling is by a power of two: both are exact, unless the
    // result is beyond what a double holds.
    #[allow(clippy::cast_precision_loss)]
    let exact = rounded as f64;
    let (first, second) = (lowest / 2, lowest - lowest / 2);
    exact * 2f64.powi(first) * 2f64.powi(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_avx() -> Xstate {
        let mut bytes = vec![0; YMM_HIGH + 256];
        bytes[FEATURES] = 7;
        for (index, byte) in bytes.iter_mut().enumerate().skip(160).take(256) {
            *byte = u8::try_from(index % 251).expect("small");
        }
        Xstate::new(bytes).expect("large enough")
    }

    #[test]
    fn names_are_those_of_the_processor() {
        for name in Extended::names() {
            assert!(Extended::by_name(&name).is_some(), "{name}");
        }
        for wrong in [
            "xmm16", "ymm", "st8", "xmm01", "xmm+1", "zmm0", "mm0", "rax", "", "é1",
        ] {
            assert_eq!(Extended::by_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn registers_are_where_xsave_puts_them() {
        let state = with_avx();
        let xmm1 = state.get(Extended::Xmm(1)).expect("sse");
        assert_eq!(
            xmm1,
            (176..192).map(|index| index % 251).collect::<Vec<u8>>()
        );
        let ymm1 = state.get(Extended::Ymm(1)).expect("avx");
        assert_eq!(
            (ymm1.len(), &ymm1[..16], &ymm1[16..]),
            (32, &xmm1[..], &[0; 16][..])
        );
    }

    #[test]
    fn what_is_written_is_read_and_marked_as_in_use() {
        let mut state = with_avx();
        let value: Vec<u8> = (0..32).collect();
        assert!(state.set(Extended::Ymm(15), &value));
        assert_eq!(state.get(Extended::Ymm(15)), Some(value));
        assert_eq!(state.word(IN_USE), SSE | AVX);
        assert!(!state.set(Extended::Xmm(0), &[1]));
        assert!(state.set(Extended::St(0), &[1; 10]));
        assert_eq!(state.word(IN_USE), X87 | SSE | AVX);
    }

    #[test]
    fn a_processor_without_avx_has_no_ymm() {
        let mut state = Xstate::new(vec![0; LEGACY]).expect("large enough");
        assert_eq!(state.get(Extended::Ymm(0)), None);
        assert!(state.set(Extended::Xmm(0), &[7; 16]));
        assert_eq!(state.get(Extended::Xmm(0)), Some(vec![7; 16]));
        assert_eq!(Xstate::new(vec![0; LEGACY - 1]), None);
    }

    #[track_caller]
    fn check(significand: u64, top: u16, expected: f64) {
        let mut bytes = significand.to_le_bytes().to_vec();
        bytes.extend(top.to_le_bytes());
        let value = extended_to_f64(&bytes).expect("ten bytes");
        assert_eq!(value.to_bits(), expected.to_bits(), "{value} {expected}");
    }

    #[test]
    fn x87_values_are_rounded_once() {
        const ONE: u16 = 16383;
        check(1 << 63, ONE, 1.0);
        check(1 << 63, ONE | 0x8000, -1.0);
        check(0, 0, 0.0);
        check(0, 0x8000, -0.0);
        check(0xc000_0000_0000_0000, ONE + 1, 3.0);
        check(0xc90f_daa2_2168_c235, ONE + 1, std::f64::consts::PI);
        // A tie goes to even, more than half goes up, and a carry moves the exponent.
        check((1 << 63) | (1 << 10), ONE, 1.0);
        check((1 << 63) | (1 << 10) | 1, ONE, 1.0 + f64::EPSILON);
        check(u64::MAX, ONE, 2.0);
        check(1 << 63, 0x7fff, f64::INFINITY);
        check(1 << 63, 0xffff, f64::NEG_INFINITY);
        check(u64::MAX, 0x7ffe, f64::INFINITY);
        check(1 << 63, ONE - 1074, f64::from_bits(1));
        check(1 << 63, ONE - 1075, 0.0);
        check((1 << 63) | 1, ONE - 1075, f64::from_bits(1));
        check(1, 0, 0.0);
        assert!(extended_to_f64(&[0xff; 10]).is_some_and(f64::is_nan));
        assert_eq!(extended_to_f64(&[0; 9]), None);
    }
}
