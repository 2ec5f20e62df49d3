//! The session: the one thing that scripts and front ends talk to.

use super::breakpoints::{Breakpoints, Internal};
use super::control::Control;
use super::error::{AttachFault, Error, How, Result};
use super::event::{Patience, Progress, Reason, State, StopEvent, Wants};
use super::info::{OutputChunk, Started, Stream};
use super::launch;
use super::libraries::Linker;
use super::modules::ModuleTable;
use super::request::{RunKind, RunRequest, SignalChoice, SpawnSpec};
use super::snapshot::Snapshot;
use super::streams::Streams;
use super::watchpoints::Watchpoints;
use crate::base::id::{Pid, StopSeq, Tid};
use crate::base::signal::Signal;
use crate::os::proc;
use crate::os::signals::ChildEvents;
use crate::os::{error, process};
use crate::tracee;
use crate::tracee::attach;
use crate::tracee::policy::{SignalPolicies, SignalPolicy};
use crate::tracee::running::{Outcome, Running, Until};
use crate::tracee::stopped::Stopped;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the session is made with.
pub struct Config {
    pub control: Arc<Control>,
    /// The seccomp program a debuggee gets between fork and exec; empty for none. (code, jt, jf, k) of
    /// each BPF instruction.
    pub tracee_filter: Vec<(u16, u8, u8, u32)>,
    /// Folders that spawned programs may come from; empty for all.
    pub allow_spawn: Vec<PathBuf>,
}

pub struct Session {
    pub(super) config: Config,
    pub(super) children: ChildEvents,
    pub(super) debuggee: Debuggee,
    /// How it was started, for `restart`.
    spec: Option<SpawnSpec>,
    pub(super) selected: Option<Tid>,
    pub(super) seq: StopSeq,
    pub(super) present: Rc<Snapshot>,
    pub(super) previous: Option<Rc<Snapshot>>,
    /// Somebody has been told of the present stop: what is read at it becomes `prev`.
    pub(super) told: bool,
    pub(super) last_stop: Option<StopEvent>,
    pub(super) streams: Streams,
    pub(super) breakpoints: Breakpoints,
    pub(super) watchpoints: Watchpoints,
    pub(super) modules: ModuleTable,
    pub(super) linker: Linker,
    /// Whole lines worth saying that no call has answered with.
    pub(super) notes: Vec<String>,
    policies: SignalPolicies,
    /// Of a process that is gone.
    pub(super) passed: Vec<Signal>,
}

/// What there is to debug.
#[derive(Debug, Default)]
pub(super) enum Debuggee {
    #[default]
    None,
    Stopped(Stopped),
    /// Between two calls of a background run, or when a process cannot be stopped.
    Running(Running),
    Over(How),
}

/// How long a killed process may take to be gone.
const DEATH_PATIENCE: Duration = Duration::from_secs(10);
/// A spawn that runs to `main` and does not get there.
const MAIN_PATIENCE: Duration = Duration::from_secs(10);

impl Session {
    /// Make it before any other thread starts: SIGCHLD must be blocked in all of them.
    pub fn new(config: Config) -> std::io::Result<Self> {
        Ok(Self {
            config,
            children: ChildEvents::new()?,
            debuggee: Debuggee::None,
            spec: None,
            selected: None,
            seq: StopSeq::new(0),
            present: Rc::default(),
            previous: None,
            told: false,
            last_stop: None,
            streams: Streams::default(),
            breakpoints: Breakpoints::default(),
            watchpoints: Watchpoints::default(),
            modules: ModuleTable::default(),
            linker: Linker::default(),
            notes: Vec::new(),
            policies: SignalPolicies::default(),
            passed: Vec::new(),
        })
    }

    pub fn control(&self) -> &Arc<Control> {
        &self.config.control
    }

    pub fn state(&self) -> State {
        match &self.debuggee {
            Debuggee::None => State::None,
            Debuggee::Stopped(_) => State::Stopped,
            Debuggee::Running(_) => State::Running,
            Debuggee::Over(How::Exited(status)) => State::Exited(*status),
            Debuggee::Over(How::Killed(signal)) => State::Killed(*signal),
            Debuggee::Over(How::Detached) => State::Detached,
        }
    }

    /// The selected thread.
    pub fn tid(&self) -> Option<Tid> {
        self.selected
    }

    pub fn pid(&self) -> Option<Pid> {
        match &self.debuggee {
            Debuggee::Stopped(stopped) => Some(stopped.pid()),
            Debuggee::Running(running) => Some(running.pid()),
            Debuggee::None | Debuggee::Over(_) => None,
        }
    }

