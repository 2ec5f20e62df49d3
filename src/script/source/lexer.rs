//! Just enough of JavaScript's tokens to tell code from strings, templates, regexes and comments, and
//! to know which brackets are open. What is no JavaScript gets tokens too: the compiler complains.

/// The kinds of token that rewriting distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Identifier, keyword or private name.
    Word,
    Number,
    String,
    /// The text of a template up to `${` or to its closing backtick, with those.
    Template,
    Regex,
    Punctuator,
}

/// Byte positions in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// A line terminator stands between the token before and this one.
    pub after_newline: bool,
    /// How many brackets are open round this token; a bracket is outside of itself.
    pub depth: usize,
}

impl Token {
    pub fn text<'t>(&self, source: &'t str) -> &'t str {
        source.get(self.start..self.end).unwrap_or_default()
    }
}

/// An open bracket, with what has to be remembered for the time after it closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Open {
    /// `(`; of `if (` and the like, so that an operand follows the closing one.
    Paren {
        heads_statement: bool,
    },
    Bracket,
    /// `{`; of a block or body, so that a statement follows the closing one.
    Brace {
        is_block: bool,
    },
    /// `${`
    Substitution,
}

/// What the scanner is in the middle of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Code,
    Template,
    BlockComment,
}

/// What the last token lets the next one be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expect {
    /// At the start, after `;` and after blocks.
    Statement,
    /// After an operator: a slash begins a regex, a brace an object.
    Operand,
    /// After `=>`: a slash begins a regex, a brace a body.
    ArrowBody,
    /// After a value: a slash divides, a brace begins a body.
    Operator,
    /// After `if`, `while`, `for`, `with`.
    Head,
    /// After `.`: every word is a name.
    Member,
}

/// A scanner over text that may grow at its end between calls of `next`: it goes on where it was.
#[derive(Clone, Debug)]
pub struct Lexer {
    at: usize,
    mode: Mode,
    open: Vec<Open>,
    expect: Expect,
    after_newline: bool,
    /// The text ends inside a string that goes on in the next line.
    in_string: bool,
}

impl Default for Lexer {
    fn default() -> Self {
        Self {
            at: 0,
            mode: Mode::Code,
            open: Vec::new(),
            expect: Expect::Statement,
            after_newline: false,
            in_string: false,
        }
    }
}

/// All tokens of a text.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer::default();
    std::iter::from_fn(|| lexer.next(text)).collect()
}

/// Whether a text ends inside of a bracket, template, comment or string, so that it surely goes on.
pub fn is_open(text: &str) -> bool {
    let mut lexer = Lexer::default();
    while lexer.next(text).is_some() {}
    lexer.is_open()
}

impl Lexer {
    /// Whether the text so far surely needs more: a bracket, template, comment or string is open.
    pub fn is_open(&self) -> bool {
        self.mode != Mode::Code || !self.open.is_empty() || self.in_string
    }

    /// The next token of `text`, which must begin with the text given before.
    pub fn next(&mut self, text: &str) -> Option<Token> {
        let bytes = text.as_bytes();
        self.in_string = false;
        if self.mode == Mode::BlockComment {
            self.block_comment(bytes);
        }
        if self.mode == Mode::Code {
            self.skip_blank(text);
        }
        match self.mode {
            Mode::BlockComment => None,
            Mode::Template => self.template(bytes),
            Mode::Code => self.code(text),
        }
    }

    fn code(&mut self, text: &str) -> Option<Token> {
        let bytes = text.as_bytes();
        let start = self.at;
        let depth = self.open.len();
        let first = *bytes.get(start)?;
        let (kind, depth) = match first {
            b'\'' | b'"' => {
                if !self.string(bytes, first) {
                    return None;
                }
                (Kind::String, depth)
            }
            b'`' => {
                self.at += 1;
                self.mode = Mode::Template;
                return self.template(bytes).map(|token| Token { start, ..token });
            }
            b'/' if self.expect != Expect::Operator => {
                self.regex(bytes);
                (Kind::Regex, depth)
            }
            b'0'..=b'9' => {
                self.number(bytes);
                (Kind::Number, depth)
            }
            b'.' if bytes.get(start + 1).is_some_and(u8::is_ascii_digit) => {
                self.number(bytes);
                (Kind::Number, depth)
            }
            _ if is_word_byte(first) || first == b'#' => {
                self.word(text);
                (Kind::Word, depth)
            }
            _ => {
                self.punctuator(text);
                (Kind::Punctuator, depth.min(self.open.len()))
            }
        };
        if matches!(kind, Kind::String | Kind::Regex | Kind::Number) {
            self.expect = Expect::Operator;
        }
        Some(Token {
            kind,
            start,
            end: self.at,
            after_newline: std::mem::take(&mut self.after_newline),
            depth,
        })
    }

