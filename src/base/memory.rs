//! Readable memory, so that the unwinder and the values never see a process.

use super::addr::VirtAddr;

/// A read that could not be done in full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("read {wanted} bytes at {addr}: not mapped at {first_bad}")]
pub struct ReadError {
    pub addr: VirtAddr,
    pub wanted: usize,
    /// The first address that could not be read.
    pub first_bad: VirtAddr,
}

/// Something whose bytes can be read by run-time address.
pub trait ReadMemory {
    /// Reads as many bytes as can be had from `addr` on; 0 when the first one cannot.
    fn read_partial(&self, addr: VirtAddr, into: &mut [u8]) -> usize;

    fn read_exact(&self, addr: VirtAddr, into: &mut [u8]) -> Result<(), ReadError> {
        let got = self.read_partial(addr, into);
        if got == into.len() {
            return Ok(());
        }
        Err(ReadError {
            addr,
            wanted: into.len(),
            first_bad: VirtAddr::new(addr.raw().wrapping_add(got as u64)),
        })
    }

    fn read_u8(&self, addr: VirtAddr) -> Result<u8, ReadError> {
        let mut bytes = [0; 1];
        self.read_exact(addr, &mut bytes)?;
        Ok(bytes[0])
    }

    fn read_u16(&self, addr: VirtAddr) -> Result<u16, ReadError> {
        let mut bytes = [0; 2];
        self.read_exact(addr, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }

    fn read_u32(&self, addr: VirtAddr) -> Result<u32, ReadError> {
        let mut bytes = [0; 4];
        self.read_exact(addr, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn read_u64(&self, addr: VirtAddr) -> Result<u64, ReadError> {
        let mut bytes = [0; 8];
        self.read_exact(addr, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The bytes up to a NUL, at most `max`; the flag says whether the NUL was found.
    /// Memory that ends before the NUL is an error only when its first byte cannot be read.
    fn read_c_string(&self, addr: VirtAddr, max: usize) -> Result<(Vec<u8>, bool), ReadError> {
        const CHUNK: usize = 256;
        let mut text = Vec::new();
        let mut at = addr;
        while text.len() < max {
            let mut chunk = [0; CHUNK];
            let wanted = CHUNK.min(max - text.len());
            let got = self.read_partial(at, &mut chunk[..wanted]);
            if got == 0 && text.is_empty() {
                return Err(ReadError {
                    addr,
                    wanted: 1,
                    first_bad: addr,
                });
            }
            if let Some(end) = chunk[..got].iter().position(|&byte| byte == 0) {
                text.extend_from_slice(&chunk[..end]);
                return Ok((text, true));
            }
            text.extend_from_slice(&chunk[..got]);
            match at.checked_add(got as u64) {
                Some(next) if got == wanted => at = next,
                _ => break,
            }
        }
        Ok((text, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few bytes at a fixed address, unmapped around them.
    struct Island {
        start: u64,
        bytes: &'static [u8],
    }

    impl ReadMemory for Island {
        fn read_partial(&self, addr: VirtAddr, into: &mut [u8]) -> usize {
            let Some(skip) = addr.raw().checked_sub(self.start) else {
                return 0;
            };
            let rest = usize::try_from(skip)
                .ok()
                .and_then(|skip| self.bytes.get(skip..))
                .unwrap_or(&[]);
            let got = rest.len().min(into.len());
            into[..got].copy_from_slice(&rest[..got]);
            got
        }
    }

    const ISLAND: Island = Island {
        start: 0x1000,
        bytes: b"hello\0rest",
    };

    #[test]
    fn a_short_read_names_the_first_bad_address() {
        assert_eq!(
            ISLAND.read_u64(VirtAddr::new(0x1004)),
            Err(ReadError {
                addr: VirtAddr::new(0x1004),
                wanted: 8,
                first_bad: VirtAddr::new(0x100a),
            })
        );
    }

    #[test]
    fn a_c_string_ends_at_nul_at_the_limit_or_at_the_last_byte() {
        let at = |addr, max| ISLAND.read_c_string(VirtAddr::new(addr), max);
        assert_eq!(at(0x1000, 100), Ok((b"hello".to_vec(), true)));
        assert_eq!(at(0x1000, 3), Ok((b"hel".to_vec(), false)));
        assert_eq!(at(0x1006, 100), Ok((b"rest".to_vec(), false)));
        assert!(at(0x0fff, 100).is_err());
    }
}
