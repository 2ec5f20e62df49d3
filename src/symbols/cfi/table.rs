//! All entries of one section of call frame information, by address: for sections without a search table of
//! their own, and for the functions of stripped files, which are known from here alone.

use super::Slice;
use super::rows::Failure;
use crate::base::addr::ElfAddr;
use crate::symbols::budget::{Budget, MAX_SYMBOLS};
use crate::symbols::image::Image;
use gimli::{BaseAddresses, CieOrFde, CommonInformationEntry, UnwindOffset, UnwindSection};

/// The code that one entry describes: a function, or the part of one that was moved elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::symbols) struct Extent {
    pub(in crate::symbols) start: u64,
    pub(in crate::symbols) end: u64,
    /// Of the entry in its section.
    pub(super) offset: usize,
}

/// The entries of a section, in order of address.
#[derive(Default, Debug)]
pub(in crate::symbols) struct Extents {
    pub(in crate::symbols) all: Vec<Extent>,
    /// Whether entries may be missing because the section is damaged.
    pub(super) is_damaged: bool,
}

impl Image {
    /// The entries of `.eh_frame`, in order of address; read on first use.
    pub(in crate::symbols) fn eh_frame_extents(&self) -> &Extents {
        self.cfi_cache.eh_frame.get_or_init(|| {
            let cfi = self.cfi();
            let section = cfi.eh_frame_section();
            section.map_or_else(Extents::default, |section| read(&section, &cfi.bases()))
        })
    }

    pub(super) fn debug_frame_extents(&self) -> &Extents {
        self.cfi_cache.debug_frame.get_or_init(|| {
            let cfi = self.cfi();
            let section = cfi.debug_frame_section();
            section.map_or_else(Extents::default, |section| read(&section, &cfi.bases()))
        })
    }
}

/// Damaged entries are left out, and what follows the first one that cannot even be told apart.
fn read<'a, Section>(section: &Section, bases: &BaseAddresses) -> Extents
where
    Section: UnwindSection<Slice<'a>>,
{
    let mut budget = Budget::new();
    let mut all = Vec::new();
    let mut is_damaged = false;
    let mut entries = section.entries(bases);
    // Long runs of entries share one.
    let mut shared: Option<(usize, CommonInformationEntry<Slice<'a>>)> = None;
    loop {
        let entry = match entries.next() {
            Ok(Some(entry)) if budget.step() && all.len() < MAX_SYMBOLS => entry,
            Ok(None) => break,
            _ => {
                is_damaged = true;
                break;
            }
        };
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let parsed = partial.parse(|section, bases, offset| {
            let at = UnwindOffset::into(offset);
            if let Some((known, cie)) = &shared
                && *known == at
            {
                return Ok(cie.clone());
            }
            let cie = section.cie_from_offset(bases, offset)?;
            shared = Some((at, cie.clone()));
            Ok(cie)
        });
        let Ok(fde) = parsed else {
            is_damaged = true;
            continue;
        };
        // Where the linker dropped a function, its entry begins at 0.
        if fde.initial_address() != 0 && fde.initial_address() < fde.end_address() {
            all.push(Extent {
                start: fde.initial_address(),
                end: fde.end_address(),
                offset: fde.offset(),
            });
        }
    }
    all.sort_by_key(|extent: &Extent| (extent.start, extent.end));
    Extents { all, is_damaged }
}

impl Extents {
    /// The offset of the entry that covers an address.
    pub(super) fn find(&self, addr: ElfAddr) -> Result<usize, Failure> {
        let behind = self
            .all
            .partition_point(|extent| extent.start <= addr.raw());
        let nearest = behind.checked_sub(1).and_then(|at| self.all.get(at));
        match nearest.filter(|extent| addr.raw() < extent.end) {
            Some(extent) => Ok(extent.offset),
            None if self.is_damaged => Err(Failure::Damaged),
            None => Err(Failure::NoRule),
        }
    }
}
