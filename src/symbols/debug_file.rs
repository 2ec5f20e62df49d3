//! Separate debug files: where they are looked for, and how it is made sure that one belongs to an image.

use super::image::Image;
use flate2::Crc;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

/// Where distributions install debug files.
pub(super) const DEBUG_ROOT: &str = "/usr/lib/debug";

impl Image {
    /// The separate file with what was stripped from this one. Looked for once, on first use.
    pub fn debug_image(&self) -> Option<&Self> {
        self.separate
            .get_or_init(|| find(self, Path::new(DEBUG_ROOT)).map(Box::new))
            .as_deref()
    }

    /// The image that has the line and function information: this one or its debug file.
    pub fn dwarf_image(&self) -> Option<&Self> {
        let has_lines = |image: &&Self| {
            image.section(".debug_info").is_some() || image.section(".zdebug_info").is_some()
        };
        Some(self)
            .filter(has_lines)
            .or_else(|| self.debug_image().filter(has_lines))
    }
}

fn find(image: &Image, root: &Path) -> Option<Image> {
    let by_id = || {
        let id = image.build_id()?;
        let found = Image::open(&by_build_id(id, root)?).ok()?;
        (found.build_id() == Some(id)).then_some(found)
    };
    by_id().or_else(|| by_link(image, root))
}

/// The place for the debug file of the image with that id.
pub(super) fn by_build_id(id: &[u8], root: &Path) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let hex = rest.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    (!hex.is_empty()).then(|| root.join(format!(".build-id/{first:02x}/{hex}.debug")))
}

/// A path without `.` and `..`, by its text alone.
pub(super) fn folded(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                folded.pop();
            }
            other => folded.push(other),
        }
    }
    folded
}

/// Where a file may lie that was named relative to the folder of the compilation, when the program was
/// moved with its files: below the program's folder, or in it.
pub(super) fn beside(image: &Image, name: &Path) -> Vec<PathBuf> {
    let folder = image.path().parent().unwrap_or(Path::new(""));
    let below = Some(folded(&folder.join(name))).filter(|path| path.starts_with(folder));
    let plain = name.file_name().map(|name| folder.join(name));
    below.into_iter().chain(plain).collect()
}

/// `.gnu_debuglink`: a file name, padded to four bytes, and the CRC-32 of the whole debug file.
fn by_link(image: &Image, root: &Path) -> Option<Image> {
    let bytes = image.section_bytes(".gnu_debuglink").ok()?;
    let (name, crc) = parse_link(bytes)?;
    let folder = image.path().parent()?;
    candidates(folder, &name, root)
        .into_iter()
        .find_map(|path| {
            let found = Image::open(&path).ok()?;
            let same_file = found.identity() == image.identity();
            let belongs = if let (Some(ours), Some(theirs)) = (image.build_id(), found.build_id()) {
                ours == theirs
            } else {
                let mut sum = Crc::new();
                sum.update(found.file_bytes());
                sum.sum() == crc
            };
            (belongs && !same_file).then_some(found)
        })
}

/// A plain file name only: a path could lead anywhere.
fn parse_link(bytes: &[u8]) -> Option<(PathBuf, u32)> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    let name = PathBuf::from(std::str::from_utf8(&bytes[..end]).ok()?);
    let mut parts = name.components();
    let plain = matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none();
    let crc = bytes
        .get((end + 1).next_multiple_of(4)..)?
        .first_chunk::<4>()?;
    plain.then_some((name, u32::from_le_bytes(*crc)))
}

/// gdb's three places: beside the image, in `.debug` beside it, and under the debug root.
fn candidates(folder: &Path, name: &Path, root: &Path) -> [PathBuf; 3] {
    let below = folder.strip_prefix("/").unwrap_or(folder);
    [
        folder.join(name),
        folder.join(".debug").join(name),
        root.join(below).join(name),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::test_image::{ElfBuilder, build_id_note};
    use std::fs;

    fn link(name: &[u8], crc: u32) -> Vec<u8> {
        let mut bytes = name.to_vec();
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(crc.to_le_bytes());
        bytes
    }

    #[test]
    fn a_link_is_a_plain_name() {
        let parse = |name: &[u8]| parse_link(&link(name, 7));
        assert_eq!(parse(b"x.debug"), Some((PathBuf::from("x.debug"), 7)));
        assert_eq!(parse(b"abc"), Some((PathBuf::from("abc"), 7)));
        for bad in ["", "../x", "/etc/x", "a/b", ".."] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse_link(b"no end"), None);
        assert_eq!(parse_link(b"abc\0\x01"), None);
    }

    #[test]
    fn found_by_build_id_and_refused_when_it_lies() {
        let root = tempfile::tempdir().expect("folder");
        let place = root.path().join(".build-id/ab");
        fs::create_dir_all(&place).expect("folder");
        let of = |id: &[u8]| {
            ElfBuilder::new()
                .section(".note.gnu.build-id", &build_id_note(id))
                .build()
        };
        let image = Image::from_bytes("x", of(&[0xab, 0xcd, 1])).expect("image");
        fs::write(place.join("cd01.debug"), of(&[0xab, 0xcd, 2])).expect("write");
        assert!(find(&image, root.path()).is_none());
        fs::write(place.join("cd01.debug"), of(&[0xab, 0xcd, 1])).expect("write");
        let found = find(&image, root.path()).expect("found");
        assert_eq!(found.path(), place.join("cd01.debug"));
    }

    #[test]
    fn found_by_link_when_the_checksum_agrees() {
        let folder = tempfile::tempdir().expect("folder");
        let debug = ElfBuilder::new().section(".debug_info", b"x").build();
        let mut sum = Crc::new();
        sum.update(&debug);
        let path = folder.path().join("program");
        for (crc, found) in [(sum.sum(), true), (sum.sum() ^ 1, false)] {
            let program = ElfBuilder::new()
                .section(".gnu_debuglink", &link(b"p.debug", crc))
                .build();
            fs::write(&path, program).expect("write");
            fs::create_dir_all(folder.path().join(".debug")).expect("folder");
            fs::write(folder.path().join(".debug/p.debug"), &debug).expect("write");
            let image = Image::open(&path).expect("image");
            assert_eq!(find(&image, folder.path()).is_some(), found);
        }
    }
}
