//! One transcript from its first step to the check that nothing is left.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::markdown::{Block, Header, Language, Step, Transcript};
use crate::marks::Words;
use crate::outcome;
use crate::pattern::Bindings;
use crate::place::Place;
use crate::repl::Repl;
use crate::shell::Shell;
use crate::{attend, survivors};

/// What a run of a transcript needs at every step.
struct Run<'a> {
    header: &'a Header,
    place: &'a Place,
    words: Words,
    bindings: Bindings,
    id: String,
    folder: tempfile::TempDir,
    deadline: Instant,
    /// With `UPDATE=1` the expectations are rewritten instead of compared.
    edits: Option<Vec<Edit>>,
}

/// New text for the lines of an old block, or a new block before a line.
struct Edit {
    lines: std::ops::Range<usize>,
    text: String,
}

pub fn transcript(transcript: &Transcript, place: &Place) -> Result<(), String> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut run = Run {
        header: &transcript.header,
        place,
        words: Words::new(&transcript.header, place)?,
        bindings: Bindings::new(),
        id: format!("{}-{count}", std::process::id()),
        folder: tempfile::tempdir().map_err(|error| error.to_string())?,
        deadline: Instant::now() + transcript.header.deadline,
        edits: std::env::var_os("UPDATE").map(|_| Vec::new()),
    };
    let result = run.steps(&transcript.steps);
    let left = survivors::end_all(&run.id, place);
    if let Some(edits) = run.edits.take() {
        save(transcript, edits)?;
    }
    match (result, left) {
        (Ok(()), left) => left,
        // A session that was broken off has no say in what it leaves.
        (Err(error), _) => Err(error),
    }
}

impl Run<'_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), String> {
        let mut repl = None;
        let mut result = Ok(());
        for step in steps {
            result = match step.language {
                Language::Sh => self.shell_step(step),
                Language::Js => self.js_step(step, &mut repl),
            }
            .map_err(|error| format!("line {}: {error}", step.input.lines.start));
            if result.is_err() {
                break;
            }
        }
        let Some(mut repl) = repl else { return result };
        if result.is_ok() {
            result = self.ending(&mut repl, steps);
        }
        let errors = repl.finish();
        result.map_err(|error| match errors.as_str() {
            "" => error,
            _ => format!("{error}\nstderr:\n{errors}"),
        })
    }

    fn shell_step(&mut self, step: &Step) -> Result<(), String> {
        let done = self.shell(step).run(self.deadline)?;
        let end = step.input.lines.end + 1;
        self.expect("out", step.out.as_ref(), &done.out, end)?;
        self.expect("err", step.err.as_ref(), &done.err, end)?;
        let exit = match done.exit {
            0 => String::new(),
            code => format!("{code}\n"),
        };
        self.expect("exit", step.exit.as_ref(), &exit, end)
            .map_err(|error| format!("{error}\nstderr:\n{}", done.err))
    }

    fn js_step(&mut self, step: &Step, started: &mut Option<Repl>) -> Result<(), String> {
        let repl = match started {
            Some(repl) => repl,
            None => started.insert(self.start()?),
        };
        let text = self.words.in_js(&step.input.text)?;
        repl.send(&encoded(step, &text)?)?;
        if let Some(condition) = step.value("after") {
            attend::until(condition, repl.pid(), self.deadline)?;
        }
        if let Some(signal) = step.value("signal") {
            repl.signal(signal)?;
        }
        let came = if step.has("eof") || step.has("exits") {
            if step.has("eof") {
                repl.close_input();
            }
            repl.rest()?
        } else {
            let mut came = String::new();
            for _ in 0..awaited_replies(step) {
                came.push_str(&repl.reply()?);
            }
            came
        };
        self.expect("out", step.out.as_ref(), &came, step.input.lines.end + 1)?;
        match repl.unasked() {
            Some(text) => Err(format!("output outside a reply:\n{text}")),
            None => Ok(()),
        }
    }

    fn shell(&self, step: &Step) -> Shell {
        let product = self.place.words(&self.id, &self.header.env);
        let mut command = Command::new("sh");
        Place::dress(&self.id, &self.header.env, &mut command);
        command
            .env("TARGET", &self.words.target)
            .env("TARGETS", &self.words.targets)
            .env("PRODUCT", self.place.product())
            .env("EXAMPLES", concat!(env!("CARGO_MANIFEST_DIR"), "/examples"))
            .current_dir(self.folder.path());
        Shell::new(command, &product, &step.input.text)
    }

    fn start(&self) -> Result<Repl, String> {
        let mut words = self.place.words(&self.id, &self.header.env);
        for word in &self.header.args {
            words.push(self.words.in_text(word)?);
        }
        let (program, arguments) = words.split_first().ok_or("LLMDBG_RUN is empty")?;
        let mut command = Command::new(program);
        Place::dress(&self.id, &self.header.env, &mut command);
        command.args(arguments).current_dir(self.folder.path());
        Repl::start(command, self.deadline)
    }

    /// At the end of its input the REPL ends by itself, silently and, unless told otherwise, with 0.
    fn ending(&mut self, repl: &mut Repl, steps: &[Step]) -> Result<(), String> {
        repl.close_input();
        let rest = repl.rest()?;
        if !rest.is_empty() {
            return Err(format!("output outside a reply:\n{rest}"));
        }
        let exit = match repl.exit()? {
            0 => String::new(),
            code => format!("{code}\n"),
        };
        let last = steps.iter().rfind(|step| step.language == Language::Js);
        let Some(last) = last else { return Ok(()) };
        let end = last.out.as_ref().unwrap_or(&last.input).lines.end + 1;
        self.expect("exit", last.exit.as_ref(), &exit, end)
    }

    fn expect(
        &mut self,
        kind: &str,
        block: Option<&Block>,
        actual: &str,
        end: usize,
    ) -> Result<(), String> {
        let expected = block.map_or("", |block| block.text.as_str());
        let differs = outcome::compare(kind, expected, actual, &self.words, &mut self.bindings);
        let (Err(difference), Some(edits)) = (&differs, &mut self.edits) else {
            return differs;
        };
        // A pattern that cannot be read is not to be lost by rewriting it.
        if difference.starts_with('`') {
            return differs;
        }
        let text = outcome::rewrite(expected, actual, &self.words, &mut self.bindings);
        edits.push(match block {
            Some(block) => Edit {
                lines: block.lines.clone(),
                text,
            },
            None => Edit {
                lines: end..end,
                text: format!("```{kind}\n{text}```\n"),
            },
        });
        Ok(())
    }
}