    /// Whitespace, line terminators and comments.
    fn skip_blank(&mut self, text: &str) {
        let bytes = text.as_bytes();
        if self.at == 0 && bytes.starts_with(b"#!") {
            self.line_comment(bytes);
        }
        while let Some(rest) = text.get(self.at..) {
            let Some(c) = rest.chars().next() else { return };
            if rest.starts_with("//") {
                self.line_comment(bytes);
            } else if rest.starts_with("/*") {
                self.at += 2;
                self.mode = Mode::BlockComment;
                self.block_comment(bytes);
                if self.mode == Mode::BlockComment {
                    return;
                }
            } else if is_line_terminator(c) {
                self.after_newline = true;
                self.at += c.len_utf8();
            } else if c.is_whitespace() || c == '\u{feff}' {
                self.at += c.len_utf8();
            } else {
                return;
            }
        }
    }

    fn line_comment(&mut self, bytes: &[u8]) {
        // U+2028 and U+2029 end a comment too, but hiding the rest of that line harms nothing.
        self.at = find(bytes, self.at, |rest| rest[0] == b'\n').unwrap_or(bytes.len());
    }

    fn block_comment(&mut self, bytes: &[u8]) {
        let end = find(bytes, self.at, |rest| rest.starts_with(b"*/"));
        let stop = end.unwrap_or(bytes.len());
        let comment = bytes.get(self.at..stop).unwrap_or_default();
        self.after_newline |= comment.contains(&b'\n');
        match end {
            Some(end) => {
                self.at = end + 2;
                self.mode = Mode::Code;
            }
            // A `*` at the end may be half of the `*/`.
            None => self.at = stop - usize::from(comment.ends_with(b"*")),
        }
    }

