//! Small ELF files for tests, built byte by byte, so that each says exactly what the test is about.

use object::elf;

/// Sections get addresses from here on, one page each, in one executable segment.
pub const BASE: u64 = 0x40_0000;

pub struct ElfBuilder {
    sections: Vec<(String, elf::SectionType, u64, Vec<u8>)>,
    symbols: Vec<(String, u64, u64, u8)>,
    kind: u16,
    machine: u16,
    class: u8,
}

impl ElfBuilder {
    pub fn new() -> Self {
        Self {
            sections: Vec::new(),
            symbols: Vec::new(),
            kind: elf::ET_DYN.0,
            machine: elf::EM_X86_64.0,
            class: 2,
        }
    }

    pub fn kind(mut self, kind: elf::FileType) -> Self {
        self.kind = kind.0;
        self
    }

    pub fn machine(mut self, machine: elf::Machine, class: u8) -> Self {
        self.machine = machine.0;
        self.class = class;
        self
    }

    /// A section that is not loaded.
    pub fn section(mut self, name: &str, bytes: &[u8]) -> Self {
        let kind = if name.starts_with(".note") {
            elf::SHT_NOTE
        } else {
            elf::SHT_PROGBITS
        };
        self.sections
            .push((name.to_owned(), kind, 0, bytes.to_vec()));
        self
    }

    /// A loaded section at `addr`, which must not be 0. Code when it is called .text.
    pub fn loaded(mut self, name: &str, addr: u64, bytes: &[u8]) -> Self {
        self.sections
            .push((name.to_owned(), elf::SHT_PROGBITS, addr, bytes.to_vec()));
        self
    }

    /// `info` is the binding in the high and the type in the low four bits. Defined in the first section.
    pub fn symbol(mut self, name: &str, value: u64, size: u64, info: u8) -> Self {
        self.symbols.push((name.to_owned(), value, size, info));
        self
    }

    pub fn function(self, name: &str, value: u64, size: u64) -> Self {
        self.symbol(name, value, size, 0x12)
    }

    pub fn build(mut self) -> Vec<u8> {
        self.add_symbol_table();
        let mut file = vec![0; 64];
        let mut headers = vec![[0u64; 8]];
        let mut names = vec![0u8];
        self.sections
            .push((".shstrtab".to_owned(), elf::SHT_STRTAB, 0, Vec::new()));
        let last = self.sections.len() - 1;
        let mut loads = Vec::new();
        for (index, (name, kind, addr, bytes)) in self.sections.iter().enumerate() {
            let name_at = names.len() as u64;
            names.extend(name.as_bytes());
            names.push(0);
            file.resize(file.len().next_multiple_of(16), 0);
            let offset = file.len() as u64;
            let content = if index == last { &names } else { bytes };
            file.extend(content);
            let size = content.len() as u64;
            let code = name == ".text";
            let flags = u64::from(*addr != 0) * 2 + u64::from(code) * 4;
            if *addr != 0 {
                loads.push((*addr, offset, size, code));
            }
            // The string table of a symbol table is the section behind it.
            let link = if *kind == elf::SHT_SYMTAB {
                index + 2
            } else {
                0
            };
            let size_of_entry = if *kind == elf::SHT_SYMTAB { 24 } else { 0 };
            headers.push([
                name_at | u64::from(kind.0) << 32,
                flags,
                *addr,
                offset,
                size,
                link as u64,
                1,
                size_of_entry,
            ]);
        }
        file.resize(file.len().next_multiple_of(16), 0);
        let sections_at = file.len() as u64;
        for header in &headers {
            for word in header {
                file.extend(word.to_le_bytes());
            }
        }
        let segments_at = file.len() as u64;
        for (addr, offset, size, code) in &loads {
            let flags: u32 = if *code { 5 } else { 6 };
            file.extend(elf::PT_LOAD.0.to_le_bytes());
            file.extend(flags.to_le_bytes());
            for word in [*offset, *addr, *addr, *size, *size, 0x1000] {
                file.extend(word.to_le_bytes());
            }
        }
        let counts = [loads.len(), headers.len()].map(|count| u16::try_from(count).expect("few"));
        self.write_header(&mut file, segments_at, sections_at, counts);
        file
    }

    fn add_symbol_table(&mut self) {
        if self.symbols.is_empty() {
            return;
        }
        let mut table = vec![0; 24];
        let mut names = vec![0];
        for (name, value, size, info) in &self.symbols {
            let name_at = u32::try_from(names.len()).expect("small");
            table.extend(name_at.to_le_bytes());
            table.extend([*info, 0]);
            table.extend(1u16.to_le_bytes());
            table.extend(value.to_le_bytes());
            table.extend(size.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
        }
        self.sections
            .push((".symtab".to_owned(), elf::SHT_SYMTAB, 0, table));
        self.sections
            .push((".strtab".to_owned(), elf::SHT_STRTAB, 0, names));
    }

    fn write_header(&self, file: &mut [u8], segments: u64, sections: u64, counts: [u16; 2]) {
        let mut header = Vec::new();
        header.extend(b"\x7fELF");
        header.extend([self.class, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        header.extend(self.kind.to_le_bytes());
        header.extend(self.machine.to_le_bytes());
        header.extend(1u32.to_le_bytes());
        for word in [BASE, segments, sections] {
            header.extend(word.to_le_bytes());
        }
        header.extend(0u32.to_le_bytes());
        for half in [64, 56, counts[0], 64, counts[1], counts[1] - 1] {
            header.extend(half.to_le_bytes());
        }
        file[..64].copy_from_slice(&header);
    }
}

pub fn build_id_note(id: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    note.extend(4u32.to_le_bytes());
    note.extend(u32::try_from(id.len()).expect("short").to_le_bytes());
    note.extend(3u32.to_le_bytes());
    note.extend(b"GNU\0");
    note.extend(id);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}
