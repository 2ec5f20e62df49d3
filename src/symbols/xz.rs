//! The .xz container (xz-file-format.txt), as far as `.gnu_debugdata` needs it: one stream, LZMA2 blocks.
//!
//! The container is read here because a block names the size of its dictionary, which is allocated at once: a
//! file of a hundred bytes may ask for 4 GiB. What the blocks hold is not checked against their checksums:
//! like any other bytes of an ELF file it is not trusted anyway.

use lzma_rust2::Lzma2Reader;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

const MAGIC: &[u8; 6] = b"\xfd7zXZ\0";
const STREAM_HEADER: usize = 12;
/// What `xz -9` uses, and the most that is granted.
const MAX_DICTIONARY: u64 = 64 << 20;
const MIN_DICTIONARY: u64 = 4096;
/// Thousands of empty blocks would each have a dictionary made.
const MAX_BLOCKS: usize = 4096;

const DAMAGED: &str = "its xz data is damaged";

/// Everything in the first stream, at most `most` bytes.
pub(super) fn decompress(file: &[u8], most: u64) -> Result<Vec<u8>, &'static str> {
    // The decoder is input-driven code of others: should it panic, that is damage like any other.
    catch_unwind(AssertUnwindSafe(|| blocks(file, most))).unwrap_or(Err(DAMAGED))
}

fn blocks(file: &[u8], most: u64) -> Result<Vec<u8>, &'static str> {
    if !file.starts_with(MAGIC) {
        return Err("it is no xz stream");
    }
    let check_size = check_size(*file.get(7).ok_or(DAMAGED)?);
    let mut rest = file.get(STREAM_HEADER..).ok_or(DAMAGED)?;
    let mut out = Vec::new();
    for _ in 0..MAX_BLOCKS {
        let size = *rest.first().ok_or(DAMAGED)?;
        // Where a block's size would stand, 0 begins the index, which repeats what is known by then.
        if size == 0 {
            return Ok(out);
        }
        let header = (usize::from(size) + 1) * 4;
        let dictionary = dictionary(rest.get(..header).ok_or(DAMAGED)?)?;
        let data = rest.get(header..).ok_or(DAMAGED)?;
        let room = most.saturating_sub(out.len() as u64);
        let used = block(data, dictionary, room, &mut out)?;
        let next = used.next_multiple_of(4) + check_size;
        rest = data.get(next..).ok_or(DAMAGED)?;
    }
    Err("it has too many blocks")
}

/// Decodes one block; how many bytes of `data` that took.
fn block(
    data: &[u8],
    dictionary: u32,
    room: u64,
    out: &mut Vec<u8>,
) -> Result<usize, &'static str> {
    let before = out.len() as u64;
    let mut reader = Lzma2Reader::new(data, dictionary, None);
    let mut limited = (&mut reader).take(room + 1);
    limited.read_to_end(out).map_err(|_| DAMAGED)?;
    if out.len() as u64 - before > room {
        return Err("it would inflate beyond the limit");
    }
    Ok(data.len() - reader.into_inner().len())
}

/// Of the check behind each block, by its kind in the stream flags (section 2.1.1.2).
fn check_size(kind: u8) -> usize {
    match kind & 0xf {
        0 => 0,
        1..=3 => 4,
        4..=6 => 8,
        7..=9 => 16,
        10..=12 => 32,
        _ => 64,
    }
}

