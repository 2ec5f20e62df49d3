//! Debug information that several files share (dwz(1)): a supplementary file holds the entries and strings
//! they have in common. GNU names it in `.gnu_debugaltlink`, DWARF 5 in `.debug_sup` (section 7.3.6).

use super::{Dwarf, Problem};
use crate::symbols::debug_file::{DEBUG_ROOT, by_build_id, folded};
use crate::symbols::image::Image;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A supplementary file as the image names it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Link<'a> {
    name: &'a Path,
    /// Its build-id, or the checksum that both files carry.
    id: &'a [u8],
}

impl Image {
    /// The file that this one shares debug information through. Looked for once, on first use.
    fn supplement(&self) -> Option<&Self> {
        self.supplement
            .get_or_init(|| open(self, Path::new(DEBUG_ROOT)).map(Box::new))
            .as_deref()
    }
}

impl<'a> Dwarf<'a> {
    /// Readers over the supplementary file, when there is one.
    pub(super) fn add_supplement(&mut self) {
        let Some(link) = link_of(self.image) else {
            return;
        };
        let found: Option<&'a Image> = self.image.supplement();
        let Some(found) = found else {
            self.note(Problem::Missing(link.name.to_owned()));
            return;
        };
        let Some(dwarf) = Dwarf::over(found) else {
            return;
        };
        if let Some(sections) = super::main_sections(found) {
            self.sections.set_sup(sections);
        }
        self.supplement = Some(Box::new(dwarf));
    }
}

fn link_of(image: &Image) -> Option<Link<'_>> {
    let bytes = |name| image.section_bytes(name).ok();
    let standard = || {
        let (is_shared, link) = standard_link(bytes(".debug_sup")?)?;
        (!is_shared).then_some(link)
    };
    bytes(".gnu_debugaltlink")
        .and_then(split_name)
        .map(|(name, id)| Link { name, id })
        .or_else(standard)
}

fn open(image: &Image, root: &Path) -> Option<Image> {
    let link = link_of(image)?;
    let belongs = |found: &Image| {
        let checksum = || {
            let bytes = found.section_bytes(".debug_sup").ok()?;
            Some(standard_link(bytes)?.1.id == link.id)
        };
        found.build_id() == Some(link.id) || checksum() == Some(true)
    };
    let folder = image.path().parent()?;
    let told = folded(&folder.join(link.name));
    // The name comes from the file: it leads to debug files, or to the image's own neighbours.
    let told = Some(told).filter(|told| told.starts_with(root) || told.starts_with(folder));
    [by_build_id(link.id, root), told]
        .into_iter()
        .flatten()
        .filter_map(|path| Image::open_object(&path).ok())
        .find(belongs)
}

/// Version, whether this is the supplementary file itself, name, size of the checksum, checksum.
fn standard_link(bytes: &[u8]) -> Option<(bool, Link<'_>)> {
    let rest = bytes.strip_prefix(&5u16.to_le_bytes())?;
    let (is_supplement, rest) = rest.split_first()?;
    let (name, rest) = split_name(rest)?;
    let (size, rest) = rest.split_first()?;
    let id = rest.get(..usize::from(*size))?;
    Some((*is_supplement != 0, Link { name, id }))
}

