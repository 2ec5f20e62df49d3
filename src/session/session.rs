//! The session: the one thing that scripts and front ends talk to.

use super::control::Control;
use super::error::{Error, Result};
use super::event::{Patience, Progress, State, StopEvent, Wants};
use super::info::{
    BacktraceInfo, BreakpointInfo, Instruction, MapInfo, ModuleInfo, OutputChunk, Place, Started,
    Stream, SymbolInfo,
};
use super::request::{BreakpointKey, RunRequest, SignalPolicy, SpawnSpec, Where};
use super::run::Run;
use super::snapshot::Snapshot;
use crate::arch::registers::{RegId, Registers};
use crate::base::addr::VirtAddr;
use crate::base::id::Tid;
use crate::base::signal::Signal;
use std::sync::Arc;

/// What the session is made with.
pub struct Config {
    pub control: Arc<Control>,
    /// The seccomp program a debuggee gets between fork and exec; empty for none. (code, jt, jf, k) of each BPF instruction.
    pub tracee_filter: Vec<(u16, u8, u8, u32)>,
}

pub struct Session {
    config: Config,
}

/// Until the layers below are in place every call answers that there is no process.
impl Session {
    pub fn new(config: Config) -> Self {
        Self { config }
    }
    pub fn control(&self) -> &Arc<Control> {
        &self.config.control
    }
    pub fn state(&self) -> State {
        State::None
    }
    pub fn tid(&self) -> Option<Tid> {
        None
    }
    pub fn pid(&self) -> Option<crate::base::id::Pid> {
        None
    }
    pub fn spawn(&mut self, _spec: SpawnSpec) -> Result<Started> {
        Err(Error::NoProcess)
    }
    pub fn attach(&mut self, _pid: i64) -> Result<Started> {
        Err(Error::NoProcess)
    }
    pub fn detach(&mut self) -> Result<StopEvent> {
        Err(Error::NoProcess)
    }
    pub fn kill(&mut self) -> Result<StopEvent> {
        Err(Error::NoProcess)
    }
    pub fn restart(&mut self) -> Result<Started> {
        Err(Error::NoProcess)
    }
    /// Kills what was spawned, detaches what was attached. Called at the end, whatever happens.
    pub fn shutdown(&mut self) {}

    pub fn begin(&mut self, _request: RunRequest) -> Result<Run> {
        Err(Error::NoProcess)
    }
    /// Lets the run go on until the next event. Calling it again after `Event` resumes.
    pub fn advance(
        &mut self,
        _run: &mut Run,
        _wants: Wants,
        _patience: Patience,
    ) -> Result<Progress> {
        Err(Error::NoProcess)
    }
    /// The run ends here because a listener said stop or threw: completes the event (pc, place).
    pub fn end_run(&mut self, _run: Run, event: StopEvent) -> StopEvent {
        event
    }
    /// From now on the state is `running` although no call of `advance` is under way.
    pub fn start_background(&mut self, _run: &mut Run) -> Result<()> {
        Err(Error::NoProcess)
    }
    /// Stops a background run; what it was doing is in the event.
    pub fn interrupt_run(&mut self, _run: &mut Run) -> Result<StopEvent> {
        Err(Error::NoProcess)
    }
    pub fn last_stop(&self) -> Option<&StopEvent> {
        None
    }

    pub fn signal_policy(&self, _signal: Signal) -> SignalPolicy {
        SignalPolicy {
            stop: true,
            pass: true,
            print: true,
        }
    }
    pub fn set_signal_policy(&mut self, _signal: Signal, _policy: SignalPolicy) {}

    /// Takes what the debuggee has written so far out of its pipes: call before printing, for the order.
    pub fn drain_output(&mut self) {}
    /// New output since the last call, in the order it came.
    pub fn take_output(&mut self) -> Vec<(Stream, Vec<u8>)> {
        Vec::new()
    }
    /// Default `from`: what was not yet read by this call.
    pub fn read_output(
        &mut self,
        _stream: Stream,
        _from: Option<u64>,
        _max: usize,
    ) -> Result<OutputChunk> {
        Err(Error::NoProcess)
    }
    /// Bytes accepted; what does not fit into the pipe is kept and written as the debuggee reads.
    pub fn write_stdin(&mut self, _bytes: &[u8]) -> Result<usize> {
        Err(Error::NoProcess)
    }
    pub fn close_stdin(&mut self) -> Result<()> {
        Err(Error::NoProcess)
    }

    /// The selected thread's registers: one system call at the first use after a stop, then remembered.
    pub fn registers(&mut self) -> Result<&Registers> {
        Err(Error::NoProcess)
    }
    pub fn set_register(&mut self, _register: RegId, _value: u64) -> Result<()> {
        Err(Error::NoProcess)
    }
    pub fn read_memory(&mut self, _addr: VirtAddr, _into: &mut [u8]) -> Result<()> {
        Err(Error::NoProcess)
    }
    /// The bytes up to a NUL and whether it was found within `max`.
    pub fn read_c_string(&mut self, _addr: VirtAddr, _max: usize) -> Result<(Vec<u8>, bool)> {
        Err(Error::NoProcess)
    }
    pub fn write_memory(&mut self, _addr: VirtAddr, _bytes: &[u8]) -> Result<()> {
        Err(Error::NoProcess)
    }
    /// First address within `len` bytes from `addr` where `pattern` stands.
    pub fn find_memory(
        &mut self,
        _addr: VirtAddr,
        _len: u64,
        _pattern: &[u8],
    ) -> Result<Option<VirtAddr>> {
        Err(Error::NoProcess)
    }
    pub fn instructions(&mut self, _addr: VirtAddr, _count: usize) -> Result<Vec<Instruction>> {
        Err(Error::NoProcess)
    }
    /// What was read at the previous stop; None before the second one.
    pub fn previous(&self) -> Option<&Snapshot> {
        None
    }

    pub fn resolve(&mut self, _place: &Where) -> Result<VirtAddr> {
        Err(Error::NoProcess)
    }
    pub fn symbol_at(&mut self, _addr: VirtAddr) -> Result<Option<(String, u64)>> {
        Err(Error::NoProcess)
    }
    pub fn place(&mut self, _addr: VirtAddr) -> Result<Place> {
        Err(Error::NoProcess)
    }
    /// At most `limit`, and how many there are in all.
    pub fn symbols(
        &mut self,
        _pattern: Option<&str>,
        _limit: usize,
    ) -> Result<(Vec<SymbolInfo>, usize)> {
        Err(Error::NoProcess)
    }
    pub fn modules(&mut self) -> Result<Vec<ModuleInfo>> {
        Err(Error::NoProcess)
    }
    pub fn maps(&mut self) -> Result<Vec<MapInfo>> {
        Err(Error::NoProcess)
    }
    pub fn backtrace(&mut self, _max: usize) -> Result<BacktraceInfo> {
        Err(Error::NoProcess)
    }

    pub fn set_breakpoint(
        &mut self,
        _place: &Where,
        _name: Option<String>,
    ) -> Result<BreakpointInfo> {
        Err(Error::NoProcess)
    }
    pub fn remove_breakpoint(&mut self, _key: &BreakpointKey) -> Result<()> {
        Err(Error::NoProcess)
    }
    pub fn enable_breakpoint(&mut self, _key: &BreakpointKey, _enabled: bool) -> Result<()> {
        Err(Error::NoProcess)
    }
    pub fn breakpoints(&mut self) -> Vec<BreakpointInfo> {
        Vec::new()
    }
}
