//! What this thread may do and may still become, and who it is: prctl(2), access(2), geteuid(2).

use std::io;
use std::path::Path;

/// From here on no exec gains privileges (setuid, file capabilities). Cannot be undone; inherited.
pub fn forbid_new_privileges() -> io::Result<()> {
    nix::sys::prctl::set_no_new_privs().map_err(io::Error::from)
}

pub fn new_privileges_forbidden() -> io::Result<bool> {
    nix::sys::prctl::get_no_new_privs().map_err(io::Error::from)
}

pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The number of threads of this process: privileges belong to a thread, so they are given up while there is one.
pub fn thread_count() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

/// Whether exec would be allowed (access(2)): also not on a file system that is mounted noexec.
pub fn may_execute(path: &Path) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}
