//! The ptrace(2) requests in use. All must come from the thread that attached; from any other the
//! kernel answers ESRCH. nix's wrappers are not used where a signal is passed: its enum ends at 31.
#![allow(unsafe_code)]

use crate::base::addr::VirtAddr;
use crate::base::id::Tid;
use crate::base::signal::Signal;
use std::io;

/// Words in the NT_PRSTATUS register set.
pub const REGISTER_WORDS: usize = 27;

/// Options that every tracee gets: a fork is never missed, an exec is told from a SIGTRAP.
const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEVFORKDONE
    | libc::PTRACE_O_TRACEEXEC;

/// What becomes of the tracees when the tracer dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnTracerExit {
    /// SIGKILL: what this debugger started does not outlive it.
    Kill,
    /// They are detached and run on.
    Release,
}

pub fn seize(tid: Tid, on_exit: OnTracerExit) -> io::Result<()> {
    let options = match on_exit {
        OnTracerExit::Kill => OPTIONS | libc::PTRACE_O_EXITKILL,
        OnTracerExit::Release => OPTIONS,
    };
    request(libc::PTRACE_SEIZE, tid, 0, word(options))
}

/// Asks a running tracee to stop; any stop that it enters first answers the request.
pub fn interrupt(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0, 0)
}

pub fn cont(tid: Tid, signal: Option<Signal>) -> io::Result<()> {
    request(libc::PTRACE_CONT, tid, 0, signal_word(signal))
}

pub fn single_step(tid: Tid, signal: Option<Signal>) -> io::Result<()> {
    request(libc::PTRACE_SINGLESTEP, tid, 0, signal_word(signal))
}

/// Leaves a group-stopped tracee stopped, but able to report what ends the stop.
pub fn listen(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, tid, 0, 0)
}

pub fn detach(tid: Tid, signal: Option<Signal>) -> io::Result<()> {
    request(libc::PTRACE_DETACH, tid, 0, signal_word(signal))
}

pub fn registers(tid: Tid, words: &mut [u64; REGISTER_WORDS]) -> io::Result<()> {
    let mut iov = libc::iovec {
        iov_base: words.as_mut_ptr().cast(),
        iov_len: size_of_val(words),
    };
    request(
        libc::PTRACE_GETREGSET,
        tid,
        libc::NT_PRSTATUS as usize,
        std::ptr::from_mut(&mut iov).expose_provenance(),
    )
}

pub fn set_registers(tid: Tid, words: &[u64; REGISTER_WORDS]) -> io::Result<()> {
    let mut iov = libc::iovec {
        iov_base: words.as_ptr().cast_mut().cast(),
        iov_len: size_of_val(words),
    };
    request(
        libc::PTRACE_SETREGSET,
        tid,
        libc::NT_PRSTATUS as usize,
        std::ptr::from_mut(&mut iov).expose_provenance(),
    )
}

/// uapi/linux/elf.h; libc does not have it.
const NT_X86_XSTATE: libc::c_int = 0x202;
/// The most that the kernel may have: XSAVE areas grow with the processor, so far to 11 KiB (AMX).
const XSTATE_MAX: usize = 64 << 10;

/// The registers beyond the general ones: the XSAVE area, or FXSAVE's where there is none.
pub fn xstate(tid: Tid) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; XSTATE_MAX];
    let mut iov = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let mut get = |note: libc::c_int| {
        request(
            libc::PTRACE_GETREGSET,
            tid,
            note_word(note),
            std::ptr::from_mut(&mut iov).expose_provenance(),
        )
    };
    if get(NT_X86_XSTATE).is_err() {
        get(libc::NT_PRFPREG)?;
    }
    bytes.truncate(iov.iov_len);
    Ok(bytes)
}

/// Writes back what `xstate` has given, changed.
pub fn set_xstate(tid: Tid, bytes: &[u8]) -> io::Result<()> {
    /// The length of the FXSAVE area.
    const LEGACY: usize = size_of::<libc::user_fpregs_struct>();
    let mut iov = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let note = if bytes.len() > LEGACY {
        NT_X86_XSTATE
    } else {
        libc::NT_PRFPREG
    };
    request(
        libc::PTRACE_SETREGSET,
        tid,
        note_word(note),
        std::ptr::from_mut(&mut iov).expose_provenance(),
    )
}

fn note_word(note: libc::c_int) -> usize {
    usize::try_from(note).unwrap_or(0)
}

/// Debug register `number`: 0 to 3 addresses, 6 what triggered, 7 what is enabled.
pub fn debug_register(tid: Tid, number: usize) -> io::Result<u64> {
    peek(libc::PTRACE_PEEKUSER, tid, debug_register_offset(number))
}

