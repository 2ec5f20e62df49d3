//! For: the call chain of a stopped thread, from its registers, its memory and the loaded images.
//! May use: base, arch, symbols, gimli in cfi_step.
//! Must never know: whether the memory belongs to a live process, who asks, and how a frame is shown.

pub mod backtrace;
mod cfi_step;
mod fallback;
pub mod frame;
mod prologue;
pub mod walk;
mod window;

#[cfg(test)]
mod test_stack;
