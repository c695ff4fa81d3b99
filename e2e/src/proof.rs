//! A page of `docs/` with what a suite's scenarios saw. Written when `BLESS` is set, else compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::helm::Major;
use crate::tools::pinned;

/// The page of one suite.
pub struct Page {
    /// Its name in `docs/`.
    pub file: &'static str,
    /// What writes it.
    pub verb: &'static str,
    /// What stands above all scenarios; it names the versions that ran.
    pub introduction: fn() -> Result<String>,
    /// The heads of the table of harms.
    pub harms: [&'static str; 3],
    /// What that table says before a rule.
    pub stopped: &'static str,
}

/// One scenario as it is written down.
#[derive(Clone, Copy)]
pub struct Entry {
    pub section: &'static str,
    pub name: &'static str,
    /// The chart and what is done with it.
    pub about: &'static str,
    /// For a harm: what happens, and the rule that stops it.
    pub harm: Option<(&'static str, &'static str)>,
}

/// What one scenario saw with one Helm.
#[derive(Clone, PartialEq, Eq)]
pub enum Seen {
    /// The harm, and the denial in its place; each as soon as its half has run.
    Harm { without: Option<String>, denial: Option<String> },
    /// What happened, and what was said to it.
    Happened { seen: String, said: Vec<String> },
}

/// All scenarios in their order, filled in as they end.
pub struct Proof {
    pub page: Page,
    entries: Vec<Entry>,
    seen: Mutex<BTreeMap<(usize, Major), Seen>>,
}

impl Proof {
    #[must_use]
    pub fn new(page: Page, entries: Vec<Entry>) -> Self {
        Self { page, entries, seen: Mutex::default() }
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

    pub fn happened(&self, entry: usize, major: Major, seen: String, said: Vec<String>) {
        let seen = Seen::Happened { seen, said };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert((entry, major), seen);
    }

    /// Writes the page, or says where it differs from the one in the repository.
    pub fn check(&self) -> Result<()> {
        let path = path(self.page.file);
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
            "docs/{} is not what was seen, first in line {}:\n  written: {}\n  seen:    {}\n\
             Read what is new; if it is right: BLESS=1 {}",
            self.page.file,
            line + 1,
            shown(&old),
            shown(&new),
            self.page.verb
        );
    }

    fn text(&self) -> Result<String> {
        let Page { introduction, harms, stopped, .. } = &self.page;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = introduction()?;
        let rows: Vec<_> = self.entries.iter().filter_map(|entry| Some((entry.name, entry.harm?))).collect();
        if !rows.is_empty() {
            writeln!(text, "\n| {} |\n|---|---|---|", harms.join(" | "))?;
        }
        for (name, (without, rule)) in rows {
            writeln!(text, "| {name} | {without} | {stopped}`{rule}` |")?;
        }
        let helms =
            [(Major::Three, pinned("helm3", "helm.sh/helm/v3")?), (Major::Four, pinned("helm4", "helm.sh/helm/v4")?)];
        let mut section = "";
        for (index, entry) in self.entries.iter().enumerate() {
            if entry.section != section {
                section = entry.section;
                write!(text, "\n## {section}\n")?;
            }
            write!(text, "\n### {}\n\n{}\n", entry.name, entry.about)?;
            let seen: Vec<_> =
                helms.iter().filter_map(|(major, version)| Some((version, seen.get(&(index, *major))?))).collect();
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
            Self::Happened { seen, said } => (seen, said.join("\n")),
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

/// The versions of the control plane that every suite has.
pub fn control_plane_versions() -> Result<String> {
    let (kubernetes, etcd) =
        (pinned("kubernetes", "k8s.io/kubernetes")?, pinned("kubernetes", "go.etcd.io/etcd/server/v3")?);
    let kwok = pinned("kwok", "sigs.k8s.io/kwok")?;
    Ok(format!("Kubernetes {kubernetes}, etcd {etcd}, KWOK {kwok} in the kubelet's place"))
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(file)
}
