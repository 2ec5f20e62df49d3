//! A transcript file, cut into its header and its steps.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What stands under the title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The program to debug, by its name in the folder of targets.
    pub target: Option<String>,
    /// The file with the marks, when it is not named like the target.
    pub source: Option<String>,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub needs: Vec<String>,
    pub deadline: Duration,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            target: None,
            source: None,
            args: Vec::new(),
            env: Vec::new(),
            needs: Vec::new(),
            deadline: Duration::from_mins(1),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// For the REPL.
    Js,
    /// A command line.
    Sh,
}

/// A fenced block: its text and the lines between its fences, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub text: String,
    pub lines: std::ops::Range<usize>,
}

/// An input and what must come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub language: Language,
    pub attributes: Vec<String>,
    pub input: Block,
    pub out: Option<Block>,
    pub err: Option<Block>,
    pub exit: Option<Block>,
}

impl Step {
    pub fn has(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|have| have == attribute)
    }

    pub fn value(&self, key: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find_map(|have| have.strip_prefix(key)?.strip_prefix('='))
    }
}

#[derive(Clone, Debug)]
pub struct Transcript {
    pub path: PathBuf,
    pub header: Header,
    pub steps: Vec<Step>,
}

impl Transcript {
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let (header, steps) = parse(&text)?;
        Ok(Self {
            path: path.to_owned(),
            header,
            steps,
        })
    }
}

const ATTRIBUTES: &[&str] = &["raw", "escapes", "noeol", "eof", "exits"];
const VALUES: &[&str] = &["after", "signal"];

pub fn parse(text: &str) -> Result<(Header, Vec<Step>), String> {
    let lines: Vec<&str> = text.lines().collect();
    if !lines.first().is_some_and(|line| line.starts_with("# ")) {
        return Err("line 1: a transcript starts with `# what it shows`".into());
    }
    let mut header = Header::default();
    let mut at = 1;
    while let Some(line) = lines.get(at).filter(|line| !line.trim().is_empty()) {
        header_line(&mut header, line).map_err(|error| format!("line {}: {error}", at + 1))?;
        at += 1;
    }
    let mut steps = Vec::new();
    while at < lines.len() {
        let Some(info) = lines[at].strip_prefix("```") else {
            at += 1;
            continue;
        };
        let start = at + 1;
        let end = (start..lines.len())
            .find(|&line| lines[line] == "```")
            .ok_or_else(|| format!("line {}: the block has no end", at + 1))?;
        let block = Block {
            text: lines[start..end]
                .iter()
                .flat_map(|line| [*line, "\n"])
                .collect(),
            lines: start..end,
        };
        add_block(&mut steps, info, block).map_err(|error| format!("line {}: {error}", at + 1))?;
        at = end + 1;
    }
    if steps.is_empty() {
        return Err("no `js` or `sh` block: it tests nothing".into());
    }
    Ok((header, steps))
}

fn header_line(header: &mut Header, line: &str) -> Result<(), String> {
    let (key, value) = line
        .split_once(':')
        .ok_or("expected `key: value` or a blank line under the title")?;
    let value = value.trim();
    let words = || value.split_whitespace().map(str::to_owned);
    match key {
        "target" => header.target = Some(value.to_owned()),
        "source" => header.source = Some(value.to_owned()),
        "args" => header.args = words().collect(),
        "needs" => header.needs = words().collect(),
        "env" => {
            header.env = words()
                .map(|word| {
                    let (name, value) = word.split_once('=').ok_or("env: NAME=VALUE …")?;
                    Ok((name.to_owned(), value.to_owned()))
                })
                .collect::<Result<_, &str>>()?;
        }
        "deadline" => {
            let seconds = value.parse().map_err(|_| "deadline: whole seconds")?;
            header.deadline = Duration::from_secs(seconds);
        }
        _ => return Err(format!("unknown header key `{key}`")),
    }
    Ok(())
}

fn add_block(steps: &mut Vec<Step>, info: &str, block: Block) -> Result<(), String> {
    let mut words = info.split_whitespace();
    let kind = words.next().unwrap_or("");
    let attributes: Vec<String> = words.map(str::to_owned).collect();
    let language = match kind {
        "js" => Language::Js,
        "sh" => Language::Sh,
        "out" | "err" | "exit" => {
            let step = steps
                .last_mut()
                .ok_or_else(|| format!("`{kind}` without an input before it"))?;
            let place = match kind {
                "out" => &mut step.out,
                "err" => &mut step.err,
                _ => &mut step.exit,
            };
            if place.replace(block).is_some() {
                return Err(format!("a second `{kind}` for one input"));
            }
            return Ok(());
        }
        // Other languages are illustration.
        _ => return Ok(()),
    };
    for attribute in &attributes {
        let known = match attribute.split_once('=') {
            Some((key, _)) => VALUES.contains(&key),
            None => ATTRIBUTES.contains(&attribute.as_str()),
        };
        if !known {
            return Err(format!("unknown attribute `{attribute}`"));
        }
    }
    steps.push(Step {
        language,
        attributes,
        input: block,
        out: None,
        err: None,
        exit: None,
    });
    Ok(())
}

pub mod checks {
    use super::{Duration, Language, parse};

    pub const ALL: crate::checks::Table = &[
        ("a_file_becomes_header_and_steps", whole_file),
        ("mistakes_are_told_with_their_line", mistakes),
    ];

    const SAMPLE: &str = "# Title\ntarget: loop\nargs: -p 1\nenv: A=b C=d\nneeds: host gdb\ndeadline: 5\n\n\
        Prose.\n```js raw after=busy\n1+1\n```\n```out\n2\n=1 ok none\n```\n```c\nint x;\n```\n```sh\ntrue\n```\n```exit\n3\n```\n";

    fn whole_file() {
        let (header, steps) = parse(SAMPLE).unwrap();
        assert_eq!(header.target.as_deref(), Some("loop"));
        assert_eq!(header.args, ["-p", "1"]);
        assert_eq!(
            header.env,
            [
                ("A".to_owned(), "b".to_owned()),
                ("C".to_owned(), "d".to_owned())
            ]
        );
        assert_eq!(header.needs, ["host", "gdb"]);
        assert_eq!(header.deadline, Duration::from_secs(5));
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].input.text, "1+1\n");
        assert!(steps[0].has("raw"));
        assert_eq!(steps[0].value("after"), Some("busy"));
        assert_eq!(
            steps[0]
                .out
                .as_ref()
                .map(|out| (out.text.as_str(), out.lines.clone())),
            Some(("2\n=1 ok none\n", 12..14))
        );
        assert_eq!(steps[1].language, Language::Sh);
        assert_eq!(steps[1].exit.as_ref().unwrap().text, "3\n");
    }

    fn mistakes() {
        check_mistake(
            "no title\n",
            "line 1: a transcript starts with `# what it shows`",
        );
        check_mistake("# T\ncolour: red\n", "line 2: unknown header key `colour`");
        check_mistake("# T\n\n```js\n1\n", "line 3: the block has no end");
        check_mistake(
            "# T\n\n```out\n1\n```\n",
            "line 3: `out` without an input before it",
        );
        check_mistake(
            "# T\n\n```js rwa\n1\n```\n",
            "line 3: unknown attribute `rwa`",
        );
        check_mistake(
            "# T\n\nnothing\n",
            "no `js` or `sh` block: it tests nothing",
        );
    }

    #[track_caller]
    fn check_mistake(text: &str, error: &str) {
        assert_eq!(parse(text).unwrap_err(), error);
    }
}
