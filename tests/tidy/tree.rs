//! The files of the repository.

use std::path::{Path, PathBuf};

pub struct File {
    /// From the root of the repository, with `/`.
    pub name: String,
    pub text: String,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Every text file below `folder`, except what is built.
pub fn files(folder: &str) -> Vec<File> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(root())
                .unwrap()
                .to_string_lossy()
                .into_owned();
            if matches!(name.as_str(), ".git" | "target" | "test-targets/build")
                || path.is_symlink()
            {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                found.push(File { name, text });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

pub fn rust_files(folder: &str) -> Vec<File> {
    let mut found = files(folder);
    found.retain(|file| {
        Path::new(&file.name)
            .extension()
            .is_some_and(|extension| extension == "rs")
    });
    found
}
