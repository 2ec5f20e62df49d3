//! argv and `LLMDBG_*` to plain data. The only file that knows clap.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

/// What the command line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    pub settings: Settings,
    pub start: Start,
    pub action: Action,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Topics and levels of diagnostics, as env_logger reads them.
    pub log: Option<String>,
    pub log_file: Option<PathBuf>,
    pub frame: Frame,
    pub idle: Duration,
    pub sandbox: Sandbox,
    pub allow_root: bool,
    /// Where spawned programs may lie; everywhere when empty.
    pub allow_spawn: Vec<PathBuf>,
    pub exit_with_target: bool,
}

/// What is debugged before the first program runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    Nothing,
    Spawn(Vec<OsString>),
    Attach(i64),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    Repl,
    Eval(Vec<String>),
    File(PathBuf),
    Demo,
    Help(Option<String>),
    /// Part of the interface, but of a later version.
    NotYet(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Frame {
    /// A prompt and line editing when stdin is a terminal that can edit.
    Auto,
    /// As on a pipe: no prompt, no echo, no editing.
    On,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Sandbox {
    /// What this machine offers.
    Auto,
    /// Everything, or exit 4.
    Require,
    /// Nothing; for developers.
    Off,
}

/// A command line that is not carried out: a mistake, or a question that clap answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    pub text: String,
    pub is_answer: bool,
}

const EXAMPLE: &str = "\
Without a file or -e it reads JavaScript from stdin: one line is one program and gets one reply, which
ends with a line =SEQ ok|err STATE [WHERE]. Text over several lines: a line <<END, the text, a line END.

  $ llmdbg -- ./prog
  breakpoint.set('main')
  cont()
  state.registers.rdi
  print(state.disasm(5))

The whole interface: llmdbg help, or help() in a session. Every option has a variable LLMDBG_*.";

#[derive(Parser)]
#[command(
    name = "llmdbg",
    version,
    about = "A debugger for LLM agents: JavaScript in, terse text out",
    after_help = EXAMPLE,
    disable_help_flag = true,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = false,
    subcommand_negates_reqs = true,
    override_usage = "llmdbg [OPTIONS] [FILE.js] [-- PROGRAM [ARG]...]\n       llmdbg [OPTIONS] <COMMAND>"
)]
struct Cli {
    /// A script to run instead of stdin
    file: Option<PathBuf>,
    /// Program to spawn first, with its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    options: Options,
    /// Print this help
    #[arg(short, long, action = ArgAction::HelpShort)]
    help: Option<bool>,
    #[command(subcommand)]
    command: Option<Sub>,
}

#[derive(Args)]
struct What {
    /// Evaluate, print the replies, exit; may be repeated
    #[arg(
        short = 'e',
        long = "eval",
        value_name = "JS",
        env = "LLMDBG_EVAL",
        hide_env = true,
        allow_hyphen_values = true,
        conflicts_with = "file"
    )]
    eval: Vec<String>,
    /// Attach to a process first
    #[arg(
        short,
        long,
        value_name = "PID",
        env = "LLMDBG_PID",
        hide_env = true,
        conflicts_with = "program"
    )]
    pid: Option<i64>,
    /// Open a core file (not yet)
    #[arg(short, long, value_name = "CORE", env = "LLMDBG_CORE", hide_env = true)]
    core: Option<PathBuf>,
}

