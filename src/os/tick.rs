//! A signal to this thread at a fixed rate, so that no system call of it blocks for longer.
#![allow(unsafe_code)]

use std::io;
use std::time::Duration;

/// Ticks until it is dropped: a blocking call then fails with EINTR, again and again, so that a wish to
/// stop that was seen too late for one call is seen before the next. Nothing can be missed for good.
#[derive(Debug)]
pub struct Ticker {
    timer: libc::timer_t,
}

impl Ticker {
    /// Ticks the calling thread (`timer_create(2)`, `SIGEV_THREAD_ID`).
    pub fn start(period: Duration) -> io::Result<Self> {
        install_handler()?;
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: the event is zeroed, then filled; the pointers are to locals.
        let created = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGRTMAX();
            event.sigev_notify_thread_id = libc::gettid();
            libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer)
        };
        if created == -1 {
            return Err(io::Error::last_os_error());
        }
        let ticker = Self { timer };
        let interval = libc::timespec {
            tv_sec: i64::try_from(period.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(period.subsec_nanos()),
        };
        let setting = libc::itimerspec {
            it_interval: interval,
            it_value: interval,
        };
        // SAFETY: the timer was just created; the setting is a local.
        let set = unsafe {
            libc::timer_settime(ticker.timer, 0, &raw const setting, std::ptr::null_mut())
        };
        if set == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(ticker)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and was not deleted before.
        unsafe { libc::timer_delete(self.timer) };
    }
}

extern "C" fn on_tick(_signal: libc::c_int) {}

/// Without SA_RESTART: to interrupt is all that the signal is for.
fn install_handler() -> io::Result<()> {
    // SAFETY: the structure is zeroed, then filled; the handler does nothing.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_tick as *const () as usize;
        libc::sigaction(libc::SIGRTMAX(), &raw const action, std::ptr::null_mut())
    };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocking_call_does_not_outlast_a_few_ticks() {
        let _ticker = Ticker::start(Duration::from_millis(5)).expect("a timer");
        let mut fds = [0; 2];
        // SAFETY: plain descriptors and a local buffer; the read blocks until it is interrupted.
        let (result, error) = unsafe {
            assert_eq!(libc::pipe(fds.as_mut_ptr()), 0);
            let mut byte = 0u8;
            let result = libc::read(fds[0], (&raw mut byte).cast(), 1);
            (result, io::Error::last_os_error())
        };
        assert_eq!(result, -1);
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        // SAFETY: both were opened above.
        unsafe {
            libc::close(fds[0]);
            libc::close(fds[1]);
        }
    }
}
