//! `.stable-hooks.yaml`: what a repository says once about its charts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use glob::{MatchOptions, Pattern};
use serde::Deserialize;
use serde_json::Value;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::shown::Visible;
use thiserror::Error;

/// The name of the file.
pub(crate) const NAME: &str = ".stable-hooks.yaml";

/// `*` stays within a folder, `**` does not.
const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

/// A house file. Its paths are relative to the folder that it lies in.
#[derive(Debug)]
pub(crate) struct House {
    file: PathBuf,
    folder: PathBuf,
    text: String,
    rules: Rules,
}

/// Why a house file cannot be used.
#[derive(Debug, Error)]
pub(crate) enum HouseError {
    #[error("{}: {reason}", file.display())]
    Read { file: PathBuf, reason: io::Error },
    #[error("{}:{line}: {problem}", file.display())]
    Malformed { file: PathBuf, line: u64, problem: String },
    #[error("{}: `charts` names `{pattern}`, and there is no such chart", file.display())]
    NoChart { file: PathBuf, pattern: String },
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rules {
    charts: Vec<PathPattern>,
    values: BTreeMap<PathPattern, Vec<OneOrMore>>,
    settings: Option<Value>,
    ignore: BTreeMap<PathPattern, Vec<RuleName>>,
}

/// Values files that are given together.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a file, or a list of files that are given together")]
enum OneOrMore {
    One(PathBuf),
    More(Vec<PathBuf>),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct PathPattern(Pattern);

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct RuleName(RuleId);

impl TryFrom<String> for PathPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let path = if text == "." { "" } else { text.trim_start_matches("./").trim_end_matches('/') };
        let pattern = Pattern::from_str(path);
        pattern.map(Self).map_err(|error| format!("`{}` is no pattern of paths: {}", Visible(&text), error.msg))
    }
}

impl TryFrom<String> for RuleName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let rule = RuleId::from_str(&text);
        let unknown = || format!("there is no rule `{}`; `stable-hooks explain` lists them", Visible(&text));
        rule.map(Self).map_err(|()| unknown())
    }
}

impl House {
    /// Finds the nearest one from a folder upwards, to the end of its git repository.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or has something in it that is not known.
    pub(crate) fn above(folder: &Path) -> Result<Option<Self>, HouseError> {
        for folder in resolved(folder).ancestors() {
            let file = folder.join(NAME);
            match fs::read_to_string(&file) {
                Ok(text) => return Self::read(file, &text).map(Some),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(reason) => return Err(HouseError::Read { file, reason }),
            }
            if folder.join(".git").exists() {
                break;
            }
        }
        Ok(None)
    }

