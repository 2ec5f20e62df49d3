//! Words the harness replaces: positions come from marks in a target's source, never from line
//! numbers, and paths from where the targets are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::markdown::Header;
use crate::place::Place;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// `file.c:LINE` by mark.
    marks: BTreeMap<String, String>,
    pub target: String,
    pub targets: String,
}

impl Words {
    pub fn new(header: &Header, place: &Place) -> Result<Self, String> {
        let mut words = Self {
            targets: place.targets(),
            ..Self::default()
        };
        if let Some(target) = &header.target {
            words.target = format!("{}/{target}", words.targets);
        }
        let listed = header.target.as_deref().and_then(listed_source);
        let name = header.source.clone().or(listed);
        match name.as_deref().and_then(find_source) {
            Some(path) => words.marks = marks_in(&path)?,
            None if header.source.is_some() => {
                return Err(format!("no source file {}", name.unwrap_or_default()));
            }
            None => {}
        }
        Ok(words)
    }

    /// `MARK('x')` becomes `'file.c:12'`, the words TARGET and TARGETS the quoted paths.
    pub fn in_js(&self, text: &str) -> Result<String, String> {
        let mut done = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("MARK('") {
            let (name, after) = rest[at + 6..]
                .split_once("')")
                .ok_or("MARK('name') is not closed")?;
            done.push_str(&rest[..at]);
            done.push('\'');
            done.push_str(self.mark(name)?);
            done.push('\'');
            rest = after;
        }
        done.push_str(rest);
        let done = replace_word(&done, "TARGETS", &format!("'{}'", self.targets));
        Ok(replace_word(&done, "TARGET", &format!("'{}'", self.target)))
    }

    /// `[mark:x]` (file.c:12), `[line:x]` (12), `[target]` and `[targets]` in an expectation or in the arguments.
    pub fn in_text(&self, text: &str) -> Result<String, String> {
        let mut done = String::new();
        let mut rest = text;
        while let Some(at) = [rest.find("[mark:"), rest.find("[line:")]
            .into_iter()
            .flatten()
            .min()
        {
            let (name, after) = rest[at + 6..]
                .split_once(']')
                .ok_or("[mark:name] is not closed")?;
            let place = self.mark(name)?;
            done.push_str(&rest[..at]);
            done.push_str(match place.split_once(':') {
                Some((_, line)) if rest[at..].starts_with("[line:") => line,
                _ => place,
            });
            rest = after;
        }
        done.push_str(rest);
        Ok(done
            .replace("[targets]", &self.targets)
            .replace("[target]", &self.target))
    }

    /// The way back, for rewriting expectations.
    pub fn out_of_text(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for (name, place) in &self.marks {
            line = replace_word(&line, place, &format!("[mark:{name}]"));
            if let Some((file, number)) = place.split_once(':') {
                let cells = format!("{file}\t{number}");
                line = replace_word(&line, &cells, &format!("{file}\t[line:{name}]"));
            }
        }
        if !self.target.is_empty() {
            line = replace_word(&line, &self.target, "[target]");
        }
        if !self.targets.is_empty() {
            line = line.replace(&self.targets, "[targets]");
        }
        line
    }

    fn mark(&self, name: &str) -> Result<&str, String> {
        self.marks
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| format!("no mark `{name}` in the target's source"))
    }
}

/// Replaces `word` where it is not part of a longer word.
fn replace_word(text: &str, word: &str, with: &str) -> String {
    let joins = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '-')
    };
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let before = rest[..at].chars().next_back().or(done.chars().next_back());
        let after = &rest[at + word.len()..];
        done.push_str(&rest[..at]);
        done.push_str(if joins(before) || joins(after.chars().next()) {
            word
        } else {
            with
        });
        rest = after;
    }
    done + rest
}

/// The second word of the target's line in targets.list.
fn listed_source(target: &str) -> Option<String> {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-targets/targets.list");
    let list = std::fs::read_to_string(list).ok()?;
    let mut lines = list.lines().map(str::split_whitespace);
    lines
        .find_map(|mut words| (words.next()? == target).then(|| words.next().map(str::to_owned))?)
}

fn find_source(name: &str) -> Option<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("test-targets")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("build") {
                folders.push(path);
            } else if path.is_file() && path.file_name().is_some_and(|have| have == name) {
                return Some(path);
            }
        }
    }
    None
}

fn marks_in(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    marks_of(&file, &text)
}

fn marks_of(file: &str, text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut marks = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        for part in line.split("mark: ").skip(1) {
            let name: String = part
                .chars()
                .take_while(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
                .collect();
            let place = format!("{file}:{}", number + 1);
            if marks.insert(name.clone(), place).is_some() {
                return Err(format!("{file}: the mark `{name}` stands twice"));
            }
        }
    }
    Ok(marks)
}

pub mod checks {
    use super::{Words, marks_of};

    pub const ALL: crate::checks::Table = &[
        ("marks_are_found_by_line", lines),
        ("words_are_replaced_whole", words),
        ("expectations_go_both_ways", both_ways),
    ];

    fn sample() -> Words {
        Words {
            marks: marks_of(
                "w.c",
                "int x;\nx = 1; /* mark: after-init */\n// mark: end\n",
            )
            .unwrap(),
            target: "/t/w".into(),
            targets: "/t".into(),
        }
    }

    fn lines() {
        let marks = sample().marks;
        assert_eq!(marks["after-init"], "w.c:2");
        assert_eq!(marks["end"], "w.c:3");
        assert!(marks_of("w.c", "/* mark: a */ /* mark: a */").is_err());
    }

    #[track_caller]
    fn check_js(text: &str, expected: &str) {
        assert_eq!(sample().in_js(text).as_deref(), Ok(expected));
    }

    fn words() {
        check_js("spawn(TARGET)", "spawn('/t/w')");
        check_js("TARGETS + '/x'", "'/t' + '/x'");
        check_js("MY_TARGET TARGETED", "MY_TARGET TARGETED");
        check_js("until(MARK('end'))", "until('w.c:3')");
        assert!(sample().in_js("MARK('nowhere')").is_err());
    }

    fn both_ways() {
        let shown = "stop at [mark:after-init] of [target] in [targets]/x\tw.c\t[line:end]";
        let real = "stop at w.c:2 of /t/w in /t/x\tw.c\t3";
        assert_eq!(sample().in_text(shown).as_deref(), Ok(real));
        assert_eq!(sample().out_of_text(real), shown);
    }
}
