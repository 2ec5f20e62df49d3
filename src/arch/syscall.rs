//! Names of system calls.

use syscalls::x86_64::Sysno;

pub const READ: u64 = 0;
pub const POLL: u64 = 7;
pub const READV: u64 = 19;
pub const PPOLL: u64 = 271;

pub fn name(number: u64) -> Option<&'static str> {
    Sysno::new(usize::try_from(number).ok()?).map(|call| call.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_unknown_numbers() {
        assert_eq!(name(READ), Some("read"));
        assert_eq!(name(PPOLL), Some("ppoll"));
        assert_eq!(name(u64::MAX), None);
    }
}
