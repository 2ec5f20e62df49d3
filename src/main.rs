//! The command line to a front end, its outcome to an exit status.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStringExt;
use std::panic;
use std::process::ExitCode;
use std::sync::Arc;

use llmdbg::cli::{self, Action, Command, Frame, Sandbox, Settings, Start};
use llmdbg::front::demo;
use llmdbg::front::inbox::Inbox;
use llmdbg::front::oneshot::{self, Outcome};
use llmdbg::front::reader::{self, Input};
use llmdbg::front::repl::Repl;
use llmdbg::os::terminal::Unedited;
use llmdbg::os::{process, stdio};
use llmdbg::sandbox::apply::{self, Enforcement, Mode};
use llmdbg::sandbox::seccomp;
use llmdbg::script::engine::{Engine, EngineConfig};
use llmdbg::script::limits;
use llmdbg::script::reply::Program;
use llmdbg::session::control::Control;
use llmdbg::session::event::State;

/// Exit statuses that stand for more than "something failed".
mod status {
    pub const FAILED: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const NOT_STARTED: u8 = 3;
    pub const NOT_SANDBOXED: u8 = 4;
    pub const INTERRUPTED: u8 = 130;
    /// Plus the number of the signal that killed the debuggee, as shells count.
    pub const KILLED: i32 = 128;
}

/// Why the process ends before its work is done.
struct Ended {
    status: u8,
    text: String,
}

impl Ended {
    fn new(status: u8, reason: impl std::fmt::Display) -> Self {
        Self {
            status,
            text: format!("llmdbg: {reason}\n"),
        }
    }
}

type Result<T> = std::result::Result<T, Ended>;

fn main() -> ExitCode {
    tell_panics_in_one_line();
    let ended = match script_stack().and_then(obey) {
        Ok(status) => return ExitCode::from(status),
        Err(ended) => ended,
    };
    // When stderr is gone, nobody is left to tell.
    io::stderr()
        .write_all(ended.text.as_bytes())
        .unwrap_or_default();
    ExitCode::from(ended.status)
}

/// Standard output belongs to replies, and a backtrace helps no agent.
fn tell_panics_in_one_line() {
    panic::set_hook(Box::new(|info| {
        let line = info.to_string().replace('\n', ": ");
        writeln!(io::stderr(), "llmdbg: internal fault: {line}").unwrap_or_default();
    }));
}

/// Bytes of stack for scripts. They run on this thread: it is the one that the sandbox closes around.
fn script_stack() -> Result<usize> {
    let failed = |error| Ended::new(status::FAILED, format_args!("look at the stack: {error}"));
    process::allow_stack(limits::THREAD_STACK).map_err(failed)?;
    let left = process::stack_left().map_err(failed)?;
    limits::stack_within(left).ok_or_else(|| {
        Ended::new(
            status::FAILED,
            format_args!(
                "{} KiB of stack are too few; raise the limit: ulimit -s {}",
                left >> 10,
                limits::THREAD_STACK >> 10
            ),
        )
    })
}

fn obey(js_stack: usize) -> Result<u8> {
    match cli::parse() {
        Ok(command) => run(&command, js_stack),
        Err(answer) if answer.is_answer => {
            let told = io::stdout().write_all(answer.text.as_bytes());
            Ok(told.map_or(status::FAILED, |()| 0))
        }
        Err(mistake) => Err(Ended {
            status: status::USAGE,
            text: mistake.text,
        }),
    }
}

fn run(command: &Command, js_stack: usize) -> Result<u8> {
    if let Action::NotYet(what) = &command.action {
        return Err(Ended::new(
            status::USAGE,
            format_args!("not yet: {what} comes in a later version; use the REPL, -e or FILE.js"),
        ));
    }
    let settings = &command.settings;
    start_log(settings)?;
    stdio::ensure_open().map_err(|error| Ended::new(status::FAILED, error))?;
    let programs = programs(&command.action)?;
    let control = Control::new().map(Arc::new);
    let control = control.map_err(|error| Ended::new(status::FAILED, error))?;
    control
        .watch_signals()
        .map_err(|error| Ended::new(status::FAILED, error))?;

    // A process that the operator named may be out of reach once privileges are gone.
    let attaches = matches!(command.start, Start::Attach(_));
    let closed = if attaches {
        None
    } else {
        Some(close_sandbox(settings)?)
    };
    let mut engine = new_engine(&control, settings, js_stack)?;
    if attaches {
        start(&mut engine, &command.start)?;
    }
    let closed = match closed {
        Some(closed) => closed,
        None => close_sandbox(settings)?,
    };
    engine
        .ready(report(&closed))
        .map_err(|error| Ended::new(status::FAILED, error))?;
    if !attaches {
        start(&mut engine, &command.start)?;
    }

    let status = match (&command.action, &programs) {
        (Action::Demo, _) => demonstrate(&mut engine)?,
        (action, Some(programs)) => evaluate(&mut engine, action, programs)?,
        (_, None) => serve(&mut engine, &control, settings)?,
    };
    Ok(finish(engine, settings, status))
}

