//! From a `SpawnSpec` to a process: the program is found and looked at before anything is forked.

use super::error::{Error, Result, SpawnFault};
use super::request::{SpawnSpec, StdinSpec};
use super::streams::Streams;
use crate::os::signals::ChildEvents;
use crate::os::spawn::{Image, Resource, Stage};
use crate::os::stdio::{self, End};
use crate::symbols::image::Image as ElfImage;
use crate::symbols::near::nearest;
use crate::tracee::attach::{self, SpawnError, Spawned};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(super) struct Launched {
    pub(super) spawned: Spawned,
    pub(super) streams: Streams,
}

/// A program that was found and looks sound, with everything around it opened.
pub(super) struct Prepared {
    image: Image,
    streams: Streams,
}

/// `allowed` are the folders that programs may come from; empty for all.
pub(super) fn prepare(spec: &SpawnSpec, allowed: &[PathBuf]) -> Result<Prepared> {
    try_prepare(spec, allowed).map_err(|why| failed(spec, why))
}

impl Prepared {
    pub(super) fn launch(
        mut self,
        spec: &SpawnSpec,
        filter: &[(u16, u8, u8, u32)],
        children: &ChildEvents,
    ) -> Result<Launched> {
        self.image.filter = filter.to_vec();
        let spawned = attach::spawn(&self.image, children)
            .map_err(|error| failed(spec, fault(error, spec)))?;
        let mut streams = self.streams;
        if let StdinSpec::Text(text) = &spec.stdin {
            // Queued whole; a debuggee that never reads is no error of the spawn.
            let _ = streams.write(text);
            let _ = streams.close();
        }
        Ok(Launched { spawned, streams })
    }
}

fn failed(spec: &SpawnSpec, why: SpawnFault) -> Error {
    Error::Spawn {
        program: PathBuf::from(&spec.program),
        why,
    }
}

