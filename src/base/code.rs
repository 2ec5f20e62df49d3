//! The stable error codes. One table: `help('errors')` prints it, a test wants a transcript for each.

macro_rules! codes {
    ($($variant:ident $name:literal $meaning:literal,)+) => {
        /// What kind of thing went wrong. The names are part of the interface and never change.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Code {
            $($variant,)+
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)+
                }
            }
        }
    };
}

codes! {
    Syntax "syntax" "the text is not JavaScript",
    Exception "exception" "the script threw",
    Unterminated "unterminated" "a <<TAG block was not closed",
    Command "command" "a line that is no JavaScript but another debugger's command",
    Interrupted "interrupted" "the run or script was interrupted on request",
    ScriptTimeout "script_timeout" "JavaScript ran longer than config.js_timeout",
    OutOfMemory "out_of_memory" "the script's memory limit was reached",
    StackOverflow "stack_overflow" "the script recursed too deeply",
    BadArgument "bad_argument" "an argument has the wrong type or range",
    BadProperty "bad_property" "an API object has no such property",
    ReadOnly "read_only" "an API name cannot be redefined",
    NotYet "not_yet" "announced, but not in this version",
    NoProcess "no_process" "nothing is being debugged",
    Exited "exited" "the process has ended",
    Running "running" "the process runs in the background: wait() or interrupt() first",
    NotRunning "not_running" "there is no background run",
    NoProgram "no_program" "the program to spawn cannot be found or opened",
    NotExecutable "not_executable" "the program to spawn cannot be executed",
    WrongArchitecture "wrong_architecture" "not an x86-64 Linux program",
    BadElf "bad_elf" "the file is not a sound ELF image",
    SpawnFailed "spawn_failed" "the program could not be started",
    AttachRefused "attach_refused" "the kernel or the sandbox refused to trace the process",
    NoSuchProcess "no_such_process" "no process has that id",
    PtraceDenied "ptrace_denied" "ptrace is not permitted here",
    BadAddress "bad_address" "memory that is not mapped or not accessible",
    BadRegister "bad_register" "no such register, or a value it cannot hold",
    NoSymbol "no_symbol" "no symbol of that name",
    Ambiguous "ambiguous" "several things match",
    NoLocation "no_location" "no code at that place",
    NoBreakpoint "no_breakpoint" "no breakpoint with that id or name",
    NoWatchpoint "no_watchpoint" "no watchpoint with that id or name",
    NoSlot "no_slot" "all four debug registers are in use",
    NoListener "no_listener" "no listener with that id",
    StdinClosed "stdin_closed" "the debuggee's stdin is closed or not ours",
    NoOutput "no_output" "the debuggee's output is not captured",
    Gone "gone" "the process died in the middle of the operation",
    Kernel "kernel" "a system call failed unexpectedly",
    Internal "internal" "a fault in the debugger itself",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_lower_case_words() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for name in names {
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            );
        }
    }
}
