//! One table of the general registers: name, DWARF number, place in the kernel's register set, width.

use crate::base::addr::VirtAddr;

/// Registers in the kernel's `struct user_regs_struct` (sys/user.h), in its order.
pub const USER_REGS: usize = 27;

/// The general registers of one stopped thread, as NT_PRSTATUS gives them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Registers {
    words: [u64; USER_REGS],
}

/// A register or a named part of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegId(u8);

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    /// Index into the register set.
    word: u8,
    /// Width in bits.
    pub bits: u8,
    /// Lowest bit within the word.
    shift: u8,
    /// System V AMD64 psABI, figure 3.36; none for parts of registers.
    pub dwarf: Option<u16>,
}

const R15: u8 = 0;
const R14: u8 = 1;
const R13: u8 = 2;
const R12: u8 = 3;
const RBP: u8 = 4;
const RBX: u8 = 5;
const R11: u8 = 6;
const R10: u8 = 7;
const R9: u8 = 8;
const R8: u8 = 9;
const RAX: u8 = 10;
const RCX: u8 = 11;
const RDX: u8 = 12;
const RSI: u8 = 13;
const RDI: u8 = 14;
const ORIG_RAX: u8 = 15;
const RIP: u8 = 16;
const CS: u8 = 17;
const EFLAGS: u8 = 18;
const RSP: u8 = 19;
const SS: u8 = 20;
const FS_BASE: u8 = 21;
const GS_BASE: u8 = 22;
const DS: u8 = 23;
const ES: u8 = 24;
const FS: u8 = 25;
const GS: u8 = 26;

const fn full(name: &'static str, word: u8, dwarf: u16) -> Row {
    Row {
        name,
        word,
        bits: 64,
        shift: 0,
        dwarf: Some(dwarf),
    }
}

const fn part(name: &'static str, word: u8, bits: u8, shift: u8) -> Row {
    Row {
        name,
        word,
        bits,
        shift,
        dwarf: None,
    }
}

/// The whole registers, in the order in which they are shown; the parts follow.
pub const WHOLE: usize = 27;

#[rustfmt::skip]
pub const TABLE: [Row; 79] = [
    full("rax", RAX, 0), full("rbx", RBX, 3), full("rcx", RCX, 2), full("rdx", RDX, 1),
    full("rsi", RSI, 4), full("rdi", RDI, 5), full("rbp", RBP, 6), full("rsp", RSP, 7),
    full("r8", R8, 8), full("r9", R9, 9), full("r10", R10, 10), full("r11", R11, 11),
    full("r12", R12, 12), full("r13", R13, 13), full("r14", R14, 14), full("r15", R15, 15),
    full("rip", RIP, 16), full("rflags", EFLAGS, 49),
    full("cs", CS, 51), full("ss", SS, 52), full("ds", DS, 53), full("es", ES, 50),
    full("fs", FS, 54), full("gs", GS, 55), full("fs_base", FS_BASE, 58), full("gs_base", GS_BASE, 59),
    part("orig_rax", ORIG_RAX, 64, 0),
    part("eax", RAX, 32, 0), part("ax", RAX, 16, 0), part("al", RAX, 8, 0), part("ah", RAX, 8, 8),
    part("ebx", RBX, 32, 0), part("bx", RBX, 16, 0), part("bl", RBX, 8, 0), part("bh", RBX, 8, 8),
    part("ecx", RCX, 32, 0), part("cx", RCX, 16, 0), part("cl", RCX, 8, 0), part("ch", RCX, 8, 8),
    part("edx", RDX, 32, 0), part("dx", RDX, 16, 0), part("dl", RDX, 8, 0), part("dh", RDX, 8, 8),
    part("esi", RSI, 32, 0), part("si", RSI, 16, 0), part("sil", RSI, 8, 0),
    part("edi", RDI, 32, 0), part("di", RDI, 16, 0), part("dil", RDI, 8, 0),
    part("ebp", RBP, 32, 0), part("bp", RBP, 16, 0), part("bpl", RBP, 8, 0),
    part("esp", RSP, 32, 0), part("spl", RSP, 8, 0),
    part("r8d", R8, 32, 0), part("r8w", R8, 16, 0), part("r8b", R8, 8, 0),
    part("r9d", R9, 32, 0), part("r9w", R9, 16, 0), part("r9b", R9, 8, 0),
    part("r10d", R10, 32, 0), part("r10w", R10, 16, 0), part("r10b", R10, 8, 0),
    part("r11d", R11, 32, 0), part("r11w", R11, 16, 0), part("r11b", R11, 8, 0),
    part("r12d", R12, 32, 0), part("r12w", R12, 16, 0), part("r12b", R12, 8, 0),
    part("r13d", R13, 32, 0), part("r13w", R13, 16, 0), part("r13b", R13, 8, 0),
    part("r14d", R14, 32, 0), part("r14w", R14, 16, 0), part("r14b", R14, 8, 0),
    part("r15d", R15, 32, 0), part("r15w", R15, 16, 0), part("r15b", R15, 8, 0),
    part("eflags", EFLAGS, 32, 0),
];

/// Other names for the same register.
const ALIASES: [(&str, &str); 3] = [("pc", "rip"), ("sp", "rsp"), ("fp", "rbp")];

