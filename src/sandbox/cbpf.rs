//! For tests: runs a seccomp program on a made-up call, so that verdicts are known without installing anything
//! and for architectures this kernel does not run.

use super::seccomp::Instruction;

#[derive(Debug)]
pub(super) struct Call {
    pub(super) number: u32,
    pub(super) arch: u32,
    pub(super) arguments: [u64; 6],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    Errno(u32),
    KillProcess,
}

impl Call {
    /// struct seccomp_data, as the words that a program can load.
    fn word(&self, offset: u32) -> u32 {
        let [low, high] = match offset {
            0 => return self.number,
            4 => return self.arch,
            8 | 12 => return 0, // instruction pointer: nothing decides by it
            _ => {
                let argument = self.arguments[usize::try_from(offset - 16).unwrap() / 8];
                [argument & 0xffff_ffff, argument >> 32]
            }
        };
        u32::try_from(if offset.is_multiple_of(8) { low } else { high }).unwrap()
    }
}

pub(super) fn run(program: &[Instruction], call: &Call) -> Verdict {
    let mut accumulator = 0;
    let mut at = 0;
    loop {
        let (code, jt, jf, k) = program[at];
        at += 1;
        let mut branch = |taken| at += usize::from(if taken { jt } else { jf });
        match code {
            0x20 => accumulator = call.word(k),
            0x54 => accumulator &= k,
            0x05 => at += usize::try_from(k).unwrap(),
            0x15 => branch(accumulator == k),
            0x25 => branch(accumulator > k),
            0x35 => branch(accumulator >= k),
            0x06 => return verdict(k),
            _ => panic!("instruction {code:#x} is not known here"),
        }
    }
}

fn verdict(value: u32) -> Verdict {
    match (value & 0xffff_0000, value & 0xffff) {
        (0x7fff_0000, _) => Verdict::Allow,
        (0x0005_0000, errno) => Verdict::Errno(errno),
        (0x8000_0000, _) => Verdict::KillProcess,
        _ => panic!("verdict {value:#x} is not known here"),
    }
}
