//! Where the suite runs: on the host, or in a container through `docker exec`.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::markdown::Header;

#[derive(Clone, Debug)]
pub struct Place {
    /// The command that starts the product, from `LLMDBG_RUN`.
    command: Vec<String>,
    targets: String,
    /// The container's name when the command is `docker exec … NAME …`.
    container: Option<String>,
    require_all: bool,
}

/// What becomes of a transcript here.
pub enum Verdict {
    Run,
    Lacking(String),
    /// It speaks of the other place and has its turn there.
    Elsewhere,
}

/// The variable by which a transcript's processes are known again after their parents are gone.
pub const MARKER: &str = "TRANSCRIPT_ID";

impl Place {
    pub fn from_environment() -> Result<Self, String> {
        let variable =
            |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let command = match variable("LLMDBG_RUN") {
            Some(line) => line.split_whitespace().map(str::to_owned).collect(),
            None => vec![
                assert_cmd::cargo::cargo_bin!("llmdbg")
                    .to_string_lossy()
                    .into_owned(),
            ],
        };
        let container = container_of(&command);
        let targets = match variable("LLMDBG_TARGETS") {
            Some(folder) => folder,
            None => build_targets()?,
        };
        let require_all = variable("LLMDBG_REQUIRE").as_deref() == Some("all");
        Ok(Self {
            command,
            targets,
            container,
            require_all,
        })
    }

    pub fn targets(&self) -> String {
        self.targets.clone()
    }

    pub fn container(&self) -> Option<&str> {
        self.container.as_deref()
    }

    /// The product's own name or path, for those who start it in another way.
    pub fn product(&self) -> &str {
        self.command.last().map_or("llmdbg", String::as_str)
    }

    pub fn requires_all(&self) -> bool {
        self.require_all
    }

    pub fn verdict(&self, header: &Header) -> Verdict {
        for need in &header.needs {
            let fits = match need.as_str() {
                "host" => self.container.is_none(),
                "container" => self.container.is_some(),
                "root" if !nix::unistd::geteuid().is_root() => {
                    return Verdict::Lacking("to be root".into());
                }
                "root" => true,
                program if !on_path(program) => {
                    return Verdict::Lacking(format!("the program {program}"));
                }
                _ => true,
            };
            if !fits {
                return Verdict::Elsewhere;
            }
        }
        match &header.target {
            Some(target)
                if self.container.is_none() && !Path::new(&self.targets).join(target).exists() =>
            {
                Verdict::Lacking(format!("the target {target}"))
            }
            _ => Verdict::Run,
        }
    }

    /// The words that start the product for the transcript `id`, with these variables set for it.
    pub fn words(&self, id: &str, env: &[(String, String)]) -> Vec<String> {
        let mut words = self.command.clone();
        if self.container.is_some() {
            // The environment of the docker client is not that of the process it starts.
            let marker = (MARKER.to_owned(), id.to_owned());
            let passed = env
                .iter()
                .chain([&marker])
                .flat_map(|(name, value)| ["-e".to_owned(), format!("{name}={value}")]);
            words.splice(2..2, passed.collect::<Vec<_>>());
        }
        words
    }

    /// Sets what every process of a transcript gets. Nothing of the developer's own settings leaks in.
    pub fn dress(id: &str, env: &[(String, String)], command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("LLMDBG_") {
                command.env_remove(name);
            }
        }
        command
            .env(MARKER, id)
            .env("LC_ALL", "C")
            .env("TERM", "dumb");
        for (name, value) in env {
            command.env(name, value);
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.container {
            Some(name) => write!(f, "container {name}"),
            None => f.write_str("host"),
        }
    }
}

/// `docker exec -i NAME llmdbg`: the first word after the options of `exec`.
fn container_of(command: &[String]) -> Option<String> {
    let [engine, verb, rest @ ..] = command else {
        return None;
    };
    let engine = Path::new(engine).file_name().and_then(OsStr::to_str);
    let named = matches!(engine, Some("docker" | "podman")) && verb == "exec";
    rest.iter()
        .find(|word| named && !word.starts_with('-'))
        .cloned()
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Brings the test targets up to date; the script builds only what is older than its source.
fn build_targets() -> Result<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-targets");
    let out: PathBuf = folder.join("build");
    let built = Command::new(folder.join("build.sh"))
        .arg(&out)
        .output()
        .map_err(|error| format!("test-targets/build.sh: {error}"))?;
    if !built.status.success() {
        return Err(format!(
            "test-targets/build.sh: {}\n{}",
            built.status,
            String::from_utf8_lossy(&built.stderr)
        ));
    }
    Ok(out.to_string_lossy().into_owned())
}