    /// Scans a string. False when the text ends in a line continuation: more of it may come.
    fn string(&mut self, bytes: &[u8], quote: u8) -> bool {
        let mut at = self.at + 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'\\' => {
                    let continued = bytes.get(at + 1).is_none_or(|&byte| byte == b'\n');
                    at += 2;
                    if continued && at >= bytes.len() {
                        self.in_string = true;
                        return false;
                    }
                }
                // The string is broken; code goes on after it.
                b'\n' => break,
                _ => {
                    at += 1;
                    if byte == quote {
                        break;
                    }
                }
            }
        }
        self.at = at;
        true
    }

    /// Scans a template's text from `at` on.
    fn template(&mut self, bytes: &[u8]) -> Option<Token> {
        let start = self.at;
        let depth = self.open.len();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\\' if self.at + 1 < bytes.len() => self.at += 2,
                b'\\' => return None,
                b'`' => {
                    self.at += 1;
                    self.mode = Mode::Code;
                    self.expect = Expect::Operator;
                    break;
                }
                b'$' if bytes.get(self.at + 1) == Some(&b'{') => {
                    self.at += 2;
                    self.open.push(Open::Substitution);
                    self.mode = Mode::Code;
                    self.expect = Expect::Operand;
                    break;
                }
                b'$' if self.at + 1 == bytes.len() => return None,
                _ => self.at += 1,
            }
        }
        (self.mode == Mode::Code).then(|| Token {
            kind: Kind::Template,
            start,
            end: self.at,
            after_newline: std::mem::take(&mut self.after_newline),
            depth,
        })
    }

    fn regex(&mut self, bytes: &[u8]) {
        let mut in_class = false;
        let mut at = self.at + 1;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' => break,
                b'\\' if bytes.get(at + 1) != Some(&b'\n') => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    at += 1;
                    break;
                }
                _ => {}
            }
            at += 1;
        }
        let at = at.min(bytes.len());
        let flags = bytes.get(at..).unwrap_or_default();
        self.at = at + flags.iter().take_while(|byte| is_word_byte(**byte)).count();
    }

    fn number(&mut self, bytes: &[u8]) {
        while let Some(&byte) = bytes.get(self.at) {
            let exponent_sign = matches!(byte, b'+' | b'-')
                && self.at > 0
                && matches!(bytes.get(self.at - 1), Some(b'e' | b'E'))
                && !self.is_hex(bytes);
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || exponent_sign) {
                break;
            }
            self.at += 1;
        }
    }

    /// Whether the number that is being scanned has a base prefix, where `e` is a digit.
    fn is_hex(&self, bytes: &[u8]) -> bool {
        let digits = bytes.get(..self.at).unwrap_or_default();
        let number = digits
            .rsplit(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')))
            .next()
            .unwrap_or_default();
        number.starts_with(b"0x") || number.starts_with(b"0X")
    }

    fn word(&mut self, text: &str) {
        let start = self.at;
        let rest = text.get(start..).unwrap_or_default();
        let mut previous = ' ';
        let length = rest
            .find(|c: char| {
                let escape = (c == '{' || c == '}') && rest.starts_with('\\');
                let goes_on = is_word_char(c) || c == '#' && previous == ' ' || escape;
                previous = c;
                !goes_on
            })
            .unwrap_or(rest.len());
        self.at += length.max(1);
        let member = self.expect == Expect::Member;
        self.expect = match rest.get(..length) {
            Some(_) if member => Expect::Operator,
            Some("if" | "while" | "for" | "with") => Expect::Head,
            Some("do" | "else" | "try" | "finally") => Expect::Statement,
            Some(
                "return" | "typeof" | "instanceof" | "in" | "of" | "new" | "delete" | "void"
                | "throw" | "case" | "yield" | "await" | "default" | "extends",
            ) => Expect::Operand,
            // `for await (`
            _ if self.expect == Expect::Head => Expect::Head,
            _ => Expect::Operator,
        };
    }

    fn punctuator(&mut self, text: &str) {
        let rest = text.get(self.at..).unwrap_or_default();
        let first = rest.chars().next().unwrap_or(' ');
        let long = ["...", "=>", "++", "--", "?."]
            .into_iter()
            .find(|long| rest.starts_with(long));
        // `a?.5:b` is a condition.
        let digit_follows = rest.as_bytes().get(2).is_some_and(u8::is_ascii_digit);
        let punctuator = match long {
            Some("?.") if digit_follows => "?",
            Some(long) => long,
            None => rest.get(..first.len_utf8()).unwrap_or_default(),
        };
        self.at += punctuator.len();
        self.expect = match punctuator {
            "(" => self.push(Open::Paren {
                heads_statement: self.expect == Expect::Head,
            }),
            "[" => self.push(Open::Bracket),
            "{" => {
                let is_block = self.brace_opens_block();
                self.push(Open::Brace { is_block })
            }
            ")" | "]" | "}" => self.close(),
            "." | "?." => Expect::Member,
            "=>" => Expect::ArrowBody,
            ";" => Expect::Statement,
            // After a value they are postfix; before one, no slash follows anyway.
            "++" | "--" => self.expect,
            _ => Expect::Operand,
        };
    }

    fn push(&mut self, open: Open) -> Expect {
        self.open.push(open);
        match open {
            Open::Brace { is_block: true } => Expect::Statement,
            _ => Expect::Operand,
        }
    }

    /// A closing bracket closes what is open, be it the right kind or not.
    fn close(&mut self) -> Expect {
        match self.open.pop() {
            Some(
                Open::Paren {
                    heads_statement: after,
                }
                | Open::Brace { is_block: after },
            ) if after => Expect::Statement,
            Some(Open::Substitution) => {
                self.mode = Mode::Template;
                Expect::Operator
            }
            _ => Expect::Operator,
        }
    }

    fn brace_opens_block(&self) -> bool {
        self.expect != Expect::Operand
    }
}

fn is_line_terminator(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Bytes of names in ASCII, the backslash of `\u{61}` included, and all of UTF-8's other bytes.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'\\') || byte >= 0x80
}

fn is_word_char(c: char) -> bool {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => is_word_byte(byte),
        _ => !c.is_whitespace() && !is_line_terminator(c) && c != '\u{feff}',
    }
}

