//! Addresses. Three kinds that must never be mixed up, and the only conversions between them.

use std::fmt;

macro_rules! address_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(u64);

        impl $name {
            pub const fn new(raw: u64) -> Self {
                Self(raw)
            }

            pub const fn raw(self) -> u64 {
                self.0
            }

            /// Addition that refuses to wrap round the address space.
            pub fn checked_add(self, bytes: u64) -> Option<Self> {
                self.0.checked_add(bytes).map(Self)
            }

            pub fn checked_sub(self, bytes: u64) -> Option<Self> {
                self.0.checked_sub(bytes).map(Self)
            }

            /// Distance from `from` up to `self`, when `self` is not below it.
            pub fn offset_from(self, from: Self) -> Option<u64> {
                self.0.checked_sub(from.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address_type! {
    /// An address in a running process.
    VirtAddr
}
address_type! {
    /// A link-time address inside one ELF image, before the load bias is added.
    ElfAddr
}
address_type! {
    /// A byte position in a file.
    FileOffset
}

/// What has to be added to an image's link-time addresses to get run-time ones.
///
/// Kept modulo 2^64: a prelinked image may be loaded below its link address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct LoadBias(u64);

impl LoadBias {
    pub const fn new(raw: u64) -> Self {
        Self(raw)
    }

    pub const fn raw(self) -> u64 {
        self.0
    }

    /// The bias that puts link address `elf` at run-time address `virt`.
    pub const fn between(elf: ElfAddr, virt: VirtAddr) -> Self {
        Self(virt.0.wrapping_sub(elf.0))
    }

    pub const fn to_virt(self, elf: ElfAddr) -> VirtAddr {
        VirtAddr(elf.0.wrapping_add(self.0))
    }

    pub const fn to_elf(self, virt: VirtAddr) -> ElfAddr {
        ElfAddr(virt.0.wrapping_sub(self.0))
    }
}

/// A half-open range of run-time addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct AddrRange {
    pub start: VirtAddr,
    pub end: VirtAddr,
}

impl AddrRange {
    pub const fn new(start: VirtAddr, end: VirtAddr) -> Self {
        Self { start, end }
    }

    pub fn contains(&self, addr: VirtAddr) -> bool {
        self.start <= addr && addr < self.end
    }

    pub fn len(&self) -> u64 {
        self.end.raw().saturating_sub(self.start.raw())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for AddrRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_round_trip(elf: u64, virt: u64) {
        let bias = LoadBias::between(ElfAddr::new(elf), VirtAddr::new(virt));
        assert_eq!(bias.to_virt(ElfAddr::new(elf)), VirtAddr::new(virt));
        assert_eq!(bias.to_elf(VirtAddr::new(virt)), ElfAddr::new(elf));
    }

    #[test]
    fn the_bias_round_trips_up_and_down() {
        check_round_trip(0, 0x5555_5555_4000);
        check_round_trip(0x40_0000, 0x40_0000);
        check_round_trip(0x7f00_0000_0000, 0x1000);
    }

    #[test]
    fn arithmetic_never_wraps() {
        assert_eq!(VirtAddr::new(u64::MAX).checked_add(1), None);
        assert_eq!(VirtAddr::new(0).checked_sub(1), None);
        assert_eq!(VirtAddr::new(0x10).offset_from(VirtAddr::new(0x8)), Some(8));
    }
}
