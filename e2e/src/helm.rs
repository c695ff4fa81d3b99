//! Helm, as somebody runs it at a prompt.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process::mortal;
use crate::tools::Tools;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Major {
    Three,
    Four,
}

impl Major {
    pub const ALL: [Self; 2] = [Self::Three, Self::Four];

    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Three => 3,
            Self::Four => 4,
        }
    }

    /// The flag that undoes a failed operation.
    #[must_use]
    pub fn rollback_on_failure(self) -> &'static str {
        match self {
            Self::Three => "--atomic",
            Self::Four => "--rollback-on-failure",
        }
    }

    pub(crate) fn program(self, tools: &Tools) -> PathBuf {
        match self {
            Self::Three => tools.helm3.join("helm"),
            Self::Four => tools.helm4.join("helm"),
        }
    }
}

/// What a command said.
#[derive(Debug, Clone)]
pub struct Run {
    pub command: String,
    pub success: bool,
    /// `None` where a signal has ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    #[must_use]
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert!(self.success, "`{}` failed:\n{}", self.command, self.stderr);
        self
    }

    #[must_use]
    #[track_caller]
    pub fn fails(self) -> Self {
        assert!(!self.success, "`{}` succeeded:\n{}{}", self.command, self.stdout, self.stderr);
        self
    }

    /// The error, without the warnings before it.
    #[must_use]
    pub fn error(&self) -> &str {
        let start = self.stderr.find("Error: ").or_else(|| self.stderr.find("error: ")).unwrap_or_default();
        self.stderr.split_at(start).1.trim_end()
    }

    /// What the policy said when it denied, a line each paragraph, without what Helm and the API server put before it.
    #[must_use]
    pub fn denial(&self) -> Option<String> {
        self.error().split_once("denied the request: ").map(|(_, denial)| unwrapped(denial))
    }

    /// A denial ends with a link to the page of each rule that denied.
    #[must_use]
    pub fn is_denied_by(&self, rule: &str) -> bool {
        self.denial().is_some_and(|denial| denial.contains(&format!("/docs/rules/{rule}.md")))
    }

    /// The policy's warnings, each once, without what the client puts around them.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for line in self.stderr.lines() {
            if let Some(warning) = warning(line)
                && !warnings.contains(&warning)
            {
                warnings.push(warning);
            }
        }
        warnings
    }
}

/// A denial is wrapped for terminals, at places that depend on the namespace's name: its paragraphs, a line each.
pub(crate) fn unwrapped(denial: &str) -> String {
    let mut paragraphs: Vec<String> = Vec::new();
    for line in denial.lines() {
        match paragraphs.last_mut().filter(|_| !begins_a_paragraph(line)) {
            Some(last) => {
                last.push(' ');
                last.push_str(line);
            }
            None => paragraphs.push(line.to_owned()),
        }
    }
    paragraphs.join("\n")
}

fn begins_a_paragraph(line: &str) -> bool {
    // "ServiceAccount and Job shop/orders: each ..."
    let is_word = |word: &&str| *word != "and" && !word.is_empty();
    let mut words = line.split(' ').filter(is_word).skip_while(|word| word.chars().all(char::is_alphabetic));
    let names_an_object = line.starts_with(|first: char| first.is_ascii_uppercase())
        && words.next().is_some_and(|name| name.contains('/'));
    let starts = ["In ", "To accept it,", "Or, without that:", "And ", "https://"];
    let is_prose = line.starts_with("Helm ");
    (names_an_object && !is_prose) || starts.iter().any(|start| line.starts_with(start))
}

/// Helm 3 logs as klog does, Helm 4 as slog does, and kubectl in plain words.
fn warning(line: &str) -> Option<String> {
    if let Some((_, message)) = line.split_once("warnings.go:").and_then(|(_, rest)| rest.split_once("] ")) {
        let message = message.trim_matches('"').replace("\\\"", "\"");
        return Some(message.trim_start_matches("Warning: ").to_owned());
    }
    line.strip_prefix("Warning: ").map(str::to_owned)
}

/// One Helm in one namespace.
#[derive(Clone)]
pub struct Helm {
    pub major: Major,
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
    pub(crate) namespace: String,
    /// Where the records are: `secret`, `configmap` or `sql`.
    pub driver: &'static str,
    /// Variables beside those that every Helm gets.
    pub variables: Vec<(String, String)>,
    /// The options of the guard that stands in Helm's place where a release is changed.
    pub guard: Option<Vec<String>>,
    /// This Helm and kubectl come first on it.
    path: OsString,
}

impl Helm {
    pub(crate) fn new(major: Major, tools: &Tools, kubeconfig: &Path, folder: &Path, namespace: &str) -> Self {
        let program = major.program(tools);
        let own = [program.parent().map(Path::to_owned).unwrap_or_default(), tools.kubernetes.clone()];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).expect("a PATH");
        Self {
            major,
            program,
            kubeconfig: kubeconfig.to_owned(),
            home: folder.join("helm"),
            namespace: namespace.to_owned(),
            driver: "secret",
            variables: Vec::new(),
            guard: None,
            path,
        }
    }

    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Run {
        let shown = match self.guard_of(arguments) {
            Some(options) => ["stable-hooks"].into_iter().chain(options.iter().map(String::as_str)).collect(),
            None => vec!["helm"],
        };
        run(self.in_namespace(arguments), &[shown.as_slice(), arguments].concat().join(" "))
    }

    /// The program, which is called `helm`.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    #[must_use]
    pub fn in_namespace(&self, arguments: &[&str]) -> Command {
        let mut command = match self.guard_of(arguments) {
            Some(options) => {
                let mut command = self.command(Path::new("stable-hooks"));
                command.args(options);
                command
            }
            None => self.command(&self.program),
        };
        command.args(arguments).args(["--namespace", &self.namespace]);
        command
    }

    fn guard_of(&self, arguments: &[&str]) -> Option<&[String]> {
        let changes_a_release = matches!(arguments.first(), Some(&("install" | "upgrade" | "rollback")));
        self.guard.as_deref().filter(|_| changes_a_release)
    }

    /// A program in Helm's environment; nothing of the caller's gets in.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = mortal(program);
        command
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HELM_DRIVER", self.driver)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Each revision with its status, the oldest first.
    #[must_use]
    pub fn history(&self, release: &str) -> Vec<(u64, String)> {
        let run = self.run(&["history", release, "-o", "json"]);
        if !run.success && run.stderr.contains("release: not found") {
            return Vec::new();
        }
        let history: Value = serde_json::from_str(&run.succeeds().stdout).expect("Helm's history is JSON");
        let revision = |entry: &Value| {
            let status = entry.get("status").and_then(Value::as_str).unwrap_or_default().to_owned();
            (entry.get("revision").and_then(Value::as_u64).unwrap_or_default(), status)
        };
        history.as_array().into_iter().flatten().map(revision).collect()
    }
}

/// Runs a command to its end.
pub fn run(mut command: Command, shown: &str) -> Run {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run `{shown}`: {error}"));
    Run {
        command: shown.to_owned(),
        success: output.status.success(),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