/// The bytes to send: one line, or one block when the program has several.
fn encoded(step: &Step, text: &str) -> Result<Vec<u8>, String> {
    if !step.has("raw") {
        let single = text.lines().count() == 1;
        if single {
            return Ok(text.as_bytes().to_vec());
        }
        let mut tag = String::from("JS");
        while text.lines().any(|line| line == tag) {
            tag.push('_');
        }
        return Ok(format!("<<{tag}\n{text}{tag}\n").into_bytes());
    }
    let text = if step.has("noeol") {
        text.trim_end_matches('\n')
    } else {
        text
    };
    if step.has("escapes") {
        unescaped(text)
    } else {
        Ok(text.as_bytes().to_vec())
    }
}

/// `\xNN` is one byte.
fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let digits = rest.get(at + 2..at + 4).ok_or("\\x wants two digits")?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|error| error.to_string())?);
        rest = &rest[at + 4..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

/// A raw input has as many replies as its expectation has status lines, any other exactly one.
fn awaited_replies(step: &Step) -> usize {
    if !step.has("raw") {
        return 1;
    }
    step.out.as_ref().map_or(0, |out| {
        out.text
            .lines()
            .filter(|line| line.starts_with('='))
            .count()
    })
}

fn save(transcript: &Transcript, mut edits: Vec<Edit>) -> Result<(), String> {
    let text = std::fs::read_to_string(&transcript.path).map_err(|error| error.to_string())?;
    let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    edits.sort_by_key(|edit| edit.lines.start);
    for edit in edits.into_iter().rev() {
        lines.splice(edit.lines, [edit.text]);
    }
    std::fs::write(&transcript.path, lines.concat()).map_err(|error| error.to_string())
}
