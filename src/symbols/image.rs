//! One ELF image: checked headers at once, everything else on first use and straight from the map.

use super::budget::{MAX_FILE, MAX_NAME, MAX_SECTIONS};
use super::cfi::CfiCache;
use super::dwarf::DwarfIndex;
use super::error::{Error, Result};
use super::section::{Section, slice};
use super::symtab::Symtab;
use crate::base::addr::{ElfAddr, FileOffset};
use crate::os::mmap::{FileIdentity, FileMap};
use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use std::cell::OnceCell;
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};

type Header = elf::FileHeader64<LittleEndian>;

/// Where the bytes of an image come from.
#[derive(Debug)]
enum Bytes {
    File(FileMap),
    Memory(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::File(map) => map,
            Self::Memory(bytes) => bytes,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Program,
    DebugFile,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Loaded at its link addresses.
    Fixed,
    /// A shared object or a position-independent program.
    Relocatable,
}

/// A loadable segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub addr: ElfAddr,
    pub memory_size: u64,
    pub offset: FileOffset,
    pub file_size: u64,
    pub executable: bool,
    pub writable: bool,
}

impl Segment {
    pub fn contains(&self, addr: ElfAddr) -> bool {
        addr.offset_from(self.addr)
            .is_some_and(|inside| inside < self.memory_size)
    }
}

/// What each thread gets a copy of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlsSegment {
    pub memory_size: u64,
    pub align: u64,
}

/// What the program headers say besides the segments.
#[derive(Default, Debug)]
pub(super) struct Extra {
    pub(super) interpreter: Option<PathBuf>,
    pub(super) dynamic: Option<(ElfAddr, u64)>,
    pub(super) eh_frame_hdr: Option<(ElfAddr, u64)>,
    pub(super) tls: Option<TlsSegment>,
    pub(super) notes: Vec<(FileOffset, u64)>,
}

#[derive(Debug)]
pub struct Image {
    path: PathBuf,
    bytes: Bytes,
    kind: Kind,
    entry: ElfAddr,
    segments: Vec<Segment>,
    extra: Extra,
    sections: Vec<Section>,
    /// Index of the section that holds the section names.
    names: usize,
    sections_problem: Option<String>,
    build_id: Option<Vec<u8>>,
    pub(super) symtab: OnceCell<Symtab>,
    /// The separate debug file.
    pub(super) separate: OnceCell<Option<Box<Image>>>,
    /// The small image inside `.gnu_debugdata`.
    pub(super) mini: OnceCell<Option<Box<Image>>>,
    /// The file with debug information that this one shares with others.
    pub(super) supplement: OnceCell<Option<Box<Image>>>,
    pub(super) dwarf: OnceCell<DwarfIndex>,
    pub(super) cfi_cache: CfiCache,
}

impl Image {
    pub fn open(path: &Path) -> Result<Self> {
        Self::parse(path.to_owned(), map(path)?, Use::Program)
    }

    /// A file that holds debug information of a program and may be an object file, as a .dwo is.
    pub(super) fn open_object(path: &Path) -> Result<Self> {
        Self::parse(path.to_owned(), map(path)?, Use::DebugFile)
    }

    /// From a file that is open already; `path` is what it is called.
    pub fn from_file(path: &Path, file: &File) -> Result<Self> {
        let map = FileMap::from_file(file, MAX_FILE).map_err(|source| Error::Open {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path.to_owned(), Bytes::File(map), Use::Program)
    }

    /// From memory, such as the vDSO read out of a process.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self> {
        Self::parse(PathBuf::from(name), Bytes::Memory(bytes), Use::Program)
    }

