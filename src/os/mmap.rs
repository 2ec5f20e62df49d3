//! Read-only file maps that survive the loss of their file.
//!
//! The files are not ours: whoever owns one may truncate it at any moment, and mmap(2) then answers the next
//! read of a lost page with SIGBUS. A process-wide handler puts zero pages there and marks the map `changed`,
//! so a reader meets wrong bytes, which every parser must bear anyway, and not the end of the session.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Maps that can exist at one time. A fixed table, because the signal handler may neither lock nor allocate.
const MAX_MAPS: usize = 2048;

const PAGE: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{attempt}: {source}")]
    Io {
        attempt: &'static str,
        source: io::Error,
    },
    #[error("it is {what}, not a regular file")]
    NotRegular { what: &'static str },
    #[error("it has {size} bytes, the limit is {limit}")]
    TooLarge { size: u64, limit: u64 },
    #[error("{MAX_MAPS} files are mapped already")]
    TooMany,
}

/// Which file it is, whatever its path says by now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// Seconds and nanoseconds of the last modification.
    pub modified: (i64, i64),
}

/// A whole regular file, mapped private and read-only.
#[derive(Debug)]
pub struct FileMap {
    start: NonNull<u8>,
    len: usize,
    /// None for an empty file, which has no pages to lose.
    slot: Option<&'static Slot>,
    identity: FileIdentity,
}

// SAFETY: the map is read-only memory that lives until drop; no method changes it.
unsafe impl Send for FileMap {}
// SAFETY: as above; the slot is made of atomics.
unsafe impl Sync for FileMap {}

impl FileMap {
    /// Opens and maps `path`. Never blocks on a FIFO, never becomes a controlling terminal's owner.
    pub fn open(path: &Path, limit: u64) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC)
            .open(path)
            .map_err(|source| Error::Io {
                attempt: "open",
                source,
            })?;
        Self::from_file(&file, limit)
    }

    /// Maps a file that is open already, such as /proc/PID/exe. The descriptor may be closed afterwards.
    pub fn from_file(file: &File, limit: u64) -> Result<Self, Error> {
        let identity = identify(file)?;
        let size = identity.size;
        let len = usize::try_from(size)
            .ok()
            .filter(|_| size <= limit)
            .ok_or(Error::TooLarge { size, limit })?;
        if len == 0 {
            return Ok(Self {
                start: NonNull::dangling(),
                len,
                slot: None,
                identity,
            });
        }
        install_handler()?;
        let slot = Slot::claim().ok_or(Error::TooMany)?;
        // SAFETY: a new private mapping at an address of the kernel's choice; nothing of ours is replaced.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                0,
            )
        };
        let Some(start) = NonNull::new(start.cast::<u8>()).filter(|_| start != libc::MAP_FAILED)
        else {
            slot.release();
            return Err(Error::Io {
                attempt: "mmap",
                source: io::Error::last_os_error(),
            });
        };
        slot.publish(start.as_ptr().addr(), len);
        Ok(Self {
            start,
            len,
            slot: Some(slot),
            identity,
        })
    }

    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Whether pages were lost since the file was mapped: what was read from it may be wrong.
    pub fn is_changed(&self) -> bool {
        self.slot
            .is_some_and(|slot| slot.changed.load(Ordering::Relaxed))
    }
}

impl Deref for FileMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `len` are a live mapping, or dangling and 0. Other processes may write to the
        // file meanwhile; the bytes are only ever read as plain integers, and every parser bears any value.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            // SAFETY: exactly the range that mmap gave; no slice of it outlives `self`.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
            slot.release();
        }
    }
}

fn identify(file: &File) -> Result<FileIdentity, Error> {
    let facts = file.metadata().map_err(|source| Error::Io {
        attempt: "fstat",
        source,
    })?;
    let kind = facts.file_type();
    let what = match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a directory"),
        () if kind.is_fifo() => Some("a FIFO"),
        () if kind.is_socket() => Some("a socket"),
        () if kind.is_block_device() => Some("a block device"),
        () => Some("a character device"),
    };
    match what {
        Some(what) => Err(Error::NotRegular { what }),
        None => Ok(FileIdentity {
            device: facts.dev(),
            inode: facts.ino(),
            size: facts.size(),
            modified: (facts.mtime(), facts.mtime_nsec()),
        }),
    }
}

/// What the handler knows of one map.
#[derive(Debug)]
struct Slot {
    /// FREE, CLAIMED, or the address of the first byte.
    start: AtomicUsize,
    end: AtomicUsize,
    changed: AtomicBool,
}

const FREE: usize = 0;
const CLAIMED: usize = 1;

static TABLE: [Slot; MAX_MAPS] = [const {
    Slot {
        start: AtomicUsize::new(FREE),
        end: AtomicUsize::new(0),
        changed: AtomicBool::new(false),
    }
}; MAX_MAPS];