impl RegId {
    pub fn by_name(name: &str) -> Option<Self> {
        let name = ALIASES
            .iter()
            .find(|(alias, _)| *alias == name)
            .map_or(name, |(_, real)| real);
        let index = TABLE.iter().position(|row| row.name == name)?;
        u8::try_from(index).ok().map(Self)
    }

    /// The register in row `index` of the table.
    pub fn by_index(index: usize) -> Option<Self> {
        TABLE.get(index)?;
        u8::try_from(index).ok().map(Self)
    }

    pub fn by_dwarf(number: u16) -> Option<Self> {
        let index = TABLE.iter().position(|row| row.dwarf == Some(number))?;
        u8::try_from(index).ok().map(Self)
    }

    /// The registers that hold a whole word, in display order.
    pub fn whole() -> impl Iterator<Item = Self> {
        (0..u8::try_from(WHOLE).unwrap_or(0)).map(Self)
    }

    /// The row of the table.
    pub const fn index(self) -> u8 {
        self.0
    }

    pub fn row(self) -> &'static Row {
        &TABLE[usize::from(self.0)]
    }

    /// cs and ss: there is one value of each that user code can run with.
    pub fn is_code_segment(self) -> bool {
        matches!(self.row().word, CS | SS)
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }
}

impl Registers {
    pub fn new(words: [u64; USER_REGS]) -> Self {
        Self { words }
    }

    pub fn words(&self) -> &[u64; USER_REGS] {
        &self.words
    }

    pub fn words_mut(&mut self) -> &mut [u64; USER_REGS] {
        &mut self.words
    }

    pub fn get(&self, register: RegId) -> u64 {
        let row = register.row();
        (self.words[usize::from(row.word)] >> row.shift) & mask(row.bits)
    }

    /// Writes a register or a part of one; false when the value does not fit.
    /// A 32-bit part clears the upper half, as the processor does.
    #[must_use]
    pub fn set(&mut self, register: RegId, value: u64) -> bool {
        let row = register.row();
        if value & !mask(row.bits) != 0 {
            return false;
        }
        let word = &mut self.words[usize::from(row.word)];
        *word = if row.bits >= 32 {
            value
        } else {
            (*word & !(mask(row.bits) << row.shift)) | (value << row.shift)
        };
        true
    }

    pub fn pc(&self) -> VirtAddr {
        VirtAddr::new(self.words[usize::from(RIP)])
    }

    pub fn set_pc(&mut self, pc: VirtAddr) {
        self.words[usize::from(RIP)] = pc.raw();
    }

    pub fn sp(&self) -> VirtAddr {
        VirtAddr::new(self.words[usize::from(RSP)])
    }

    pub fn flags(&self) -> u64 {
        self.words[usize::from(EFLAGS)]
    }

    pub fn set_flags(&mut self, flags: u64) {
        self.words[usize::from(EFLAGS)] = flags;
    }

    pub fn rax(&self) -> u64 {
        self.words[usize::from(RAX)]
    }

    /// The system call number the thread is in, or -1 (as u64) outside of one.
    pub fn orig_rax(&self) -> u64 {
        self.words[usize::from(ORIG_RAX)]
    }

    pub fn set_orig_rax(&mut self, value: u64) {
        self.words[usize::from(ORIG_RAX)] = value;
    }

    /// Stopped within a system call that the kernel will start again: the pc then moves back to the
    /// instruction (ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK).
    pub fn restarts_syscall(&self) -> bool {
        let in_syscall = self.orig_rax().cast_signed() >= 0;
        in_syscall && matches!(self.rax().cast_signed(), -514..=-512 | -516)
    }

    /// System call arguments in the order of syscall(2): rdi rsi rdx r10 r8 r9.
    pub fn syscall_args(&self) -> [u64; 6] {
        [RDI, RSI, RDX, R10, R8, R9].map(|word| self.words[usize::from(word)])
    }

    /// The register with that DWARF number, when it is a general one.
    pub fn dwarf(&self, number: u16) -> Option<u64> {
        RegId::by_dwarf(number).map(|register| self.get(register))
    }
}

const fn mask(bits: u8) -> u64 {
    if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(name: &str) -> RegId {
        RegId::by_name(name).expect("in the table")
    }

    #[track_caller]
    fn check_set(name: &str, value: u64, rax_after: u64) {
        let mut registers = Registers::default();
        assert!(registers.set(register("rax"), 0x1122_3344_5566_7788));
        assert!(registers.set(register(name), value));
        assert_eq!(registers.get(register(name)), value);
        assert_eq!(registers.get(register("rax")), rax_after);
    }

    #[test]
    fn parts_write_what_the_processor_would() {
        check_set("al", 0xff, 0x1122_3344_5566_77ff);
        check_set("ah", 0xff, 0x1122_3344_5566_ff88);
        check_set("ax", 0xffff, 0x1122_3344_5566_ffff);
        check_set("eax", 0xffff_ffff, 0x0000_0000_ffff_ffff);
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused() {
        let mut registers = Registers::default();
        assert!(!registers.set(register("al"), 0x100));
        assert!(!registers.set(register("eax"), 1 << 32));
    }

    #[test]
    fn names_are_unique_and_every_word_has_one() {
        let mut names: Vec<_> = TABLE.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
        for word in 0..USER_REGS {
            assert!(RegId::whole().any(|id| usize::from(id.row().word) == word));
        }
        assert_eq!(register("pc"), register("rip"));
    }
}
