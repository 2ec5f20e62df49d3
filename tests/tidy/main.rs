//! The rules of the house that a compiler does not know: layers, homes of crates, sizes, promises
//! of the documents. ARCHITECTURE.md says why each of them is there.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test program

mod crates;
mod documents;
mod layers;
mod numbers;
mod paths;
mod report;
mod rust;
mod sizes;
mod text;
mod tree;
mod unsafety;
