//! Compiles the program that `llmdbg demo` debugs, so that the demonstration works wherever the binary does.

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "test-targets/src/crash.c";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-env-changed=CC");
    let folder = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .ok_or(format!("cargo did not set {name}"))
    };
    let source = folder("CARGO_MANIFEST_DIR")?.join(SOURCE);
    let program = folder("OUT_DIR")?.join("demo-program");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    // The flags of test-targets/build.sh: the demonstration shows what a plain debug build looks like.
    let sources = source.parent().unwrap_or(&source);
    let status = Command::new(&compiler)
        .current_dir(sources)
        .args([
            "-std=gnu11",
            "-O0",
            "-g",
            "-gdwarf-5",
            "-fno-omit-frame-pointer",
        ])
        .args([
            "-fcf-protection=none",
            "-fno-stack-protector",
            "-fPIE",
            "-pie",
        ])
        .arg(format!(
            "-ffile-prefix-map={}=/opt/test-targets/src",
            sources.display()
        ))
        .arg("-o")
        .args([&program, &source])
        .status()
        .map_err(|error| format!("{}: {error}; a C compiler is needed", compiler.display()))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!(
            "{} could not compile {SOURCE}: {status}",
            compiler.display()
        ))
    }
}
