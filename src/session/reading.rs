//! Reads and writes of the stopped process. What is read at a stop is remembered once.

use super::error::{Error, Result};
use super::info::Instruction;
use super::session::Session;
use super::snapshot::Snapshot;
use crate::arch::disasm;
use crate::arch::registers::{RegId, Registers};
use crate::arch::xstate::{Extended, Xstate};
use crate::base::addr::VirtAddr;
use crate::base::memory::{ReadError, ReadMemory};
use crate::os::proc;
use crate::tracee;
use std::rc::Rc;

/// Reads beyond this size are not remembered.
const REMEMBERED: usize = 4096;

impl Session {
    /// What has been read at the present stop.
    pub fn present(&self) -> &Snapshot {
        &self.present
    }

    /// What was read at the previous stop; None before the second one.
    pub fn previous(&self) -> Option<Rc<Snapshot>> {
        self.previous.clone()
    }

    /// The selected thread's registers: one system call at the first use after a stop, then remembered.
    pub fn registers(&mut self) -> Result<&Registers> {
        let tid = self.selected()?;
        if self.present.registers.is_none() {
            let registers = self.stopped()?.registers(tid)?.clone();
            self.present_mut().registers = Some(registers);
        }
        self.present.registers.as_ref().ok_or(Error::NoProcess)
    }

    pub fn set_register(&mut self, register: RegId, value: u64) -> Result<()> {
        let tid = self.selected()?;
        let mut registers = self.registers()?.clone();
        let pc = registers.pc();
        let before = registers.get(register);
        if !registers.set(register, value) {
            return Err(Error::Register { register, value });
        }
        if registers.pc() != pc {
            // Else the kernel would move the new pc back to start an interrupted system call again.
            registers.set_orig_rax(u64::MAX);
        }
        let refused = |why| Error::RegisterRefused {
            register,
            value,
            why,
        };
        if register.is_code_segment() && value != before {
            return Err(refused("the processor takes no other one in 64-bit mode"));
        }
        match self.stopped()?.set_registers(tid, &registers) {
            Err(tracee::error::Error::Ptrace { .. }) => {
                return Err(refused("the kernel refuses it"));
            }
            result => result?,
        }
        self.present_mut().registers = None;
        Ok(())
    }

    /// The selected thread's vector and x87 registers: read at the first use after a stop.
    pub fn xstate(&mut self) -> Result<Rc<Xstate>> {
        let tid = self.selected()?;
        if let Some(known) = &self.present.xstate {
            return Ok(Rc::clone(known));
        }
        let state = Rc::new(self.stopped()?.xstate(tid)?);
        self.present_mut().xstate = Some(Rc::clone(&state));
        Ok(state)
    }

    pub fn set_extended(&mut self, register: Extended, value: &[u8]) -> Result<()> {
        let tid = self.selected()?;
        let mut state = Xstate::clone(&*self.xstate()?);
        if !state.set(register, value) {
            return Err(Error::BadArgument(format!(
                "the register has {} bytes, or this processor does not have it",
                register.width()
            )));
        }
        self.stopped()?.set_xstate(tid, &state)?;
        // The kernel has the last word: read it anew.
        self.present_mut().xstate = None;
        Ok(())
    }