/// Block header: its size, flags, two optional sizes, then the filters (section 3.1).
fn dictionary(header: &[u8]) -> Result<u32, &'static str> {
    const LZMA2: u64 = 0x21;
    let flags = *header.get(1).ok_or(DAMAGED)?;
    let mut rest = header.get(2..).ok_or(DAMAGED)?;
    for present in [0x40, 0x80] {
        if flags & present != 0 {
            integer(&mut rest).ok_or(DAMAGED)?;
        }
    }
    let filter = integer(&mut rest).ok_or(DAMAGED)?;
    let one_byte = integer(&mut rest).ok_or(DAMAGED)? == 1;
    if flags & 3 != 0 || filter != LZMA2 || !one_byte {
        return Err("its xz filters are not supported");
    }
    // Mantissa of one bit and exponent: 2^12, 2^12 + 2^11, 2^13, … (section 5.3.1).
    let bits = *rest.first().ok_or(DAMAGED)?;
    let size = (2 | u64::from(bits & 1))
        .checked_shl(u32::from(bits / 2) + 11)
        .filter(|size| bits <= 40 && *size <= MAX_DICTIONARY)
        .ok_or("its xz dictionary is too large")?;
    u32::try_from(size.max(MIN_DICTIONARY)).map_err(|_| DAMAGED)
}

/// Seven bits a byte, lowest first, at most nine bytes (section 1.2).
fn integer(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// `bytes` in an xz stream without compression.
    pub fn stored(bytes: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        for (number, chunk) in bytes.chunks(1 << 16).enumerate() {
            data.push(if number == 0 { 1 } else { 2 });
            data.extend(u16::try_from(chunk.len() - 1).expect("small").to_be_bytes());
            data.extend(chunk);
        }
        data.push(0);
        stream(22, &data)
    }

    fn stream(dictionary: u8, data: &[u8]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend([0, 1, 0, 0, 0, 0]);
        file.extend([2, 0, 0x21, 1, dictionary, 0, 0, 0, 0, 0, 0, 0]);
        file.extend(data);
        file.resize(file.len().next_multiple_of(4), 0);
        file.extend([0; 4]);
        file.push(0);
        file
    }

    #[test]
    fn stored_bytes_come_back_and_the_limit_holds() {
        let bytes: Vec<u8> = (0..100_000u32).map(|n| n.to_le_bytes()[0]).collect();
        let file = stored(&bytes);
        assert_eq!(decompress(&file, 100_000).as_deref(), Ok(&bytes[..]));
        assert_eq!(
            decompress(&file, 99_999),
            Err("it would inflate beyond the limit")
        );
    }

    /// `printf 'hello hello hello hello\n' | xz -9`
    const HELLO: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21,
        0x01, 0x1c, 0x00, 0x00, 0x00, 0x10, 0xcf, 0x58, 0xcc, 0xe0, 0x00, 0x17, 0x00, 0x0c, 0x5d,
        0x00, 0x34, 0x19, 0x49, 0xee, 0x8d, 0xe9, 0x56, 0x0a, 0xc1, 0x21, 0xb0, 0x00, 0x00, 0x6c,
        0x14, 0xed, 0x1b, 0x3b, 0x68, 0xbb, 0x91, 0x00, 0x01, 0x28, 0x18, 0xd7, 0x83, 0xb7, 0x6e,
        0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
    ];

    #[test]
    fn what_xz_writes_is_read() {
        assert_eq!(
            decompress(HELLO, 100).as_deref(),
            Ok(&b"hello hello hello hello\n"[..])
        );
    }

    #[track_caller]
    fn check_refused(file: &[u8], why: &str) {
        assert_eq!(decompress(file, 1 << 20), Err(why));
    }

    #[test]
    fn damage_and_bombs_are_errors() {
        check_refused(b"", "it is no xz stream");
        check_refused(MAGIC, DAMAGED);
        check_refused(&stream(40, &[0]), "its xz dictionary is too large");
        check_refused(&stream(255, &[0]), "its xz dictionary is too large");
        check_refused(&stream(22, &[0x80, 0, 0, 0, 0]), DAMAGED);
        let file = stored(b"some text");
        for cut in 0..file.len() - 1 {
            assert!(decompress(&file[..cut], 100).is_err(), "{cut}");
        }
        for at in 0..file.len() {
            for value in [0, 0x7f, 0xff] {
                let mut file = file.clone();
                file[at] = value;
                let _ = decompress(&file, 100);
            }
        }
    }
}
