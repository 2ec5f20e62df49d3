//! The ways to get hold of a process: start it, or seize one that runs.

use super::error::{Error, Result, dead, system};
use super::process::Process;
use super::running::{Mode, Outcome, Pause, Running, Until};
use super::stop::{Event, Exit};
use super::stopped::Stopped;
use super::threads::ThreadState;
use super::trap::Intent;
use crate::base::id::Pid;
use crate::os::ptrace::{self, OnTracerExit};
use crate::os::signals::ChildEvents;
use crate::os::spawn::{self, Image, Report, Stage};
use crate::os::{error, proc};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A new process stands at its exec.
#[derive(Debug)]
pub struct Spawned {
    pub stopped: Stopped,
    /// Why randomisation could not be turned off, when it could not.
    pub aslr_refused: Option<i32>,
}

/// Why there is no process.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The kernel refuses to trace: no fault of the program.
    #[error("ptrace is not permitted here: {}", error::describe(.0))]
    PtraceDenied(std::io::Error),
    #[error("{stage:?}: errno {errno}")]
    Child { stage: Stage, errno: i32 },
    #[error(transparent)]
    Tracee(#[from] Error),
}

/// From fork to exec: loading a program takes long only from a broken disk.
const EXEC_PATIENCE: Duration = Duration::from_secs(30);
/// How long an attached process may take until all its threads stand still.
const ATTACH_PATIENCE: Duration = Duration::from_secs(10);

/// Starts a program and stops it at its exec, before its first instruction.
pub fn spawn(image: &Image, children: &ChildEvents) -> std::result::Result<Spawned, SpawnError> {
    let mut child = spawn::fork(image).map_err(system("fork"))?;
    let pid = Pid::new(child.tid.raw());
    if let Err(refused) = ptrace::seize(child.tid, OnTracerExit::Kill) {
        // Dropping the child's pipe makes it end by itself.
        return Err(SpawnError::PtraceDenied(refused));
    }
    let mut process = Box::new(Process::open(pid, OnTracerExit::Kill)?);
    process
        .threads
        .add(child.tid, ThreadState::Running(Intent::Run));
    child.release().map_err(system("starting the child"))?;
    let running = Running::new(process, Mode::All, VecDeque::new());
    let until = Until {
        children,
        deadline: Some(Instant::now() + EXEC_PATIENCE),
        patience: None,
        waker: None,
        fds: &Vec::new,
    };
    match running.wait(&until)? {
        Outcome::Stopped(stopped, stop) if stop.causes.event == Some(Event::Exec) => Ok(Spawned {
            stopped,
            aslr_refused: refusal(&child.reports(), Stage::Aslr),
        }),
        Outcome::Ended(Exit::Exited(_), _) => Err(failure(&child.reports(), pid)),
        Outcome::Ended(Exit::Killed(_), _) | Outcome::Stopped(..) | Outcome::Still(..) => {
            Err(Error::Died { pid }.into())
        }
    }
}

fn refusal(reports: &[Report], stage: Stage) -> Option<i32> {
    reports
        .iter()
        .find(|report| report.stage == stage)
        .map(|report| report.errno)
}

fn failure(reports: &[Report], pid: Pid) -> SpawnError {
    match reports.iter().find(|report| report.stage != Stage::Aslr) {
        Some(report) => SpawnError::Child {
            stage: report.stage,
            errno: report.errno,
        },
        None => Error::Died { pid }.into(),
    }
}

/// Seizes every thread of a running process and stops them all.
pub fn attach(pid: Pid, children: &ChildEvents) -> Result<Stopped> {
    ptrace::seize(pid.leader(), OnTracerExit::Release)
        .map_err(|source| dead("attaching", pid.leader(), source))?;
    let mut process = Box::new(Process::open(pid, OnTracerExit::Release)?);
    process
        .threads
        .add(pid.leader(), ThreadState::Running(Intent::Run));
    seize_threads(&mut process)?;
    let deadline = Instant::now() + ATTACH_PATIENCE;
    let mut running = Running::new(process, Mode::All, VecDeque::new());
    loop {
        match running.interrupt(children)? {
            Outcome::Stopped(mut stopped, _) => {
                // Threads born between the listing and the stop of their parents.
                if !stopped.seize_new_threads()? {
                    return Ok(stopped);
                }
                running = stopped.into_running();
            }
            Outcome::Still(still, Pause::Unstoppable) if Instant::now() < deadline => {
                running = still;
            }
            Outcome::Still(..) => return Err(Error::Unstoppable { pid }),
            Outcome::Ended(..) => return Err(Error::Died { pid }),
        }
    }
}

/// Seizes what is not seized yet; answers whether there was anything.
pub(super) fn seize_threads(process: &mut Process) -> Result<bool> {
    let mut found = false;
    // Once all threads of a listing are held, a new one can only come from a held one, and is ours.
    loop {
        let mut fresh = false;
        for tid in proc::tids(process.pid) {
            if process.threads.contains(tid) {
                continue;
            }
            match ptrace::seize(tid, OnTracerExit::Release) {
                Ok(()) => {
                    process.threads.add(tid, ThreadState::Running(Intent::Run));
                    fresh = true;
                }
                Err(source) if error::is_gone(&source) => {}
                // Held already: its parent was seized before it was born (PTRACE_O_TRACECLONE).
                Err(source) if error::is_not_permitted(&source) && proc::is_traced_by_us(tid) => {
                    process.threads.add(tid, ThreadState::Starting);
                    fresh = true;
                }
                // Its end has begun: the kernel refuses with EPERM too (ptrace_attach).
                Err(_) if proc::is_dead(process.pid, tid) => {}
                Err(source) => return Err(dead("attaching", tid, source)),
            }
        }
        if !fresh {
            return Ok(found);
        }
        found = true;
    }
}
