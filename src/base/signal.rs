//! Signals, real-time ones included: nix's enum ends at 31, but glibc itself uses 32 and 33.

use std::fmt;

/// A signal number, 1 to 64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Signal(u8);

/// signal(7), x86-64 numbers.
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// Other spellings that signal(7) allows.
const ALIASES: [(&str, u8); 3] = [("SIGIOT", 6), ("SIGPOLL", 29), ("SIGCLD", 17)];

impl Signal {
    pub const ILL: Self = Self(4);
    pub const TRAP: Self = Self(5);
    pub const BUS: Self = Self(7);
    pub const FPE: Self = Self(8);
    pub const KILL: Self = Self(9);
    pub const SEGV: Self = Self(11);
    pub const ALRM: Self = Self(14);
    pub const CHLD: Self = Self(17);
    pub const CONT: Self = Self(18);
    pub const STOP: Self = Self(19);
    pub const TSTP: Self = Self(20);
    pub const TTIN: Self = Self(21);
    pub const TTOU: Self = Self(22);
    pub const URG: Self = Self(23);
    pub const VTALRM: Self = Self(26);
    pub const PROF: Self = Self(27);
    pub const WINCH: Self = Self(28);
    pub const IO: Self = Self(29);
    pub const SYS: Self = Self(31);

    /// The kernel's SIGRTMIN, which is glibc's minus two.
    const REAL_TIME_MIN: u8 = 32;
    const MAX: u8 = 64;

    pub fn new(number: i32) -> Option<Self> {
        match u8::try_from(number) {
            Ok(number @ 1..=Self::MAX) => Some(Self(number)),
            _ => None,
        }
    }

    pub const fn number(self) -> i32 {
        self.0 as i32
    }

    /// For tables with an entry per signal: 1 to 64.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub const fn is_real_time(self) -> bool {
        self.0 >= Self::REAL_TIME_MIN
    }

    /// The four signals that stop a process by default (signal(7), "Stop").
    pub const fn stops_process(self) -> bool {
        matches!(self, Self::STOP | Self::TSTP | Self::TTIN | Self::TTOU)
    }

    /// By name (`SIGUSR1`, `usr1`, `SIGRTMIN+3` as glibc counts), or by number.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(number) = text.parse::<i32>() {
            return Self::new(number);
        }
        let upper = text.to_ascii_uppercase();
        let full = if upper.starts_with("SIG") {
            upper
        } else {
            format!("SIG{upper}")
        };
        if let Some(rest) = full.strip_prefix("SIGRTMIN") {
            let offset: i32 = if rest.is_empty() {
                0
            } else {
                rest.parse().ok()?
            };
            return Self::new(34 + offset).filter(|signal| signal.is_real_time());
        }
        let plain = NAMES.iter().zip(1..).find(|(name, _)| **name == full);
        let alias = ALIASES.iter().find(|(name, _)| *name == full);
        plain
            .map(|(_, number)| number)
            .or(alias.map(|(_, number)| *number))
            .map(Self)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(usize::from(self.0) - 1) {
            Some(name) => f.write_str(name),
            // glibc keeps 32 and 33 for itself and calls 34 SIGRTMIN.
            None if self.0 < 34 => write!(f, "SIG{}", self.0),
            None if self.0 == 34 => f.write_str("SIGRTMIN"),
            None => write!(f, "SIGRTMIN+{}", self.0 - 34),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: i32, name: &str) {
        let signal = Signal::new(number).expect("in range");
        assert_eq!(signal.to_string(), name);
        if !(32..=33).contains(&number) {
            assert_eq!(Signal::parse(name), Some(signal));
        }
    }

    #[test]
    fn names_match_numbers() {
        check(1, "SIGHUP");
        check(11, "SIGSEGV");
        check(31, "SIGSYS");
        check(32, "SIG32");
        check(34, "SIGRTMIN");
        check(64, "SIGRTMIN+30");
    }

    #[test]
    fn what_is_no_signal_is_refused() {
        for number in [-1, 0, 65, 256] {
            assert_eq!(Signal::new(number), None);
        }
        for name in ["", "SIGFOO", "SIGRTMIN+31", "SIGRTMIN-9", "65"] {
            assert_eq!(Signal::parse(name), None, "{name}");
        }
        assert_eq!(Signal::parse("usr1"), Signal::new(10));
        assert_eq!(Signal::parse("iot"), Signal::new(6));
    }
}
