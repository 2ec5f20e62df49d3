//! One section of an image: where it lies, and its bytes, inflated on first use.

use super::budget::{MAX_INFLATED, MAX_INFLATION};
use crate::base::addr::ElfAddr;
use object::LittleEndian;
use object::elf;
use object::read::elf::SectionHeader;
use object::read::{CompressedData, CompressionFormat};
use std::cell::OnceCell;

#[derive(Debug)]
pub struct Section {
    /// Where the name starts in the image's section name table.
    pub(super) name: u32,
    pub(super) kind: elf::SectionType,
    pub(super) flags: elf::SectionFlags,
    pub(super) link: u32,
    /// 0 when its entries differ in size.
    pub(super) entry_size: u64,
    pub addr: ElfAddr,
    pub size: u64,
    offset: u64,
    inflated: OnceCell<Result<Vec<u8>, &'static str>>,
}

impl Section {
    pub(super) fn new(header: &elf::SectionHeader64<LittleEndian>) -> Self {
        let endian = LittleEndian;
        Self {
            name: header.sh_name(endian),
            kind: header.sh_type(endian),
            flags: header.sh_flags(endian),
            link: header.sh_link(endian),
            entry_size: header.sh_entsize(endian),
            addr: ElfAddr::new(header.sh_addr(endian)),
            size: header.sh_size(endian),
            offset: header.sh_offset(endian),
            inflated: OnceCell::new(),
        }
    }

    /// Whether the section is part of the program in memory.
    pub fn is_loaded(&self) -> bool {
        self.flags.0 & elf::SHF_ALLOC.0 != 0
    }

    pub fn is_code(&self) -> bool {
        self.flags.0 & elf::SHF_EXECINSTR.0 != 0
    }

    /// The first address behind the section.
    pub fn end(&self) -> ElfAddr {
        ElfAddr::new(self.addr.raw().saturating_add(self.size))
    }

    /// The section's bytes in `file`; none when it only takes room in memory.
    pub(super) fn bytes<'a>(
        &'a self,
        file: &'a [u8],
        old_style: bool,
    ) -> Result<&'a [u8], &'static str> {
        if self.kind == elf::SHT_NOBITS {
            return Ok(&[]);
        }
        let raw = slice(file, self.offset, self.size).ok_or("it lies outside the file")?;
        if self.flags.0 & elf::SHF_COMPRESSED.0 == 0 && !old_style {
            return Ok(raw);
        }
        match self.inflated.get_or_init(|| inflate(raw, old_style)) {
            Ok(bytes) => Ok(bytes),
            Err(why) => Err(why),
        }
    }
}

pub(super) fn slice(file: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    file.get(start..end)
}

fn inflate(raw: &[u8], old_style: bool) -> Result<Vec<u8>, &'static str> {
    let (format, size, data) = if old_style {
        old_header(raw)
    } else {
        header(raw)
    }
    .ok_or("its compression header is damaged or of an unknown kind")?;
    let most = (data.len() as u64)
        .saturating_mul(MAX_INFLATION)
        .min(MAX_INFLATED);
    if size > most {
        return Err("it would inflate beyond the limit");
    }
    let compressed = CompressedData {
        format,
        data,
        uncompressed_size: size,
    };
    match compressed.decompress() {
        Ok(bytes) => Ok(bytes.into_owned()),
        Err(_) => Err("its compressed data is damaged"),
    }
}

/// Elf64_Chdr: type, reserved, size, alignment.
fn header(raw: &[u8]) -> Option<(CompressionFormat, u64, &[u8])> {
    let (kind, rest) = raw.split_first_chunk::<4>()?;
    let (_, rest) = rest.split_first_chunk::<4>()?;
    let (size, rest) = rest.split_first_chunk::<8>()?;
    let (_, data) = rest.split_first_chunk::<8>()?;
    let format = match elf::CompressionType(u32::from_le_bytes(*kind)) {
        elf::ELFCOMPRESS_ZLIB => CompressionFormat::Zlib,
        elf::ELFCOMPRESS_ZSTD => CompressionFormat::Zstandard,
        _ => return None,
    };
    Some((format, u64::from_le_bytes(*size), data))
}

/// The older GNU form, sections called .zdebug_*: "ZLIB" and the size, big-endian.
fn old_header(raw: &[u8]) -> Option<(CompressionFormat, u64, &[u8])> {
    let rest = raw.strip_prefix(b"ZLIB")?;
    let (size, data) = rest.split_first_chunk::<8>()?;
    Some((CompressionFormat::Zlib, u64::from_be_bytes(*size), data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn chdr(size: u64, data: &[u8]) -> Vec<u8> {
        let mut raw = Vec::new();
        raw.extend(1u32.to_le_bytes());
        raw.extend(0u32.to_le_bytes());
        raw.extend(size.to_le_bytes());
        raw.extend(1u64.to_le_bytes());
        raw.extend(data);
        raw
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).expect("in memory");
        encoder.finish().expect("in memory")
    }

    #[test]
    fn both_forms_inflate() {
        let text = b"the same text, the same text";
        let data = zlib(text);
        let size = text.len() as u64;
        assert_eq!(inflate(&chdr(size, &data), false).as_deref(), Ok(&text[..]));
        let mut old = b"ZLIB".to_vec();
        old.extend(size.to_be_bytes());
        old.extend(&data);
        assert_eq!(inflate(&old, true).as_deref(), Ok(&text[..]));
    }

    #[track_caller]
    fn check_refused(raw: &[u8], why: &str) {
        assert_eq!(
            inflate(raw, false),
            Err(why).map_err(|why| match why {
                "limit" => "it would inflate beyond the limit",
                "data" => "its compressed data is damaged",
                _ => "its compression header is damaged or of an unknown kind",
            })
        );
    }

    #[test]
    fn bombs_and_lies_are_errors() {
        let bomb = zlib(&vec![0; 1 << 20]);
        check_refused(&chdr(1 << 20, &bomb), "limit");
        check_refused(&chdr(1 << 45, &bomb), "limit");
        check_refused(&chdr(30, &zlib(b"shorter than thirty")), "data");
        check_refused(&chdr(10, b"no zlib stream here"), "data");
        check_refused(b"short", "header");
    }
}
