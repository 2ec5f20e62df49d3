//! The rules for one address, kept for the next time: an unwinding meets the same few addresses again and
//! again, and finding and running their entry costs a hundred times more than applying what it says.

use super::{CfiSections, Slice};
use crate::base::addr::ElfAddr;
use crate::symbols::image::Image;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, Encoding, Evaluation, FrameDescriptionEntry,
    LittleEndian, RegisterRule, UnwindContext, UnwindExpression, UnwindOffset, UnwindSection,
};
use std::fmt;
use std::rc::Rc;

type Fde<'a> = FrameDescriptionEntry<Slice<'a>>;
type Answer = Result<Rc<Row>, Failure>;

/// How to find the caller's registers from an address.
#[derive(Clone, Debug)]
pub struct Row {
    pub cfa: CfaRule<usize>,
    /// The registers that are mentioned, by number.
    pub rules: Box<[(u16, RegisterRule<usize>)]>,
    /// The column that stands for the return address.
    pub return_address: u16,
    /// Whether the code is the kernel's way back from a signal handler.
    pub is_signal_trampoline: bool,
    frames: Frames,
    encoding: Encoding,
}

#[derive(Clone, Copy, Debug)]
enum Frames {
    Eh,
    Debug,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// No entry covers the address.
    NoRule,
    Damaged,
}

/// Answers by address, the place of each given by the address: of two that want the same place the later
/// one has it.
#[derive(Default)]
pub(super) struct RowCache {
    slots: Vec<Option<(u64, Answer)>>,
    context: UnwindContext<usize>,
}

const SLOTS: usize = 1024;

impl fmt::Debug for RowCache {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("RowCache").finish_non_exhaustive()
    }
}

/// Neighbouring instructions are not asked for together, but the entries of functions are aligned.
fn slot_of(addr: ElfAddr) -> usize {
    let mixed = addr.raw().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    usize::try_from(mixed).unwrap_or(0) % SLOTS
}

impl Image {
    /// The rules for the frame of a function that stands at `addr`.
    pub fn unwind_row(&self, addr: ElfAddr) -> Result<Rc<Row>, Failure> {
        let mut cache = self.cfi_cache.rows.borrow_mut();
        let slot = slot_of(addr);
        if let Some(Some((known, answer))) = cache.slots.get(slot)
            && *known == addr.raw()
        {
            return answer.clone();
        }
        let answer = self.read_row(addr, &mut cache.context);
        if cache.slots.is_empty() {
            cache.slots.resize(SLOTS, None);
        }
        if let Some(place) = cache.slots.get_mut(slot) {
            *place = Some((addr.raw(), answer.clone()));
        }
        answer
    }

    fn read_row(&self, addr: ElfAddr, context: &mut UnwindContext<usize>) -> Answer {
        let cfi = self.cfi();
        let bases = cfi.bases();
        if let Some(section) = cfi.eh_frame_section()
            && let Some(fde) = self.find_in_eh_frame(&cfi, &section, &bases, addr)?
        {
            return row_of(&section, &fde, Frames::Eh, &bases, addr, context);
        }
        let section = cfi.debug_frame_section().ok_or(Failure::NoRule)?;
        let offset = self.debug_frame_extents().find(addr)?;
        let fde = entry_at(&section, &bases, offset)?;
        row_of(&section, &fde, Frames::Debug, &bases, addr, context)
    }

    /// By the linker's binary search table when there is one and it is sound, else by one made here.
    fn find_in_eh_frame<'a>(
        &self,
        cfi: &CfiSections<'a>,
        section: &EhFrame<Slice<'a>>,
        bases: &BaseAddresses,
        addr: ElfAddr,
    ) -> Result<Option<Fde<'a>>, Failure> {
        let by_table = cfi.eh_frame_hdr.and_then(|(_, bytes)| {
            let header = EhFrameHdr::new(bytes, LittleEndian).parse(bases, 8).ok()?;
            let table = header.table()?;
            let get_cie = EhFrame::cie_from_offset;
            Some(table.fde_for_address(section, bases, addr.raw(), get_cie))
        });
        match by_table {
            Some(Ok(fde)) => Ok(Some(fde)),
            // The linker puts every entry into the table.
            Some(Err(gimli::Error::NoUnwindInfoForAddress)) => Ok(None),
            _ => match self.eh_frame_extents().find(addr) {
                Ok(offset) => entry_at(section, bases, offset).map(Some),
                Err(Failure::NoRule) => Ok(None),
                Err(failure) => Err(failure),
            },
        }
    }

    /// An expression of a row, ready to be evaluated.
    pub fn unwind_expression<'a>(
        &'a self,
        row: &Row,
        expression: &UnwindExpression<usize>,
    ) -> Option<Evaluation<Slice<'a>>> {
        let cfi = self.cfi();
        let found = match row.frames {
            Frames::Eh => expression.get(&cfi.eh_frame_section()?),
            Frames::Debug => expression.get(&cfi.debug_frame_section()?),
        };
        Some(found.ok()?.evaluation(row.encoding))
    }
}

fn entry_at<'a, Section>(
    section: &Section,
    bases: &BaseAddresses,
    offset: usize,
) -> Result<Fde<'a>, Failure>
where
    Section: UnwindSection<Slice<'a>>,
    Section::Offset: UnwindOffset<usize> + From<usize>,
{
    section
        .fde_from_offset(bases, offset.into(), Section::cie_from_offset)
        .map_err(|_| Failure::Damaged)
}

fn row_of<'a, Section: UnwindSection<Slice<'a>>>(
    section: &Section,
    fde: &Fde<'a>,
    frames: Frames,
    bases: &BaseAddresses,
    addr: ElfAddr,
    context: &mut UnwindContext<usize>,
) -> Answer {
    let row = fde
        .unwind_info_for_address(section, bases, context, addr.raw())
        .map_err(|error| match error {
            gimli::Error::NoUnwindInfoForAddress => Failure::NoRule,
            _ => Failure::Damaged,
        })?;
    Ok(Rc::new(Row {
        cfa: row.cfa().clone(),
        rules: row
            .registers()
            .map(|(register, rule)| (register.0, rule.clone()))
            .collect(),
        return_address: fde.cie().return_address_register().0,
        is_signal_trampoline: fde.is_signal_trampoline(),
        frames,
        encoding: fde.cie().encoding(),
    }))
}
