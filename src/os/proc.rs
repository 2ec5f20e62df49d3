//! What /proc says of a process (proc(5)), as plain data.

use crate::base::addr::{AddrRange, VirtAddr};
use crate::base::id::{Pid, Tid};
use crate::base::signal::Signal;
use crate::os::process::own_pid;
use procfs::FromRead;
use procfs::process::{MMPermissions, MMapPath, MemoryMaps, Process};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// One line of /proc/PID/maps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    pub range: AddrRange,
    /// `r-xp`
    pub perms: String,
    pub executable: bool,
    pub offset: u64,
    pub device: (i32, i32),
    pub inode: u64,
    pub path: MappedPath,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MappedPath {
    /// A file; the flag says that it was deleted or replaced since.
    File(PathBuf, bool),
    /// `[heap]`, `[stack]`, `[vdso]` and the like, with their brackets.
    Special(String),
    Anonymous,
}

impl MappedPath {
    pub fn text(&self) -> String {
        match self {
            Self::File(path, false) => path.to_string_lossy().into_owned(),
            Self::File(path, true) => format!("{} (deleted)", path.to_string_lossy()),
            Self::Special(name) => name.clone(),
            Self::Anonymous => String::new(),
        }
    }
}

/// Files of /proc/PID that stay open: what could be read when the process was taken hold of can be read
/// later, whatever this debugger has given up meanwhile (ptrace(2), "Ptrace access mode checking", is
/// done at the open). An exec ends them.
#[derive(Debug)]
pub struct Facts {
    maps: File,
    auxv: HashMap<u64, u64>,
    exe: Option<(PathBuf, File)>,
}

impl Facts {
    pub fn open(pid: Pid) -> io::Result<Self> {
        let exe = format!("/proc/{pid}/exe");
        Ok(Self {
            maps: File::open(format!("/proc/{pid}/maps"))?,
            auxv: Process::new(pid.raw())
                .and_then(|process| process.auxv())
                .unwrap_or_default(),
            exe: std::fs::read_link(&exe)
                .and_then(|path| Ok((path, File::open(exe)?)))
                .ok(),
        })
    }

    /// What is mapped now; nothing once the process is gone.
    pub fn maps(&self) -> io::Result<Vec<Mapping>> {
        let mut file = &self.maps;
        file.seek(SeekFrom::Start(0))?;
        let maps = MemoryMaps::from_read(file).map_err(io::Error::other)?;
        Ok(maps.into_iter().map(mapping).collect())
    }

    /// One value of the auxiliary vector, such as AT_ENTRY.
    pub fn auxv(&self, key: u64) -> Option<u64> {
        self.auxv.get(&key).copied()
    }

    /// The program's file, and its path when it was started; " (deleted)" and all.
    pub fn exe(&self) -> Option<(&Path, &File)> {
        self.exe.as_ref().map(|(path, file)| (path.as_path(), file))
    }
}

fn mapping(map: procfs::process::MemoryMap) -> Mapping {
    Mapping {
        range: AddrRange::new(VirtAddr::new(map.address.0), VirtAddr::new(map.address.1)),
        perms: perms(map.perms),
        executable: map.perms.contains(MMPermissions::EXECUTE),
        offset: map.offset,
        device: map.dev,
        inode: map.inode,
        path: mapped_path(map.pathname),
    }
}

fn perms(perms: MMPermissions) -> String {
    let letter = |bit, letter| if perms.contains(bit) { letter } else { '-' };
    [
        letter(MMPermissions::READ, 'r'),
        letter(MMPermissions::WRITE, 'w'),
        letter(MMPermissions::EXECUTE, 'x'),
        if perms.contains(MMPermissions::SHARED) {
            's'
        } else {
            'p'
        },
    ]
    .into_iter()
    .collect()
}

fn mapped_path(path: MMapPath) -> MappedPath {
    match path {
        MMapPath::Path(path) => {
            let text = path.to_string_lossy();
            match text.strip_suffix(" (deleted)") {
                Some(bare) => MappedPath::File(PathBuf::from(bare), true),
                None => MappedPath::File(path, false),
            }
        }
        MMapPath::Heap => MappedPath::Special("[heap]".to_owned()),
        MMapPath::Stack => MappedPath::Special("[stack]".to_owned()),
        MMapPath::TStack(tid) => MappedPath::Special(format!("[stack:{tid}]")),
        MMapPath::Vdso => MappedPath::Special("[vdso]".to_owned()),
        MMapPath::Vvar => MappedPath::Special("[vvar]".to_owned()),
        MMapPath::Vsyscall => MappedPath::Special("[vsyscall]".to_owned()),
        MMapPath::Rollup => MappedPath::Special("[rollup]".to_owned()),
        MMapPath::Vsys(_) => MappedPath::Special("[vsys]".to_owned()),
        MMapPath::Other(name) => MappedPath::Special(format!("[{name}]")),
        MMapPath::Anonymous => MappedPath::Anonymous,
    }
}

