//! A traced program, driven through the lowest layer only.

use llmdbg::base::addr::{FileOffset, VirtAddr};
use llmdbg::base::id::{Pid, Tid};
use llmdbg::base::memory::ReadMemory;
use llmdbg::base::signal::Signal;
use llmdbg::os::proc;
use llmdbg::os::ptrace::{self, OnTracerExit};
use llmdbg::os::spawn::{self, Image as Program};
use llmdbg::os::vm::Memory;
use llmdbg::os::wait::{self, Event, Status};
use llmdbg::symbols::image::Image;
use llmdbg::symbols::location;
use llmdbg::symbols::modules::{MappedPart, Modules, load_bias};
use llmdbg::symbols::resolve::{Purpose, resolve};
use llmdbg::unwind::frame::Registers;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

/// Words of the kernel's register set, by DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8…r15 rip.
const WORDS: [usize; 17] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16];
const RIP: usize = 16;

pub struct Debuggee {
    tid: Tid,
    memory: Memory,
    pub modules: Modules,
    words: [u64; ptrace::REGISTER_WORDS],
    pending: Option<Signal>,
}

pub enum Stop {
    Stepped,
    /// It is delivered by the next step.
    Signal,
    Exited(i32),
}

impl ReadMemory for Debuggee {
    fn read_partial(&self, addr: VirtAddr, into: &mut [u8]) -> usize {
        self.memory.read_partial(addr, into)
    }
}

impl Debuggee {
    pub fn start(program: &Path) -> Self {
        let path = CString::new(program.as_os_str().as_bytes()).unwrap();
        let null = || {
            File::options()
                .read(true)
                .write(true)
                .open("/dev/null")
                .unwrap()
                .into()
        };
        let image = Program {
            argv: vec![path.clone()],
            path,
            envp: Vec::new(),
            cwd: None,
            stdin: null(),
            stdout: null(),
            stderr: null(),
            tty: false,
            aslr: true,
            limits: Vec::new(),
            filter: Vec::new(),
        };
        let mut child = spawn::fork(&image).unwrap();
        ptrace::seize(child.tid, OnTracerExit::Kill).unwrap();
        child.release().unwrap();
        let tid = child.tid;
        assert_eq!(next_status(tid), Status::Event(Event::Exec));
        Self {
            tid,
            memory: Memory::open(Pid::new(tid.raw())).unwrap(),
            modules: Modules::new(),
            words: [0; ptrace::REGISTER_WORDS],
            pending: None,
        }
    }

    /// Runs to the very entry of a function of the program, then takes note of all modules.
    pub fn run_to(&mut self, function: &str) {
        self.load_modules();
        let location = location::parse(&format!("*{function}")).unwrap();
        let places = resolve(&self.modules, &location, Purpose::Breakpoint).unwrap();
        let addr = places[0].addr;
        let original = self.read_u8(addr).unwrap();
        self.memory.write(addr, &[0xcc]).unwrap();
        ptrace::cont(self.tid, None).unwrap();
        assert_eq!(next_status(self.tid), Status::Signal(Signal::TRAP));
        self.memory.write(addr, &[original]).unwrap();
        ptrace::registers(self.tid, &mut self.words).unwrap();
        self.words[RIP] = addr.raw();
        ptrace::set_registers(self.tid, &self.words).unwrap();
        self.load_modules();
    }

    fn load_modules(&mut self) {
        self.modules.clear();
        let mut parts: BTreeMap<String, Vec<MappedPart>> = BTreeMap::new();
        let mut order = Vec::new();
        for mapping in proc::Facts::open(Pid::new(self.tid.raw()))
            .unwrap()
            .maps()
            .unwrap()
        {
            let path = mapping.path.text();
            if path != "[vdso]" && !path.starts_with('/') {
                continue;
            }
            if !order.contains(&path) {
                order.push(path.clone());
            }
            parts.entry(path).or_default().push(MappedPart {
                range: mapping.range,
                offset: FileOffset::new(mapping.offset),
            });
        }
        for path in order {
            let parts = &parts[&path];
            let image = if path == "[vdso]" {
                let size = usize::try_from(parts[0].range.len()).unwrap();
                let mut bytes = vec![0; size];
                self.memory.read_partial(parts[0].range.start, &mut bytes);
                Image::from_bytes(&path, bytes)
            } else {
                Image::open(Path::new(&path))
            };
            let image = image.unwrap();
            let bias = load_bias(&image, parts).unwrap();
            self.modules.add(path.into(), bias, Rc::new(image));
        }
    }

    pub fn step(&mut self) -> Stop {
        ptrace::single_step(self.tid, self.pending.take()).unwrap();
        match next_status(self.tid) {
            Status::Signal(Signal::TRAP) => {
                ptrace::registers(self.tid, &mut self.words).unwrap();
                Stop::Stepped
            }
            Status::Signal(signal) => {
                ptrace::registers(self.tid, &mut self.words).unwrap();
                self.pending = Some(signal);
                Stop::Signal
            }
            Status::Exited(status) => Stop::Exited(status),
            other => panic!("{other:?}"),
        }
    }

    pub fn kill(self) {
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(self.tid.raw()),
            nix::sys::signal::Signal::SIGKILL,
        )
        .unwrap();
        while !matches!(next_status(self.tid), Status::Killed(_)) {}
    }

    pub fn registers(&self) -> Registers {
        WORDS.map(|word| self.words[word])
    }

    pub fn word(&self, addr: u64) -> u64 {
        self.read_u64(VirtAddr::new(addr)).unwrap_or(0)
    }

    /// `call rel32` or `call r/m64`, after any prefixes.
    pub fn is_call(&self, pc: u64) -> bool {
        let mut code = [0; 8];
        self.memory.read_partial(VirtAddr::new(pc), &mut code);
        let is_prefix = |byte: &u8| matches!(byte, 0xf2 | 0x3e | 0x2e | 0x66 | 0x40..=0x4f);
        let rest = code.iter().position(|byte| !is_prefix(byte)).unwrap_or(0);
        code[rest] == 0xe8 || (code[rest] == 0xff && code[rest + 1] >> 3 & 7 == 2)
    }
}

fn next_status(tid: Tid) -> Status {
    loop {
        match wait::try_any().unwrap() {
            Some((who, status)) => {
                assert_eq!(who, tid);
                return status;
            }
            None => wait::yield_now(),
        }
    }
}