/// A name, and what is behind its NUL: in the GNU form, the build-id.
fn split_name(bytes: &[u8]) -> Option<(&Path, &[u8])> {
    let end = memchr::memchr(0, bytes)?;
    let name = Path::new(OsStr::from_bytes(&bytes[..end]));
    Some((name, &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::addr::ElfAddr;
    use crate::symbols::test_image::{BASE, ElfBuilder, build_id_note};

    const ID: [u8; 3] = [0xab, 0xcd, 1];

    /// A unit of DWARF 4 with these entries.
    fn unit(entries: &[u8]) -> Vec<u8> {
        let rest = [&4u16.to_le_bytes()[..], &0u32.to_le_bytes(), &[8], entries].concat();
        let size = u32::try_from(rest.len()).expect("small");
        [&size.to_le_bytes()[..], &rest].concat()
    }

    /// A partial unit with one function, whose entry is the one at 12.
    fn shared() -> ElfBuilder {
        let abbrev = [
            1, 0x3c, 1, 0, 0, // DW_TAG_partial_unit
            2, 0x2e, 0, 0x03, 0x08, 0, 0, // DW_TAG_subprogram: DW_AT_name, DW_FORM_string
            0,
        ];
        ElfBuilder::new()
            .section(".note.gnu.build-id", &build_id_note(&ID))
            .section(".debug_abbrev", &abbrev)
            .section(".debug_info", &unit(b"\x01\x02copied\0\0"))
            .section(".debug_str", b"\0around\0")
    }

    /// A function whose name is in the shared file's strings, and in it an inlined call of the shared one.
    fn program(link: Option<&[u8]>) -> ElfBuilder {
        let abbrev = [
            &[1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0][..], // DW_TAG_compile_unit: low_pc, high_pc
            // DW_TAG_subprogram: name by DW_FORM_GNU_strp_alt, low_pc, high_pc
            &[2, 0x2e, 1, 0x03, 0xa1, 0x3e, 0x11, 0x01, 0x12, 0x07, 0, 0],
            // DW_TAG_inlined_subroutine: abstract_origin by DW_FORM_GNU_ref_alt, low_pc, high_pc
            &[3, 0x1d, 0, 0x31, 0xa0, 0x3e, 0x11, 0x01, 0x12, 0x07, 0, 0],
            &[0],
        ];
        let place = |start: u64, size: u64| [start.to_le_bytes(), size.to_le_bytes()].concat();
        let entries = [
            &[1][..],
            &place(BASE, 0x40),
            &[2],
            &1u32.to_le_bytes(),
            &place(BASE, 0x40),
            &[3],
            &12u32.to_le_bytes(),
            &place(BASE + 0x10, 8),
            &[0, 0],
        ];
        let builder = ElfBuilder::new()
            .loaded(".text", BASE, &[0x90; 0x40])
            .section(".debug_abbrev", &abbrev.concat())
            .section(".debug_info", &unit(&entries.concat()));
        match link {
            Some(link) => builder.section(".gnu_debugaltlink", link),
            None => builder,
        }
    }

    #[track_caller]
    fn check(image: &Image, names: &[Option<&str>], problem: Option<&str>) {
        let dwarf = image.dwarf().expect("debug information");
        let frames = dwarf.frames(ElfAddr::new(BASE + 0x12));
        let found: Vec<_> = frames.iter().map(|it| it.function.as_deref()).collect();
        assert_eq!(found, names);
        let told = dwarf.problem().map(|problem| problem.to_string());
        assert_eq!(told.as_deref(), problem);
    }

    #[test]
    fn entries_and_strings_are_found_beside_the_image_when_the_id_agrees() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("program");
        let write = |link: &[u8]| {
            std::fs::write(&path, program(Some(link)).build()).expect("write");
            Image::open(&path).expect("image")
        };
        std::fs::create_dir(folder.path().join("below")).expect("folder");
        std::fs::write(folder.path().join("below/shared"), shared().build()).expect("write");
        let both = [Some("copied"), Some("around")];
        check(&write(b"below/shared\0\xab\xcd\x01"), &both, None);
        check(&write(b"./x/../below/shared\0\xab\xcd\x01"), &both, None);
        let missing = |name: &str| {
            format!(
                "the debug information of '{}' is incomplete: '{name}' is missing",
                path.display()
            )
        };
        for name in ["below/shared", "../shared", "/etc/passwd"] {
            let link = [name.as_bytes(), &[0, 0xab, 0xcd, 2]].concat();
            check(&write(&link), &[None, None], Some(&missing(name)));
        }
    }

    #[test]
    fn links_of_both_forms() {
        let gnu = split_name(b"a\0\x01\x02").expect("a link");
        assert_eq!(gnu, (Path::new("a"), &[1, 2][..]));
        assert_eq!(split_name(b"no end"), None);
        let link = Link {
            name: Path::new("a"),
            id: &[7],
        };
        assert_eq!(standard_link(b"\x05\0\0a\0\x01\x07"), Some((false, link)));
        let shared = standard_link(b"\x05\0\x01\0\x01\x07").expect("a link");
        assert!(shared.0 && shared.1.name == Path::new(""));
        assert_eq!(standard_link(b"\x04\0\0a\0\x01\x07"), None);
        assert_eq!(standard_link(b"\x05\0\0a\0\x09\x07"), None);
    }
}
