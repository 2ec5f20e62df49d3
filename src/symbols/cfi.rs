//! Where an image keeps its call frame information. What it means is the unwinder's business.

use super::image::Image;
use crate::base::addr::ElfAddr;
use gimli::{BaseAddresses, EhFrameHdr, LittleEndian, Pointer};

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

impl Image {
    pub fn cfi(&self) -> CfiSections<'_> {
        let loaded = |name| {
            let section = self.section(name)?;
            Some((section.addr, self.bytes_of(section)))
        };
        let address = |name| {
            self.section(name)
                .map_or(ElfAddr::default(), |section| section.addr)
        };
        let eh_frame_hdr = loaded(".eh_frame_hdr").or_else(|| self.header_from_segment());
        let eh_frame = loaded(".eh_frame").or_else(|| self.frames_from_header(eh_frame_hdr?));
        let own = self.section_bytes(".debug_frame").unwrap_or(&[]);
        let debug_frame = if own.is_empty() && eh_frame.is_none() {
            self.debug_image()
                .and_then(|debug| debug.section_bytes(".debug_frame").ok())
                .unwrap_or(&[])
        } else {
            own
        };
        let filled = |(_, bytes): &(ElfAddr, &[u8])| !bytes.is_empty();
        CfiSections {
            eh_frame_hdr: eh_frame_hdr.filter(filled),
            eh_frame: eh_frame.filter(filled),
            debug_frame: Some(debug_frame).filter(|bytes| !bytes.is_empty()),
            text: address(".text"),
            got: address(".got"),
        }
    }

    /// A file without section headers still names the table in PT_GNU_EH_FRAME, as the program needs it.
    fn header_from_segment(&self) -> Option<(ElfAddr, &[u8])> {
        let (addr, size) = self.extra().eh_frame_hdr?;
        let bytes = self.loaded_bytes(addr)?;
        let size = usize::try_from(size).ok()?.min(bytes.len());
        Some((addr, &bytes[..size]))
    }

    fn frames_from_header(&self, header: (ElfAddr, &[u8])) -> Option<(ElfAddr, &[u8])> {
        let (addr, bytes) = header;
        let bases = BaseAddresses::default().set_eh_frame_hdr(addr.raw());
        let parsed = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
        let Pointer::Direct(start) = parsed.eh_frame_ptr() else {
            return None;
        };
        let start = ElfAddr::new(start);
        Some((start, self.loaded_bytes(start)?))
    }
}
