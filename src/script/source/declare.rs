//! Where top-level statements begin, and which names they declare.

use super::lexer::{Kind, Token};

/// Tokens of a program, with its text.
#[derive(Clone, Copy)]
pub struct Tokens<'t, 'l> {
    pub text: &'t str,
    pub list: &'l [Token],
}

/// A name that a top-level statement declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Declared<'t> {
    pub name: &'t str,
    /// Its place in the text, in bytes.
    pub at: usize,
}

/// Patterns nest deeper only to do harm.
const MAX_PATTERN_DEPTH: usize = 32;

impl<'t> Tokens<'t, '_> {
    /// The text of a token; nothing where there is none.
    pub fn word(&self, index: usize) -> &'t str {
        self.get(index).map_or("", |token| token.text(self.text))
    }

    pub fn get(&self, index: usize) -> Option<Token> {
        self.list.get(index).copied()
    }

    pub fn is(&self, index: usize, kind: Kind) -> bool {
        self.get(index).is_some_and(|token| token.kind == kind)
    }

    /// Whether a statement outside all brackets begins with this token, as far as a keyword that
    /// begins declarations is concerned.
    pub fn starts_statement(&self, index: usize) -> bool {
        let Some(token) = self.get(index) else {
            return false;
        };
        let Some(before) = index.checked_sub(1) else {
            return true;
        };
        if token.depth > 0 {
            return false;
        }
        match self.word(before) {
            ";" | "}" => true,
            _ => token.after_newline && self.ends_value(before),
        }
    }

    /// Whether `let` begins a declaration here, or is the name of something.
    pub fn let_declares(&self, index: usize) -> bool {
        match self.word(index + 1) {
            "[" | "{" => true,
            "in" | "instanceof" => false,
            _ => self.is(index + 1, Kind::Word),
        }
    }

    /// The index of the `}` of the class that begins at `index`, when it is there.
    pub fn class_end(&self, index: usize) -> Option<usize> {
        let depth = self.get(index)?.depth;
        let at_depth = |word: &str, from: usize| {
            (from..self.list.len())
                .find(|&at| self.word(at) == word && self.get(at).is_some_and(|t| t.depth == depth))
        };
        let mut end = at_depth("}", at_depth("{", index)?)?;
        // What the class extends may be a class itself.
        while self.word(end + 1) == "{" && self.get(end + 1).is_some_and(|t| !t.after_newline) {
            end = at_depth("}", end + 1)?;
        }
        Some(end)
    }

    /// Whether an expression may end with this token.
    fn ends_value(&self, index: usize) -> bool {
        match self.get(index).map(|token| token.kind) {
            Some(Kind::Punctuator) => matches!(self.word(index), ")" | "]" | "}" | "++" | "--"),
            Some(Kind::Template) => self.word(index).ends_with('`'),
            Some(Kind::Word) => !matches!(
                self.word(index),
                "typeof" | "instanceof" | "in" | "new" | "delete" | "void" | "extends" | "await"
            ),
            Some(Kind::Number | Kind::String | Kind::Regex) => true,
            None => false,
        }
    }
}

/// All names that top-level statements declare, in order.
pub fn declared_names<'t>(tokens: Tokens<'t, '_>) -> Vec<Declared<'t>> {
    let mut names = Names {
        tokens,
        at: 0,
        found: Vec::new(),
    };
    for index in 0..tokens.list.len() {
        if !tokens.starts_statement(index) {
            continue;
        }
        names.at = index + 1;
        match tokens.word(index) {
            "let" if !tokens.let_declares(index) => {}
            "let" | "const" | "var" => names.binding_list(),
            "class" => names.name(),
            "function" => names.function_name(),
            "async" if tokens.word(index + 1) == "function" => {
                names.at += 1;
                names.function_name();
            }
            _ => {}
        }
    }
    names.found
}

/// A walk over declarations.
struct Names<'t, 'l> {
    tokens: Tokens<'t, 'l>,
    at: usize,
    found: Vec<Declared<'t>>,
}

impl Names<'_, '_> {
    fn word(&self) -> &str {
        self.tokens.word(self.at)
    }

    fn name(&mut self) {
        if let Some(token) = self.tokens.get(self.at)
            && token.kind == Kind::Word
        {
            self.found.push(Declared {
                name: token.text(self.tokens.text),
                at: token.start,
            });
            self.at += 1;
        }
    }

    fn function_name(&mut self) {
        if self.word() == "*" {
            self.at += 1;
        }
        self.name();
    }

    fn binding_list(&mut self) {
        loop {
            self.binding(0);
            self.initializer(0);
            if self.word() != "," {
                return;
            }
            self.at += 1;
        }
    }