pub fn set_debug_register(tid: Tid, number: usize, value: u64) -> io::Result<()> {
    let value = usize::try_from(value).unwrap_or(usize::MAX);
    request(
        libc::PTRACE_POKEUSER,
        tid,
        debug_register_offset(number),
        value,
    )
}

fn debug_register_offset(number: usize) -> usize {
    std::mem::offset_of!(libc::user, u_debugreg) + number.min(7) * size_of::<u64>()
}

/// Replaces one byte in the memory of a stopped tracee, if it is the one expected there. Needs no file of
/// /proc: a tracer may do this also to a process whose files it cannot open.
pub fn replace_byte(tid: Tid, addr: VirtAddr, expected: u8, new: u8) -> io::Result<()> {
    let addr = usize::try_from(addr.raw()).unwrap_or(usize::MAX);
    // A whole word is moved, and an aligned one lies in one page.
    let index = addr % size_of::<u64>();
    let mut bytes = peek(libc::PTRACE_PEEKTEXT, tid, addr - index)?.to_ne_bytes();
    if bytes[index] != expected {
        return Ok(());
    }
    bytes[index] = new;
    request(
        libc::PTRACE_POKETEXT,
        tid,
        addr - index,
        usize::from_ne_bytes(bytes),
    )
}

fn peek(request: libc::c_uint, tid: Tid, addr: usize) -> io::Result<u64> {
    let mut value = 0u64;
    // The raw system call stores the word where `data` points, unlike the library's function.
    // SAFETY: a live local of the word's size; a wrong address is an error of the kernel, not a fault.
    let result = unsafe {
        libc::syscall(
            libc::SYS_ptrace,
            request,
            tid.raw(),
            addr,
            std::ptr::from_mut(&mut value),
        )
    };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(value)
}

/// The number that comes with a ptrace event: a new tid, an old one, an exit status.
pub fn event_message(tid: Tid) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    request(
        libc::PTRACE_GETEVENTMSG,
        tid,
        0,
        std::ptr::from_mut(&mut message).expose_provenance(),
    )?;
    Ok(message)
}

/// A siginfo: the parts that mean something for its kind (sigaction(2)), and the whole to give back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SigInfo {
    pub signo: i32,
    pub code: i32,
    /// `si_addr`, the first word of the union: only for faults.
    pub addr: u64,
    /// `si_pid`, the same place: only for signals that a process sent.
    pub pid: i32,
    raw: [u64; SIGINFO_WORDS],
}

const SIGINFO_WORDS: usize = size_of::<libc::siginfo_t>() / size_of::<u64>();

impl SigInfo {
    /// A siginfo of this kind, for tables in tests.
    pub fn of(signo: i32, code: i32) -> Self {
        Self {
            signo,
            code,
            addr: 0,
            pid: 0,
            raw: [0; SIGINFO_WORDS],
        }
    }
}

pub fn siginfo(tid: Tid) -> io::Result<SigInfo> {
    let mut raw = [0u64; SIGINFO_WORDS];
    request(
        libc::PTRACE_GETSIGINFO,
        tid,
        0,
        std::ptr::from_mut(&mut raw).expose_provenance(),
    )?;
    // SAFETY: both have the same size, and every bit pattern is a siginfo_t; the accessors read
    // initialised words of its union.
    let (info, addr, pid) = unsafe {
        let info: libc::siginfo_t = std::mem::transmute(raw);
        (info, info.si_addr().addr() as u64, info.si_pid())
    };
    Ok(SigInfo {
        signo: info.si_signo,
        code: info.si_code,
        addr,
        pid,
        raw,
    })
}

/// Puts a siginfo in the place of the one that the tracee is stopped with.
pub fn set_siginfo(tid: Tid, info: &SigInfo) -> io::Result<()> {
    request(
        libc::PTRACE_SETSIGINFO,
        tid,
        0,
        std::ptr::from_ref(&info.raw).expose_provenance(),
    )
}

fn request(request: libc::c_uint, tid: Tid, addr: usize, data: usize) -> io::Result<()> {
    // SAFETY: every caller passes either plain numbers or the address of a live local of the size that
    // the request reads or writes; a wrong tid is an error of the kernel, not a fault.
    let result = unsafe {
        libc::ptrace(
            request,
            tid.raw(),
            std::ptr::without_provenance_mut::<libc::c_void>(addr),
            std::ptr::with_exposed_provenance_mut::<libc::c_void>(data),
        )
    };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn word(value: i32) -> usize {
    usize::try_from(value).unwrap_or(0)
}

fn signal_word(signal: Option<Signal>) -> usize {
    signal.map_or(0, |signal| word(signal.number()))
}
