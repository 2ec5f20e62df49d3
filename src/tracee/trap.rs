//! What a SIGTRAP means. Pure: everything it depends on is an argument.

use crate::base::addr::VirtAddr;

/// si_code values that x86 uses for traps (asm-generic/siginfo.h, arch/x86/kernel/traps.c).
const SI_KERNEL: i32 = 0x80;
const TRAP_BRKPT: i32 = 1;
const TRAP_TRACE: i32 = 2;
const TRAP_HWBKPT: i32 = 4;
/// `ptrace_notify(SIGTRAP)` when a handler's frame was set up under single step: si_code = SIGTRAP.
const NOTIFIED: i32 = 5;

/// What the thread was doing when it trapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Intent {
    Step,
    Run,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trap {
    /// The step is done.
    Step,
    /// An inserted trap was executed: pc has to go back to it.
    Site(VirtAddr),
    /// A debug register triggered, and nothing else happened.
    Slot,
    /// Left over from a step that something else ended first: nobody wants it.
    Stray,
    /// The program's own doing: a hard-coded int3, raise(SIGTRAP), its own trap flag.
    Own,
}

/// Whether a thread that was single-stepped from `from` and trapped at `pc` has done its step for certain,
/// so that nobody has to ask the kernel why it trapped. A SIGTRAP that somebody sent comes before the
/// instruction is executed; an int3, an int 3, an icebp and a system call leave the pc one or two bytes
/// further on: all of these have to be asked about.
pub(super) fn must_be_step(from: VirtAddr, pc: VirtAddr) -> bool {
    const LONGEST_IN_DOUBT: u64 = 2;
    pc.raw().wrapping_sub(from.raw()) > LONGEST_IN_DOUBT
}

/// Does this trap need the pc to be told apart?
pub(super) const fn needs_pc(code: i32) -> bool {
    code == SI_KERNEL
}

/// Does this trap look the same after an instruction and after an interrupted system call?
pub(super) const fn may_follow_syscall(code: i32) -> bool {
    code == TRAP_BRKPT
}

/// `before_pc` is the address of the byte in front of the pc when an inserted trap stands there.
pub(super) fn classify(
    code: i32,
    intent: Intent,
    site_before_pc: Option<VirtAddr>,
    stray_possible: bool,
    slot_triggered: bool,
) -> Trap {
    match code {
        SI_KERNEL => site_before_pc.map_or(Trap::Own, Trap::Site),
        // A step over a system call is reported as TRAP_BRKPT (user_single_step_report).
        TRAP_TRACE | TRAP_BRKPT | NOTIFIED => match intent {
            Intent::Step => Trap::Step,
            Intent::Run if slot_triggered => Trap::Slot,
            Intent::Run if stray_possible => Trap::Stray,
            Intent::Run => Trap::Own,
        },
        TRAP_HWBKPT if slot_triggered => Trap::Slot,
        _ => Trap::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: Option<VirtAddr> = Some(VirtAddr::new(0x1000));

    #[track_caller]
    fn check(code: i32, intent: Intent, site: Option<VirtAddr>, stray: bool, wanted: Trap) {
        assert_eq!(classify(code, intent, site, stray, false), wanted);
    }

    #[test]
    fn a_slot_that_triggered_is_told_from_a_debuggee_that_uses_its_own() {
        let run = |code, slot| classify(code, Intent::Run, None, false, slot);
        assert_eq!(run(TRAP_HWBKPT, true), Trap::Slot);
        assert_eq!(run(TRAP_HWBKPT, false), Trap::Own);
        assert_eq!(run(TRAP_TRACE, true), Trap::Slot);
        let step = classify(TRAP_TRACE, Intent::Step, None, false, true);
        assert_eq!(step, Trap::Step);
    }

    #[test]
    fn short_moves_are_in_doubt() {
        let moved = |from: u64, to: u64| must_be_step(VirtAddr::new(from), VirtAddr::new(to));
        assert!(!moved(0x1000, 0x1000), "sent before the instruction");
        assert!(!moved(0x1000, 0x1001), "int3");
        assert!(!moved(0x1000, 0x1002), "syscall, int 3");
        assert!(moved(0x1000, 0x1003));
        assert!(moved(0x1000, 0x0fff), "a jump back");
    }

    #[test]
    fn each_code_has_its_meaning() {
        let hit = Trap::Site(VirtAddr::new(0x1000));
        check(SI_KERNEL, Intent::Run, SITE, false, hit);
        check(SI_KERNEL, Intent::Step, SITE, false, hit);
        check(SI_KERNEL, Intent::Run, None, false, Trap::Own);
        check(SI_KERNEL, Intent::Step, None, true, Trap::Own);
        check(TRAP_TRACE, Intent::Step, None, false, Trap::Step);
        check(TRAP_TRACE, Intent::Step, SITE, false, Trap::Step);
        check(TRAP_BRKPT, Intent::Step, None, false, Trap::Step);
        check(NOTIFIED, Intent::Step, None, false, Trap::Step);
        check(TRAP_TRACE, Intent::Run, None, true, Trap::Stray);
        check(TRAP_TRACE, Intent::Run, None, false, Trap::Own);
        for sent in [0, -1, -6] {
            check(sent, Intent::Step, SITE, true, Trap::Own);
        }
    }
}
