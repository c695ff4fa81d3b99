//! `chart --against-all`: every version of a chart that its git history has, installed, and upgraded to every newer one.

mod pairs;
mod ranges;
mod rendered;
mod versions;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use helm::record::ApplyMethod;
use helm::storage::record_name;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Visible;

use super::arguments::Arguments;
use super::compare::judge_after;
use super::renders::{Renders, check_more};
use super::task::{Chart, Task};
use crate::cli::outcome::{Failure, Told};
use crate::cli::progress::Progress;
use crate::cli::side_by_side::side_by_side;
use crate::helm::Helm;
use crate::helm::chart::{Sources, of_hooks};
use crate::helm::folder::Folder;
use crate::judge::Judge;
use crate::judged::{Finding, Flip, Judged, Place, VersionRuns};
use pairs::{After, Change, Flips, Same, Upgrade, alike, not_judged};
use ranges::{Block, blocks, runs};
use rendered::{Kept, Rendering};

/// A chart whose versions are compared with each other.
pub(super) struct Versions<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) chart: &'a Chart,
    /// One for each set of values.
    pub(super) tasks: &'a [Task<'a>],
    pub(super) judge: &'a Judge,
    pub(super) folder: &'a Folder,
    /// Its folders begin so.
    pub(super) called: String,
}

/// What came of one set of values.
pub(super) struct OfSet {
    pub(super) told: Told,
    /// What was compared, in words, and the result.
    pub(super) judged: Result<(String, Judged), Failure>,
}

/// The versions that a set of values renders, or why the newest is not among them, and what is told beside.
type KeptOrFailed = (Told, Result<KeptVersions, Failure>);

/// The versions that a set of values renders, the oldest first.
struct KeptVersions {
    kept: Vec<Kept>,
    left_out: usize,
}

