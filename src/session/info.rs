//! What the session answers, as plain data.

use super::event::{Access, StopEvent};
use crate::base::addr::VirtAddr;
use crate::base::id::{BreakpointId, WatchpointId};

/// A process was started or attached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Started {
    pub event: StopEvent,
    /// Whole lines worth saying: ASLR could not be turned off, another process was let go.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A part of a stream's recent output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputChunk {
    /// Position of the first byte, counted from the start of the stream.
    pub from: u64,
    pub bytes: Vec<u8>,
    /// Everything before this position has been dropped.
    pub kept_from: u64,
    /// Where the stream ends now.
    pub end: u64,
}

/// Where an address is, in words of the program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    pub pc: VirtAddr,
    pub symbol: Option<(String, u64)>,
    /// Base name, line.
    pub line: Option<(String, u32)>,
}

/// What happened in a batch of steps, each thing with how often, in the order of its first time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchSummary {
    /// Where it began.
    pub first: BatchCount,
    /// The lowest and the highest stack pointer.
    pub sp: (VirtAddr, VirtAddr),
    /// By the first instruction of what was called.
    pub calls: Vec<BatchCount>,
    /// Branches back, by where they lead.
    pub loops: Vec<BatchCount>,
    /// By number.
    pub syscalls: Vec<(u64, u64)>,
    /// What there was no room to tell apart.
    pub others: u64,
}

/// A place that a batch of steps came by, and how often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchCount {
    pub addr: VirtAddr,
    pub symbol: Option<(String, u64)>,
    pub count: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BreakpointInfo {
    pub id: BreakpointId,
    pub name: Option<String>,
    /// What the user wrote.
    pub spec: String,
    pub addrs: Vec<VirtAddr>,
    pub place: Option<Place>,
    pub enabled: bool,
    pub hits: u64,
    /// Worth saying when it is set: several places, a line that moved.
    pub note: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchpointInfo {
    pub id: WatchpointId,
    pub name: Option<String>,
    /// What the user wrote.
    pub spec: String,
    pub addr: VirtAddr,
    /// In bytes.
    pub size: u8,
    pub access: Access,
    /// As last seen, zero-extended.
    pub value: Option<u64>,
    pub hits: u64,
    /// Whether the processor watches it now.
    pub active: bool,
}

/// One decoded instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    pub addr: VirtAddr,
    pub bytes: Vec<u8>,
    /// The whole text, such as `mov rsp, rax`, targets by name.
    pub text: String,
    pub operands: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolInfo {
    pub addr: VirtAddr,
    pub size: u64,
    /// `function`, `object`, `tls`, `ifunc`, …
    pub kind: &'static str,
    pub name: String,
    pub module: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleInfo {
    pub name: String,
    pub path: String,
    pub start: VirtAddr,
    pub end: VirtAddr,
    pub bias: u64,
    /// `symtab`, `dynsym`, `dwarf`, `stripped`, or why nothing could be read.
    pub symbols: String,
    pub build_id: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapInfo {
    pub start: VirtAddr,
    pub end: VirtAddr,
    /// `r-xp`
    pub perms: String,
    pub offset: u64,
    pub path: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameInfo {
    pub index: u32,
    pub pc: VirtAddr,
    /// None when the frame's stack pointer cannot be known.
    pub sp: Option<VirtAddr>,
    pub symbol: Option<(String, u64)>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub inlined: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BacktraceInfo {
    pub frames: Vec<FrameInfo>,
    /// Why it ends where it ends, when that is not the outermost frame.
    pub truncated: Option<String>,
}
