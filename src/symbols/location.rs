//! What people write for a place in a program: an address, a name, or a line of source.

use super::error::{Error, Result};
use crate::base::addr::VirtAddr;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    Address(VirtAddr),
    Symbol {
        module: Option<String>,
        name: String,
        offset: u64,
        /// Written `*name` or with an offset: the very address, not the line behind the prologue.
        exact: bool,
    },
    Line {
        module: Option<String>,
        file: String,
        line: u32,
    },
}

/// Longer texts are a mistake.
const LONGEST: usize = 8192;

/// Parses `0x401136`, `4198710`, `main`, `*main`, `main+0x10`, `libc.so.6!malloc`, `file.c:12`, `ns::f<T>`.
pub fn parse(text: &str) -> Result<Location> {
    let bad = |why| {
        Err(Error::BadLocation {
            text: text.chars().take(80).collect(),
            why,
        })
    };
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return bad("it is empty");
    }
    if trimmed.len() > LONGEST {
        return bad("it is too long");
    }
    let (exact, rest) = match trimmed.strip_prefix('*') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, trimmed),
    };
    if let Some(addr) = number(rest) {
        return Ok(Location::Address(VirtAddr::new(addr)));
    }
    if rest.is_empty() {
        return bad("the name is missing");
    }
    if rest.starts_with("0x") || rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return bad("it is not a number of 64 bits");
    }
    let (module, rest) = match rest.split_once('!') {
        Some((module, rest)) if !module.is_empty() && !module.ends_with("operator") => {
            (Some(module.to_owned()), rest)
        }
        _ => (None, rest),
    };
    if let Some((file, line)) = split_line(rest) {
        return match line.parse() {
            Ok(line) if line > 0 => Ok(Location::Line {
                module,
                file: file.to_owned(),
                line,
            }),
            _ => bad("lines count from 1"),
        };
    }
    let (name, offset) = match split_offset(rest) {
        Some((name, offset)) => (name.trim_end(), Some(offset)),
        None => (rest, None),
    };
    if name.is_empty() || name == "::" {
        return bad("the name is missing");
    }
    Ok(Location::Symbol {
        module,
        name: name.to_owned(),
        offset: offset.unwrap_or(0),
        exact: exact || offset.is_some(),
    })
}

/// Decimal, or hexadecimal with `0x`.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u64::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// `file.c:12`, but not `ns::12`.
fn split_line(text: &str) -> Option<(&str, &str)> {
    let (file, line) = text.rsplit_once(':')?;
    let numeric = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    (numeric && !file.is_empty() && !file.ends_with(':')).then_some((file, line))
}

/// `main+0x10`, but not `operator+`.
fn split_offset(text: &str) -> Option<(&str, u64)> {
    let (name, offset) = text.rsplit_once('+')?;
    let offset = number(offset.trim())?;
    (!name.is_empty() && !name.ends_with("operator")).then_some((name, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match parse(text) {
            Ok(Location::Address(addr)) => format!("address {addr}"),
            Ok(Location::Symbol {
                module,
                name,
                offset,
                exact,
            }) => {
                let module = module.unwrap_or_default();
                format!(
                    "symbol {module}!{name}+{offset}{}",
                    if exact { " exact" } else { "" }
                )
            }
            Ok(Location::Line { module, file, line }) => {
                format!("line {}!{file}:{line}", module.unwrap_or_default())
            }
            Err(Error::BadLocation { why, .. }) => format!("error {why}"),
            Err(other) => format!("{other:?}"),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn every_form_is_understood() {
        check("0x401136", "address 0x401136");
        check("4198710", "address 0x401136");
        check("*0x401136", "address 0x401136");
        check(" main ", "symbol !main+0");
        check("*main", "symbol !main+0 exact");
        check("main+0x10", "symbol !main+16 exact");
        check("main + 16", "symbol !main+16 exact");
        check("libc.so.6!malloc", "symbol libc.so.6!malloc+0");
        check("libc!malloc+4", "symbol libc!malloc+4 exact");
        check("file.c:12", "line !file.c:12");
        check("prog!src/file.c:12", "line prog!src/file.c:12");
        check("3d.c:7", "line !3d.c:7");
        check("ns::func<T>", "symbol !ns::func<T>+0");
        check("Type::method", "symbol !Type::method+0");
        check("::main", "symbol !::main+0");
        check("*::main", "symbol !::main+0 exact");
        check("work.constprop.0", "symbol !work.constprop.0+0");
        check("ns::operator+", "symbol !ns::operator++0");
        check("a::operator!=", "symbol !a::operator!=+0");
        check("<a::B as c::D>::e", "symbol !<a::B as c::D>::e+0");
        check("memcpy@GLIBC_2.2.5", "symbol !memcpy@GLIBC_2.2.5+0");
    }

    #[test]
    fn what_is_none_says_why() {
        check("", "error it is empty");
        check("  ", "error it is empty");
        check("*", "error the name is missing");
        check("lib!", "error the name is missing");
        check("0xzz", "error it is not a number of 64 bits");
        check(
            "99999999999999999999",
            "error it is not a number of 64 bits",
        );
        check("file.c:0", "error lines count from 1");
        check("file.c:99999999999", "error lines count from 1");
        check(&"x".repeat(10_000), "error it is too long");
    }
}