    pub fn read_memory(&mut self, addr: VirtAddr, into: &mut [u8]) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        if let Some(known) = self.present.memory(addr, into.len()) {
            into.copy_from_slice(known);
            return Ok(());
        }
        let read = self.stopped()?.read_exact(addr, into);
        read.map_err(|error| self.unreadable(error))?;
        if into.len() <= REMEMBERED {
            self.present_mut().remember(addr, into);
        }
        Ok(())
    }

    /// The bytes up to a NUL and whether it was found within `max`.
    pub fn read_c_string(&mut self, addr: VirtAddr, max: usize) -> Result<(Vec<u8>, bool)> {
        let read = self.stopped()?.read_c_string(addr, max);
        let (text, ended) = read.map_err(|error| self.unreadable(error))?;
        if text.len() < REMEMBERED {
            let mut whole = text.clone();
            whole.extend(ended.then_some(0));
            self.present_mut().remember(addr, &whole);
        }
        Ok((text, ended))
    }

    pub fn write_memory(&mut self, addr: VirtAddr, bytes: &[u8]) -> Result<()> {
        self.stopped()?.write_memory(addr, bytes)?;
        self.forget_memory();
        Ok(())
    }

    /// First address within `len` bytes from `addr` where `pattern` stands.
    pub fn find_memory(
        &mut self,
        addr: VirtAddr,
        len: u64,
        pattern: &[u8],
    ) -> Result<Option<VirtAddr>> {
        const CHUNK: usize = 1 << 20;
        let stopped = self.stopped()?;
        let Some(overlap) = pattern.len().checked_sub(1) else {
            return Ok(Some(addr));
        };
        let end = addr.raw().saturating_add(len);
        let mut at = addr;
        let mut buffer = vec![0; CHUNK + overlap];
        loop {
            let left = usize::try_from(end - at.raw()).unwrap_or(usize::MAX);
            let wanted = left.min(buffer.len());
            if wanted < pattern.len() {
                return Ok(None);
            }
            let got = stopped.read_partial(at, &mut buffer[..wanted]);
            if let Some(index) = find(&buffer[..got], pattern) {
                return Ok(at.checked_add(index as u64));
            }
            if got < wanted {
                return Err(Error::Unreadable(ReadError {
                    addr: at,
                    wanted,
                    first_bad: VirtAddr::new(at.raw() + got as u64),
                }));
            }
            match at.checked_add((wanted - overlap) as u64) {
                Some(next) if wanted == buffer.len() => at = next,
                _ => return Ok(None),
            }
        }
    }

    pub fn instructions(&mut self, addr: VirtAddr, count: usize) -> Result<Vec<Instruction>> {
        let mut instructions = Vec::new();
        let mut at = addr;
        while instructions.len() < count {
            match self.instruction(at) {
                Ok(instruction) => {
                    let next = at.checked_add(instruction.bytes.len() as u64);
                    instructions.push(instruction);
                    match next {
                        Some(next) => at = next,
                        None => break,
                    }
                }
                // What comes after the last readable instruction is an error only when it was asked for.
                Err(_) if !instructions.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(instructions)
    }

    fn instruction(&mut self, addr: VirtAddr) -> Result<Instruction> {
        let mut bytes = [0; disasm::MAX_LENGTH];
        let got = match self.present.memory(addr, bytes.len()) {
            Some(known) => {
                bytes.copy_from_slice(known);
                bytes.len()
            }
            None => self.stopped()?.read_partial(addr, &mut bytes),
        };
        if got == 0 {
            return Err(self.unreadable(ReadError {
                addr,
                wanted: 1,
                first_bad: addr,
            }));
        }
        let mut names = |target| self.name_of(target);
        let decoded = disasm::decode(&bytes[..got], addr, &mut names).ok_or_else(|| {
            let shown: Vec<String> = bytes[..got].iter().map(|b| format!("{b:02x}")).collect();
            Error::NoInstruction {
                addr,
                bytes: shown.concat(),
            }
        })?;
        let bytes = bytes[..decoded.len].to_vec();
        self.present_mut().remember(addr, &bytes);
        Ok(Instruction {
            addr,
            bytes,
            text: decoded.text,
            operands: decoded.operands,
        })
    }

    /// Memory that is not there, unless the whole process is not there any more: SIGKILL can take it while
    /// it is stopped, and its status waits for the next run.
    fn unreadable(&self, error: ReadError) -> Error {
        let pid = self.pid();
        let identity = pid.and_then(proc::identity);
        match (pid, identity) {
            (Some(pid), identity) if identity.is_none_or(|process| process.is_zombie) => {
                Error::Tracee(tracee::error::Error::TraceeGone {
                    tid: pid.leader(),
                    doing: "reading the memory of",
                })
            }
            _ => Error::Unreadable(error),
        }
    }

    fn name_of(&mut self, addr: VirtAddr) -> Option<String> {
        let (name, offset) = self.symbol_at(addr).ok()??;
        Some(match offset {
            0 => name,
            offset => format!("{name}+{offset:#x}"),
        })
    }

    /// The process is about to move: what was read becomes the past, if anybody was told of this stop.
    pub(super) fn turn_page(&mut self) {
        let past = if std::mem::take(&mut self.told) {
            self.previous.replace(Rc::clone(&self.present))
        } else {
            None
        };
        // Whichever page nobody holds any more serves again.
        if Rc::get_mut(&mut self.present).is_none() {
            self.present = past
                .filter(|past| Rc::strong_count(past) == 1)
                .unwrap_or_default();
        }
        self.present_mut().empty();
        self.present_mut().seq = Some(self.seq.next());
    }

    pub(super) fn forget_memory(&mut self) {
        self.present_mut().forget_memory();
    }

    pub(super) fn present_mut(&mut self) -> &mut Snapshot {
        Rc::make_mut(&mut self.present)
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(haystack, needle)
}
