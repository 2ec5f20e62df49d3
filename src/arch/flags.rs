//! RFLAGS bits and their one-letter names (Intel SDM volume 1, 3.4.3).

/// Letter and bit. `n` and `v` are what other processors call `s` and `o`.
pub const FLAGS: [(&str, u8); 11] = [
    ("z", 6),
    ("c", 0),
    ("s", 7),
    ("o", 11),
    ("p", 2),
    ("a", 4),
    ("d", 10),
    ("i", 9),
    ("t", 8),
    ("n", 7),
    ("v", 11),
];

/// The flags shown by default: each bit once.
pub const SHOWN: usize = 9;

/// The trap flag: single-step mode.
pub const TRAP: u64 = 1 << 8;

pub fn bit(letter: &str) -> Option<u8> {
    FLAGS
        .iter()
        .find(|(name, _)| *name == letter)
        .map(|(_, bit)| *bit)
}
