//! Runs that want to get somewhere: to a place, out of a frame, to another source line. Between two
//! stops of the layer below they decide how to go on.

use super::breakpoints::Internal;
use super::error::{Error, Result};
use super::event::Reason;
use super::request::RunKind;
use super::session::Session;
use crate::arch::disasm::{self, Flow};
use crate::base::addr::VirtAddr;
use crate::base::id::Tid;
use crate::base::memory::ReadMemory;
use crate::tracee::stop::Stop;
use crate::tracee::stopped::Resume;

/// What a run is for, beyond single instructions.
#[derive(Debug)]
pub(super) enum Goal {
    Reach(Reach),
    Line(LineStep),
}

/// A place to get to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    site: VirtAddr,
    /// This thread only; another one that comes by has nothing to do with it.
    tid: Option<Tid>,
    /// Not in a deeper call of the same function: the stack pointer must be at least here.
    sp: VirtAddr,
    finishes: bool,
}

/// Stepping by source lines, as gdb does: to an address where a statement of another line begins. Calls
/// and system calls are run through with all threads moving.
#[derive(Debug)]
pub(super) struct LineStep {
    tid: Tid,
    into: bool,
    /// The line that is being left; None without line information: then each instruction is a line.
    from: Option<(String, u32)>,
    /// The frame the line belongs to; above it the function has returned.
    frame: VirtAddr,
    /// A call under way, or the way through a prologue.
    reach: Option<Reach>,
    /// The line is reached with `reach`.
    last: bool,
    /// The instruction about to be stepped, if it is a call: where it will return to.
    call: Option<VirtAddr>,
}

/// What a stop means for a goal.
pub(super) enum Follow {
    /// Not there yet.
    GoOn,
    /// One more of what was asked for.
    Reached(Reason),
    /// Something else has happened.
    Report,
}

impl Session {
    pub(super) fn goal(&mut self, kind: RunKind) -> Result<Option<Goal>> {
        let tid = self.selected()?;
        match kind {
            RunKind::Step { .. } | RunKind::Continue => Ok(None),
            RunKind::Until(site) => self.reach(Reach {
                site,
                tid: None,
                sp: VirtAddr::new(0),
                finishes: false,
            }),
            RunKind::Finish => {
                let (site, sp) = self.caller()?;
                self.reach(Reach {
                    site,
                    tid: Some(tid),
                    sp,
                    finishes: true,
                })
            }
            RunKind::Line { into, .. } => Ok(Some(Goal::Line(self.line_step(tid, into)?))),
        }
    }

    fn reach(&mut self, reach: Reach) -> Result<Option<Goal>> {
        self.set_internal(Internal::Goal(reach.site))?;
        Ok(Some(Goal::Reach(reach)))
    }

    /// Where the selected frame returns to, and the stack pointer it has afterwards.
    fn caller(&mut self) -> Result<(VirtAddr, VirtAddr)> {
        let backtrace = self.backtrace(2)?;
        let own_sp = backtrace.frames.first().and_then(|frame| frame.sp);
        let caller = backtrace.frames.iter().find(|frame| frame.sp != own_sp);
        caller
            .and_then(|frame| Some((frame.pc, frame.sp?)))
            .ok_or_else(|| {
                let why = backtrace.truncated.unwrap_or_default();
                Error::BadArgument(format!("the frame has no caller that is known {why}"))
            })
    }

    fn line_step(&mut self, tid: Tid, into: bool) -> Result<LineStep> {
        let registers = self.registers()?;
        let (pc, sp) = (registers.pc(), registers.sp());
        // Without a known caller the frame is left when the stack gets shorter.
        let frame = self.caller().map_or(sp, |(_, sp)| sp);
        Ok(LineStep {
            tid,
            into,
            from: self.line_of(pc)?,
            frame,
            reach: None,
            last: false,
            call: None,
        })
    }

    /// How a run with a goal moves next.
    pub(super) fn how_to(&mut self, goal: &mut Goal) -> Result<Resume> {
        let line = match goal {
            Goal::Reach(_) => return Ok(Resume::All),
            Goal::Line(line) => line,
        };
        if line.reach.is_some() {
            return Ok(Resume::All);
        }
        let registers = self.registers()?;
        let (pc, sp) = (registers.pc(), registers.sp());
        let mut code = [0; disasm::MAX_LENGTH];
        let got = self.stopped()?.read_partial(pc, &mut code);
        let flow = disasm::flow(&code[..got], pc);
        let behind = |len: usize| pc.checked_add(len as u64);
        line.call = match flow {
            Some((Flow::Call, len)) => behind(len),
            _ => None,
        };
        if let Some((Flow::Syscall, len)) = flow
            && let Some(next) = behind(len)
        {
            self.set_out(line, next, sp)?;
            return Ok(Resume::All);
        }
        Ok(Resume::Step(line.tid))
    }

