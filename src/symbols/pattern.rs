//! Patterns for listing symbols: a part of the name, or a whole name with `*` and `?`.

#[derive(Clone, Debug)]
pub enum Pattern {
    Any,
    Part(String),
    Glob(Vec<char>),
}

impl Pattern {
    pub fn new(text: &str) -> Self {
        if text.is_empty() || text == "*" {
            Self::Any
        } else if text.contains(['*', '?']) {
            Self::Glob(text.chars().collect())
        } else {
            Self::Part(text.to_owned())
        }
    }

    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Part(part) => name.contains(part.as_str()),
            Self::Glob(glob) => glob_matches(glob, name),
        }
    }
}

/// Remembers only the last `*`: going further back could not help, so the work is at most the product of
/// both lengths.
fn glob_matches(glob: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut g, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                g += 1;
                n += 1;
            }
            _ => {
                let Some((star_g, star_n)) = star else {
                    return false;
                };
                star = Some((star_g, star_n + 1));
                g = star_g + 1;
                n = star_n + 1;
            }
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, matches: bool) {
        assert_eq!(Pattern::new(pattern).matches(name), matches);
    }

    #[test]
    fn parts_and_globs() {
        check("", "main", true);
        check("ai", "main", true);
        check("am", "main", false);
        check("m*", "main", true);
        check("m*", "aim", false);
        check("*::fmt", "a::b::fmt", true);
        check("m??n", "main", true);
        check("m?n", "main", false);
        check("*a*b*c*", "xxaxxbxxcxx", true);
        check("*a*b*c*", "xxaxxcxxbxx", false);
        check("a*", "a", true);
    }

    #[test]
    fn stars_do_not_explode() {
        let pattern = "*a".repeat(200) + "b";
        check(&pattern, &"a".repeat(4000), false);
    }
}
