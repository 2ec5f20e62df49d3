//! The rules, as data: which system call is answered how, and why. Numbers are the x86-64 ABI's (syscalls(2)).

/// `EPERM`: the call exists and is refused. `ENOSYS`: the caller falls back to an older call, which can be judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Eperm,
    Enosys,
}

impl Answer {
    /// errno(3)
    pub const fn errno(self) -> u32 {
        match self {
            Self::Eperm => 1,
            Self::Enosys => 38,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    Always,
    /// Any of these bits is set in the low 32 bits of the argument.
    AnyBit {
        argument: u8,
        bits: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub syscall: &'static str,
    pub number: i64,
    pub when: When,
    pub answer: Answer,
    pub why: &'static str,
}

pub const CLONE_UNTRACED: u32 = 0x0080_0000;

/// System call numbers from here on are the x32 ABI's: the same calls under numbers that no rule names.
pub const X32_BIT: u32 = 0x4000_0000;

/// What a debuggee is denied so that it cannot leave its tracer.
pub const TRACEE: &[Rule] = &[
    Rule {
        syscall: "ptrace",
        number: 101,
        when: When::Always,
        answer: Answer::Eperm,
        why: "a debuggee traces nobody: neither this debugger nor another session's programs",
    },
    Rule {
        syscall: "clone",
        number: 56,
        when: When::AnyBit {
            argument: 0,
            bits: CLONE_UNTRACED,
        },
        answer: Answer::Eperm,
        why: "an untraced child escapes its tracer and outlives it",
    },
    Rule {
        syscall: "clone3",
        number: 435,
        when: When::Always,
        answer: Answer::Enosys,
        why: "its flags lie behind a pointer, out of reach of a filter; the C library falls back to clone",
    },
];
