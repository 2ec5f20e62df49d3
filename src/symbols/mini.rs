//! `.gnu_debugdata`: an xz-compressed ELF file within an ELF file, with the symbols that stripping took away
//! (gdb's manual, "MiniDebugInfo").

use super::image::Image;
use super::xz;

/// The symbols of the largest programs take a few megabytes.
const MAX_SIZE: u64 = 64 << 20;

impl Image {
    /// The image within this one. Unpacked on first use.
    pub(super) fn mini_image(&self) -> Option<&Self> {
        self.mini
            .get_or_init(|| {
                let packed = self.section_bytes(".gnu_debugdata").ok()?;
                let bytes = xz::decompress(packed, MAX_SIZE).ok()?;
                Self::from_bytes(&self.path().to_string_lossy(), bytes)
                    .ok()
                    .map(Box::new)
            })
            .as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::addr::ElfAddr;
    use crate::symbols::test_image::{BASE, ElfBuilder};

    #[test]
    fn its_symbols_are_the_images() {
        let mini = ElfBuilder::new()
            .loaded(".text", BASE, &[0; 64])
            .function("hidden", BASE + 16, 16)
            .build();
        let image = |data: &[u8]| {
            let bytes = ElfBuilder::new()
                .loaded(".text", BASE, &[0x90; 64])
                .section(".gnu_debugdata", data)
                .build();
            Image::from_bytes("program", bytes).expect("image")
        };
        let packed = image(&xz::tests::stored(&mini));
        let (symbol, offset) = packed
            .symbols()
            .at(ElfAddr::new(BASE + 20))
            .expect("symbol");
        assert_eq!((symbol.name().as_ref(), offset), ("hidden", 4));
        assert!(image(b"no xz").symbols().is_empty());
        assert!(image(&xz::tests::stored(b"no elf")).symbols().is_empty());
    }
}