/// The programs that the command line names; None when they come from stdin.
fn programs(action: &Action) -> Result<Option<Vec<Program>>> {
    match action {
        Action::Eval(texts) => Ok(Some(texts.iter().map(Program::new).collect())),
        Action::File(path) => match oneshot::read_file(path) {
            Ok(program) => Ok(Some(vec![program])),
            Err(error) => Err(Ended::new(error.exit_status(), error)),
        },
        Action::Help(topic) => {
            let argument = topic.as_ref().map(|topic| format!("{topic:?}"));
            let text = format!("help({})", argument.unwrap_or_default());
            Ok(Some(vec![Program::new(text)]))
        }
        Action::Repl | Action::Demo | Action::NotYet(_) => Ok(None),
    }
}

fn start_log(settings: &Settings) -> Result<()> {
    let Some(filter) = &settings.log else {
        return Ok(());
    };
    let mut builder = env_logger::Builder::new();
    builder.parse_filters(filter);
    if let Some(path) = &settings.log_file {
        let file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|error| {
                Ended::new(
                    status::USAGE,
                    format_args!("open {}: {error}", path.display()),
                )
            })?;
        builder.target(env_logger::Target::Pipe(Box::new(file)));
    }
    builder.init();
    Ok(())
}

fn close_sandbox(settings: &Settings) -> Result<Enforcement> {
    let mode = match settings.sandbox {
        Sandbox::Auto => Mode::Auto,
        Sandbox::Require => Mode::Require {
            allow_root: settings.allow_root,
        },
        Sandbox::Off => Mode::Off,
    };
    apply::debugger(mode).map_err(|error| Ended::new(status::NOT_SANDBOXED, error))
}

fn report(closed: &Enforcement) -> Vec<[String; 3]> {
    closed
        .layers
        .iter()
        .map(|layer| {
            let state = if layer.on { "on" } else { "off" };
            [layer.name.into(), state.into(), layer.detail.clone()]
        })
        .collect()
}

fn new_engine(control: &Arc<Control>, settings: &Settings, js_stack: usize) -> Result<Engine> {
    let mut config = EngineConfig::new(Arc::clone(control));
    config.allow_spawn.clone_from(&settings.allow_spawn);
    config.js_stack = js_stack;
    if settings.sandbox != Sandbox::Off {
        config.tracee_filter =
            seccomp::tracee_filter().map_err(|error| Ended::new(status::NOT_SANDBOXED, error))?;
    }
    Engine::new(config).map_err(|error| Ended::new(status::FAILED, error))
}

fn start(engine: &mut Engine, what: &Start) -> Result<()> {
    let started = match what {
        Start::Nothing => Ok(()),
        Start::Attach(pid) => engine.attach_first(*pid),
        Start::Spawn(words) => {
            let mut words = words.iter().cloned();
            let program = words.next().unwrap_or_default();
            let args: Vec<_> = words.map(OsStringExt::into_vec).collect();
            engine.spawn_first(&program.to_string_lossy(), &args)
        }
    };
    started.map_err(|failure| {
        let hint = failure.hint.map(|hint| format!("; {hint}"));
        let hint = hint.unwrap_or_default();
        Ended::new(
            status::NOT_STARTED,
            format_args!("{}{hint}", failure.message),
        )
    })
}

fn evaluate(engine: &mut Engine, action: &Action, programs: &[Program]) -> Result<u8> {
    let mut out = io::stdout();
    let outcome = match (action, programs) {
        (Action::Help(_), [program]) => oneshot::print(engine, program, &mut out),
        _ => oneshot::run(engine, programs, &mut out),
    };
    match outcome {
        Ok(Outcome::AllWell) => Ok(0),
        Ok(Outcome::SomeFailed) => Ok(status::FAILED),
        Ok(Outcome::Interrupted) => Ok(status::INTERRUPTED),
        Err(error) => Err(Ended::new(
            status::FAILED,
            format_args!("write to stdout: {error}"),
        )),
    }
}

fn demonstrate(engine: &mut Engine) -> Result<u8> {
    match demo::run(engine, &mut io::stdout()) {
        Ok(true) => Ok(0),
        Ok(false) => Ok(status::FAILED),
        Err(error) => Err(Ended::new(
            status::FAILED,
            format_args!("show the demonstration: {error}"),
        )),
    }
}

fn serve(engine: &mut Engine, control: &Arc<Control>, settings: &Settings) -> Result<u8> {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let edits = settings.frame == Frame::Auto && !is_dumb;
    let unedited = if edits {
        None
    } else {
        Unedited::new().map_err(|error| Ended::new(status::FAILED, error))?
    };
    let inbox = Arc::new(Inbox::new(Arc::clone(control)));
    let input = Input {
        idle: settings.idle,
        unedited: unedited.is_some(),
    };
    reader::start(input, Arc::clone(&inbox), Arc::clone(control))
        .map_err(|error| Ended::new(error.exit_status(), error))?;
    let repl = Repl {
        engine,
        inbox,
        control: Arc::clone(control),
        out: io::stdout(),
        has_prompt: edits && io::stdin().is_terminal(),
    };
    // That nobody reads the replies any more is an end like that of the input.
    repl.run().unwrap_or_default();
    Ok(0)
}

/// Ends the debuggee; its own status is the process's when that was asked for.
fn finish(engine: Engine, settings: &Settings, status: u8) -> u8 {
    let last = engine.shutdown();
    if !settings.exit_with_target {
        return status;
    }
    match last {
        State::Exited(code) => u8::try_from(code & 0xff).unwrap_or(status::FAILED),
        State::Killed(signal) => {
            u8::try_from(status::KILLED + signal.number()).unwrap_or(status::FAILED)
        }
        State::None | State::Stopped | State::Running | State::Detached => status,
    }
}