    pub fn last_stop(&self) -> Option<&StopEvent> {
        self.last_stop.as_ref()
    }

    /// Nobody is told of the present stop: what was read at it does not become `prev`.
    pub fn pass_over(&mut self) {
        self.told = false;
    }

    /// The last stop was told as this one, without what nobody was to hear of.
    pub fn amend_last_stop(&mut self, event: &StopEvent) {
        if let Some(last) = self.last_stop.as_mut().filter(|last| last.seq == event.seq) {
            last.reason = event.reason.clone();
            last.also.clone_from(&event.also);
        }
    }

    pub fn spawn(&mut self, spec: SpawnSpec) -> Result<Started> {
        self.not_running()?;
        let prepared = launch::prepare(&spec, &self.config.allow_spawn)?;
        // Only now is it certain enough that there will be another one.
        let mut notes: Vec<String> = self.let_go()?.into_iter().collect();
        let launched = prepared.launch(&spec, &self.config.tracee_filter, &self.children)?;
        if let Some(errno) = launched.spawned.aslr_refused {
            let why = error::describe(&std::io::Error::from_raw_os_error(errno));
            notes.push(format!(
                "aslr on: the kernel refused to turn it off ({why})"
            ));
        }
        let stop_at_main = spec.stop_at_main;
        self.spec = Some(spec);
        self.streams = launched.streams;
        notes.extend(self.enter(launched.spawned.stopped)?);
        let mut event = self.begin_with(Reason::Entry);
        if stop_at_main {
            match self.run_to_main() {
                Ok(at_main) => {
                    event = at_main;
                    // The way there was nobody's stop.
                    self.previous = None;
                }
                Err(error) => notes.push(format!("stopped at the entry, not at main: {error}")),
            }
        }
        Ok(Started { event, notes })
    }

    fn run_to_main(&mut self) -> Result<StopEvent> {
        let main = self.main_address()?;
        self.set_internal(Internal::Main(main))?;
        let mut run = self.begin(RunRequest {
            kind: RunKind::Continue,
            bound: Some(MAIN_PATIENCE),
            signal: SignalChoice::Policy,
        })?;
        let progress = loop {
            match self.advance(&mut run, Wants::default(), Patience::Event)? {
                Progress::Output | Progress::Pending => {}
                progress => break progress,
            }
        };
        self.clear_internal(|internal| matches!(internal, Internal::Main(_)));
        // Whatever happened before main is what there is to see.
        match progress {
            Progress::Done(event) | Progress::Event { event, .. } => Ok(event),
            Progress::Output | Progress::Pending => Err(Error::NoProcess),
        }
    }

