//! For: facts from files: ELF images, symbols, lines and functions, and which image lies where.
//! May use: base, os::mmap, gimli, object, flate2, lzma_rust2, memchr, the demanglers.
//! Must never know: that a process exists: it is given paths, bytes, mappings and addresses.

pub mod budget;
pub mod cfi;
pub mod debug_file;
pub mod dwarf;
pub mod dynamic;
pub mod error;
pub mod image;
pub mod imports;
pub mod location;
mod made;
pub mod memo;
mod mini;
pub mod modules;
pub mod name;
pub mod near;
pub mod pattern;
pub mod resolve;
pub mod section;
pub mod symbol_search;
pub mod symtab;
mod xz;

#[cfg(test)]
mod robustness;
#[cfg(test)]
mod test_image;
