//! Programs made for a test.

use llmdbg::symbols::image::Image;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a source of this folder; the linker that Rust itself needs is a C compiler.
pub fn compile(folder: &Path, source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let program = folder.join(name);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/symbols");
    let status = Command::new("cc")
        .current_dir(folder)
        .arg(sources.join(source))
        .args(flags)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(status.success(), "cc {source} {flags:?}");
    program
}

/// Compiles a Rust source of this folder with the compiler of this project.
pub fn compile_rust(folder: &Path, source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let program = folder.join(name);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/symbols");
    let status = Command::new("rustc")
        .current_dir(folder)
        .arg(sources.join(source))
        .args(flags)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(status.success(), "rustc {source} {flags:?}");
    program
}

pub fn image(path: &Path) -> Image {
    Image::open(path).unwrap()
}
