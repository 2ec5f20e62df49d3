//! What happens to each signal that a debuggee gets.

use crate::base::signal::Signal;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalPolicy {
    /// Stop and report before it is delivered.
    pub stop: bool,
    /// Deliver it.
    pub pass: bool,
    /// Say that it came, when it does not stop.
    pub print: bool,
}

/// A policy for every signal.
#[derive(Clone, Debug)]
pub struct SignalPolicies {
    by_number: [SignalPolicy; 65],
}

const REPORTED: SignalPolicy = SignalPolicy {
    stop: true,
    pass: true,
    print: true,
};

/// Signals that programs use all the time for their own purposes: nobody wants to stop at each.
const SILENT: SignalPolicy = SignalPolicy {
    stop: false,
    pass: true,
    print: false,
};

impl Default for SignalPolicies {
    fn default() -> Self {
        let mut policies = Self {
            by_number: [REPORTED; 65],
        };
        for number in 1..=64 {
            let Some(signal) = Signal::new(number) else {
                continue;
            };
            let routine = matches!(
                signal,
                Signal::ALRM
                    | Signal::CHLD
                    | Signal::CONT
                    | Signal::IO
                    | Signal::PROF
                    | Signal::URG
                    | Signal::VTALRM
                    | Signal::WINCH
            );
            // glibc cancels threads and changes ids with the first two.
            if routine || matches!(number, 32 | 33) {
                policies.set(signal, SILENT);
            }
        }
        policies
    }
}

impl SignalPolicies {
    pub fn of(&self, signal: Signal) -> SignalPolicy {
        self.by_number[signal.index()]
    }

    pub fn set(&mut self, signal: Signal, policy: SignalPolicy) {
        self.by_number[signal.index()] = policy;
    }
}
