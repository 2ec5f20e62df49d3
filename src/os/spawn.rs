//! fork and exec with a handshake: the child waits until its tracer holds it, then becomes the program.
//!
//! Between fork and exec only async-signal-safe calls are made (signal-safety(7)): other threads of this
//! process may hold any lock. Everything that needs memory is built before the fork.
#![allow(unsafe_code)]

use crate::base::id::Tid;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// What to start, and with what around it.
pub struct Image {
    pub path: CString,
    pub argv: Vec<CString>,
    pub envp: Vec<CString>,
    pub cwd: Option<CString>,
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// The three above are the slave side of a terminal that becomes the controlling one.
    pub tty: bool,
    /// Leave the layout of the address space to chance.
    pub aslr: bool,
    /// Soft and hard resource limits (setrlimit(2)).
    pub limits: Vec<(Resource, u64)>,
    /// A seccomp program of (code, jt, jf, k); empty for none.
    pub filter: Vec<(u16, u8, u8, u32)>,
}

/// What setrlimit(2) can bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resource(u32);

const RESOURCES: [(&str, u32); 9] = [
    ("as", libc::RLIMIT_AS),
    ("core", libc::RLIMIT_CORE),
    ("cpu", libc::RLIMIT_CPU),
    ("data", libc::RLIMIT_DATA),
    ("fsize", libc::RLIMIT_FSIZE),
    ("memlock", libc::RLIMIT_MEMLOCK),
    ("nofile", libc::RLIMIT_NOFILE),
    ("nproc", libc::RLIMIT_NPROC),
    ("stack", libc::RLIMIT_STACK),
];

impl Resource {
    pub const CORE: Self = Self(libc::RLIMIT_CORE);

    pub fn by_name(name: &str) -> Option<Self> {
        let found = RESOURCES.iter().find(|(known, _)| *known == name)?;
        Some(Self(found.1))
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        RESOURCES.iter().map(|(name, _)| *name)
    }
}

/// A child before its exec.
pub struct Child {
    pub tid: Tid,
    go: File,
    report: File,
}

/// What the child said on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    pub stage: Stage,
    pub errno: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Randomisation could not be turned off; not fatal.
    Aslr,
    Setup,
    Chdir,
    Limit,
    Filter,
    Exec,
}

const STAGES: [Stage; 6] = [
    Stage::Aslr,
    Stage::Setup,
    Stage::Chdir,
    Stage::Limit,
    Stage::Filter,
    Stage::Exec,
];

impl Child {
    /// Lets the child go on to its exec, now that it is traced.
    pub fn release(&mut self) -> io::Result<()> {
        self.go.write_all(&[1])
    }

    /// What the child reported; call it after the exec or the exit, when the pipe has its end.
    pub fn reports(&mut self) -> Vec<Report> {
        let mut bytes = Vec::new();
        // A broken pipe only means that there is less to tell.
        let _ = self.report.read_to_end(&mut bytes);
        bytes
            .chunks_exact(REPORT)
            .filter_map(|chunk| {
                let (stage, errno) = chunk.split_first()?;
                Some(Report {
                    stage: *STAGES.get(usize::from(*stage))?,
                    errno: i32::from_le_bytes(errno.try_into().ok()?),
                })
            })
            .collect()
    }
}

const REPORT: usize = 5;