#[derive(Args)]
struct Options {
    /// Diagnostics to write, e.g. debug or llmdbg::tracee=trace
    #[arg(long, value_name = "FILTER", env = "LLMDBG_LOG", hide_env = true)]
    log: Option<String>,
    /// Where diagnostics go instead of stderr
    #[arg(long, value_name = "FILE", env = "LLMDBG_LOG_FILE", hide_env = true)]
    log_file: Option<PathBuf>,
    /// `on` treats a terminal like a pipe
    #[arg(
        long,
        value_name = "WHEN",
        env = "LLMDBG_FRAME",
        hide_env = true,
        default_value = "auto"
    )]
    frame: Frame,
    /// Silence after which incomplete text is evaluated
    #[arg(
        long,
        value_name = "MS",
        env = "LLMDBG_IDLE_MS",
        hide_env = true,
        default_value_t = 500
    )]
    idle_ms: u64,
    /// What to do where the sandbox cannot be complete
    #[arg(
        long,
        value_name = "MODE",
        env = "LLMDBG_SANDBOX",
        hide_env = true,
        default_value = "auto"
    )]
    sandbox: Sandbox,
    /// Let --sandbox=require accept root
    #[arg(long, env = "LLMDBG_ALLOW_ROOT", hide_env = true, value_parser = FalseyValueParser::new())]
    allow_root: bool,
    /// Only programs below these folders may be spawned
    #[arg(
        long,
        value_name = "PREFIX,...",
        env = "LLMDBG_ALLOW_SPAWN",
        hide_env = true,
        value_delimiter = ','
    )]
    allow_spawn: Vec<PathBuf>,
    /// Exit with the debuggee's status
    #[arg(long, env = "LLMDBG_EXIT_WITH_TARGET", hide_env = true, value_parser = FalseyValueParser::new())]
    exit_with_target: bool,
}

#[derive(Subcommand)]
enum Sub {
    /// Show a crash found and explained
    Demo,
    /// Explain a topic of the interface
    Help { topic: Option<String> },
    /// Evaluate in a named persistent session (not yet)
    Exec(Rest),
    /// List, follow, interrupt, close sessions (not yet)
    Session(Rest),
    /// MCP server on stdio (not yet)
    Mcp(Rest),
    /// Report on the sandbox (not yet)
    Sandbox(Rest),
    /// Check this machine (not yet)
    Doctor(Rest),
    /// Print the skill for agents (not yet)
    Skill(Rest),
    /// Completions for a shell (not yet)
    Completions(Rest),
    /// Print the manual page (not yet)
    Man(Rest),
    /// Debug adapter on stdio (not yet)
    Dap(Rest),
}

/// Whatever follows a command that is not carried out yet.
#[derive(Args)]
struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<OsString>,
}

/// Reads the command line of this process and its `LLMDBG_*` variables.
pub fn parse() -> Result<Command, Refused> {
    from(std::env::args_os())
}

fn from(argv: impl IntoIterator<Item = OsString>) -> Result<Command, Refused> {
    let cli = Cli::try_parse_from(argv).map_err(|error| Refused {
        text: error.render().to_string(),
        is_answer: matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        ),
    })?;
    Ok(cli.resolve())
}

impl Cli {
    fn resolve(self) -> Command {
        let options = self.options;
        let start = match self.what.pid {
            Some(pid) => Start::Attach(pid),
            None if self.program.is_empty() => Start::Nothing,
            None => Start::Spawn(self.program),
        };
        let action = match (self.command, self.what.core, self.file) {
            (Some(command), _, _) => command.resolve(),
            (None, Some(_), _) => Action::NotYet("-c CORE".into()),
            (None, None, Some(file)) => Action::File(file),
            (None, None, None) if self.what.eval.is_empty() => Action::Repl,
            (None, None, None) => Action::Eval(self.what.eval),
        };
        Command {
            settings: Settings {
                log: options.log,
                log_file: options.log_file,
                frame: options.frame,
                idle: Duration::from_millis(options.idle_ms),
                sandbox: options.sandbox,
                allow_root: options.allow_root,
                allow_spawn: options.allow_spawn,
                exit_with_target: options.exit_with_target,
            },
            start,
            action,
        }
    }
}