    fn parse(path: PathBuf, bytes: Bytes, wanted: Use) -> Result<Self> {
        let header = check_header(&path, &bytes, wanted)?;
        let kind = match header.e_type(LittleEndian) {
            elf::ET_EXEC => Kind::Fixed,
            _ => Kind::Relocatable,
        };
        let entry = ElfAddr::new(header.e_entry(LittleEndian));
        let damaged = |detail: object::read::Error| Error::BadElf {
            path: path.clone(),
            attempt: "program headers",
            detail: detail.to_string(),
        };
        let headers = header
            .program_headers(LittleEndian, &*bytes)
            .map_err(damaged)?;
        let (segments, extra) = read_segments(headers, &bytes);
        // A program runs without section headers, and some are shipped so: their loss is no error.
        let (sections, names, sections_problem) = match read_sections(header, &bytes) {
            Ok((sections, names)) => (sections, names, None),
            Err(problem) => (Vec::new(), 0, Some(problem)),
        };
        let mut image = Self {
            kind,
            entry,
            segments,
            extra,
            sections,
            names,
            sections_problem,
            build_id: None,
            symtab: OnceCell::new(),
            separate: OnceCell::new(),
            mini: OnceCell::new(),
            supplement: OnceCell::new(),
            dwarf: OnceCell::new(),
            cfi_cache: CfiCache::default(),
            path,
            bytes,
        };
        image.build_id = image.find_build_id();
        Ok(image)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn entry(&self) -> ElfAddr {
        self.entry
    }

    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Why there are no sections, when the file has a damaged section table.
    pub fn sections_problem(&self) -> Option<&str> {
        self.sections_problem.as_deref()
    }

    /// The dynamic loader the program asks for; None for static programs and most libraries.
    pub fn interpreter(&self) -> Option<&Path> {
        self.extra.interpreter.as_deref()
    }

    /// Where the dynamic section lies, in which the loader leaves its list of libraries (DT_DEBUG).
    pub fn dynamic(&self) -> Option<ElfAddr> {
        self.extra.dynamic.map(|(addr, _)| addr)
    }

    /// The segment of thread-local variables.
    pub fn tls(&self) -> Option<TlsSegment> {
        self.extra.tls
    }

    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// None for an image from memory.
    pub fn identity(&self) -> Option<FileIdentity> {
        match &self.bytes {
            Bytes::File(map) => Some(map.identity()),
            Bytes::Memory(_) => None,
        }
    }

    /// Whether the file lost pages while it was in use.
    pub fn is_changed(&self) -> bool {
        match &self.bytes {
            Bytes::File(map) => map.is_changed(),
            Bytes::Memory(_) => false,
        }
    }

    pub fn section_name(&self, section: &Section) -> &[u8] {
        let names = self
            .sections
            .get(self.names)
            .and_then(|names| names.bytes(&self.bytes, false).ok())
            .unwrap_or(&[]);
        c_string(names, section.name)
    }

    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| self.section_name(section) == name.as_bytes())
    }

    /// The section an address lies in.
    pub fn section_at(&self, addr: ElfAddr) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.is_loaded() && section.addr <= addr && addr < section.end())
    }

    /// The bytes of a section of that name; empty when there is none.
    pub fn section_bytes(&self, name: &str) -> Result<&[u8]> {
        let plain = self.section(name).map(|section| (section, false));
        let found = plain.or_else(|| {
            let old = format!(".z{}", name.strip_prefix('.')?);
            Some((self.section(&old)?, true))
        });
        let Some((section, old_style)) = found else {
            return Ok(&[]);
        };
        section
            .bytes(&self.bytes, old_style)
            .map_err(|why| Error::BadElf {
                path: self.path.clone(),
                attempt: "read a section",
                detail: format!("{name}: {why}"),
            })
    }

    pub(super) fn bytes_of<'a>(&'a self, section: &'a Section) -> &'a [u8] {
        section.bytes(&self.bytes, false).unwrap_or(&[])
    }

    pub(super) fn extra(&self) -> &Extra {
        &self.extra
    }

    pub(super) fn file_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the file holds for the addresses from `addr` to the end of its segment.
    pub fn loaded_bytes(&self, addr: ElfAddr) -> Option<&[u8]> {
        let segment = self
            .segments
            .iter()
            .find(|segment| segment.contains(addr))?;
        let skip = addr.offset_from(segment.addr)?;
        let size = segment.file_size.checked_sub(skip)?;
        slice(&self.bytes, segment.offset.raw().checked_add(skip)?, size)
    }

    fn find_build_id(&self) -> Option<Vec<u8>> {
        // Thousands of note segments may all claim the whole file.
        const MOST_NOTES: usize = 64;
        const LONGEST_NOTES: usize = 1 << 16;
        let from_segments = self
            .extra
            .notes
            .iter()
            .filter_map(|(offset, size)| slice(&self.bytes, offset.raw(), *size));
        let from_sections = self
            .sections
            .iter()
            .filter(|section| section.kind == elf::SHT_NOTE)
            .map(|section| self.bytes_of(section));
        from_segments
            .chain(from_sections)
            .take(MOST_NOTES)
            .find_map(|notes| build_id_note(&notes[..notes.len().min(LONGEST_NOTES)]))
            .map(<[u8]>::to_vec)
    }
}

fn map(path: &Path) -> Result<Bytes> {
    let map = FileMap::open(path, MAX_FILE).map_err(|source| Error::Open {
        path: path.to_owned(),
        source,
    })?;
    Ok(Bytes::File(map))
}

/// A NUL-terminated string of a string table, cut at the name limit.
pub(super) fn c_string(table: &[u8], start: u32) -> &[u8] {
    let rest = usize::try_from(start)
        .ok()
        .and_then(|start| table.get(start..))
        .unwrap_or(&[]);
    let rest = &rest[..rest.len().min(MAX_NAME)];
    &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
}

