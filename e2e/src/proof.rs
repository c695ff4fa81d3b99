//! `docs/proof.md`: what the scenarios saw. Written when `BLESS` is set, else compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::helm::Major;
use crate::tools::pinned;

/// One scenario as it is written down.
#[derive(Clone, Copy)]
pub struct Entry {
    pub section: &'static str,
    pub name: &'static str,
    /// The chart and what is done with it.
    pub about: &'static str,
}

/// What one scenario saw with one Helm.
#[derive(Clone, PartialEq, Eq)]
pub enum Seen {
    /// The harm, and the denial in its place; each as soon as its half has run.
    Harm { without: Option<String>, denial: Option<String> },
    /// What happened, and what the policy said to it.
    Untouched { seen: String, said: Vec<String> },
}

/// All scenarios in their order, filled in as they end.
pub struct Proof {
    entries: Vec<Entry>,
    seen: Mutex<BTreeMap<(usize, Major), Seen>>,
}

impl Proof {
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        Self { entries, seen: Mutex::default() }
    }

    pub fn harm(&self, entry: usize, major: Major, seen: String) {
        self.half(entry, major, |without, _| *without = Some(seen));
    }

    pub fn denial(&self, entry: usize, major: Major, said: String) {
        self.half(entry, major, |_, denial| *denial = Some(said));
    }

    fn half(&self, entry: usize, major: Major, set: impl FnOnce(&mut Option<String>, &mut Option<String>)) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = Seen::Harm { without: None, denial: None };
        if let Seen::Harm { without, denial } = seen.entry((entry, major)).or_insert(empty) {
            set(without, denial);
        }
    }

    pub fn untouched(&self, entry: usize, major: Major, seen: String, said: Vec<String>) {
        let seen = Seen::Untouched { seen, said };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert((entry, major), seen);
    }

    /// Writes the page, or says where it differs from the one in the repository.
    pub fn check(&self) -> Result<()> {
        let path = page();
        let text = self.text()?;
        if std::env::var_os("BLESS").is_some() {
            return fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()));
        }
        let committed = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let (old, new): (Vec<_>, Vec<_>) = (committed.lines().collect(), text.lines().collect());
        let Some(line) = (0..old.len().max(new.len())).find(|line| old.get(*line) != new.get(*line)) else {
            return Ok(());
        };
        let shown = |lines: &[&str]| lines.get(line).map_or("(the end)", |text| *text).to_owned();
        bail!(
            "docs/proof.md is not what was seen, first in line {}:\n  written: {}\n  seen:    {}\n\
             Read what is new; if it is right: BLESS=1 make e2e",
            line + 1,
            shown(&old),
            shown(&new)
        );
    }

    fn text(&self) -> Result<String> {
        let versions = Versions::read()?;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = versions.introduction();
        let mut section = "";
        for (index, entry) in self.entries.iter().enumerate() {
            if entry.section != section {
                section = entry.section;
                write!(text, "\n## {section}\n")?;
            }
            write!(text, "\n### {}\n\n{}\n\n", entry.name, entry.about)?;
            let seen = |major| seen.get(&(index, major)).with_context(|| format!("`{}` has not run", entry.name));
            let both = [(&versions.helm3, seen(Major::Three)?), (&versions.helm4, seen(Major::Four)?)];
            write_entry(&mut text, both)?;
        }
        Ok(text)
    }
}

fn write_entry(text: &mut String, [(helm3, three), (helm4, four)]: [(&String, &Seen); 2]) -> Result<()> {
    match (three, four) {
        (Seen::Harm { without: a, denial: b }, Seen::Harm { without: c, denial: d }) => {
            writeln!(text, "| | without the policy | with it |\n|---|---|---|")?;
            for (helm, without) in [(helm3, a), (helm4, c)] {
                let without = cell(without.as_deref().context("a half of a scenario has not run")?);
                writeln!(text, "| Helm {helm} | {without} | denied; nothing has changed |")?;
            }
            let (three, four) = (b.as_deref().unwrap_or_default(), d.as_deref().unwrap_or_default());
            if three == four {
                writeln!(text, "\n```text\n{three}\n```")?;
            } else {
                writeln!(text, "\nHelm {helm3}:\n\n```text\n{three}\n```\n\nHelm {helm4}:\n\n```text\n{four}\n```")?;
            }
        }
        (three, four) if three == four => write_untouched(text, "Both", three)?,
        (three, four) => {
            write_untouched(text, &format!("Helm {helm3}"), three)?;
            text.push('\n');
            write_untouched(text, &format!("Helm {helm4}"), four)?;
        }
    }
    Ok(())
}

fn write_untouched(text: &mut String, who: &str, seen: &Seen) -> Result<()> {
    let Seen::Untouched { seen, said } = seen else {
        bail!("a scenario has two forms");
    };
    writeln!(text, "{who}: {seen}")?;
    if !said.is_empty() {
        writeln!(text, "\n```text\n{}\n```", said.join("\n"))?;
    }
    Ok(())
}

/// A text that does not end its cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', "<br>")
}

struct Versions {
    kubernetes: String,
    etcd: String,
    kwok: String,
    helm3: String,
    helm4: String,
}

impl Versions {
    fn read() -> Result<Self> {
        Ok(Self {
            kubernetes: pinned("kubernetes", "k8s.io/kubernetes")?,
            etcd: pinned("kubernetes", "go.etcd.io/etcd/server/v3")?,
            kwok: pinned("kwok", "sigs.k8s.io/kwok")?,
            helm3: pinned("helm3", "helm.sh/helm/v3")?,
            helm4: pinned("helm4", "helm.sh/helm/v4")?,
        })
    }

    fn introduction(&self) -> String {
        let Self { kubernetes, etcd, kwok, helm3, helm4 } = self;
        format!(
            "# Proof\n\n\
             What Helm does to migrations without the policy, and with it: seen on a real API server, written by\n\
             `make e2e`, and compared with this page on every run. Namespaces are called `shop` here.\n\n\
             Kubernetes {kubernetes}, etcd {etcd}, KWOK {kwok} in the kubelet's place, Helm {helm3} and Helm {helm4}.\n\
             The policy is the annotated wasm, behind the two webhooks that Kubewarden would register. \"Nothing has\n\
             changed\" means: every object of the namespace has the UID and the resource version that it had before,\n\
             and `helm history` is the same. The charts are in `e2e/charts`.\n"
        )
    }
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/proof.md")
}