/// Forks. The child stands before its exec until `release`; it dies if this thread dies before that.
pub fn fork(image: &Image) -> io::Result<Child> {
    let (go_read, go_write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let (report_read, report_write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let prepared = Prepared::new(image, go_read.as_raw_fd(), report_write.as_raw_fd());
    // SAFETY: the child calls async-signal-safe functions only, and ends in execve or _exit.
    let tid = unsafe { libc::fork() };
    match tid {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: we are the only thread of the new process.
        0 => unsafe { child(&prepared) },
        tid => Ok(Child {
            tid: Tid::new(tid),
            go: File::from(go_write),
            report: File::from(report_read),
        }),
    }
}

/// The image as the kernel wants it: pointers into the strings of `Image`, which outlives the call.
struct Prepared {
    path: *const libc::c_char,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    cwd: *const libc::c_char,
    stdio: [RawFd; 3],
    tty: bool,
    aslr: bool,
    limits: Vec<(u32, libc::rlimit)>,
    filter: Vec<libc::sock_filter>,
    go: RawFd,
    report: RawFd,
    tracer: libc::pid_t,
}

impl Prepared {
    fn new(image: &Image, go: RawFd, report: RawFd) -> Self {
        let pointers = |strings: &[CString]| {
            strings
                .iter()
                .map(|string| string.as_ptr())
                .chain([std::ptr::null()])
                .collect()
        };
        Self {
            path: image.path.as_ptr(),
            argv: pointers(&image.argv),
            envp: pointers(&image.envp),
            cwd: image
                .cwd
                .as_ref()
                .map_or(std::ptr::null(), |cwd| cwd.as_ptr()),
            stdio: [
                image.stdin.as_raw_fd(),
                image.stdout.as_raw_fd(),
                image.stderr.as_raw_fd(),
            ],
            tty: image.tty,
            aslr: image.aslr,
            limits: image
                .limits
                .iter()
                .map(|&(Resource(resource), value)| {
                    let limit = libc::rlimit {
                        rlim_cur: value,
                        rlim_max: value,
                    };
                    (resource, limit)
                })
                .collect(),
            filter: image
                .filter
                .iter()
                .map(|&(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k })
                .collect(),
            go,
            report,
            // SAFETY: takes nothing, cannot fail.
            tracer: unsafe { libc::getpid() },
        }
    }
}

/// SAFETY: to be called in a fresh child of fork only; never returns.
unsafe fn child(image: &Prepared) -> ! {
    // SAFETY: each call below is async-signal-safe and gets pointers that `Prepared` keeps alive.
    unsafe {
        // Until the tracer holds us, its death must be ours (prctl(2)); a parent that died before this
        // line is seen by its changed pid.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != image.tracer {
            libc::_exit(127);
        }
        reset_signals();
        libc::setsid();
        for (target, &fd) in (0..).zip(&image.stdio) {
            check(image, Stage::Setup, libc::dup2(fd, target));
        }
        if image.tty {
            check(image, Stage::Setup, libc::ioctl(0, libc::TIOCSCTTY, 0));
        }
        if !image.cwd.is_null() {
            check(image, Stage::Chdir, libc::chdir(image.cwd));
        }
        for (resource, limit) in &image.limits {
            check(
                image,
                Stage::Limit,
                libc::setrlimit(*resource, std::ptr::from_ref(limit)),
            );
        }
        if !image.aslr && libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) == -1 {
            report(image, Stage::Aslr);
        }
        let mut go = 0u8;
        if libc::read(image.go, std::ptr::from_mut(&mut go).cast(), 1) != 1 {
            libc::_exit(127); // the tracer changed its mind
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, 0);
        install_filter(image);
        libc::execve(image.path, image.argv.as_ptr(), image.envp.as_ptr());
        report(image, Stage::Exec);
        libc::_exit(127)
    }
}

/// An ignored signal stays ignored over exec and a mask is inherited: the debuggee must not get ours.
unsafe fn reset_signals() {
    // SAFETY: plain calls on locals; numbers that cannot be set (SIGKILL, SIGSTOP) only give an error.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

unsafe fn install_filter(image: &Prepared) {
    if image.filter.is_empty() {
        return;
    }
    let program = libc::sock_fprog {
        len: image.filter.len().try_into().unwrap_or(0),
        filter: image.filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program points at `len` instructions that outlive the call (seccomp(2)).
    unsafe {
        check(
            image,
            Stage::Filter,
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        );
        check(
            image,
            Stage::Filter,
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ),
        );
    }
}

unsafe fn check(image: &Prepared, stage: Stage, result: i32) {
    if result == -1 {
        // SAFETY: async-signal-safe; ends the child.
        unsafe {
            report(image, stage);
            libc::_exit(127);
        }
    }
}

unsafe fn report(image: &Prepared, stage: Stage) {
    // SAFETY: errno is this thread's own; the write is from a local.
    unsafe {
        let errno = *libc::__errno_location();
        let [a, b, c, d] = errno.to_le_bytes();
        let message: [u8; REPORT] = [stage as u8, a, b, c, d];
        libc::write(image.report, message.as_ptr().cast(), REPORT);
    }
}
