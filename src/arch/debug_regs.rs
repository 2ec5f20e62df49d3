//! Debug registers: what DR6 tells and how DR7 asks (Intel SDM volume 3, 18.2).

use crate::base::addr::VirtAddr;

/// One of the four address registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Slot {
    D0,
    D1,
    D2,
    D3,
}

impl Slot {
    pub const ALL: [Self; 4] = [Self::D0, Self::D1, Self::D2, Self::D3];

    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What the processor watches for. There is no watch for reads alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    Execute,
    Write,
    ReadWrite,
}

/// A watched place: 1, 2, 4 or 8 bytes, aligned to their number; 1 for code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watch {
    addr: VirtAddr,
    width: u8,
    trigger: Trigger,
}

impl Watch {
    /// None for a length the processor does not know or an address that is not aligned to it.
    pub fn new(addr: VirtAddr, width: u8, trigger: Trigger) -> Option<Self> {
        let fits = match trigger {
            Trigger::Execute => width == 1,
            Trigger::Write | Trigger::ReadWrite => matches!(width, 1 | 2 | 4 | 8),
        };
        (fits && addr.raw().is_multiple_of(u64::from(width))).then_some(Self {
            addr,
            width,
            trigger,
        })
    }

    pub fn addr(&self) -> VirtAddr {
        self.addr
    }

    /// In bytes.
    pub fn width(&self) -> u8 {
        self.width
    }

    pub fn trigger(&self) -> Trigger {
        self.trigger
    }

    /// The four bits of DR7: R/W and LEN.
    const fn control(&self) -> u64 {
        let trigger = match self.trigger {
            Trigger::Execute => 0b00,
            Trigger::Write => 0b01,
            Trigger::ReadWrite => 0b11,
        };
        let len = match self.width {
            2 => 0b01,
            4 => 0b11,
            8 => 0b10,
            _ => 0b00,
        };
        trigger | len << 2
    }
}

/// DR7 that enables these watches, locally, which is all that Linux lets a tracer do.
pub fn control(watches: &[Option<Watch>; 4]) -> u64 {
    let mut dr7 = 0;
    for (slot, watch) in watches.iter().enumerate() {
        if let Some(watch) = watch {
            dr7 |= 1 << (2 * slot);
            dr7 |= watch.control() << (16 + 4 * slot);
        }
    }
    dr7
}

/// Which slots have triggered, by DR6.
pub fn triggered(dr6: u64) -> impl Iterator<Item = Slot> {
    Slot::ALL
        .into_iter()
        .filter(move |slot| dr6 >> slot.index() & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(addr: u64, width: u8, trigger: Trigger) -> Option<Watch> {
        Watch::new(VirtAddr::new(addr), width, trigger)
    }

    #[track_caller]
    fn check(watches: [Option<Watch>; 4], dr7: u64) {
        assert_eq!(control(&watches), dr7);
    }

    #[test]
    fn dr7_says_what_the_manual_says() {
        check([None; 4], 0);
        let write8 = watch(0x1000, 8, Trigger::Write);
        check([write8, None, None, None], 0x9_0001);
        let rw4 = watch(0x1004, 4, Trigger::ReadWrite);
        check([None, rw4, None, None], 0xf0_0004);
        let code = watch(0x40_1235, 1, Trigger::Execute);
        check([None, None, None, code], 0x40);
        check([write8, rw4, None, code], 0xf9_0045);
    }

    #[test]
    fn what_cannot_be_watched_is_refused() {
        assert_eq!(watch(0x1001, 2, Trigger::Write), None);
        assert_eq!(watch(0x1004, 8, Trigger::Write), None);
        assert_eq!(watch(0x1000, 3, Trigger::Write), None);
        assert_eq!(watch(0x1000, 4, Trigger::Execute), None);
        assert_eq!(watch(0x1000, 0, Trigger::Write), None);
    }

    #[test]
    fn several_slots_can_trigger_at_once() {
        let slots: Vec<Slot> = triggered(0xffff_0ff0 | 0b0101).collect();
        assert_eq!(slots, [Slot::D0, Slot::D2]);
    }
}