impl Versions<'_> {
    /// Judges the upgrades between all versions, with each set of values.
    pub(super) fn judge(&self, told: &mut Told) -> Result<Vec<OfSet>, Failure> {
        check_more(&self.arguments.renders)?;
        let helm = Helm::of_the_user();
        helm.check().map_err(|error| Failure(error.to_string()))?;
        let apply_method = helm.apply_method();
        let of_sets = self.rendered(told)?;
        let judged = of_sets.into_iter().map(|(mut told, rendered)| {
            let judged = rendered.and_then(|rendered| self.judged(&rendered, apply_method, &mut told));
            OfSet { told, judged }
        });
        Ok(judged.collect())
    }

    /// The renders of all versions, for each set of values.
    fn rendered(&self, told: &mut Told) -> Result<Vec<KeptOrFailed>, Failure> {
        let versions = versions::of(self.chart, self.arguments.history.against_versions.get(), told)?;
        let rendering = Rendering {
            arguments: &self.arguments.renders,
            chart: self.chart,
            tasks: self.tasks,
            folder: self.folder,
            called: self.called.clone(),
        };
        let names: Vec<_> = versions.iter().map(|version| version.called.clone()).collect();
        let mut progress = Progress::new(!self.arguments.judge.output.quiet);
        progress.versions(versions.len());
        let (mut renditions, mut done) = (BTreeMap::new(), 0);
        side_by_side(
            versions.into_iter().zip((0..names.len()).rev()).collect(),
            |(version, number)| rendering.render(&version, number),
            |at, rendition| {
                done += 1;
                progress.advance_to(done);
                renditions.insert(at, rendition);
            },
        );
        progress.finish();
        // From one list for each version to one for each set of values.
        let mut of_sets: Vec<_> = self.tasks.iter().map(|_| Vec::new()).collect();
        for (rendition, name) in renditions.into_values().zip(names) {
            for (of_set, (told, kept)) in of_sets.iter_mut().zip(rendition) {
                of_set.push((name.clone(), told, kept));
            }
        }
        let mut known = BTreeSet::new();
        Ok(of_sets.into_iter().map(|versions| self.of_set(versions, &mut known)).collect())
    }

    /// The versions that could be rendered; the first one, the newest, must be. A note that is known is not told again.
    fn of_set(
        &self,
        versions: Vec<(String, Told, Result<Kept, Failure>)>,
        known: &mut BTreeSet<String>,
    ) -> KeptOrFailed {
        let (mut all, mut kept) = (Told::default(), Vec::new());
        let mut left_out = Vec::<(String, Vec<String>)>::new();
        for (version, told, rendition) in versions {
            all.append(told);
            match rendition {
                Ok(rendition) => kept.push(rendition),
                Err(failure) if kept.is_empty() && left_out.is_empty() => return (all, Err(failure)),
                Err(Failure(reason)) => match left_out.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, versions)) => versions.push(version),
                    None => left_out.push((reason, vec![version])),
                },
            }
        }
        let source = Visible(&self.chart.source).to_string();
        for (reason, versions) in &left_out {
            let reason = reason.strip_prefix(&format!("{source}: ")).unwrap_or(reason);
            let is = if versions.len() == 1 { "is" } else { "are" };
            let note = format!("{source}: {} {is} left out: {reason}", versions.join(", "));
            if known.insert(note.clone()) {
                all.remark(&note);
            }
        }
        kept.reverse();
        (all, Ok(KeptVersions { kept, left_out: left_out.iter().map(|(_, versions)| versions.len()).sum() }))
    }

    fn judged(
        &self,
        rendered: &KeptVersions,
        apply_method: ApplyMethod,
        told: &mut Told,
    ) -> Result<(String, Judged), Failure> {
        let versions = &rendered.kept;
        let (mut answers, mut found) = (BTreeMap::new(), Flips::default());
        let judge = |upgrades: BTreeSet<Upgrade>| {
            let judged = upgrades.last().map(|newest| self.verdict(*newest, versions, apply_method));
            (upgrades, judged)
        };
        side_by_side(alike(versions), judge, |number, answer| drop(answers.insert(number, answer)));
        for (upgrades, judged) in answers.into_values() {
            let Some(judged) = judged else { continue };
            let judged = judged.map_err(Failure)?;
            if let Some(reason) = not_judged(&judged) {
                told.cannot_judge(&format!("{}: {reason}", Visible(&self.chart.source)));
            }
            found.add(&upgrades, versions, &judged);
        }
        let says = says(rendered, &found);
        let Flips { changes, ignored, .. } = found.without_repetitions();
        let mut changes: Vec<_> = changes.iter().collect();
        changes.sort_by_key(|(change, same)| (&change.object, Reverse(same.keys().map(|(_, to)| *to).max())));
        let names = versions.iter().map(|version| (version.number, version.version.as_str())).collect();
        let flips = changes.iter().flat_map(|(change, same)| flips(change, same, &names)).collect();
        let findings = changes.iter().filter_map(|(change, same)| finding(change, same, &names)).collect();
        let source = self.chart.source.clone();
        let place = Place { file: source.clone(), line: None };
        Ok((says, Judged::of_versions(self.record(), (source, place), flips, (findings, ignored))))
    }

    /// The judge's answer to one upgrade, as `--against` would give it.
    fn verdict(&self, upgrade: Upgrade, versions: &[Kept], apply_method: ApplyMethod) -> Result<Judged, String> {
        let find = |number| {
            let found = versions.iter().find(|version| version.number == number);
            found.ok_or_else(|| "a version is not there any more".to_owned())
        };
        let (before, after) = (find(upgrade.pair.0)?, find(upgrade.pair.1)?);
        let templates = after.templates()?;
        let arguments = &self.arguments.renders;
        let renders = Renders {
            chart: self.chart.chart.clone(),
            source: self.chart.source.clone(),
            namespace: arguments.release_namespace(),
            install: Some(before.read(upgrade.after == After::Upgrade)?),
            upgrade: after.read(true)?,
            soon: None,
            apply_method,
            hook_templates: of_hooks(&templates),
            sources: Sources { templates, ..Sources::default() },
            dropped: Vec::new(),
            made: None,
        };
        let judged = judge_after(upgrade.after.operation(), arguments, &renders, self.judge)?;
        // The lines of an older version are not those of the file that is here.
        let is_newest = versions.iter().all(|version| version.number <= after.number);
        let line = |place: Place| Place { line: place.line.filter(|_| is_newest), ..place };
        Ok(judged.in_templates(|object, path| renders.template(object, path).map(line)))
    }

    /// The name of the record that the policy is asked about.
    fn record(&self) -> Name {
        let renders = &self.arguments.renders;
        let [group, kind] = ["", "Secret"].map(str::to_owned);
        Name { group, kind, namespace: renders.release_namespace(), name: record_name(renders.release_name(), 2) }
    }
}