    fn set_out(&mut self, line: &mut LineStep, site: VirtAddr, sp: VirtAddr) -> Result<()> {
        self.set_internal(Internal::Goal(site))?;
        line.reach = Some(Reach {
            site,
            tid: Some(line.tid),
            sp,
            finishes: false,
        });
        Ok(())
    }

    /// What a stop means for the goal of its run.
    pub(super) fn follow(&mut self, goal: &mut Goal, stop: Stop) -> Result<Follow> {
        let causes = stop.causes;
        let only_motion = causes.event.is_none() && causes.slots.is_empty();
        match goal {
            Goal::Reach(reach) => {
                if causes.site != Some(reach.site) || !only_motion {
                    return Ok(Follow::Report);
                }
                if self.breakpoints.is_users(reach.site) {
                    return Ok(Follow::Report);
                }
                if !self.is_there(*reach, stop.tid)? {
                    return Ok(Follow::GoOn);
                }
                Ok(Follow::Reached(if reach.finishes {
                    let value = self.registers()?.rax();
                    Reason::Finish { value }
                } else {
                    Reason::Until
                }))
            }
            Goal::Line(line) => {
                if let Some(reach) = line.reach {
                    let there = causes.site == Some(reach.site);
                    if !there || !only_motion || self.breakpoints.is_users(reach.site) {
                        return Ok(Follow::Report);
                    }
                    if !self.is_there(reach, stop.tid)? {
                        return Ok(Follow::GoOn);
                    }
                    line.reach = None;
                    self.clear_internal(|at| matches!(at, Internal::Goal(_)));
                    line.call = None;
                    if line.last {
                        return Ok(line_reached());
                    }
                } else if !causes.step || causes.site.is_some() || !only_motion {
                    return Ok(Follow::Report);
                }
                self.on_line_step(line)
            }
        }
    }

    fn is_there(&mut self, reach: Reach, tid: Tid) -> Result<bool> {
        let sp = self.registers()?.sp();
        Ok(reach.tid.is_none_or(|wanted| wanted == tid) && sp >= reach.sp)
    }

    fn on_line_step(&mut self, line: &mut LineStep) -> Result<Follow> {
        let registers = self.registers()?;
        let (pc, sp) = (registers.pc(), registers.sp());
        if let Some(back) = line.call.take()
            && pc != back
        {
            return self.on_call(line, pc, sp, back);
        }
        let here = self.line_of(pc)?;
        if sp >= line.frame {
            // Returned, usually into the middle of a line: the rest of that line is run too.
            if line.from.is_some() && self.begins_statement(pc)? {
                return Ok(line_reached());
            }
            line.frame = self.caller().map_or(sp, |(_, sp)| sp);
            if line.from.is_some() {
                line.from.clone_from(&here);
            }
        }
        match (&line.from, here) {
            (None, _) => Ok(line_reached()),
            // Code without lines that was jumped to: out of it again, as after a call.
            (Some(_), None) => {
                let (site, sp) = self.caller()?;
                self.set_out(line, site, sp)?;
                Ok(Follow::GoOn)
            }
            (Some(from), Some(here)) if *from != here && self.begins_statement(pc)? => {
                Ok(line_reached())
            }
            _ => Ok(Follow::GoOn),
        }
    }

    /// A call has just been made: through it, or to the first line of what was called.
    fn on_call(
        &mut self,
        line: &mut LineStep,
        pc: VirtAddr,
        sp: VirtAddr,
        back: VirtAddr,
    ) -> Result<Follow> {
        if line.into && self.line_of(pc)?.is_some() {
            let first = self.after_prologue(pc)?.unwrap_or(pc);
            if first == pc {
                return Ok(line_reached());
            }
            line.last = true;
            self.set_out(line, first, VirtAddr::new(0))?;
            return Ok(Follow::GoOn);
        }
        // The return address is popped on the way back.
        let sp = sp.checked_add(8).unwrap_or(sp);
        self.set_out(line, back, sp)?;
        Ok(Follow::GoOn)
    }

    /// The run is over, however it ended.
    pub(super) fn drop_goals(&mut self) {
        self.clear_internal(|at| matches!(at, Internal::Goal(_)));
    }
}

/// The caller fills in how many of how many.
fn line_reached() -> Follow {
    Follow::Reached(Reason::Step { done: 0, total: 0 })
}