/// Threads of a process, lowest id first.
pub fn tids(pid: Pid) -> Vec<Tid> {
    let Some(tasks) = Process::new(pid.raw())
        .ok()
        .and_then(|process| process.tasks().ok())
    else {
        return Vec::new();
    };
    let mut tids: Vec<Tid> = tasks.flatten().map(|task| Tid::new(task.tid)).collect();
    tids.sort_unstable();
    tids
}

pub fn is_thread_of(pid: Pid, tid: Tid) -> bool {
    std::fs::symlink_metadata(format!("/proc/{pid}/task/{tid}")).is_ok()
}

/// Whether the kernel has put the thread to sleep, or keeps it stopped: it executes nothing.
pub fn is_asleep(pid: Pid, tid: Tid) -> bool {
    Process::new(pid.raw())
        .and_then(|process| process.task_from_tid(tid.raw()))
        .and_then(|task| task.stat())
        .is_ok_and(|stat| matches!(stat.state, 'S' | 'D' | 'T' | 't'))
}

/// Whether the thread has ended, its status perhaps still to come.
pub fn is_dead(pid: Pid, tid: Tid) -> bool {
    !Process::new(pid.raw())
        .and_then(|process| process.task_from_tid(tid.raw()))
        .and_then(|task| task.stat())
        .is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

/// Whether this debugger traces the thread.
pub fn is_traced_by_us(tid: Tid) -> bool {
    identity(Pid::new(tid.raw())).is_some_and(|known| known.tracer == Some(own_pid()))
}

/// Whether a signal to this very thread is queued.
pub fn is_pending(pid: Pid, tid: Tid, signal: Signal) -> bool {
    Process::new(pid.raw())
        .and_then(|process| process.task_from_tid(tid.raw()))
        .and_then(|task| task.status())
        .is_ok_and(|status| status.sigpnd >> (signal.number() - 1) & 1 == 1)
}

/// RLIMIT_STACK of a process, soft; u64::MAX when there is none.
pub fn stack_limit(pid: Pid) -> Option<u64> {
    let limits = Process::new(pid.raw()).ok()?.limits().ok()?;
    Some(match limits.max_stack_size.soft_limit {
        procfs::process::LimitValue::Value(bytes) => bytes,
        procfs::process::LimitValue::Unlimited => u64::MAX,
    })
}

/// Who a process is, as far as a refused attach needs to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    pub process: Pid,
    pub uid: u32,
    pub tracer: Option<Pid>,
    pub is_zombie: bool,
    pub is_kernel_thread: bool,
}

pub fn identity(pid: Pid) -> Option<Identity> {
    let process = Process::new(pid.raw()).ok()?;
    let status = process.status().ok()?;
    Some(Identity {
        process: Pid::new(status.tgid),
        uid: status.ruid,
        tracer: (status.tracerpid != 0).then(|| Pid::new(status.tracerpid)),
        is_zombie: status.state.starts_with(['Z', 'X']),
        // A kernel thread has no memory of its own: no VmSize line.
        is_kernel_thread: status.vmsize.is_none() && !status.state.starts_with(['Z', 'X']),
    })
}

/// Where descriptor `fd` of the process leads, such as `pipe:[1234]`.
pub fn descriptor(pid: Pid, fd: u64) -> Option<String> {
    let target = std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    Some(target.to_string_lossy().into_owned())
}

/// Entry point of the program (getauxval(3)).
pub const AT_ENTRY: u64 = 9;
/// Where the program headers are mapped.
pub const AT_PHDR: u64 = 3;

/// What a sysctl file holds, trimmed.
pub fn sysctl(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_as_expected() {
        let facts = Facts::open(own_pid()).expect("readable");
        for _ in 0..2 {
            let maps = facts.maps().expect("readable");
            assert!(maps.iter().any(|map| map.executable && map.perms == "r-xp"));
        }
        let identity = identity(own_pid()).expect("alive");
        assert_eq!(identity.process, own_pid());
        assert!(!identity.is_zombie && !identity.is_kernel_thread);
        assert!(facts.auxv(AT_ENTRY).is_some());
        assert!(facts.exe().is_some());
        assert!(!tids(own_pid()).is_empty());
        assert!(Facts::open(Pid::new(i32::MAX)).is_err());
    }
}