/// What was compared, and how much of it flips.
fn says(rendered: &KeptVersions, found: &Flips) -> String {
    let KeptVersions { kept, left_out } = rendered;
    let itself = found.flipping.iter().filter(|(from, to)| from == to).count();
    let between = found.flipping.len() - itself;
    let of_all = kept.len() * kept.len().saturating_sub(1) / 2;
    let compared = match kept.as_slice() {
        [oldest, .., newest] => {
            format!(
                "{} versions from {} to {}, each upgraded to every newer one",
                kept.len(),
                oldest.version,
                newest.version
            )
        }
        [alone] => format!("{} alone", alone.version),
        [] => "no version".to_owned(),
    };
    let between = match between {
        0 => "no object flips".to_owned(),
        count => {
            format!("{count} of {of_all} upgrades {}", if count == 1 { "flips an object" } else { "flip objects" })
        }
    };
    let itself = match itself {
        0 => String::new(),
        1 => ", and 1 version flips one when it is upgraded to itself".to_owned(),
        count => format!(", and {count} versions flip one when they are upgraded to themselves"),
    };
    let left_out = if *left_out == 0 { String::new() } else { format!(" ({left_out} more could not be rendered)") };
    format!("{compared}{left_out}: {between}{itself}")
}

/// A change as rows of the table.
fn flips(change: &Change, same: &Same, names: &BTreeMap<usize, &str>) -> Vec<Flip> {
    let Change { object, was, becomes, level, after, .. } = change;
    let row = |Block { from, to }: &Block| Flip {
        object: object.clone(),
        level: *level,
        was: was.as_str(),
        becomes: becomes.as_str(),
        from: runs(from, names),
        after: after.as_str(),
        to: runs(to, names),
    };
    blocks_of(change, same).iter().map(row).collect()
}

fn blocks_of(change: &Change, same: &Same) -> Vec<Block> {
    if change.is_of_one_version {
        return vec![Block { from: BTreeSet::new(), to: same.keys().map(|(_, version)| *version).collect() }];
    }
    blocks(&same.keys().copied().collect())
}

/// A change as one finding: the versions, and what the judge says of the newest upgrade.
fn finding(change: &Change, same: &Same, names: &BTreeMap<usize, &str>) -> Option<Finding> {
    let ((from, to), judged) = same.last_key_value()?;
    let ranges = blocks_of(change, same).into_iter().map(|Block { from, to }| (runs(&from, names), runs(&to, names)));
    let ranges: Vec<(VersionRuns, VersionRuns)> = ranges.collect();
    let (was, becomes) = (change.was.as_str(), change.becomes.as_str());
    let name = |number| names.get(number).copied().unwrap_or_default();
    let message = if change.is_of_one_version {
        let versions: String = ranges.iter().map(|(_, version)| version.to_string()).collect();
        format!(
            "flips in an upgrade to {versions} from the same version, or from an older one that has a {was}: the version's own \
             install has a {was}, every upgrade to it a {becomes}. From {} to itself it {}",
            name(to),
            judged.message
        )
    } else {
        let upgraded = if change.after == After::Upgrade { ", if that was an upgrade too," } else { "" };
        let ranges = ranges.iter().map(|(from, to)| format!("from {from}{upgraded} to {to}"));
        let ranges = ranges.collect::<Vec<_>>().join("; and ");
        format!(
            "flips in an upgrade {ranges}: a {was} before, a {becomes} after. From {} to {} it {}",
            name(from),
            name(to),
            judged.message
        )
    };
    Some(Finding { message, ..Finding::clone(judged) })
}
