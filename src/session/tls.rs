//! Thread-local variables of the selected thread (ELF TLS, variant II: the blocks lie below fs_base).

use super::error::{Error, Result};
use super::session::Session;
use crate::base::addr::VirtAddr;
use crate::base::memory::ReadMemory;
use crate::symbols;
use crate::symbols::modules::Module;

/// Where a thread-local variable is, in the selected thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadLocal {
    pub addr: VirtAddr,
    /// In bytes, 0 when unknown.
    pub size: u64,
    pub name: String,
}

/// The pointer to the thread's vector of blocks, in every libc's thread control block.
const DTV: u64 = 8;
/// glibc's entries: a pointer and what to free.
const DTV_ENTRY: u64 = 16;
/// glibc's mark of a block that no access has created yet.
const UNALLOCATED: u64 = u64::MAX;
/// struct link_map (<link.h>): l_addr, l_name, l_ld, l_next, l_prev.
const L_LD: u64 = 16;
const L_NEXT: u64 = 24;
/// struct r_debug: r_map.
const R_MAP: u64 = 8;
const MAX_LIBRARIES: usize = 10_000;

/// What the modules have to say of a name.
struct Candidate {
    name: String,
    offset: u64,
    size: u64,
    is_program: bool,
    module: String,
    dynamic: Option<VirtAddr>,
    /// Distance of the program's block from fs_base.
    program_block: u64,
}

impl Session {
    pub fn thread_local(&mut self, name: &str) -> Result<ThreadLocal> {
        let candidate = self.find_thread_local(name)?;
        let registers = self.registers()?;
        let thread = crate::arch::registers::RegId::by_name("fs_base")
            .map_or(0, |fs_base| registers.get(fs_base));
        if thread == 0 {
            return Err(Error::BadArgument(format!(
                "{name}: the thread has no thread-local storage yet"
            )));
        }
        let block = if candidate.is_program {
            VirtAddr::new(thread.wrapping_sub(candidate.program_block))
        } else {
            self.library_block(&candidate, VirtAddr::new(thread))?
        };
        Ok(ThreadLocal {
            addr: VirtAddr::new(block.raw().wrapping_add(candidate.offset)),
            size: candidate.size,
            name: candidate.name,
        })
    }

    fn find_thread_local(&mut self, name: &str) -> Result<Candidate> {
        let modules = self.fresh_modules()?;
        let mut found = Vec::new();
        let mut near = Vec::new();
        for (index, module) in modules.iter().enumerate() {
            let symbols = module.image.symbols();
            for symbol in symbols.thread_locals(name) {
                found.push(Candidate {
                    name: symbol.name().into_owned(),
                    offset: symbol.addr.raw(),
                    size: symbol.size,
                    is_program: index == 0,
                    module: module.name(),
                    dynamic: module.image.dynamic().map(|at| module.bias.to_virt(at)),
                    program_block: program_block(module),
                });
            }
            if !found.is_empty() {
                break;
            }
            near.extend(symbols.near(name));
        }
        near.truncate(3);
        match found.len() {
            0 => Err(symbols::error::Error::NoSymbol {
                name: name.to_owned(),
                near,
            }
            .into()),
            1 => found.pop().ok_or(Error::NoProcess),
            _ => Err(symbols::error::Error::Ambiguous {
                name: name.to_owned(),
                candidates: found.into_iter().map(|one| one.name).collect(),
            }
            .into()),
        }
    }

    /// A library's block is where the thread's vector says, by the number that the dynamic linker has given
    /// the library.
    fn library_block(&mut self, candidate: &Candidate, thread: VirtAddr) -> Result<VirtAddr> {
        let unknown = |why: &str| Error::BadArgument(format!("{}: {why}", candidate.name));
        let number = self
            .tls_number(candidate)?
            .ok_or_else(|| unknown("this libc does not tell where its libraries' blocks are"))?;
        let dtv = self.word(thread, DTV)?;
        // The entry before the vector holds its length.
        let length = self.word(VirtAddr::new(dtv.wrapping_sub(DTV_ENTRY)), 0)?;
        let not_yet = || {
            unknown(&format!(
                "not yet allocated in this thread: it has not used {} so far",
                candidate.module
            ))
        };
        if number > length {
            return Err(not_yet());
        }
        let block = self.word(VirtAddr::new(dtv), number.wrapping_mul(DTV_ENTRY))?;
        if block == UNALLOCATED || block == 0 {
            return Err(not_yet());
        }
        Ok(VirtAddr::new(block))
    }

    /// The library's number. Its place in the linker's private structure is told by glibc itself, for
    /// the benefit of debuggers (nptl_db/structs.def).
    fn tls_number(&mut self, candidate: &Candidate) -> Result<Option<u64>> {
        let place = super::request::Where::Text("_thread_db_link_map_l_tls_modid".to_owned());
        let (Ok(described), Some(debug), Some(dynamic)) =
            (self.resolve(&place), self.linker_debug(), candidate.dynamic)
        else {
            return Ok(None);
        };
        // uint32_t: width in bits, number of elements, offset.
        let offset = u64::from(
            self.stopped()?
                .read_u32(VirtAddr::new(described.raw() + 8))?,
        );
        let mut map = self.word(debug, R_MAP)?;
        for _ in 0..MAX_LIBRARIES {
            if map == 0 {
                break;
            }
            let at = VirtAddr::new(map);
            if self.word(at, L_LD)? == dynamic.raw() {
                return self.word(at, offset).map(Some);
            }
            map = self.word(at, L_NEXT)?;
        }
        Ok(None)
    }

    fn word(&mut self, addr: VirtAddr, offset: u64) -> Result<u64> {
        let at = VirtAddr::new(addr.raw().wrapping_add(offset));
        Ok(self.stopped()?.read_u64(at)?)
    }
}

/// The program's own block ends at fs_base, rounded to its alignment (psABI, variant II).
fn program_block(module: &Module) -> u64 {
    let Some(tls) = module.image.tls() else {
        return 0;
    };
    tls.memory_size
        .checked_next_multiple_of(tls.align)
        .unwrap_or(tls.memory_size)
}
