//! Symbols and lines of programs as compilers and linkers leave them: stripped, split, inlined. The same
//! program built plainly tells what is right.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test program

mod build;
mod inlined;
mod split;
mod stripped;