/// The first place from `at` on where the rest, which is not empty, looks as wanted.
fn find(bytes: &[u8], at: usize, is_wanted: impl Fn(&[u8]) -> bool) -> Option<usize> {
    (at..bytes.len()).find(|&at| bytes.get(at..).is_some_and(&is_wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens in one line each: kind, depth, text.
    fn show(text: &str) -> String {
        let mut lines = String::new();
        for token in tokens(text) {
            let kind = match token.kind {
                Kind::Word => 'w',
                Kind::Number => 'n',
                Kind::String => 's',
                Kind::Template => 't',
                Kind::Regex => 'r',
                Kind::Punctuator => 'p',
            };
            let newline = if token.after_newline { "!" } else { "" };
            let line = format!("{newline}{kind}{} {}|", token.depth, token.text(text));
            lines.push_str(&line);
        }
        lines
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(show(text), expected, "{text}");
    }

    #[test]
    fn a_slash_is_a_regex_or_a_division() {
        check("a / b / c", "w0 a|p0 /|w0 b|p0 /|w0 c|");
        check("a = /b/g", "w0 a|p0 =|r0 /b/g|");
        check("f(/[/)]\\/x/)", "w0 f|p0 (|r1 /[/)]\\/x/|p0 )|");
        check("(a)/b/c", "p0 (|w1 a|p0 )|p0 /|w0 b|p0 /|w0 c|");
        check("if (a) /b/.c", "w0 if|p0 (|w1 a|p0 )|r0 /b/|p0 .|w0 c|");
        check("{}/a/", "p0 {|p0 }|r0 /a/|");
        check("x={}/a/b", "w0 x|p0 =|p0 {|p0 }|p0 /|w0 a|p0 /|w0 b|");
        check("i++/2", "w0 i|p0 ++|p0 /|n0 2|");
        check("return /a/", "w0 return|r0 /a/|");
        check("a.return /2", "w0 a|p0 .|w0 return|p0 /|n0 2|");
        check("`${a}`/2", "t0 `${|w1 a|p0 }|t0 `|p0 /|n0 2|");
        check("x => {}\n/a/", "w0 x|p0 =>|p0 {|p0 }|!r0 /a/|");
    }

    #[test]
    fn templates_nest() {
        check(
            "`a${`b${c}`}d`",
            "t0 `a${|t1 `b${|w2 c|p1 }|t1 `|p0 }|t0 d`|",
        );
        check("`\\`${'}'}\\${`", "t0 `\\`${|s1 '}'|p0 }|t0 \\${`|");
        check("`a$b`", "t0 `a$b`|");
    }

    #[test]
    fn strings_and_comments_hide_what_is_in_them() {
        check("'a\\'b' \"//\"", "s0 'a\\'b'|s0 \"//\"|");
        check("a // b\n/* c\n */ d", "w0 a|!w0 d|");
        check("a /* b */ c", "w0 a|w0 c|");
        check("#!x\na", "!w0 a|");
        check("'a\nb", "s0 'a|!w0 b|");
        check("'a\\\nb'", "s0 'a\\\nb'|");
    }

    #[test]
    fn words_and_numbers() {
        check("$_ů.#p", "w0 $_ů|p0 .|w0 #p|");
        check("1e+5-0x1e+5", "n0 1e+5|p0 -|n0 0x1e|p0 +|n0 5|");
        check(".5?.5:b", "n0 .5|p0 ?|n0 .5|p0 :|w0 b|");
        check("a?.b...c", "w0 a|p0 ?.|w0 b|p0 ...|w0 c|");
        check("\u{a0}a\u{2028}b", "w0 a|!w0 b|");
    }

    #[track_caller]
    fn check_open(text: &str, expected: bool) {
        let mut whole = Lexer::default();
        while whole.next(text).is_some() {}
        assert_eq!(whole.is_open(), expected, "{text}");
        // Line by line, the same.
        let mut grown = Lexer::default();
        for (end, _) in text.match_indices('\n') {
            while grown.next(&text[..=end]).is_some() {}
        }
        while grown.next(text).is_some() {}
        assert_eq!(grown.is_open(), expected, "{text}, line by line");
    }

    #[test]
    fn what_is_open_needs_more() {
        for text in [
            "(", "{\n[]", "`a\n", "`${", "/* a\n*", "'a\\\n", "'a\\", "`${`\n`",
        ] {
            check_open(text, true);
        }
        for text in [
            "", "()", "`a\n`", "/* a\n*/", "'a\\\nb'", "'a", "'\\\\", "a +", "}",
        ] {
            check_open(text, false);
        }
    }

    mod properties {
        use super::*;
        use proptest::prelude::*;

        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn tokens_are_in_order_and_within_the_text(
                text in "[a-c `'\"/*\\\\${}()\\[\\].=\n\u{e9}\u{2028}#!0]{0,40}",
            ) {
                let mut at = 0;
                for token in tokens(&text) {
                    prop_assert!(at <= token.start && token.start < token.end);
                    prop_assert!(text.get(token.start..token.end).is_some());
                    at = token.end;
                }
            }

            #[test]
            fn growing_text_ends_in_the_same_state(text in "[a `'/*\\\\${}()\n]{0,40}") {
                check_open(&text, is_open(&text));
            }

            #[test]
            fn any_bytes_are_scanned_to_the_end(text: String) {
                let covered: usize = tokens(&text).iter().map(|token| token.end - token.start).sum();
                prop_assert!(covered <= text.len());
            }
        }
    }
}