impl Sub {
    fn resolve(self) -> Action {
        let name = match self {
            Self::Demo => return Action::Demo,
            Self::Help { topic } => return Action::Help(topic),
            Self::Exec(_) => "exec",
            Self::Session(_) => "session",
            Self::Mcp(_) => "mcp",
            Self::Sandbox(_) => "sandbox",
            Self::Doctor(_) => "doctor",
            Self::Skill(_) => "skill",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
            Self::Dap(_) => "dap",
        };
        Action::NotYet(name.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Command, Refused> {
        from(
            std::iter::once("llmdbg")
                .chain(line.split_whitespace())
                .map(OsString::from),
        )
    }

    #[track_caller]
    fn check(line: &str, start: &Start, action: &Action) {
        let command = parse(line).expect("a good command line");
        assert_eq!(&command.start, start, "{line}");
        assert_eq!(&command.action, action, "{line}");
    }

    #[test]
    fn every_way_in_is_understood() {
        let spawn = |words: &[&str]| Start::Spawn(words.iter().map(OsString::from).collect());
        let eval = |texts: &[&str]| Action::Eval(texts.iter().map(|text| (*text).into()).collect());
        check("", &Start::Nothing, &Action::Repl);
        check(
            "-- prog -x --help",
            &spawn(&["prog", "-x", "--help"]),
            &Action::Repl,
        );
        check("-p 12", &Start::Attach(12), &Action::Repl);
        check("-e 1 -e -2", &Start::Nothing, &eval(&["1", "-2"]));
        check("-e 1 -- prog", &spawn(&["prog"]), &eval(&["1"]));
        check(
            "file.js -- prog a",
            &spawn(&["prog", "a"]),
            &Action::File("file.js".into()),
        );
        check("demo", &Start::Nothing, &Action::Demo);
        check("help", &Start::Nothing, &Action::Help(None));
        check(
            "help errors",
            &Start::Nothing,
            &Action::Help(Some("errors".into())),
        );
        check(
            "-c core",
            &Start::Nothing,
            &Action::NotYet("-c CORE".into()),
        );
        check("./demo", &Start::Nothing, &Action::File("./demo".into()));
    }

    #[test]
    fn what_comes_later_is_known() {
        for line in [
            "exec -s name 'x'",
            "exec -",
            "session list",
            "session close --all",
            "mcp",
            "sandbox status",
            "doctor",
            "skill",
            "completions bash",
            "man",
            "dap --port 1",
        ] {
            let name = line.split(' ').next().unwrap_or_default();
            check(line, &Start::Nothing, &Action::NotYet(name.into()));
        }
    }

    #[test]
    fn options_are_stored() {
        let line = "--log trace --log-file f --frame on --idle-ms 20 --sandbox=require --allow-root \
                    --allow-spawn /a,/b --exit-with-target";
        let settings = parse(line).expect("good").settings;
        assert_eq!(settings.log.as_deref(), Some("trace"));
        assert_eq!(settings.log_file, Some("f".into()));
        assert_eq!(settings.frame, Frame::On);
        assert_eq!(settings.idle, Duration::from_millis(20));
        assert_eq!(settings.sandbox, Sandbox::Require);
        assert_eq!(
            settings.allow_spawn,
            [PathBuf::from("/a"), PathBuf::from("/b")]
        );
        assert!(settings.allow_root && settings.exit_with_target);
    }

    #[test]
    fn mistakes_and_questions_are_told_apart() {
        for line in [
            "--nonsense",
            "-p x",
            "-p 1 -- prog",
            "-e 1 file.js",
            "--sandbox=maybe",
            "a b",
        ] {
            assert!(!parse(line).expect_err("a mistake").is_answer, "{line}");
        }
        for line in ["--help", "-h", "--version"] {
            assert!(parse(line).expect_err("a question").is_answer, "{line}");
        }
    }

    #[test]
    fn every_option_has_a_variable() {
        Cli::command().debug_assert();
        for argument in Cli::command().get_arguments() {
            let is_option = argument.get_long().is_some();
            let is_clap_s = matches!(argument.get_id().as_str(), "help" | "version");
            let variable = argument
                .get_env()
                .map(|name| name.to_string_lossy().into_owned());
            if is_option && !is_clap_s {
                assert!(
                    variable.is_some_and(|name| name.starts_with("LLMDBG_")),
                    "{argument}"
                );
            }
        }
    }

    /// A token has four characters in English, fewer in code: 1,000 tokens are safe below this.
    #[test]
    fn the_help_is_short() {
        let help = Cli::command().render_help().to_string();
        assert!(help.len() < 3_500, "{}", help.len());
    }
}
