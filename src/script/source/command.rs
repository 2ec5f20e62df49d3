//! Lines such as `:step 3`: commands that people know from elsewhere, answered with the call to use.

use crate::base::code::Code;
use crate::script::reply::Rejection;

/// Commands of other debuggers, and the call that does the same. `{}` takes the arguments.
const CALLS: &[(&[&str], &str)] = &[
    (&["step", "s", "si", "stepi"], "step({})"),
    (&["next", "n", "ni", "nexti"], "next({})"),
    (&["finish", "fin", "out"], "finish()"),
    (&["until", "u", "advance"], "until({})"),
    (&["continue", "cont", "c", "g", "go"], "cont()"),
    (
        &["break", "b", "br", "bp", "breakpoint", "tbreak"],
        "breakpoint.set({})",
    ),
    (&["delete", "del", "d", "bc"], "breakpoint.remove({})"),
    (&["watch", "rwatch", "awatch"], "watchpoint.set({}, 'w')"),
    (&["run", "r", "start", "spawn"], "spawn({})"),
    (&["attach"], "attach({})"),
    (&["detach"], "detach()"),
    (&["kill", "k"], "kill()"),
    (&["restart"], "restart()"),
    (&["print", "p", "inspect"], "print({})"),
    (&["backtrace", "bt", "where", "w"], "backtrace()"),
    (&["frame", "f", "up", "down"], "frame({})"),
    (&["registers", "regs", "reg", "info"], "state.registers"),
    (
        &["x", "memory", "mem", "dump"],
        "state.memory({}).bytes(64)",
    ),
    (&["disassemble", "disas", "u", "dis"], "state.disasm(10)"),
    (&["list", "l", "source"], "source({})"),
    (&["threads", "thread", "t"], "thread.list()"),
    (&["symbols", "sym"], "symbols({})"),
    (&["quit", "q", "exit"], "kill(), or close stdin"),
    (&["help", "h", "?"], "help()"),
];

/// The error for a line that begins with a colon.
pub fn reject(line: &str) -> Rejection {
    let command = line.trim().trim_start_matches(':');
    let (name, arguments) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let known = CALLS.iter().find(|(names, _)| names.contains(&name));
    let hint = match (known, condition(arguments)) {
        (Some((names, _)), Some((place, condition))) if names.contains(&"break") => format!(
            "use breakpoint.set({}, {{if: '{}'}})",
            as_arguments(place),
            quoted(condition)
        ),
        (Some((_, call)), _) => format!("use {}", call.replace("{}", &as_arguments(arguments))),
        (None, _) => "everything is a JavaScript call: see help()".to_owned(),
    };
    Rejection {
        code: Code::Command,
        message: format!("'{}' is not JavaScript", line.trim()),
        hint: Some(hint),
    }
}

/// The place and the condition of `PLACE if CONDITION` or `PLACE --condition "CONDITION"`.
fn condition(arguments: &str) -> Option<(&str, &str)> {
    let (place, condition) = [" if ", " --condition ", " -c "]
        .iter()
        .find_map(|word| arguments.split_once(word))?;
    let condition = condition.trim();
    let bare = condition
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    Some((place, bare.unwrap_or(condition)))
}

/// Text within single quotes.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// Words as arguments: numbers as they are, the rest quoted.
fn as_arguments(words: &str) -> String {
    let quoted: Vec<String> = words
        .split_whitespace()
        .map(|word| {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            let is_number =
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let is_decimal = word.bytes().all(|byte| byte.is_ascii_digit());
            if is_decimal || is_number && word.starts_with("0x") {
                word.to_owned()
            } else {
                format!("'{}'", quoted(word))
            }
        })
        .collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, hint: &str) {
        assert_eq!(reject(line).hint.as_deref(), Some(hint));
    }

    #[test]
    fn the_hint_is_the_call() {
        check(":step 3", "use step(3)");
        check(":s", "use step()");
        check(":b main", "use breakpoint.set('main')");
        check(
            ":break file.c:12 0x10",
            "use breakpoint.set('file.c:12', 0x10)",
        );
        check(":b it's", "use breakpoint.set('it\\'s')");
        check(
            ":break 0x401000 --condition \"state.sp < 0x1000\"",
            "use breakpoint.set(0x401000, {if: 'state.sp < 0x1000'})",
        );
        check(
            ":b main if registers.rdi == 'x'",
            "use breakpoint.set('main', {if: 'registers.rdi == \\'x\\''})",
        );
        check(":frobnicate", "everything is a JavaScript call: see help()");
        assert_eq!(reject(" :step 3 ").message, "':step 3' is not JavaScript");
    }
}