    pub fn attach(&mut self, pid: i64) -> Result<Started> {
        let fault = |why| Error::Attach { pid, why };
        let number = i32::try_from(pid)
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| fault(AttachFault::NotAPid))?;
        let process = Pid::new(number);
        self.not_running()?;
        check_attachable(process).map_err(fault)?;
        let stopped = attach::attach(process, &self.children)
            .map_err(|error| refusal(process, pid, error))?;
        let notes = self.let_go()?;
        self.spec = None;
        self.streams = Streams::default();
        let off = self.enter(stopped)?;
        self.libraries_loaded();
        let event = self.begin_with(Reason::Attached);
        let mut notes: Vec<String> = notes.into_iter().chain(off).collect();
        notes.push("stdio of an attached process is not captured".to_owned());
        Ok(Started { event, notes })
    }

    pub fn detach(&mut self) -> Result<StopEvent> {
        if let Debuggee::Running(_) = self.debuggee {
            self.halt()?;
        }
        self.streams.pump();
        self.stopped()?.can_detach()?;
        let stopped = self.take_stopped()?;
        let tid = self.selected;
        stopped.detach()?;
        self.leave(State::Detached);
        let event = StopEvent {
            seq: self.seq,
            tid,
            pc: None,
            reason: Reason::Detached,
            also: Vec::new(),
        };
        self.last_stop = Some(event.clone());
        Ok(event)
    }

    pub fn kill(&mut self) -> Result<StopEvent> {
        let spawned = self.is_spawned();
        let pid = self.pid();
        let dying = match std::mem::take(&mut self.debuggee) {
            Debuggee::Stopped(stopped) => stopped.kill()?,
            Debuggee::Running(running) => running.kill()?,
            other => {
                self.debuggee = other;
                return Err(self.nothing_to_run());
            }
        };
        if let (true, Some(pid)) = (spawned, pid) {
            // Forked children that were let go still belong to the debuggee's own process group.
            let _ = process::kill_group(pid, Signal::KILL);
        }
        let outcome = dying.wait(&Until {
            children: &self.children,
            deadline: Some(Instant::now() + DEATH_PATIENCE),
            patience: None,
            waker: None,
            fds: &Vec::new,
        })?;
        match outcome {
            Outcome::Ended(exit, passed) => Ok(self.ended(exit, passed)),
            Outcome::Still(running, _) => {
                let pid = running.pid();
                self.debuggee = Debuggee::Running(running);
                Err(tracee::error::Error::Unstoppable { pid }.into())
            }
            Outcome::Stopped(stopped, stop) => {
                // Cannot be: nothing stops a process that SIGKILL has reached.
                self.settle(stopped, stop.tid);
                Err(self.nothing_to_run())
            }
        }
    }

    pub fn restart(&mut self) -> Result<Started> {
        if matches!(self.debuggee, Debuggee::None) && self.spec.is_none() {
            return Err(Error::NoProcess);
        }
        let spec = self.spec.clone().ok_or_else(|| {
            Error::BadArgument("restart: only a spawned program can be started again".to_owned())
        })?;
        if self.pid().is_some() {
            self.kill()?;
        }
        self.spawn(spec)
    }

    /// Kills what was spawned, detaches what was attached. Called at the end, whatever happens.
    pub fn shutdown(&mut self) {
        if let Err(error) = self.let_go() {
            log::error!(target: "session", "at the end: {error}");
        }
    }

    /// Makes room for another process, and says so.
    fn let_go(&mut self) -> Result<Option<String>> {
        let Some(pid) = self.pid() else {
            return Ok(None);
        };
        if self.is_spawned() {
            self.kill()?;
            return Ok(Some(format!("killed {pid}, spawned before")));
        }
        self.detach()?;
        Ok(Some(format!("detached {pid}, attached before")))
    }

    pub(super) fn is_spawned(&self) -> bool {
        self.spec.is_some()
    }

    /// A new process has come to us, stopped. Answers what could not be taken over from the last one.
    fn enter(&mut self, mut stopped: Stopped) -> Result<Vec<String>> {
        for number in 1..=64 {
            if let Some(signal) = Signal::new(number) {
                stopped.set_policy(signal, self.policies.of(signal));
            }
        }
        self.selected = Some(stopped.pid().leader());
        self.debuggee = Debuggee::Stopped(stopped);
        self.present = Rc::default();
        self.previous = None;
        self.forget_modules();
        self.reset_hits();
        self.watchpoints.count_anew();
        self.rebind_breakpoints()?;
        Ok(self.rebind_watchpoints())
    }

    fn begin_with(&mut self, reason: Reason) -> StopEvent {
        self.seq = self.seq.next();
        let mut event = StopEvent {
            seq: self.seq,
            tid: self.selected,
            pc: None,
            reason,
            also: Vec::new(),
        };
        self.finish(&mut event);
        event
    }

    /// The process has executed another program.
    pub(super) fn program_replaced(&mut self) -> Result<()> {
        self.forget_memory();
        self.forget_modules();
        self.unbind_breakpoints();
        self.rebind_breakpoints()?;
        // A watch that cannot be kept says so in the list of watchpoints.
        self.rebind_watchpoints();
        Ok(())
    }

    /// The process is no longer ours.
    pub(super) fn leave(&mut self, state: State) {
        self.debuggee = match state {
            State::Exited(status) => Debuggee::Over(How::Exited(status)),
            State::Killed(signal) => Debuggee::Over(How::Killed(signal)),
            State::Detached => Debuggee::Over(How::Detached),
            State::None | State::Stopped | State::Running => Debuggee::None,
        };
        self.seq = self.seq.next();
        self.selected = None;
        self.turn_page();
        self.unbind_breakpoints();
        self.unbind_watchpoints();
        self.forget_modules();
    }

    pub fn signal_policy(&self, signal: Signal) -> SignalPolicy {
        self.policies.of(signal)
    }

    pub fn set_signal_policy(&mut self, signal: Signal, policy: SignalPolicy) -> Result<()> {
        self.not_running()?;
        self.policies.set(signal, policy);
        if let Debuggee::Stopped(stopped) = &mut self.debuggee {
            stopped.set_policy(signal, policy);
        }
        Ok(())
    }

    /// What happened that is worth a line: a pending breakpoint was resolved.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Signals that were passed on without a stop and whose policy wants them told.
    pub fn take_passed_signals(&mut self) -> Vec<Signal> {
        if let Debuggee::Stopped(stopped) = &mut self.debuggee {
            self.passed.extend(stopped.take_passed());
        }
        std::mem::take(&mut self.passed)
    }

    /// Takes what the debuggee has written so far out of its pipes: call before printing, for the order.
    pub fn drain_output(&mut self) {
        self.streams.pump();
    }

    /// New output since the last call, in the order it came.
    pub fn take_output(&mut self) -> Vec<(Stream, Vec<u8>)> {
        self.streams.take_fresh()
    }

    /// Default `from`: what was not yet read by this call.
    pub fn read_output(
        &mut self,
        stream: Stream,
        from: Option<u64>,
        max: usize,
    ) -> Result<OutputChunk> {
        if matches!(self.debuggee, Debuggee::None) {
            return Err(Error::NoProcess);
        }
        self.streams.pump();
        self.streams.read(stream, from, max)
    }

    /// Bytes accepted; what does not fit into the pipe is kept and written as the debuggee reads.
    pub fn write_stdin(&mut self, bytes: &[u8]) -> Result<usize> {
        self.alive()?;
        self.streams.write(bytes)
    }

    pub fn close_stdin(&mut self) -> Result<()> {
        self.alive()?;
        self.streams.close()
    }

    fn alive(&self) -> Result<()> {
        match &self.debuggee {
            Debuggee::Stopped(_) | Debuggee::Running(_) => Ok(()),
            Debuggee::None => Err(Error::NoProcess),
            Debuggee::Over(how) => Err(Error::Over { how: *how }),
        }
    }

    /// Whatever needs a process at rest goes through here.
    pub(super) fn stopped(&mut self) -> Result<&mut Stopped> {
        match &mut self.debuggee {
            Debuggee::Stopped(stopped) => Ok(stopped),
            Debuggee::None => Err(Error::NoProcess),
            Debuggee::Running(_) => Err(Error::Running),
            Debuggee::Over(how) => Err(Error::Over { how: *how }),
        }
    }

    pub(super) fn not_running(&self) -> Result<()> {
        match self.debuggee {
            Debuggee::Running(_) => Err(Error::Running),
            Debuggee::None | Debuggee::Stopped(_) | Debuggee::Over(_) => Ok(()),
        }
    }

    pub(super) fn selected(&self) -> Result<Tid> {
        self.selected.ok_or_else(|| self.nothing_to_run())
    }

    pub(super) fn take_stopped(&mut self) -> Result<Stopped> {
        match std::mem::take(&mut self.debuggee) {
            Debuggee::Stopped(stopped) => Ok(stopped),
            other => {
                self.debuggee = other;
                Err(self.nothing_to_run())
            }
        }
    }

    pub(super) fn take_running(&mut self) -> Result<Running> {
        match std::mem::take(&mut self.debuggee) {
            Debuggee::Running(running) => Ok(running),
            other => {
                self.debuggee = other;
                Err(Error::NotRunning)
            }
        }
    }

    fn nothing_to_run(&self) -> Error {
        match &self.debuggee {
            Debuggee::Running(_) => Error::Running,
            Debuggee::Over(how) => Error::Over { how: *how },
            Debuggee::None | Debuggee::Stopped(_) => Error::NoProcess,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shutdown();
    }
}

