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
    pub harms: &'static [&'static str],
}

/// One scenario as it is written down.
#[derive(Clone)]
pub struct Entry {
    pub section: &'static str,
    pub name: &'static str,
    /// The chart and what is done with it.
    pub about: &'static str,
    /// For a harm: its row in their table, after its name.
    pub harm: Option<Vec<String>>,
}

/// What one scenario saw with one Helm.
#[derive(Clone, PartialEq, Eq)]
pub enum Seen {
    /// The harm, and what is in its place.
    Harm(Harm),
    /// What happened, and what was said to it.
    Happened { seen: String, said: Vec<String> },
}

/// One harm; each part as soon as its scenario has run.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Harm {
    /// What happens without the policy.
    pub without: Option<String>,
    /// What the policy says.
    pub denial: Option<String>,
    /// What happens with the guard alone.
    pub guarded: Option<String>,
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

    /// Adds a part of a harm.
    pub fn harm(&self, entry: usize, major: Major, set: impl FnOnce(&mut Harm)) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Seen::Harm(harm) = seen.entry((entry, major)).or_insert_with(|| Seen::Harm(Harm::default())) {
            set(harm);
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
        let Page { introduction, harms, .. } = &self.page;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = introduction()?;
        let rows: Vec<_> = self.entries.iter().filter_map(|entry| Some((entry.name, entry.harm.as_ref()?))).collect();
        if !rows.is_empty() {
            writeln!(text, "\n| {} |\n|{}", harms.join(" | "), "---|".repeat(harms.len()))?;
        }
        for (name, row) in rows {
            writeln!(text, "| {name} | {} |", row.join(" | "))?;
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
    if let [(_, Seen::Harm(_)), ..] = seen {
        writeln!(text, "\n| | without the policy | with it | guarded |\n|---|---|---|---|")?;
    }
    for (helm, seen) in seen {
        if let Seen::Harm(Harm { without, guarded, .. }) = seen {
            let [without, guarded] = [without, guarded].map(|seen| cell(seen.as_deref().unwrap_or_default()));
            writeln!(text, "| Helm {helm} | {without} | denied; nothing has changed | {guarded} |")?;
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
            Self::Harm(Harm { denial, .. }) => ("", denial.clone().unwrap_or_default()),
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
