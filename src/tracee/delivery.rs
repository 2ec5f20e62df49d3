//! Signals on their way to a thread (I5), and the resume that delivers them.

use super::error::Result;
use super::process::{Happening, Process, dead_is_fine, gone_is_none};
use super::stop::{Causes, Event, Stop};
use super::threads::{Delivery, ThreadState, is_fault};
use super::trap::Intent;
use crate::base::id::Tid;
use crate::base::signal::Signal;
use crate::os::process;
use crate::os::ptrace::{self, SigInfo};

/// Told without being wanted: bounded, the oldest are kept.
const MAX_PASSED: usize = 100;

impl Process {
    pub(super) fn on_signal(&mut self, tid: Tid, signal: Signal) -> Result<Happening> {
        self.stopped(tid)?.in_delivery = true;
        let Some(info) = gone_is_none(ptrace::siginfo(tid), "reading the siginfo of", tid)? else {
            return Ok(Happening::Nothing);
        };
        let thread = self.threads.get_mut(tid)?;
        if let Some(told) = thread.take_resent(signal, &info) {
            thread.deliver = Some(told);
            return Ok(Happening::Quiet(tid));
        }
        self.deliver(tid, signal, info)
    }

    pub(super) fn deliver(&mut self, tid: Tid, signal: Signal, info: SigInfo) -> Result<Happening> {
        let policy = self.policies.of(signal);
        self.threads.get_mut(tid)?.deliver = policy.pass.then_some(Delivery {
            signal,
            info: Some(info),
            fresh: true,
        });
        if policy.stop {
            return Ok(Happening::Stop(Stop {
                tid,
                causes: Causes::event(Event::Signal(signal, info)),
            }));
        }
        if policy.print && self.passed.len() < MAX_PASSED {
            self.passed.push(signal);
        }
        Ok(Happening::Quiet(tid))
    }

    /// Resumes one thread. What it still had to deliver goes with it.
    pub(super) fn resume_thread(&mut self, tid: Tid, intent: Intent) -> Result<()> {
        let thread = self.threads.get_mut(tid)?;
        if thread.group_stopped {
            // Not ours to end; but SIGCONT, or any other signal, may be what the user sends.
            let last = thread.deliver.take();
            let queue = std::mem::take(&mut thread.held);
            thread.start(ThreadState::Listening);
            dead_is_fine(ptrace::listen(tid), "listening to", tid)?;
            for delivery in queue.into_iter().chain(last) {
                let sent = process::kill_thread(self.pid, tid, delivery.signal);
                dead_is_fine(sent, "sending a signal to", tid)?;
            }
            return Ok(());
        }
        let signal = self.hand_over(tid)?;
        let thread = self.threads.get_mut(tid)?;
        thread.start(ThreadState::Running(intent));
        match intent {
            Intent::Step => dead_is_fine(ptrace::single_step(tid, signal), "stepping", tid),
            Intent::Run => {
                thread.standing = None;
                dead_is_fine(ptrace::cont(tid, signal), "resuming", tid)
            }
        }
    }

    /// The signal that the thread's resume is to deliver. Only in a signal-delivery-stop it can, and only
    /// one (ptrace(2)): the others are sent anew.
    pub(super) fn hand_over(&mut self, tid: Tid) -> Result<Option<Signal>> {
        let fault_first = self.must_deliver_first(tid);
        let thread = self.threads.get_mut(tid)?;
        let mut queue = std::mem::take(&mut thread.held);
        match thread.deliver.take() {
            Some(fault) if fault_first => queue.push_front(fault),
            last => queue.extend(last),
        }
        let now = if thread.in_delivery {
            queue.pop_front()
        } else {
            None
        };
        if let Some(Delivery {
            info: Some(info),
            fresh: false,
            ..
        }) = &now
        {
            dead_is_fine(ptrace::set_siginfo(tid, info), "a held signal of", tid)?;
        }
        for delivery in queue {
            self.threads.get_mut(tid)?.resent.push_back(Delivery {
                fresh: false,
                ..delivery
            });
            let sent = process::kill_thread(self.pid, tid, delivery.signal);
            dead_is_fine(sent, "sending a signal to", tid)?;
        }
        Ok(now.map(|delivery| delivery.signal))
    }

    /// Steps a thread off the trap it stands on; signals on their way wait until that is done. Not the
    /// instruction's own fault: it would only fault again.
    pub(super) fn step_holding_signals(&mut self, tid: Tid) -> Result<()> {
        if self.must_deliver_first(tid) {
            return self.resume_thread(tid, Intent::Step);
        }
        let thread = self.threads.get_mut(tid)?;
        let last = thread.deliver.take().map(|delivery| Delivery {
            fresh: false,
            ..delivery
        });
        thread.held.extend(last);
        let held = std::mem::take(&mut thread.held);
        let result = self.resume_thread(tid, Intent::Step);
        if let Ok(thread) = self.threads.get_mut(tid) {
            thread.held = held;
        }
        result
    }

    /// A fault's own signal cannot wait: the instruction would only fault again.
    pub(super) fn must_deliver_first(&self, tid: Tid) -> bool {
        self.threads.get(tid).is_ok_and(|thread| {
            thread
                .deliver
                .is_some_and(|delivery| delivery.info.as_ref().is_some_and(is_fault))
        })
    }
}