/// ELF notes: name size, content size, type, then both parts padded to four bytes (elf(5)).
fn build_id_note(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    const LONGEST: usize = 64;
    let padded = |size: u32| usize::try_from(size).ok()?.checked_next_multiple_of(4);
    while let Some((head, rest)) = notes.split_first_chunk::<12>() {
        let [n0, n1, n2, n3, d0, d1, d2, d3, t0, t1, t2, t3] = *head;
        let content_size = u32::from_le_bytes([d0, d1, d2, d3]);
        let name_room = padded(u32::from_le_bytes([n0, n1, n2, n3]))?;
        let name = rest.get(..name_room)?;
        let content = rest.get(name_room..)?;
        if u32::from_le_bytes([t0, t1, t2, t3]) == NT_GNU_BUILD_ID && name == b"GNU\0" {
            let id = content.get(..usize::try_from(content_size).ok()?)?;
            return (1..=LONGEST).contains(&id.len()).then_some(id);
        }
        notes = content.get(padded(content_size)?..)?;
    }
    None
}

fn check_header<'a>(path: &Path, bytes: &'a [u8], wanted: Use) -> Result<&'a Header> {
    let path = || path.to_owned();
    if bytes.is_empty() {
        return Err(Error::NotElf {
            path: path(),
            what: "an empty file",
        });
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Err(Error::NotElf {
            path: path(),
            what: if bytes.starts_with(b"#!") {
                "a script"
            } else {
                "not an ELF file"
            },
        });
    }
    if let Some(what) = foreign(bytes) {
        return Err(Error::WrongArchitecture { path: path(), what });
    }
    let damaged = |detail: &str| Error::BadElf {
        path: path(),
        attempt: "file header",
        detail: detail.to_owned(),
    };
    let header = Header::parse(bytes).map_err(|error| damaged(&error.to_string()))?;
    match header.e_type(LittleEndian) {
        elf::ET_EXEC | elf::ET_DYN => Ok(header),
        elf::ET_REL if wanted == Use::DebugFile => Ok(header),
        elf::ET_REL => Err(damaged("it is an object file, which is not linked yet")),
        elf::ET_CORE => Err(damaged("it is a core file")),
        elf::FileType(other) => Err(damaged(&format!("unknown file type {other}"))),
    }
}

/// What the file is made for, when it is not x86-64. Word size, byte order and machine stand at the same
/// place in every ELF file.
fn foreign(bytes: &[u8]) -> Option<String> {
    let class = *bytes.get(4)?;
    let order = *bytes.get(5)?;
    let machine = bytes.get(18..20)?;
    let machine = match order {
        2 => u16::from_be_bytes([machine[0], machine[1]]),
        _ => u16::from_le_bytes([machine[0], machine[1]]),
    };
    let name = match elf::Machine(machine) {
        elf::EM_X86_64 if class == 2 && order == 1 => return None,
        elf::EM_X86_64 if class == 1 => "an x32 program".to_owned(),
        elf::EM_386 => "a 32-bit x86 program".to_owned(),
        elf::EM_AARCH64 => "an aarch64 program".to_owned(),
        elf::EM_ARM => "a 32-bit arm program".to_owned(),
        elf::EM_RISCV => "a riscv program".to_owned(),
        elf::EM_PPC64 => "a powerpc64 program".to_owned(),
        elf::EM_PPC => "a powerpc program".to_owned(),
        elf::EM_S390 => "an s390 program".to_owned(),
        elf::EM_MIPS => "a mips program".to_owned(),
        elf::EM_LOONGARCH => "a loongarch program".to_owned(),
        elf::EM_SPARCV9 | elf::EM_SPARC => "a sparc program".to_owned(),
        elf::EM_BPF => "a bpf program".to_owned(),
        other => format!("a program for ELF machine {}", other.0),
    };
    Some(name)
}