impl Slot {
    fn claim() -> Option<&'static Self> {
        TABLE.iter().find(|slot| {
            slot.start
                .compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        })
    }

    fn publish(&self, start: usize, len: usize) {
        self.changed.store(false, Ordering::Relaxed);
        self.end.store(start.saturating_add(len), Ordering::Relaxed);
        self.start.store(start, Ordering::Release);
    }

    fn release(&self) {
        self.start.store(FREE, Ordering::Release);
    }

    /// Called by the handler. Replaces the pages from the lost one to the end of the map: truncation takes
    /// the tail, and one mapping for all of it keeps the number of mappings bounded.
    fn mend(&self, lost: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        let end = self.end.load(Ordering::Relaxed);
        if start <= CLAIMED || lost < start || end <= lost {
            return false;
        }
        let page = lost & !(PAGE - 1);
        // SAFETY: [page, end) lies within a mapping that this module owns; a raw system call.
        let mended = unsafe {
            libc::mmap(
                std::ptr::with_exposed_provenance_mut::<c_void>(page),
                end - page,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        self.changed.store(true, Ordering::Relaxed);
        mended != libc::MAP_FAILED
    }
}

fn install_handler() -> Result<(), Error> {
    static INSTALL: Once = Once::new();
    static FAILED: AtomicBool = AtomicBool::new(false);
    INSTALL.call_once(|| {
        // SAFETY: all-zero is a valid sigaction: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void) = on_sigbus;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        // SAFETY: `action` is complete and the handler is async-signal-safe.
        let answer =
            unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
        FAILED.store(answer != 0, Ordering::Relaxed);
    });
    if FAILED.load(Ordering::Relaxed) {
        return Err(Error::Io {
            attempt: "sigaction SIGBUS",
            source: io::Error::last_os_error(),
        });
    }
    Ok(())
}

extern "C" fn on_sigbus(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: glibc's errno is a valid thread-local; the interrupted code must find it as it left it.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo; SIGBUS from a fault (si_code > 0) has si_addr.
    let lost = unsafe { ((*info).si_code > 0).then(|| (*info).si_addr().addr()) };
    let mended = lost.is_some_and(|lost| TABLE.iter().any(|slot| slot.mend(lost)));
    if !mended {
        // The default action, as if nobody had been here: the signal is blocked until this handler returns.
        // SAFETY: both calls are async-signal-safe (signal-safety(7)).
        unsafe {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
            libc::raise(libc::SIGBUS);
        }
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const LIMIT: u64 = 1 << 20;

    fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(bytes).expect("write");
        file
    }

    #[test]
    fn a_truncated_map_reads_zeros_and_says_so() {
        let file = file_of(&vec![7; 5 * PAGE]);
        let map = FileMap::open(file.path(), LIMIT).expect("map");
        let untouched = FileMap::open(file.path(), LIMIT).expect("map");
        assert!(map.iter().all(|&byte| byte == 7));
        file.as_file().set_len(10).expect("truncate");
        assert_eq!(map[4 * PAGE], 0);
        assert_eq!(map[2 * PAGE], 0);
        assert!(map[3 * PAGE..].iter().all(|&byte| byte == 0));
        assert!(map.is_changed());
        assert!(!untouched.is_changed());
    }

    #[test]
    fn slots_are_given_back() {
        let file = file_of(b"x");
        for _ in 0..2 * MAX_MAPS {
            let map = FileMap::open(file.path(), LIMIT).expect("map");
            assert_eq!(&*map, b"x");
        }
    }

    #[track_caller]
    fn check_refused(path: &str, message: &str) {
        let error = FileMap::open(Path::new(path), LIMIT).expect_err("refused");
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn only_regular_files_within_the_limit() {
        check_refused("/", "it is a directory, not a regular file");
        check_refused("/dev/zero", "it is a character device, not a regular file");
        check_refused(
            "/nonexistent/x",
            "open: No such file or directory (os error 2)",
        );
        let sparse = file_of(b"");
        sparse.as_file().set_len(LIMIT + 1).expect("grow");
        let error = FileMap::open(sparse.path(), LIMIT).expect_err("refused");
        assert!(matches!(error, Error::TooLarge { size, .. } if size == LIMIT + 1));
        assert!(
            FileMap::open(file_of(b"").path(), LIMIT)
                .expect("empty")
                .is_empty()
        );
    }

    #[test]
    fn a_fifo_does_not_block() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("fifo");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("mkfifo");
        let error = FileMap::open(&path, LIMIT).expect_err("refused");
        assert_eq!(error.to_string(), "it is a FIFO, not a regular file");
    }

    #[test]
    fn a_foreign_sigbus_still_kills() {
        let file = file_of(b"x");
        let _map = FileMap::open(file.path(), LIMIT).expect("map");
        // SAFETY: the child calls async-signal-safe functions only.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: no core file is wanted; then the signal, then an exit that is not reached.
            unsafe {
                libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
                libc::raise(libc::SIGBUS);
                libc::_exit(1);
            }
        }
        let mut status = 0;
        // SAFETY: waits for the child just made.
        let got = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(got, child);
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGBUS);
    }
}
