//! Just enough of Rust's grammar: code without comments and literals, functions, nested modules.

/// The text with comments, strings and characters blanked: every other byte keeps its place.
pub fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => comment_end(bytes, at),
            b'"' => string_end(bytes, at + 1),
            b'r' if !joins(bytes, at) => raw_string_end(bytes, at + 1).unwrap_or(at),
            b'b' if !joins(bytes, at) && bytes.get(at + 1) == Some(&b'r') => {
                raw_string_end(bytes, at + 2).unwrap_or(at)
            }
            b'\'' => char_end(bytes, at).unwrap_or(at),
            _ => at,
        };
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    // Only whole literals and comments were blanked, so what is left is still UTF-8.
    String::from_utf8(code).unwrap()
}

fn joins(bytes: &[u8], at: usize) -> bool {
    at > 0 && is_word(bytes[at - 1])
}

pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    let length = bytes[at..].iter().position(|&byte| byte == b'\n');
    length.map_or(bytes.len(), |length| at + length)
}

/// Block comments nest.
fn comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `at` is behind the `r`.
fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at..].iter().take_while(|&&byte| byte == b'#').count();
    if bytes.get(at + hashes) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(hashes + 1, b'#');
    let start = at + hashes + 1;
    let length = bytes[start..]
        .windows(close.len())
        .position(|window| window == close);
    Some(length.map_or(bytes.len(), |length| start + length + close.len()))
}

/// A character literal; a lifetime is none.
fn char_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = std::str::from_utf8(&bytes[at + 1..(at + 16).min(bytes.len())]);
    let rest = match rest {
        Ok(rest) => rest,
        Err(error) => std::str::from_utf8(&bytes[at + 1..=at + error.valid_up_to()]).ok()?,
    };
    let first = rest.chars().next()?;
    if first == '\\' {
        let close = rest[2..].find('\'')?;
        return Some(at + 1 + 2 + close + 1);
    }
    let after = &rest[first.len_utf8()..];
    after
        .starts_with('\'')
        .then(|| at + 1 + first.len_utf8() + 1)
}

/// Where the identifier `word` stands in `code`.
pub fn words(code: &str, word: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(|&at| {
            !joins(bytes, at)
                && !bytes
                    .get(at + word.len())
                    .is_some_and(|&byte| is_word(byte))
        })
        .collect()
}

pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].bytes().filter(|&byte| byte == b'\n').count()
}

/// The end of the bracket that opens at `open`.
pub fn close_of(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Inline modules: where each begins and ends, and its name.
pub fn inline_modules(code: &str) -> Vec<(std::ops::Range<usize>, String)> {
    let mut found = Vec::new();
    for at in words(code, "mod") {
        let rest = code[at + 3..].trim_start();
        let name: String = rest
            .chars()
            .take_while(|&letter| letter.is_alphanumeric() || letter == '_')
            .collect();
        let open = code.len() - rest.len() + name.len();
        let after = code[open..].trim_start();
        if after.starts_with('{') {
            let open = code.len() - after.len();
            if let Some(close) = close_of(code, open) {
                found.push((open..close, name));
            }
        }
    }
    found
}

/// Functions with a body: name and lines from the signature to the last brace.
pub fn functions(code: &str) -> Vec<(String, std::ops::RangeInclusive<usize>)> {
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let rest = code[at + 2..].trim_start();
        let name: String = rest
            .chars()
            .take_while(|&letter| letter.is_alphanumeric() || letter == '_')
            .collect();
        if name.is_empty() {
            continue; // a type: fn(u8)
        }
        let Some(open) = code[at..].find(['{', ';']).map(|length| at + length) else {
            continue;
        };
        if code.as_bytes()[open] == b'{'
            && let Some(close) = close_of(code, open)
        {
            found.push((name, line_of(code, at)..=line_of(code, close)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{code_of, functions, inline_modules, words};

    #[track_caller]
    fn check_code(text: &str, code: &str) {
        assert_eq!(code_of(text), code);
    }

    #[test]
    fn comments_and_literals_are_blanked() {
        check_code("a // b\nc", "a     \nc");
        check_code("a /* b /* c */ d */ e", "a                   e");
        check_code(r#"f("x\"y") + 1"#, r"f(      ) + 1");
        check_code("r#\"a\"b\"# x", "         x");
        check_code("b'{' 'a' '\\n' &'a str", "b             &'a str");
        check_code("for x in y", "for x in y");
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("fn a fn_b xfn fn", "fn"), [0, 14]);
    }

    #[test]
    fn functions_have_their_lines() {
        let code = "fn a() {\n  if x { y }\n}\ntype F = fn(u8);\ntrait T { fn b(); }\nfn c() {}\n";
        assert_eq!(functions(code), [("a".into(), 0..=2), ("c".into(), 5..=5)]);
    }

    #[test]
    fn modules_have_their_extent() {
        let code = "mod a;\nmod b { mod c {} }";
        let names: Vec<String> = inline_modules(code)
            .into_iter()
            .map(|found| found.1)
            .collect();
        assert_eq!(names, ["b", "c"]);
    }
}
