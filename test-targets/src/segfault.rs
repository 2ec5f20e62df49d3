//! Reads through a dangling address in an unsafe block. Dies of SIGSEGV at address 0x40.

struct Device {
    base: *const u32,
}

impl Device {
    #[inline(never)]
    fn status(&self) -> u32 {
        // SAFETY: there is none; the fault is this program's purpose.
        unsafe { self.base.add(16).read_volatile() } // mark: fault
    }
}

fn main() {
    println!("reading the status");
    let device = Device { base: std::ptr::null() };
    println!("status {}", device.status()); // mark: call
}
