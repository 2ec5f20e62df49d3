//! Signals in words: why one came, and from where (sigaction(2)).

use super::event::SignalStop;
use crate::base::id::Pid;
use crate::base::signal::Signal;
use crate::os::ptrace::SigInfo;

pub(super) fn describe(signal: Signal, info: &SigInfo) -> SignalStop {
    let is_fault = info.code > 0
        && [
            Signal::SEGV,
            Signal::BUS,
            Signal::ILL,
            Signal::FPE,
            Signal::TRAP,
        ]
        .contains(&signal)
        && info.code != SI_KERNEL;
    SignalStop {
        signal,
        code: code_name(signal, info.code),
        addr: is_fault.then_some(info.addr),
        sender: is_sent(info.code).then(|| Pid::new(info.pid)),
    }
}

const SI_KERNEL: i32 = 0x80;
const SI_USER: i32 = 0;
const SI_QUEUE: i32 = -1;
const SI_TKILL: i32 = -6;

fn is_sent(code: i32) -> bool {
    matches!(code, SI_USER | SI_QUEUE | SI_TKILL)
}

fn code_name(signal: Signal, code: i32) -> String {
    let names: &[&str] = match signal {
        Signal::SEGV => &["SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR"],
        Signal::BUS => &[
            "BUS_ADRALN",
            "BUS_ADRERR",
            "BUS_OBJERR",
            "BUS_MCEERR_AR",
            "BUS_MCEERR_AO",
        ],
        Signal::FPE => &[
            "FPE_INTDIV",
            "FPE_INTOVF",
            "FPE_FLTDIV",
            "FPE_FLTOVF",
            "FPE_FLTUND",
            "FPE_FLTRES",
            "FPE_FLTINV",
            "FPE_FLTSUB",
        ],
        Signal::ILL => &[
            "ILL_ILLOPC",
            "ILL_ILLOPN",
            "ILL_ILLADR",
            "ILL_ILLTRP",
            "ILL_PRVOPC",
            "ILL_PRVREG",
            "ILL_COPROC",
            "ILL_BADSTK",
        ],
        Signal::TRAP => &["TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT"],
        Signal::CHLD => &[
            "CLD_EXITED",
            "CLD_KILLED",
            "CLD_DUMPED",
            "CLD_TRAPPED",
            "CLD_STOPPED",
            "CLD_CONTINUED",
        ],
        Signal::SYS => &["SYS_SECCOMP"],
        _ => &[],
    };
    let special = match code {
        SI_USER => Some("SI_USER"),
        SI_QUEUE => Some("SI_QUEUE"),
        -2 => Some("SI_TIMER"),
        -3 => Some("SI_MESGQ"),
        -4 => Some("SI_ASYNCIO"),
        -5 => Some("SI_SIGIO"),
        SI_TKILL => Some("SI_TKILL"),
        SI_KERNEL => Some("SI_KERNEL"),
        _ => None,
    };
    let by_number = usize::try_from(code)
        .ok()
        .and_then(|code| names.get(code.checked_sub(1)?))
        .copied();
    special
        .or(by_number)
        .map_or_else(|| format!("si_code={code}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: i32, code: i32, name: &str, has_addr: bool, has_sender: bool) {
        let signal = Signal::new(number).expect("in range");
        let stop = describe(signal, &SigInfo::of(number, code));
        assert_eq!(stop.code, name);
        assert_eq!(stop.addr.is_some(), has_addr);
        assert_eq!(stop.sender.is_some(), has_sender);
    }

    #[test]
    fn codes_have_names_and_only_what_belongs_to_them() {
        check(11, 1, "SEGV_MAPERR", true, false);
        check(11, 0x80, "SI_KERNEL", false, false);
        check(11, 0, "SI_USER", false, true);
        check(10, -6, "SI_TKILL", false, true);
        check(34, -1, "SI_QUEUE", false, true);
        check(8, 1, "FPE_INTDIV", true, false);
        check(17, 1, "CLD_EXITED", false, false);
        check(10, 77, "si_code=77", false, false);
    }
}
