//! What the call chain really is, from watching calls, returns and signals go by.

use crate::debuggee::Debuggee;
use llmdbg::unwind::frame::DwarfReg;

pub struct Caller {
    pub pc: u64,
    /// What the called function must preserve, as it was at the call.
    pub preserved: Option<[u64; 6]>,
}

/// The calls on one stack: since the start, or since a signal.
struct Stack {
    calls: Vec<Call>,
    interrupted: Option<State>,
}

struct Call {
    slot: u64,
    target: u64,
    preserved: Option<[u64; 6]>,
}

#[derive(Clone, Copy)]
struct State {
    pc: u64,
    sp: u64,
    preserved: [u64; 6],
}

pub struct Truth {
    stacks: Vec<Stack>,
    last: State,
    signal: bool,
}

impl State {
    fn of(debuggee: &Debuggee) -> Self {
        let registers = debuggee.registers();
        let get = |register: DwarfReg| registers[usize::from(register.number())];
        Self {
            pc: get(DwarfReg::RIP),
            sp: get(DwarfReg::RSP),
            preserved: DwarfReg::PRESERVED.map(get),
        }
    }
}

impl Truth {
    /// The debuggee stands at the first instruction of a function.
    pub fn at_entry(debuggee: &Debuggee) -> Self {
        let state = State::of(debuggee);
        let call = Call {
            slot: state.sp,
            target: debuggee.word(state.sp),
            preserved: Some(state.preserved),
        };
        Self {
            stacks: vec![Stack {
                calls: vec![call],
                interrupted: None,
            }],
            last: state,
            signal: false,
        }
    }

    /// The next step enters a signal handler.
    pub fn signal_follows(&mut self) {
        self.signal = true;
    }

    /// The debuggee made a step.
    pub fn follow(&mut self, debuggee: &Debuggee) {
        let now = State::of(debuggee);
        let top = debuggee.word(now.sp);
        if std::mem::take(&mut self.signal) {
            self.stacks.push(Stack {
                calls: vec![Call {
                    slot: now.sp,
                    target: top,
                    preserved: None,
                }],
                interrupted: Some(self.last),
            });
        } else if self.has_returned_from_signal(&now) {
            self.stacks.pop();
        } else if let Some(stack) = self.stacks.last_mut() {
            // A return, or any other way to give the stack up.
            stack.calls.retain(|call| call.slot >= now.sp);
            // A call pushes the address right behind itself; no call is longer than eight bytes.
            let called = now.sp + 8 == self.last.sp
                && (self.last.pc + 2..=self.last.pc + 8).contains(&top)
                && debuggee.is_call(self.last.pc);
            if called {
                stack.calls.push(Call {
                    slot: now.sp,
                    target: top,
                    preserved: Some(self.last.preserved),
                });
            }
        }
        self.last = now;
    }

    fn has_returned_from_signal(&self, now: &State) -> bool {
        let interrupted = self.stacks.last().and_then(|stack| stack.interrupted);
        interrupted.is_some_and(|before| before.pc == now.pc && before.sp == now.sp)
    }

    pub fn is_over(&self) -> bool {
        self.stacks.iter().all(|stack| stack.calls.is_empty())
    }

    /// Innermost first.
    pub fn callers(&self) -> Vec<Caller> {
        let mut callers = Vec::new();
        for stack in self.stacks.iter().rev() {
            callers.extend(stack.calls.iter().rev().map(|call| Caller {
                pc: call.target,
                preserved: call.preserved,
            }));
            callers.extend(stack.interrupted.map(|before| Caller {
                pc: before.pc,
                preserved: Some(before.preserved),
            }));
        }
        callers
    }
}
