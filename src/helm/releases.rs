//! What Helm says of the releases that it has stored, and of the one that it would store next.

use std::ffi::OsString;
use std::process::{ExitStatus, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Helm, HelmError};
use crate::escaped::unescaped;

/// A stored revision, text by text: Go's templates write no JSON. Each line is one of the revision or a hook.
const RECORD: &str = "{{with .Release}}\
    {{urlquery .Name}} {{urlquery .Namespace}} {{.Version}} {{urlquery .Info.Status}} {{urlquery .Info.Description}} \
    {{with .Chart}}{{with .Metadata}}{{urlquery .Name}}{{end}}{{end}} {{urlquery .Manifest}}\n\
    {{range .Hooks}}{{urlquery .Name}} {{urlquery .Kind}} {{urlquery .Path}} {{.Weight}} \
    {{range .Events}}{{urlquery .}},{{end}} {{range .DeletePolicies}}{{urlquery .}},{{end}} \
    {{range .OutputLogPolicies}}{{urlquery .}},{{end}} {{urlquery .Manifest}}\n{{end}}{{end}}";

/// A revision in `helm history`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Row {
    pub revision: u64,
    pub status: String,
}

/// Helm has ended with an error, and said why. Its words can quote values.
#[derive(Debug)]
pub struct Refused {
    pub status: ExitStatus,
    pub said: Vec<u8>,
}

/// Why Helm's answer is none.
#[derive(Debug)]
pub enum NoAnswer {
    Refused(Refused),
    Helm(HelmError),
    /// What it has printed is not what was asked for.
    Format,
}

impl Helm {
    /// The release as Helm would store it, where it is run with these words.
    ///
    /// # Errors
    ///
    /// When Helm refuses.
    pub fn planned(&self, words: &[OsString]) -> Result<Value, NoAnswer> {
        let printed = self.printed(words.to_vec())?;
        // Before the JSON an older chart can have warnings.
        let json = printed.iter().position(|byte| *byte == b'{').and_then(|start| printed.get(start..));
        serde_json::from_slice(json.unwrap_or_default()).map_err(|_| NoAnswer::Format)
    }

    /// What Helm renders, where it is run with these words.
    ///
    /// # Errors
    ///
    /// When Helm refuses.
    pub fn rendered(&self, words: &[OsString]) -> Result<Vec<u8>, NoAnswer> {
        self.printed(words.to_vec())
    }

    /// The revisions of a release, as far as Helm keeps them. `global` says where it is.
    ///
    /// # Errors
    ///
    /// When Helm refuses: there is none, or it may not be read.
    pub fn history(&self, release: &str, global: &[OsString]) -> Result<Vec<Row>, NoAnswer> {
        let printed = self.printed(words(&["history", "--output=json"], release, global))?;
        serde_json::from_slice(&printed).map_err(|_| NoAnswer::Format)
    }

    /// A stored revision, or the last one, as the JSON that Helm's storage has of it; without its values, its chart's files,
    /// and its labels.
    ///
    /// # Errors
    ///
    /// When Helm refuses: there is none, or it may not be read.
    pub fn stored(&self, release: &str, revision: Option<u64>, global: &[OsString]) -> Result<Value, NoAnswer> {
        let template = format!("--template={RECORD}");
        let revision = revision.map(|revision| format!("--revision={revision}"));
        let flags: Vec<_> = ["get", "all", &template].into_iter().chain(revision.as_deref()).collect();
        let printed = self.printed(words(&flags, release, global))?;
        let printed = String::from_utf8(printed).map_err(|_| NoAnswer::Format)?;
        record(&printed).ok_or(NoAnswer::Format)
    }

    /// Standard output of a command that succeeds. What it reads from standard input would be read twice.
    fn printed(&self, words: Vec<OsString>) -> Result<Vec<u8>, NoAnswer> {
        let output = self.command().args(words).stdin(Stdio::null()).output();
        let output = output.map_err(|error| NoAnswer::Helm(HelmError::of_run(error)))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(NoAnswer::Refused(Refused { status: output.status, said: output.stderr }))
    }
}

impl NoAnswer {
    /// Helm has said why.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Helm has said that.
    #[must_use]
    pub fn says(&self, words: &str) -> bool {
        matches!(self, Self::Refused(Refused { said, .. }) if String::from_utf8_lossy(said).contains(words))
    }
}

fn words(flags: &[&str], release: &str, global: &[OsString]) -> Vec<OsString> {
    let flags = flags.iter().map(OsString::from).chain(global.iter().cloned());
    // A release's name can begin with a hyphen only where it is none.
    flags.chain(["--".into(), release.into()]).collect()
}

/// Reads what the template of a record has written.
fn record(printed: &str) -> Option<Value> {
    let mut lines = printed.lines().filter(|line| !line.is_empty());
    let [name, namespace, version, status, description, chart, manifest] = texts(lines.next()?)?;
    let hooks = lines.map(|line| {
        let [name, kind, path, weight, events, delete_policies, output_log_policies, manifest] = texts(line)?;
        Some(json!({
            "name": name, "kind": kind, "path": path, "weight": weight.parse::<i64>().ok()?, "manifest": manifest,
            "events": items(&events), "delete_policies": items(&delete_policies),
            "output_log_policies": items(&output_log_policies),
        }))
    });
    Some(json!({
        "name": name, "namespace": namespace, "version": version.parse::<u64>().ok()?,
        "info": {"status": status, "description": description}, "chart": {"metadata": {"name": chart}},
        "manifest": manifest, "hooks": hooks.collect::<Option<Vec<_>>>()?,
    }))
}

fn texts<const N: usize>(line: &str) -> Option<[String; N]> {
    let texts: Vec<_> = line.split(' ').map(unescaped).collect::<Option<_>>()?;
    texts.try_into().ok()
}

/// None of them has a comma.
fn items(text: &str) -> Vec<&str> {
    text.split_terminator(',').collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::record;

    #[test]
    fn a_record_is_read_text_by_text() {
        let printed = "orders shop 2 deployed Upgrade+complete  ---%0Aa%3A+%2B1%0A\n\
                       m Job t%2Fa.yaml -3 pre-upgrade,test,   kind%3A+Job%0A\n\n";
        let hook = json!({
            "name": "m", "kind": "Job", "path": "t/a.yaml", "weight": -3, "manifest": "kind: Job\n",
            "events": ["pre-upgrade", "test"], "delete_policies": [], "output_log_policies": [],
        });
        let expected = json!({
            "name": "orders", "namespace": "shop", "version": 2,
            "info": {"status": "deployed", "description": "Upgrade complete"}, "chart": {"metadata": {"name": ""}},
            "manifest": "---\na: +1\n", "hooks": [hook],
        });
        assert_eq!(record(printed), Some(expected));
    }

    #[test]
    fn what_is_no_record_is_none() {
        for printed in ["", "\n", "orders", "a b c d e f g\n", "a b 1 d e f %ff\n", "a b 1 d e f g\nhook\n"] {
            assert_eq!(record(printed), None, "{printed}");
        }
    }
}