    /// A name or a pattern.
    fn binding(&mut self, nesting: usize) {
        match self.word() {
            "[" | "{" if nesting < MAX_PATTERN_DEPTH => self.pattern(nesting),
            "[" | "{" => self.skip_bracket(),
            _ => self.name(),
        }
    }

    fn skip_bracket(&mut self) {
        let outside = self.tokens.get(self.at).map(|open| open.depth);
        self.at += 1;
        while let Some(token) = self.tokens.get(self.at)
            && outside.is_some_and(|depth| token.depth > depth)
        {
            self.at += 1;
        }
        self.at += 1;
    }

    fn pattern(&mut self, nesting: usize) {
        let Some(open) = self.tokens.get(self.at) else {
            return;
        };
        let is_object = self.word() == "{";
        let inside = open.depth + 1;
        self.at += 1;
        while let Some(token) = self.tokens.get(self.at) {
            if token.depth < inside {
                self.at += 1;
                return;
            }
            if matches!(self.word(), "," | "...") {
                self.at += 1;
                continue;
            }
            if is_object && self.skip_key(inside) {
                self.at += 1;
            }
            let before = self.at;
            self.binding(nesting + 1);
            self.initializer(inside);
            // What is no pattern is no declaration; the compiler says so.
            self.at = self.at.max(before + 1);
        }
    }

    /// Steps onto the colon after a property's key; stays where it is at a shorthand.
    fn skip_key(&mut self, inside: usize) -> bool {
        let computed = self.word() == "[";
        let mut colon = self.at + 1;
        if computed {
            while self.tokens.get(colon).is_some_and(|t| t.depth > inside) {
                colon += 1;
            }
            colon += 1;
        }
        let found = self.tokens.word(colon) == ":";
        if found {
            self.at = colon;
        }
        found
    }

    /// `= expression`, when there is one.
    fn initializer(&mut self, depth: usize) {
        if self.word() != "=" {
            return;
        }
        self.at += 1;
        while let Some(token) = self.tokens.get(self.at) {
            let ends = token.depth < depth
                || token.depth == depth && matches!(self.word(), "," | ";")
                || depth == 0 && self.is_next_statement(token);
            if ends {
                return;
            }
            self.at += 1;
        }
    }

    /// Automatic semicolon insertion: two values cannot stand side by side.
    fn is_next_statement(&self, token: Token) -> bool {
        let begins_value = match token.kind {
            Kind::Word => !matches!(self.word(), "in" | "instanceof" | "of"),
            Kind::Number | Kind::String => true,
            Kind::Punctuator => self.word() == "{",
            Kind::Template | Kind::Regex => false,
        };
        token.after_newline && begins_value && self.tokens.starts_statement(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::lexer;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let list = lexer::tokens(text);
        let tokens = Tokens { text, list: &list };
        let names: Vec<_> = declared_names(tokens)
            .iter()
            .map(|found| found.name)
            .collect();
        assert_eq!(names, expected, "{text}");
        for found in declared_names(tokens) {
            assert!(text[found.at..].starts_with(found.name));
        }
    }

    #[test]
    fn declared_names_are_found() {
        check(
            "let a = 1, b; const c = d, e = (f, g)",
            &["a", "b", "c", "e"],
        );
        check("var a\nlet b = c\nfoo(d), e", &["a", "b"]);
        check("let a = b\n, c = 1", &["a", "c"]);
        check("class A extends B {}\nfunction f() {}", &["A", "f"]);
        check("async function f() {}; function* g() {}", &["f", "g"]);
        check("if (x) { let a }\nlet b", &["b"]);
        check("for (let a of b) {} for (const c = 1;;) {}", &[]);
        check("x = class A {}\ny = function f() {}", &[]);
    }

    #[test]
    fn patterns_declare_what_they_bind() {
        check(
            "let {a, b: c, 'd': e, [f]: g = h, ...i} = j",
            &["a", "c", "e", "g", "i"],
        );
        check(
            "let [a, , [b = {c: d}], ...e] = f, g",
            &["a", "b", "e", "g"],
        );
        check("const {a: {b: [c]}, d = {e}} = f", &["c", "d"]);
        check("let {a", &["a"]);
        check("let [(a)] = 1", &["a"]);
    }

    #[test]
    fn let_may_be_a_name() {
        check("let = 1", &[]);
        check("let.a; let(b); let in c", &[]);
        check("let\na = 1", &["a"]);
        check("let [a] = b", &["a"]);
    }

    #[test]
    fn hostile_nesting_is_survived() {
        for open in ["[", "{a:", "{a=[", "[{[b]:"] {
            let text = format!("let {}", open.repeat(100_000));
            let list = lexer::tokens(&text);
            declared_names(Tokens {
                text: &text,
                list: &list,
            });
        }
    }
}
