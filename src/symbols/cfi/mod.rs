//! Call frame information (DWARF 5, section 6.4): where an image keeps it, and the rules it has for an
//! address. To apply them to a frame is the unwinder's business.

pub mod rows;
pub(super) mod table;

use super::image::Image;
use crate::base::addr::ElfAddr;
use gimli::{BaseAddresses, DebugFrame, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Pointer};
use rows::RowCache;
use std::cell::{OnceCell, RefCell};
use table::Extents;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

const DEBUG_FRAME: &str = ".debug_frame";

/// The sections, by link address, as their pointers are relative to it.
#[derive(Clone, Copy, Debug)]
pub struct CfiSections<'a> {
    pub eh_frame_hdr: Option<(ElfAddr, &'a [u8])>,
    pub eh_frame: Option<(ElfAddr, &'a [u8])>,
    /// Plain or inflated; its addresses are absolute.
    pub debug_frame: Option<&'a [u8]>,
    pub text: ElfAddr,
    pub got: ElfAddr,
}

/// What was learned of an image's call frame information.
#[derive(Default, Debug)]
pub(super) struct CfiCache {
    places: OnceCell<CfiPlaces>,
    eh_frame: OnceCell<Extents>,
    debug_frame: OnceCell<Extents>,
    rows: RefCell<RowCache>,
}

/// Where the sections were found.
#[derive(Clone, Copy, Debug)]
struct CfiPlaces {
    eh_frame_hdr: Option<Place>,
    eh_frame: Option<Place>,
    debug_frame: Option<Frames>,
    text: ElfAddr,
    got: ElfAddr,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// By its number.
    Section(usize),
    /// So many loaded bytes from an address on.
    Loaded(ElfAddr, usize),
}

#[derive(Clone, Copy, Debug)]
enum Frames {
    Own,
    DebugFile,
}

impl<'a> CfiSections<'a> {
    fn bases(&self) -> BaseAddresses {
        let addr = |section: Option<(ElfAddr, &[u8])>| section.map_or(0, |(addr, _)| addr.raw());
        BaseAddresses::default()
            .set_eh_frame_hdr(addr(self.eh_frame_hdr))
            .set_eh_frame(addr(self.eh_frame))
            .set_text(self.text.raw())
            .set_got(self.got.raw())
    }

    fn eh_frame_section(&self) -> Option<EhFrame<Slice<'a>>> {
        let (_, bytes) = self.eh_frame?;
        Some(EhFrame::new(bytes, LittleEndian))
    }

    fn debug_frame_section(&self) -> Option<DebugFrame<Slice<'a>>> {
        let mut section = DebugFrame::from(EndianSlice::new(self.debug_frame?, LittleEndian));
        section.set_address_size(8);
        Some(section)
    }
}

impl Image {
    pub fn cfi(&self) -> CfiSections<'_> {
        let places = self.cfi_cache.places.get_or_init(|| self.find_cfi());
        let bytes = |place: Option<Place>| self.bytes_at(place?);
        let frames = match places.debug_frame {
            Some(Frames::Own) => self.section_bytes(DEBUG_FRAME).ok(),
            Some(Frames::DebugFile) => self
                .debug_image()
                .and_then(|debug| debug.section_bytes(DEBUG_FRAME).ok()),
            None => None,
        };
        CfiSections {
            eh_frame_hdr: bytes(places.eh_frame_hdr),
            eh_frame: bytes(places.eh_frame),
            debug_frame: frames,
            text: places.text,
            got: places.got,
        }
    }

    fn find_cfi(&self) -> CfiPlaces {
        let section = |name: &str| {
            let mut sections = self.sections().iter();
            let number = sections.position(|section| self.section_name(section) == name.as_bytes());
            number.map(Place::Section)
        };
        let filled = |place: &Place| {
            self.bytes_at(*place)
                .is_some_and(|(_, bytes)| !bytes.is_empty())
        };
        let address = |name| {
            self.section(name)
                .map_or(ElfAddr::default(), |section| section.addr)
        };
        let has_frames = |image: &Self| {
            image
                .section_bytes(DEBUG_FRAME)
                .is_ok_and(|bytes| !bytes.is_empty())
        };
        let eh_frame_hdr = section(".eh_frame_hdr")
            .filter(filled)
            .or_else(|| self.header_from_segment());
        let eh_frame = section(".eh_frame")
            .filter(filled)
            .or_else(|| self.frames_from_header(self.bytes_at(eh_frame_hdr?)?));
        let debug_frame = if has_frames(self) {
            Some(Frames::Own)
        } else if self.debug_image().is_some_and(has_frames) {
            Some(Frames::DebugFile)
        } else {
            None
        };
        CfiPlaces {
            eh_frame_hdr,
            eh_frame,
            debug_frame,
            text: address(".text"),
            got: address(".got"),
        }
    }

    fn bytes_at(&self, place: Place) -> Option<(ElfAddr, &[u8])> {
        match place {
            Place::Section(number) => {
                let section = self.sections().get(number)?;
                Some((section.addr, self.bytes_of(section)))
            }
            Place::Loaded(addr, size) => {
                let bytes = self.loaded_bytes(addr)?;
                Some((addr, bytes.get(..size)?))
            }
        }
    }

    /// A file without section headers still names the table in PT_GNU_EH_FRAME, as the program needs it.
    fn header_from_segment(&self) -> Option<Place> {
        let (addr, size) = self.extra().eh_frame_hdr?;
        let room = self.loaded_bytes(addr)?.len();
        let size = usize::try_from(size).ok()?.min(room);
        (size > 0).then_some(Place::Loaded(addr, size))
    }

    fn frames_from_header(&self, header: (ElfAddr, &[u8])) -> Option<Place> {
        let (addr, bytes) = header;
        let bases = BaseAddresses::default().set_eh_frame_hdr(addr.raw());
        let parsed = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
        let Pointer::Direct(start) = parsed.eh_frame_ptr() else {
            return None;
        };
        let start = ElfAddr::new(start);
        Some(Place::Loaded(start, self.loaded_bytes(start)?.len()))
    }
}
