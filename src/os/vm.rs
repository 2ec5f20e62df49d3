//! The memory of another process, through /proc/PID/mem and process_vm_readv(2).
#![allow(unsafe_code)]

use crate::base::addr::VirtAddr;
use crate::base::id::Pid;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

/// From here on process_vm_readv(2) is faster than reading the file, where it is allowed at all.
const BULK: usize = 4096;

/// An open /proc/PID/mem. It goes on working when the process makes itself undumpable, and ends with
/// an exec: then it must be opened anew.
#[derive(Debug)]
pub struct Memory {
    pid: Pid,
    file: File,
}

impl Memory {
    pub fn open(pid: Pid) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_CLOEXEC)
            .open(format!("/proc/{pid}/mem"))?;
        Ok(Self { pid, file })
    }

    /// Reads until the first page that cannot be read; answers how many bytes came.
    pub fn read_partial(&self, addr: VirtAddr, into: &mut [u8]) -> usize {
        let mut got = 0;
        if into.len() >= BULK {
            got = self.read_bulk(addr, into);
        }
        while got < into.len() {
            let Some(at) = addr.checked_add(got as u64) else {
                break;
            };
            // The offset is a signed number: addresses of the upper half cannot be read at all.
            match self.file.read_at(&mut into[got..], at.raw()) {
                Ok(0) => break,
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        got
    }

    fn read_bulk(&self, addr: VirtAddr, into: &mut [u8]) -> usize {
        let local = libc::iovec {
            iov_base: into.as_mut_ptr().cast(),
            iov_len: into.len(),
        };
        let remote = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(usize::try_from(addr.raw()).unwrap_or(0)),
            iov_len: into.len(),
        };
        // SAFETY: the local vector is the whole of `into`; the remote one is only read by the kernel.
        let count = unsafe {
            libc::process_vm_readv(self.pid.raw(), &raw const local, 1, &raw const remote, 1, 0)
        };
        usize::try_from(count).unwrap_or(0)
    }

    /// Writes everything or says how far it came. Goes through read-only pages (a private copy is made).
    pub fn write(&self, addr: VirtAddr, bytes: &[u8]) -> Result<(), usize> {
        let mut done = 0;
        while done < bytes.len() {
            let at = addr.checked_add(done as u64).ok_or(done)?;
            match self.file.write_at(&bytes[done..], at.raw()) {
                Ok(0) => return Err(done),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(done),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Memory {
        Memory::open(Pid::new(std::process::id().cast_signed())).expect("own memory")
    }

    #[test]
    fn reads_and_writes_this_process() {
        let mut data = vec![7u8; 3 * BULK];
        let addr = VirtAddr::new(data.as_mut_ptr().addr() as u64);
        let mut copy = vec![0; data.len()];
        assert_eq!(own().read_partial(addr, &mut copy), data.len());
        assert_eq!(copy, data);
        assert_eq!(own().write(addr, &[1, 2, 3]), Ok(()));
        assert_eq!(own().read_partial(addr, &mut copy[..3]), 3);
        assert_eq!(copy[..4], [1, 2, 3, 7]);
    }

    #[test]
    fn what_is_not_mapped_reads_as_nothing() {
        let mut byte = [0; 1];
        for addr in [0, 1, 0xffff_ffff_ffff_ffff, 0xffff_8000_0000_0000] {
            assert_eq!(own().read_partial(VirtAddr::new(addr), &mut byte), 0);
            assert_eq!(own().write(VirtAddr::new(addr), &byte), Err(0));
        }
        let mut bulk = vec![0; 2 * BULK];
        assert_eq!(own().read_partial(VirtAddr::new(0), &mut bulk), 0);
    }
}
