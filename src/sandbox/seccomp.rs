//! Rules compiled to one seccomp program, as plain data: whoever starts a debuggee installs it before exec.

use super::error::{Error, Result};
use super::policy::{Answer, Rule, TRACEE, When, X32_BIT};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;

/// One instruction of classic BPF: code, jump if true, jump if false, operand (linux/filter.h).
pub type Instruction = (u16, u8, u8, u32);

// linux/bpf_common.h, linux/seccomp.h
const LOAD_WORD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const OFFSET_OF_NUMBER: u32 = 0;
const RET_ALLOW: u32 = 0x7fff_0000;
const RET_ERRNO: u32 = 0x0005_0000;

/// The program for a debuggee: it cannot trace, and no child of it can leave its tracer.
pub fn tracee_filter() -> Result<Vec<Instruction>> {
    compile("tracee", TRACEE)
}

/// seccompiler gives a filter one answer for all its rules, so there is one filter for each answer, linked
/// into one program: where one allows, the next goes on. Calls of another architecture end the process (SIGSYS).
fn compile(filter: &'static str, rules: &[Rule]) -> Result<Vec<Instruction>> {
    let mut program = refuse_x32();
    for answer in [Answer::Eperm, Answer::Enosys] {
        let part =
            compile_part(rules, answer).map_err(|source| Error::Filter { filter, source })?;
        program = link(program, part);
    }
    Ok(program
        .into_iter()
        .map(|i| (i.code, i.jt, i.jf, i.k))
        .collect())
}

fn compile_part(rules: &[Rule], answer: Answer) -> Result<BpfProgram, BackendError> {
    let mut chains: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for rule in rules.iter().filter(|rule| rule.answer == answer) {
        let chain = chains.entry(rule.number).or_default();
        chain.extend(conditions(rule.when)?);
    }
    SeccompFilter::new(
        chains,
        SeccompAction::Allow,
        SeccompAction::Errno(answer.errno()),
        TargetArch::x86_64,
    )?
    .try_into()
}

/// Alternatives, one of which must match; none at all matches always.
fn conditions(when: When) -> Result<Vec<SeccompRule>, BackendError> {
    match when {
        When::Always => Ok(Vec::new()),
        When::AnyBit { argument, bits } => set_bits(bits)
            .map(|bit| {
                // Dword: the kernel ignores the high half of a 32-bit argument, so it must not decide.
                let condition = SeccompCondition::new(
                    argument,
                    SeccompCmpArgLen::Dword,
                    SeccompCmpOp::MaskedEq(u64::from(bit)),
                    u64::from(bit),
                )?;
                SeccompRule::new(vec![condition])
            })
            .collect(),
    }
}

fn set_bits(bits: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS)
        .map(|place| 1 << place)
        .filter(move |bit| bits & bit != 0)
}

/// x32 calls carry the architecture of x86-64 but other numbers, which seccompiler does not look at.
fn refuse_x32() -> BpfProgram {
    vec![
        instruction(LOAD_WORD, 0, 0, OFFSET_OF_NUMBER),
        instruction(JUMP_IF_AT_LEAST, 0, 1, X32_BIT),
        instruction(RETURN, 0, 0, RET_ERRNO | Answer::Enosys.errno()),
        instruction(RETURN, 0, 0, RET_ALLOW),
    ]
}

/// Runs `second` wherever `first` allows: each `return ALLOW` becomes a jump behind the end of `first`.
fn link(first: BpfProgram, second: BpfProgram) -> BpfProgram {
    let mut program = first;
    for (to_the_end, instruction) in (0..).zip(program.iter_mut().rev()) {
        if instruction.code == RETURN && instruction.k == RET_ALLOW {
            instruction.code = JUMP;
            instruction.k = to_the_end;
        }
    }
    program.extend(second);
    program
}

const fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::cbpf::{Call, Verdict, run};
    use crate::sandbox::policy::CLONE_UNTRACED;

    const X86_64: u32 = 0xc000_003e;
    const I386: u32 = 0x4000_0003;
    const AARCH64: u32 = 0xc000_00b7;
    const EPERM: Verdict = Verdict::Errno(1);
    const ENOSYS: Verdict = Verdict::Errno(38);

    #[track_caller]
    fn check(arch: u32, number: u32, first_argument: u64, expected: Verdict) {
        let program = tracee_filter().unwrap();
        let call = Call {
            arch,
            number,
            arguments: [first_argument, 0, 0, 0, 0, 0],
        };
        assert_eq!(run(&program, &call), expected, "{call:?}");
    }

    #[test]
    fn a_debuggee_traces_nobody() {
        for request in [0, 2, 16, 0x4206] {
            check(X86_64, 101, request, EPERM);
        }
    }

    #[test]
    fn clone_is_judged_by_its_flags() {
        const SIGCHLD: u64 = 17;
        const PTHREAD: u64 = 0x3d_0f00;
        let untraced = u64::from(CLONE_UNTRACED);
        check(X86_64, 56, SIGCHLD, Verdict::Allow);
        check(X86_64, 56, PTHREAD, Verdict::Allow);
        check(X86_64, 56, !untraced, Verdict::Allow);
        check(X86_64, 56, untraced, EPERM);
        check(X86_64, 56, untraced | PTHREAD, EPERM);
        check(X86_64, 56, untraced | 1 << 40, EPERM);
        check(X86_64, 56, untraced << 32, Verdict::Allow);
        check(X86_64, 435, 0, ENOSYS);
    }

    #[test]
    fn everything_else_is_allowed() {
        for number in (0..600).filter(|number| ![56, 101, 435].contains(number)) {
            check(X86_64, number, u64::MAX, Verdict::Allow);
        }
    }

    #[test]
    fn no_rule_is_passed_under_another_abi() {
        for number in [0x4000_0000, 0x4000_0000 + 521, 0x4000_0000 + 56, u32::MAX] {
            check(X86_64, number, u64::MAX, ENOSYS);
        }
        check(I386, 26, 0, Verdict::KillProcess);
        check(I386, 1, 0, Verdict::KillProcess);
        check(AARCH64, 117, 0, Verdict::KillProcess);
    }

    #[test]
    fn every_bit_of_a_mask_counts_alone() {
        let rule = Rule {
            syscall: "clone",
            number: 56,
            when: When::AnyBit {
                argument: 0,
                bits: 0x8000_0005,
            },
            answer: Answer::Eperm,
            why: "test",
        };
        let program = compile("test", &[rule]).unwrap();
        for (flags, expected) in [
            (0, Verdict::Allow),
            (1, EPERM),
            (2, Verdict::Allow),
            (4, EPERM),
            (0x8000_0000, EPERM),
            (0x7fff_fffa, Verdict::Allow),
        ] {
            let call = Call {
                arch: X86_64,
                number: 56,
                arguments: [flags, 0, 0, 0, 0, 0],
            };
            assert_eq!(run(&program, &call), expected, "{flags:#x}");
        }
    }

    #[test]
    fn rules_name_each_call_once_and_say_why() {
        for (index, rule) in TRACEE.iter().enumerate() {
            assert!(!rule.why.is_empty(), "{}", rule.syscall);
            assert!(
                TRACEE[..index]
                    .iter()
                    .all(|other| other.number != rule.number),
                "{}",
                rule.syscall
            );
        }
    }
}