/// What can be known without trying, in words.
fn check_attachable(process: Pid) -> std::result::Result<(), AttachFault> {
    let identity = proc::identity(process).ok_or(AttachFault::Gone)?;
    if identity.process == process::own_pid() {
        return Err(AttachFault::Itself);
    }
    if identity.process != process {
        return Err(AttachFault::ThreadOf(identity.process.raw()));
    }
    if identity.is_zombie {
        return Err(AttachFault::Zombie);
    }
    if identity.is_kernel_thread {
        return Err(AttachFault::KernelThread);
    }
    match identity.tracer {
        Some(tracer) => Err(AttachFault::Traced(tracer.raw())),
        None => Ok(()),
    }
}

/// The kernel has refused: the most likely cause in words.
fn refusal(process: Pid, pid: i64, error: tracee::error::Error) -> Error {
    let why = match error {
        tracee::error::Error::TraceeGone { .. } | tracee::error::Error::Died { .. } => {
            AttachFault::Gone
        }
        tracee::error::Error::Ptrace { ref source, .. } if error::is_not_permitted(source) => {
            let other = proc::identity(process).map(|identity| identity.uid);
            match (other, proc::sysctl("/proc/sys/kernel/yama/ptrace_scope")) {
                (Some(uid), _) if uid != process::own_uid() => {
                    AttachFault::OtherUser(uid, process::own_uid())
                }
                (_, Some(scope)) if scope != "0" => AttachFault::Yama(scope),
                _ => AttachFault::Refused,
            }
        }
        error => AttachFault::Tracee(error),
    };
    Error::Attach { pid, why }
}
