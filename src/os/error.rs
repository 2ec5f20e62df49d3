//! The few errno values that callers tell apart.

use std::io;

/// ESRCH: a tracee that is not stopped any more, because SIGKILL took it (ptrace(2), "Death under ptrace").
pub fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

pub fn is_no_child(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECHILD)
}

pub fn is_not_permitted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

/// The short name, such as `EPERM`, and the system's words for it.
pub fn describe(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => {
            let errno = nix::errno::Errno::from_raw(number);
            format!("{errno:?} {}", errno.desc().to_lowercase())
        }
        None => error.to_string(),
    }
}