fn try_prepare(spec: &SpawnSpec, allowed: &[PathBuf]) -> std::result::Result<Prepared, SpawnFault> {
    let environment = environment(spec);
    let path = find(spec, &environment)?;
    inspect(&path)?;
    check_allowed(&path, allowed)?;
    if let Some(cwd) = &spec.cwd {
        std::fs::read_dir(cwd).map_err(|error| SpawnFault::Cwd(cwd.clone(), error))?;
    }
    let stdio = Stdio::new(spec)?;
    let argv = std::iter::once(spec.program.as_bytes().to_vec())
        .chain(spec.args.iter().cloned())
        .map(c_string)
        .collect::<std::result::Result<_, _>>()?;
    let envp = environment
        .iter()
        .map(|(name, value)| c_string([name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect::<std::result::Result<_, _>>()?;
    let image = Image {
        path: c_string(path.into_os_string().into_vec())?,
        argv,
        envp,
        cwd: spec
            .cwd
            .as_ref()
            .map(|cwd| c_string(cwd.as_os_str().as_bytes().to_vec()))
            .transpose()?,
        stdin: stdio.stdin,
        stdout: stdio.stdout,
        stderr: stdio.stderr,
        tty: spec.tty,
        aslr: spec.aslr,
        limits: limits(spec),
        filter: Vec::new(),
    };
    Ok(Prepared {
        image,
        streams: stdio.ours,
    })
}

fn fault(error: SpawnError, spec: &SpawnSpec) -> SpawnFault {
    match error {
        SpawnError::PtraceDenied(error) => SpawnFault::PtraceDenied(error),
        SpawnError::Tracee(error) => SpawnFault::Tracee(error),
        SpawnError::Child { stage, errno } => {
            let source = io::Error::from_raw_os_error(errno);
            match stage {
                Stage::Chdir => SpawnFault::Cwd(spec.cwd.clone().unwrap_or_default(), source),
                Stage::Exec => SpawnFault::System {
                    doing: "exec",
                    source,
                },
                Stage::Filter => SpawnFault::System {
                    doing: "seccomp filter",
                    source,
                },
                Stage::Limit => SpawnFault::System {
                    doing: "setting the resource limits",
                    source,
                },
                Stage::Setup | Stage::Aslr => SpawnFault::System {
                    doing: "preparing the process",
                    source,
                },
            }
        }
    }
}

/// Both sides of the three streams.
struct Stdio {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    ours: Streams,
}

impl Stdio {
    fn new(spec: &SpawnSpec) -> std::result::Result<Self, SpawnFault> {
        let system = |source| SpawnFault::System {
            doing: "opening the standard streams",
            source,
        };
        if spec.tty {
            return Self::terminal().map_err(system);
        }
        let (stdin, to_stdin) = match &spec.stdin {
            StdinSpec::Pipe | StdinSpec::Text(_) => {
                let pipe = stdio::input_pipe().map_err(system)?;
                (pipe.theirs, Some(pipe.ours))
            }
            StdinSpec::Null => (stdio::null().map_err(system)?, None),
            StdinSpec::File(path) => (
                stdio::file(path).map_err(|error| SpawnFault::Stdin(path.clone(), error))?,
                None,
            ),
        };
        let stdout = stdio::output_pipe().map_err(system)?;
        let stderr = stdio::output_pipe().map_err(system)?;
        Ok(Self {
            stdin,
            stdout: stdout.theirs,
            stderr: stderr.theirs,
            ours: Streams::new(to_stdin, Some(stdout.ours), Some(stderr.ours), false),
        })
    }

    fn terminal() -> io::Result<Self> {
        let terminal = stdio::terminal()?;
        let input: End = terminal.ours.try_clone()?;
        Ok(Self {
            stdin: terminal.theirs.try_clone()?,
            stdout: terminal.theirs.try_clone()?,
            stderr: terminal.theirs,
            ours: Streams::new(Some(input), Some(terminal.ours), None, true),
        })
    }
}

/// The stop at a crash is worth more than a core dump beside it.
fn limits(spec: &SpawnSpec) -> Vec<(Resource, u64)> {
    let mut limits = vec![(Resource::CORE, 0)];
    limits.extend(&spec.limits);
    limits
}

/// The debugger's own environment, with what the user changes in it.
fn environment(spec: &SpawnSpec) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in &spec.env {
        match value {
            Some(value) => environment.insert(name.into(), value.into()),
            None => environment.remove(OsStr::new(name)),
        };
    }
    environment
}

/// As execvp(3): a name without a slash is looked up in PATH, a path is relative to the debugger.
fn find(
    spec: &SpawnSpec,
    environment: &BTreeMap<OsString, OsString>,
) -> std::result::Result<PathBuf, SpawnFault> {
    let program = Path::new(&spec.program);
    if spec.program.contains('/') {
        return std::path::absolute(program).map_err(SpawnFault::Open);
    }
    const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
    let path = environment
        .get(OsStr::new("PATH"))
        .cloned()
        .unwrap_or_else(|| DEFAULT_PATH.into());
    let mut refused = None;
    for directory in std::env::split_paths(&path) {
        let candidate = directory.join(program);
        match inspect(&candidate) {
            Ok(()) => return std::path::absolute(candidate).map_err(SpawnFault::Open),
            Err(SpawnFault::NotFound { .. } | SpawnFault::Open(_)) => {}
            Err(fault) => refused = refused.or(Some(fault)),
        }
    }
    if program.exists() && !spec.program.is_empty() {
        return Err(SpawnFault::NotInPath {
            near: vec![format!("./{}", spec.program)],
        });
    }
    Err(refused.unwrap_or(SpawnFault::NotInPath { near: Vec::new() }))
}

/// Says before the fork what the exec would only answer with a number.
fn inspect(path: &Path) -> std::result::Result<(), SpawnFault> {
    let facts = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            SpawnFault::NotFound { near: near(path) }
        }
        _ => SpawnFault::Open(error),
    })?;
    if facts.is_dir() {
        return Err(SpawnFault::Directory);
    }
    if !facts.is_file() {
        return Err(SpawnFault::Special);
    }
    if facts.permissions().mode() & 0o111 == 0 {
        return Err(SpawnFault::NoPermission);
    }
    // A program may be executable and yet not readable: exec will tell.
    let Ok(mut file) = File::open(path) else {
        return Ok(());
    };
    let mut head = [0; 256];
    let got = file.read(&mut head).map_err(SpawnFault::Open)?;
    let head = &head[..got];
    if head.is_empty() {
        return Err(SpawnFault::Empty);
    }
    if let Some(line) = head.strip_prefix(b"#!") {
        return check_interpreter(line);
    }
    let is_text = |&byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if head.iter().all(is_text) {
        return Err(SpawnFault::NoInterpreter);
    }
    let image = ElfImage::from_file(path, &file).map_err(SpawnFault::Image)?;
    match image.interpreter() {
        Some(interpreter) if !interpreter.exists() => Err(SpawnFault::MissingInterpreter(
            interpreter.display().to_string(),
        )),
        _ => Ok(()),
    }
}

/// Symbolic links are followed first: what counts is where the program really is.
fn check_allowed(path: &Path, allowed: &[PathBuf]) -> std::result::Result<(), SpawnFault> {
    if allowed.is_empty() {
        return Ok(());
    }
    let real = path.canonicalize().map_err(SpawnFault::Open)?;
    let is_below = |folder: &PathBuf| {
        let folder = folder.canonicalize();
        folder.is_ok_and(|folder| real.starts_with(folder))
    };
    if allowed.iter().any(is_below) {
        return Ok(());
    }
    let names = allowed.iter().map(|folder| folder.display().to_string());
    Err(SpawnFault::NotAllowed(names.collect()))
}

fn check_interpreter(line: &[u8]) -> std::result::Result<(), SpawnFault> {
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or(&[]);
    let interpreter: Vec<u8> = line
        .iter()
        .copied()
        .skip_while(u8::is_ascii_whitespace)
        .take_while(|byte| !byte.is_ascii_whitespace())
        .collect();
    if interpreter.is_empty() {
        return Err(SpawnFault::NoInterpreter);
    }
    let path = PathBuf::from(OsString::from_vec(interpreter));
    if path.exists() {
        Ok(())
    } else {
        Err(SpawnFault::MissingInterpreter(path.display().to_string()))
    }
}

/// Files beside the missing one whose names are close to it.
fn near(path: &Path) -> Vec<String> {
    const LOOKED_AT: usize = 2000;
    let (Some(directory), Some(wanted)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let names: Vec<String> = entries
        .take(LOOKED_AT)
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    nearest(&wanted.to_string_lossy(), names.iter().map(String::as_str))
}

fn c_string(bytes: Vec<u8>) -> std::result::Result<CString, SpawnFault> {
    CString::new(bytes).map_err(|_| SpawnFault::Nul)
}
