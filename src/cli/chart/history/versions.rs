//! The versions of a chart that its git history has.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use stable_hooks_policy::shown::{Shown, Visible};

use super::super::task::Chart;
use crate::cli::outcome::{Failure, Told};
use crate::git::{History, Tree};
use crate::input;

const METADATA: &str = "Chart.yaml";

/// The work tree, where it has something else than the last commit.
const WORK_TREE: &str = "the work tree";

/// One version of a chart.
pub(super) struct Version {
    /// As people call it, in any sentence.
    pub(super) called: String,
    pub(super) source: Source,
}

/// Where the chart of a version is.
pub(super) enum Source {
    WorkTree,
    Commit { tree: Box<Tree>, metadata: Vec<u8> },
}

/// What a Chart.yaml says of the chart.
#[derive(Debug, PartialEq)]
struct Metadata {
    name: String,
    version: String,
}

/// The versions of a chart, the newest first: no more than that many. Each is what its last commit had.
pub(super) fn of(chart: &Chart, most: usize, told: &mut Told) -> Result<Vec<Version>, Failure> {
    let shown = Visible(&chart.source);
    if !chart.chart.is_dir() {
        return Err(Failure(format!("{shown}: --against-all goes with a chart's folder in a git repository")));
    }
    let fail = |error| Failure(format!("{shown}: {error}"));
    let head = Tree::at(&chart.chart, "HEAD").map_err(fail)?;
    let is_changed = head.is_changed().map_err(fail)?;
    let History { trees, is_cut } = head.history(METADATA).map_err(fail)?;
    let now = fs::read(chart.chart.join(METADATA)).ok().and_then(|bytes| Metadata::read(&bytes).ok());
    let called = now.as_ref().filter(|_| !is_changed).map_or(WORK_TREE, |now| &now.version);
    let mut versions = vec![Version { called: Shown(called).to_string(), source: Source::WorkTree }];
    if trees.is_empty() {
        told.remark(&format!(
            "{shown}: git has no commit with its Chart.yaml, so there is no version to compare it with"
        ));
    }
    let mut known: BTreeSet<_> = now.iter().filter(|_| !is_changed).map(|now| now.version.clone()).collect();
    for tree in trees {
        let at = tree.commit().to_owned();
        let read = match tree.file(METADATA) {
            Ok(Some(metadata)) => Metadata::read(&metadata).map(|read| (read, metadata)),
            Ok(None) => continue,
            Err(error) => Err(error.to_string()),
        };
        let (read, metadata) = match read {
            Ok(read) => read,
            Err(reason) => {
                told.remark(&format!("{shown}: its Chart.yaml at commit {at} is left out: {reason}"));
                continue;
            }
        };
        // A chart that was copied from another one, or was another one before it got this name.
        if now.as_ref().is_some_and(|now| now.name != read.name) {
            return Ok(versions);
        }
        if !known.insert(read.version.clone()) {
            continue;
        }
        if versions.len() >= most {
            told.remark(&format!(
                "{shown}: version {} and the older ones are left out, for --against-versions is {most}",
                Shown(&read.version)
            ));
            return Ok(versions);
        }
        let called = Shown(&read.version).to_string();
        match tree.called(format!("{called} (commit {at})")) {
            Ok(tree) => versions.push(Version { called, source: Source::Commit { tree: Box::new(tree), metadata } }),
            Err(error) => told.remark(&format!("{shown}: version {called} is left out: {error}")),
        }
    }
    if is_cut && versions.len() < most {
        told.cannot_judge(&cut(chart, &versions));
    }
    Ok(versions)
}

/// What is missing of a history that was not fetched.
fn cut(chart: &Chart, versions: &[Version]) -> String {
    let oldest = versions.last().map_or(WORK_TREE, |version| &version.called);
    let fewer = match versions.len() {
        0 | 1 => String::new(),
        count => format!("; or compare those that are here alone, with --against-versions {count}"),
    };
    format!(
        "{}: this is a shallow clone, and what was before {oldest} is not in it: fetch the history (`git fetch --unshallow`; \
         in GitHub Actions `fetch-depth: 0`, in GitLab `GIT_DEPTH: 0`){fewer}",
        Visible(&chart.source)
    )
}

impl Metadata {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let metadata = input::value(bytes).map_err(|error| format!("line {}: {}", error.line, error.reason))?;
        let text = |field| metadata.get(field).and_then(Value::as_str).map(str::to_owned);
        let missing = |field| format!("it has no {field} that is a text");
        let name = text("name").ok_or_else(|| missing("name"))?;
        let version = text("version").filter(|version| !version.is_empty()).ok_or_else(|| missing("version"))?;
        Ok(Self { name, version })
    }
}

#[cfg(test)]
mod tests {
    use super::Metadata;

    #[test]
    fn a_version_is_a_text() {
        let read = |text: &str| Metadata::read(text.as_bytes());
        let orders = Metadata { name: "orders".to_owned(), version: "0.1.0".to_owned() };
        assert_eq!(read("name: orders\nversion: 0.1.0\n"), Ok(orders));
        assert_eq!(read("name: orders\nversion: 1.0\n"), Err("it has no version that is a text".to_owned()));
        assert_eq!(read("version: 0.1.0\n"), Err("it has no name that is a text".to_owned()));
        assert!(read("name: [\n").is_err_and(|reason| reason.starts_with("line ")));
    }
}