    fn read(file: PathBuf, text: &str) -> Result<Self, HouseError> {
        let rules: Option<Rules> = serde_saphyr::from_str(text).map_err(|error| {
            let line = error.location().map_or(1, |location| location.line());
            let problem = error.without_snippet().to_string();
            let problem = problem.rsplit_once(" at line ").map_or(&*problem, |(problem, _)| problem);
            // Some of the library's advice is for those who call it.
            let problem = problem.split([',', ';']).next().filter(|_| is_for_programmers(problem)).unwrap_or(problem);
            HouseError::Malformed { file: file.clone(), line, problem: problem.to_owned() }
        })?;
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { folder, rules: rules.unwrap_or_default(), text: text.to_owned(), file })
    }

    /// Where the file is.
    #[must_use]
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The policy's own settings.
    #[must_use]
    pub(crate) fn settings(&self) -> Option<&Value> {
        self.rules.settings.as_ref()
    }

    /// The policy's problems with the settings, each behind its line in the file.
    pub(crate) fn in_its_lines(&self, problems: &str) -> String {
        let in_its_line = |problem: &str| {
            let (field, _) = problem.split_once(": ")?;
            Some(format!("{}:{}: settings.{problem}", self.file.display(), self.line_of(field)))
        };
        let known: Vec<_> = problems.lines().filter_map(in_its_line).collect();
        // Another policy may say it in another form.
        if known.is_empty() { format!("{}: {problems}", self.file.display()) } else { known.join("\n") }
    }

    /// The line of a field of the settings, or of what it would be in.
    fn line_of(&self, field: &str) -> usize {
        let mut lines = (1..).zip(self.text.lines()).skip_while(|(_, line)| !line.contains("settings")).peekable();
        let mut found = lines.peek().map_or(1, |(number, _)| *number);
        for key in field.split('.') {
            let is_key =
                |line: &str| line.split([' ', '{', ',', '"', '\'']).any(|word| word.trim_end_matches(':') == key);
            while let Some((number, line)) = lines.peek() {
                if is_key(line) {
                    found = *number;
                    break;
                }
                lines.next();
            }
        }
        found
    }

    /// The charts to judge where none is given.
    ///
    /// # Errors
    ///
    /// When a pattern finds none.
    pub(crate) fn charts(&self) -> Result<Vec<PathBuf>, HouseError> {
        let mut charts = Vec::new();
        for PathPattern(pattern) in &self.rules.charts {
            let folder = Pattern::escape(&self.folder.to_string_lossy());
            let found = glob::glob_with(&format!("{folder}/{pattern}/Chart.yaml"), MATCHING);
            let before = charts.len();
            for found in found.into_iter().flatten() {
                let found =
                    found.map_err(|error| HouseError::Read { file: error.path().to_owned(), reason: error.into() })?;
                charts.extend(found.parent().filter(|chart| self.is_no_part(chart)).map(Path::to_owned));
            }
            if charts.len() == before {
                return Err(HouseError::NoChart { file: self.file.clone(), pattern: pattern.to_string() });
            }
        }
        Ok(charts)
    }

    /// A chart of its own: not one below another, nor in a hidden folder.
    fn is_no_part(&self, chart: &Path) -> bool {
        let folders = chart.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.folder));
        let is_below_a_chart =
            folders.clone().any(|folder| folder != self.folder && folder.join("Chart.yaml").exists());
        let inside = chart.strip_prefix(&self.folder).unwrap_or(chart);
        !is_below_a_chart && inside.iter().all(|name| !name.as_encoded_bytes().starts_with(b"."))
    }

    /// The values files of a chart, each time those that are given together.
    #[must_use]
    pub(crate) fn values_of(&self, chart: &Path) -> Vec<Vec<PathBuf>> {
        let of_chart = self.rules.values.iter().filter(|(pattern, _)| self.covers(pattern, chart));
        let files = of_chart.flat_map(|(_, files)| files).map(|files| match files {
            OneOrMore::One(file) => vec![self.placed(file)],
            OneOrMore::More(files) => files.iter().map(|file| self.placed(file)).collect(),
        });
        files.collect()
    }

    /// What has a scheme Helm fetches.
    fn placed(&self, file: &Path) -> PathBuf {
        if file.to_string_lossy().contains("://") { file.to_owned() } else { self.folder.join(file) }
    }

    /// Whether what a rule finds at a path is ignored.
    #[must_use]
    pub(crate) fn ignores(&self, rule: &str, path: &Path) -> bool {
        let names = |rules: &[RuleName]| rules.iter().any(|RuleName(known)| known.as_str() == rule);
        self.rules.ignore.iter().any(|(pattern, rules)| names(rules) && self.covers(pattern, path))
    }

    /// The pattern is that of the path, or of a folder that it lies in.
    fn covers(&self, PathPattern(pattern): &PathPattern, path: &Path) -> bool {
        let path = resolved(path);
        let Ok(inside) = path.strip_prefix(&self.folder) else { return false };
        inside.ancestors().any(|path| pattern.matches_path_with(path, MATCHING))
    }
}

/// The path from the root, through links as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let above = || Some(resolved(path.parent()?).join(path.file_name()?));
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    fs::canonicalize(path).ok().or_else(above).unwrap_or_else(|| path.to_owned())
}

fn is_for_programmers(problem: &str) -> bool {
    ["DuplicateKeyPolicy", "from_str_multiple"].iter().any(|name| problem.contains(name))
}
