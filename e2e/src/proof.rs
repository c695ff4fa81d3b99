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
    /// For a harm: what happens without the policy, and the rule that stops it.
    pub harm: Option<(&'static str, &'static str)>,
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
        writeln!(text, "\n| the harm | without the policy | with it |\n|---|---|---|")?;
        for entry in &self.entries {
            if let Some((without, rule)) = entry.harm {
                writeln!(text, "| {} | {without} | denied by `{rule}` |", entry.name)?;
            }
        }
        let mut section = "";
        for (index, entry) in self.entries.iter().enumerate() {
            if entry.section != section {
                section = entry.section;
                write!(text, "\n## {section}\n")?;
            }
            write!(text, "\n### {}\n\n{}\n", entry.name, entry.about)?;
            let seen: Vec<_> = [(Major::Three, &versions.helm3), (Major::Four, &versions.helm4)]
                .into_iter()
                .filter_map(|(major, version)| Some((version, seen.get(&(index, major))?)))
                .collect();
            write_entry(&mut text, &seen)?;
        }
        Ok(text)
    }
}

fn write_entry(text: &mut String, seen: &[(&String, &Seen)]) -> Result<()> {
    if let [(_, Seen::Harm { .. }), ..] = seen {
        writeln!(text, "\n| | without the policy | with it |\n|---|---|---|")?;
    }
    for (helm, seen) in seen {
        if let Seen::Harm { without, .. } = seen {
            let without = cell(without.as_deref().unwrap_or_default());
            writeln!(text, "| Helm {helm} | {without} | denied; nothing has changed |")?;
        }
    }
    // What both Helms saw is said once.
    match seen {
        [(_, three), (_, four)] if three.conclusion() == four.conclusion() => write_conclusion(text, "", three),
        several @ [_, _] => {
            several.iter().try_for_each(|(helm, seen)| write_conclusion(text, &format!("Helm {helm}: "), seen))
        }
        alone => alone.iter().try_for_each(|(_, seen)| write_conclusion(text, "", seen)),
    }
}

impl Seen {
    /// What happened with the policy, and what it said.
    fn conclusion(&self) -> (&str, String) {
        match self {
            Self::Harm { denial, .. } => ("", denial.clone().unwrap_or_default()),
            Self::Untouched { seen, said } => (seen, said.join("\n")),
        }
    }
}

fn write_conclusion(text: &mut String, who: &str, seen: &Seen) -> Result<()> {
    let (seen, said) = seen.conclusion();
    if !(who.is_empty() && seen.is_empty()) {
        writeln!(text, "\n{}", format!("{who}{seen}").trim_end())?;
    }
    if !said.is_empty() {
        writeln!(text, "\n```text\n{said}\n```")?;
    }
    Ok(())
}

/// A text that does not end its cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