fn read_segments(
    headers: &[elf::ProgramHeader64<LittleEndian>],
    bytes: &[u8],
) -> (Vec<Segment>, Extra) {
    let endian = LittleEndian;
    let mut segments = Vec::new();
    let mut extra = Extra::default();
    for header in headers {
        let addr = ElfAddr::new(header.p_vaddr(endian));
        let offset = FileOffset::new(header.p_offset(endian));
        let file_size = header.p_filesz(endian);
        let memory_size = header.p_memsz(endian);
        match header.p_type(endian) {
            elf::PT_LOAD => segments.push(Segment {
                addr,
                memory_size,
                offset,
                file_size,
                executable: header.p_flags(endian).0 & elf::PF_X.0 != 0,
                writable: header.p_flags(endian).0 & elf::PF_W.0 != 0,
            }),
            elf::PT_INTERP => {
                let text = slice(bytes, offset.raw(), file_size).map(|text| c_string(text, 0));
                extra.interpreter =
                    text.map(|text| PathBuf::from(String::from_utf8_lossy(text).into_owned()));
            }
            elf::PT_DYNAMIC => extra.dynamic = Some((addr, memory_size)),
            elf::PT_TLS => {
                extra.tls = Some(TlsSegment {
                    memory_size,
                    align: header.p_align(endian).max(1),
                });
            }
            elf::PT_GNU_EH_FRAME => extra.eh_frame_hdr = Some((addr, memory_size)),
            elf::PT_NOTE => extra.notes.push((offset, file_size)),
            _ => {}
        }
    }
    segments.sort_by_key(|segment| segment.addr);
    (segments, extra)
}

fn read_sections(
    header: &Header,
    bytes: &[u8],
) -> std::result::Result<(Vec<Section>, usize), String> {
    let text = |error: object::read::Error| error.to_string();
    let headers = header.section_headers(LittleEndian, bytes).map_err(text)?;
    if headers.len() > MAX_SECTIONS {
        return Err(format!("more than {MAX_SECTIONS} sections"));
    }
    if headers.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let names = header.shstrndx(LittleEndian, bytes).map_err(text)?;
    let sections = headers.iter().map(Section::new).collect();
    Ok((sections, usize::try_from(names).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::code::Code;
    use crate::symbols::test_image::{BASE, ElfBuilder, build_id_note};

    #[track_caller]
    fn check_refused(bytes: Vec<u8>, code: Code, message: &str) {
        let error = Image::from_bytes("prog", bytes).expect_err("refused");
        assert_eq!((error.code(), error.to_string().as_str()), (code, message));
    }

    #[test]
    fn foreign_files_are_named_for_what_they_are() {
        let wrong = |machine, class, what: &str| {
            check_refused(
                ElfBuilder::new().machine(machine, class).build(),
                Code::WrongArchitecture,
                &format!("'prog' is {what}; only x86-64 Linux programs can be debugged"),
            );
        };
        wrong(elf::EM_386, 1, "a 32-bit x86 program");
        wrong(elf::EM_X86_64, 1, "an x32 program");
        wrong(elf::EM_AARCH64, 2, "an aarch64 program");
        wrong(elf::Machine(9999), 2, "a program for ELF machine 9999");
        let not_elf = |bytes: &[u8], what: &str| {
            check_refused(
                bytes.to_vec(),
                Code::NotExecutable,
                &format!("'prog' is {what}, not an x86-64 Linux program"),
            );
        };
        not_elf(b"", "an empty file");
        not_elf(b"#!/bin/sh\n", "a script");
        not_elf(b"hello", "not an ELF file");
        let damaged = |bytes: Vec<u8>, rest: &str| {
            check_refused(bytes, Code::BadElf, &format!("'prog' is damaged: {rest}"));
        };
        damaged(
            ElfBuilder::new().kind(elf::ET_REL).build(),
            "file header: it is an object file, which is not linked yet",
        );
        damaged(
            ElfBuilder::new().kind(elf::ET_CORE).build(),
            "file header: it is a core file",
        );
        assert!(Image::from_bytes("prog", b"\x7fELF\x02\x01\x01".to_vec()).is_err());
    }

    #[test]
    fn facts_are_read_from_the_headers() {
        let bytes = ElfBuilder::new()
            .loaded(".text", BASE, &[0x90; 16])
            .section(".note.gnu.build-id", &build_id_note(&[1, 2, 3]))
            .build();
        let image = Image::from_bytes("prog", bytes).expect("image");
        assert_eq!(image.kind(), Kind::Relocatable);
        assert_eq!(image.entry(), ElfAddr::new(BASE));
        assert_eq!(image.build_id(), Some(&[1, 2, 3][..]));
        assert_eq!(image.segments().len(), 1);
        let text = image.section_at(ElfAddr::new(BASE + 8)).expect("section");
        assert_eq!(image.section_name(text), b".text");
        assert!(image.section_at(ElfAddr::new(BASE + 16)).is_none());
        assert_eq!(
            image.loaded_bytes(ElfAddr::new(BASE + 10)).map(<[u8]>::len),
            Some(6)
        );
    }

    #[test]
    fn real_programs_are_read() {
        let image = Image::open(Path::new("/proc/self/exe")).expect("image");
        assert!(image.interpreter().is_some());
        assert!(image.dynamic().is_some());
        assert!(image.symbols().len() > 1000);
        assert!(
            !image
                .section_bytes(".debug_line")
                .expect("section")
                .is_empty()
        );
    }
}
