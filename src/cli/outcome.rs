//! How a run ended, and what it tells beside its result.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use stable_hooks_policy::shown::Visible;

use crate::kubectl::Kubectl;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    NothingDenied,
    Denied,
    CouldNotJudge,
}

/// Why a run cannot even begin, in words for the user.
#[derive(Debug)]
pub(super) struct Failure(pub(in crate::cli) String);

impl Outcome {
    pub(in crate::cli) fn of(is_complete: bool, fails: bool) -> Self {
        match (is_complete, fails) {
            (false, _) => Self::CouldNotJudge,
            (true, true) => Self::Denied,
            (true, false) => Self::NothingDenied,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome as u8)
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure(format!("{}: {error}", path.display())))
}

/// A file that is read.
pub(super) struct Input {
    pub(in crate::cli) reader: Box<dyn Read + Send>,
    /// How many bytes it has, where that is known.
    pub(in crate::cli) length: Option<u64>,
}

/// A file, or standard input where it is called `-`.
pub(super) fn open_input(file: &Path) -> Result<Input, Failure> {
    if file.as_os_str() == "-" {
        return Ok(Input { reader: Box::new(io::stdin()), length: None });
    }
    let fail = |error| Failure(format!("{}: {error}", file.display()));
    let opened = File::open(file).map_err(fail)?;
    let length = opened.metadata().ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
    Ok(Input { reader: Box::new(opened), length })
}

/// All of a file, or of standard input where it is called `-`.
pub(super) fn read_input(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open_input(file)?
        .reader
        .read_to_end(&mut bytes)
        .map_err(|error| Failure(format!("{}: {error}", file.display())))?;
    Ok(bytes)
}

/// Helm takes `-n` away from its plugins and says this instead.
pub(super) fn namespace_of_helm() -> Option<String> {
    std::env::var("HELM_NAMESPACE").ok().filter(|namespace| !namespace.is_empty())
}

/// Where Helm itself looks for a release when it is given that namespace, or none.
pub(super) fn namespace_in_use(given: Option<&str>) -> String {
    let given = given.filter(|namespace| !namespace.is_empty()).map(str::to_owned);
    let namespace = given.or_else(namespace_of_helm).or_else(|| Kubectl::default().namespace());
    namespace.unwrap_or_else(|| "default".to_owned())
}

/// Tells on standard error what could not be done; a failure of that itself stays untold.
pub(super) fn complain(reason: &str) {
    tell(&error(reason));
}

/// Tells what is worth knowing and no failure.
pub(super) fn remark(text: &str) {
    tell(&note(text));
}

fn error(reason: &str) -> String {
    let lines: Vec<_> = reason.lines().map(|line| Visible(line).to_string()).collect();
    format!("error: {}\n", lines.join("\n"))
}

fn note(text: &str) -> String {
    format!("note: {}\n", Visible(text))
}

fn tell(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// What is to be told on standard error of one of several things that are judged side by side.
#[derive(Debug, Default)]
pub(super) struct Told {
    text: String,
    could_not_judge: bool,
}

impl Told {
    pub(in crate::cli) fn cannot_judge(&mut self, reason: &str) {
        self.could_not_judge = true;
        self.text.push_str(&error(reason));
    }

    pub(in crate::cli) fn remark(&mut self, text: &str) {
        self.text.push_str(&note(text));
    }

    pub(in crate::cli) fn append(&mut self, other: Self) {
        self.text.push_str(&other.text);
        self.could_not_judge |= other.could_not_judge;
    }

    /// Tells what went wrong as a note: there is another way.
    pub(in crate::cli) fn excuse(&mut self, other: Self, text: &str) {
        self.text.push_str(&other.text);
        self.remark(text);
    }

    /// The words of another program, as they are.
    pub(in crate::cli) fn say(&mut self, words: &str) {
        self.text.push_str(words);
    }

    /// The same failure has been told; from now on it has.
    pub(in crate::cli) fn repeats(&self, known: &mut BTreeSet<String>) -> bool {
        self.could_not_judge && !known.insert(self.text.clone())
    }

    /// Tells it all; false where something could not be judged.
    pub(in crate::cli) fn tell(self) -> bool {
        // Helm's words may be no words at all: no colours are taken out of them.
        let _ = io::stderr().lock().write_all(self.text.as_bytes());
        !self.could_not_judge
    }
}

/// A reader that closed the pipe has seen enough; everything else is worth telling.
pub(super) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure(format!("cannot write the result: {error}")))
        }
        _ => Ok(()),
    }
}
