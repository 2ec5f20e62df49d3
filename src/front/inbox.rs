//! Requests on their way from the thread that reads to the thread that owns the engine.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::script::reply::{Program, Rejection};
use crate::session::control::Control;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    Program(Program),
    Rejected(Rejection),
    /// The input has ended.
    End,
}

pub struct Inbox {
    control: Arc<Control>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Request>,
    /// The request taken last is being worked on.
    in_flight: bool,
    /// An interrupt came for the first request of the queue, before it was taken.
    interrupt_next: bool,
}

impl Inbox {
    pub fn new(control: Arc<Control>) -> Self {
        Self {
            control,
            state: Mutex::default(),
        }
    }

    pub fn push(&self, request: Request) {
        self.lock().queue.push_back(request);
        self.control.waker().wake();
    }

    /// Ends the work on the request taken last. Call it before the reply is sent: who has seen the
    /// reply means the next program when he interrupts.
    pub fn done(&self) {
        self.lock().in_flight = false;
    }

    /// The next request, if there is one.
    pub fn take(&self) -> Option<Request> {
        let mut state = self.lock();
        // What was meant for the last program, or for none, must not hit the next. A background run is
        // different: the engine takes its interrupt while it waits.
        if !self.control.is_busy() && !self.control.is_terminated() {
            self.control.take_interrupt();
        }
        let request = state.queue.pop_front()?;
        state.in_flight = true;
        if std::mem::take(&mut state.interrupt_next) {
            self.control.interrupt();
        }
        Some(request)
    }

    /// Interrupts the program that runs, or is about to. Nothing happens when there is none.
    pub fn interrupt(&self) {
        let mut state = self.lock();
        if state.in_flight || self.control.is_busy() {
            self.control.interrupt();
        } else {
            let waits = matches!(state.queue.front(), Some(Request::Program(_)));
            state.interrupt_next = waits;
        }
    }

    /// The data is whole at every moment, so another thread's panic spoils nothing.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbox() -> (Arc<Control>, Inbox) {
        let control = Arc::new(Control::new().expect("an eventfd"));
        (Arc::clone(&control), Inbox::new(control))
    }

    fn program(text: &str) -> Request {
        Request::Program(Program::new(text))
    }

    #[test]
    fn an_interrupt_hits_the_program_before_it_and_no_other() {
        let (control, inbox) = inbox();
        inbox.push(program("a"));
        inbox.interrupt();
        inbox.push(program("b"));
        assert!(!control.is_interrupted());
        assert_eq!(inbox.take(), Some(program("a")));
        assert!(control.is_interrupted());
        inbox.done();
        assert_eq!(inbox.take(), Some(program("b")));
        assert!(!control.is_interrupted());
        inbox.interrupt();
        assert!(control.is_interrupted());
        inbox.done();
        inbox.push(program("c"));
        inbox.interrupt();
        assert_eq!(inbox.take(), Some(program("c")));
        assert!(control.is_interrupted());
    }

    #[test]
    fn an_interrupt_at_idle_does_nothing() {
        let (control, inbox) = inbox();
        inbox.interrupt();
        // SIGINT sets the flag whatever happens.
        control.interrupt();
        assert_eq!(inbox.take(), None);
        inbox.push(program("a"));
        assert_eq!(inbox.take(), Some(program("a")));
        assert!(!control.is_interrupted());
    }

    #[test]
    fn a_background_run_keeps_its_interrupt() {
        let (control, inbox) = inbox();
        control.set_busy(true);
        inbox.interrupt();
        assert_eq!(inbox.take(), None);
        assert!(control.is_interrupted());
    }
}
