//! Split debug information (DWARF 5, section 7.3.2, and the GNU form for DWARF 4): a skeleton unit stays in
//! the program with addresses and lines; functions lie in a .dwo file, or with those of others in a .dwp.

use super::units::Entries;
use super::{Dwarf, Problem, Slice, Unit, sections_of};
use crate::symbols::debug_file::beside;
use crate::symbols::image::Image;
use gimli::{DwarfPackage, DwoId, EndianSlice, LittleEndian};
use std::cell::OnceCell;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Files that are kept open for one image; units beyond them show no functions.
const MOST_FILES: usize = 512;

/// The .dwo of one unit.
pub(super) type SplitFile = OnceCell<Option<Box<Image>>>;

/// The .dwp of an image.
pub(super) type Package = OnceCell<Option<Box<Image>>>;

impl<'a> Dwarf<'a> {
    /// What belongs to a skeleton; a problem is noted when it cannot be had.
    pub(super) fn load_split(&self, number: usize, skeleton: &Unit<'a>) -> Option<Entries<'a>> {
        let id = skeleton.dwo_id?;
        if let Some(package) = self.package() {
            match self.packaged(package, id, skeleton) {
                Ok(Some(found)) => return Some(found),
                Ok(None) => {}
                Err(error) => self.note_problem("the .dwp file", error),
            }
        }
        let file = self.split_file(number, skeleton)?;
        let mut sections = split_sections(file)?;
        sections.make_dwo(&self.sections);
        match self.unit_in(&sections, id, skeleton) {
            Ok(Some(unit)) => Some(entries(unit, sections)),
            Ok(None) => {
                self.note(Problem::Missing(file.path().to_owned()));
                None
            }
            Err(error) => {
                self.note_problem("a .dwo file", error);
                None
            }
        }
    }

    fn package(&self) -> Option<&'a Image> {
        let index = self.index;
        let open = || {
            let path = self.image.path();
            // The package is named for the program, whose debug file may be another.
            let stem = path.extension().filter(|end| *end == "debug");
            let names = [Some(path.to_owned()), stem.map(|_| path.with_extension(""))];
            let mut packages = names.into_iter().flatten().map(|path| {
                let mut name = path.into_os_string();
                name.push(".dwp");
                PathBuf::from(name)
            });
            packages.find_map(|path| Image::open_object(&path).ok().map(Box::new))
        };
        index.package.get_or_init(open).as_deref()
    }

    fn packaged(
        &self,
        package: &'a Image,
        id: DwoId,
        skeleton: &Unit<'a>,
    ) -> gimli::Result<Option<Entries<'a>>> {
        let empty = EndianSlice::new(&[][..], LittleEndian);
        let read = |section: gimli::SectionId| {
            let bytes = section.dwo_name().map(|name| package.section_bytes(name));
            let bytes = bytes.and_then(Result::ok).unwrap_or(&[]);
            Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        };
        let package = DwarfPackage::load(read, empty)?;
        let Some(sections) = package.find_cu(id, &self.sections)? else {
            return Ok(None);
        };
        let unit = self.unit_in(&sections, id, skeleton)?;
        Ok(unit.map(|unit| entries(unit, sections)))
    }

    fn unit_in(
        &self,
        sections: &gimli::Dwarf<Slice<'a>>,
        id: DwoId,
        skeleton: &Unit<'a>,
    ) -> gimli::Result<Option<Unit<'a>>> {
        /// Beside its one unit a file has units of types.
        const MOST_UNITS: usize = 1 << 16;
        let mut headers = sections.units();
        for _ in 0..MOST_UNITS {
            let Some(header) = headers.next()? else {
                break;
            };
            let abbreviations = sections.abbreviations(&header)?;
            if !self.is_bearable(sections, &header, &abbreviations)? {
                continue;
            }
            let mut unit = Unit::new_with_abbreviations(sections, header, abbreviations)?;
            if unit.dwo_id == Some(id) {
                unit.copy_relocated_attributes(skeleton);
                return Ok(Some(unit));
            }
        }
        Ok(None)
    }

    fn split_file(&self, number: usize, skeleton: &Unit<'a>) -> Option<&'a Image> {
        let state = self.index.units.state(number)?;
        let open = || {
            let name = skeleton.dwo_name().ok()??;
            let name = self.sections.attr_string(skeleton, name).ok()?.slice();
            let name = Path::new(std::ffi::OsStr::from_bytes(name));
            let folder = skeleton.comp_dir.map_or(&[][..], |folder| folder.slice());
            let told = Path::new(std::ffi::OsStr::from_bytes(folder)).join(name);
            let opened = self.index.split_files.get();
            if opened >= MOST_FILES {
                self.note_problem("split debug information", "too many files");
                return None;
            }
            self.index.split_files.set(opened + 1);
            let found = std::iter::once(told.clone())
                .filter(|path| path.is_absolute())
                .chain(beside(self.image, name))
                .find_map(|path| Image::open_object(&path).ok());
            if found.is_none() {
                self.note(Problem::Missing(told));
            }
            found.map(Box::new)
        };
        state.split.get_or_init(open).as_deref()
    }
}

fn entries<'a>(unit: Unit<'a>, sections: gimli::Dwarf<Slice<'a>>) -> Entries<'a> {
    Entries {
        unit,
        split: Some(Box::new(sections)),
    }
}

fn split_sections(file: &Image) -> Option<gimli::Dwarf<Slice<'_>>> {
    sections_of(file, |id| match id {
        gimli::SectionId::DebugInfo
        | gimli::SectionId::DebugAbbrev
        | gimli::SectionId::DebugLine
        | gimli::SectionId::DebugStr
        | gimli::SectionId::DebugStrOffsets
        | gimli::SectionId::DebugRngLists => id.dwo_name(),
        _ => None,
    })
}
