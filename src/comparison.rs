//! A chart as two renders, an install and the upgrade over it: as the records of one release, and what the rules say to it.

use std::collections::{BTreeMap, BTreeSet};

use helm::HOOK;
use helm::operation::Operation;
use helm::record::ApplyMethod;
use helm::storage::Storage;
use helm::write::{Document, Revision};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::evaluate::evaluate_renders;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::renders;

use crate::at_once::both;
use crate::judge::{Judge, is_of_values};
use crate::judged::{Finding, Judged, Level, Place};
use crate::origin::Templates;
use crate::records::StoredRecord;
use crate::render::Render;
use crate::words::counted;

/// The release before the upgrade; its verdict only where it is judged as well.
pub(crate) type Before = (StoredRecord, Option<Judged>);

/// The upgrade, and the one that comes soon after the install where that renders something else.
pub(crate) type Upgrades<'a> = (&'a StoredRecord, Option<&'a StoredRecord>);

/// Where in a chart an object's field comes from.
pub(crate) type PlaceOf<'a> = dyn Fn(&Name, &str) -> Option<Place> + Sync + 'a;

/// The two sides of a chart.
pub(crate) struct Compared {
    pub(crate) before: Option<Before>,
    pub(crate) after: (StoredRecord, Judged),
    /// What is compared, and whether it agrees.
    pub(crate) says: String,
}

impl Compared {
    /// One result for both sides.
    pub(crate) fn judged(self) -> Judged {
        let (says, judged) = self.parts();
        let title = format!("{}: {says}", judged.source);
        judged.called(title)
    }

    /// What is compared, and one result for both sides.
    pub(crate) fn parts(self) -> (String, Judged) {
        let (_, after) = self.after;
        let judged = match self.before {
            Some((_, Some(before))) => before.followed_by(after),
            Some((_, None)) | None => after,
        };
        (self.says, judged)
    }
}

/// The release that a chart's renders become, its judge, and the cluster that it meets.
pub(crate) struct Comparison<'a> {
    pub(crate) judge: &'a Judge,
    pub(crate) cluster: &'a ClusterView,
    /// As the report names what is judged.
    pub(crate) source: &'a str,
    pub(crate) release: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) apply_method: ApplyMethod,
    /// The sources of the templates that make hooks, as a record holds them.
    pub(crate) hook_templates: &'a Templates,
    pub(crate) place_of: &'a PlaceOf<'a>,
}

impl Comparison<'_> {
    /// Judges two renders of one chart with the same values.
    pub(crate) fn two_renders(&self, install: &Render, upgrade: &Render) -> Result<Compared, String> {
        let record = self.upgrade(upgrade, &BTreeMap::new());
        let (before, judged) = self.install_and_upgrade(install, (upgrade, (&record, None)), true)?;
        let judged = self.as_one_chart(judged, Some(install), upgrade);
        let is_clean = !judged.says_something() && !says_something(Some(&before));
        let says = says("the install", Some(install), upgrade, is_clean);
        Ok(Compared { before: Some(before), after: (record, judged), says })
    }

    /// The upgrade over a render of the install, which is judged as well where that is wanted.
    pub(crate) fn install_and_upgrade(
        &self,
        install: &Render,
        (upgrade, upgrades): (&Render, Upgrades<'_>),
        judges_install: bool,
    ) -> Result<(Before, Judged), String> {
        // Without a view of the cluster the chart is the first thing in it.
        let cluster = if self.judge.sees_cluster { self.cluster.clone() } else { ClusterView::empty() };
        let installed = cluster.with_objects(install.left_by_install(self.release, self.namespace));
        let install = self.install(install);
        if !judges_install {
            let judged = self.over(&install, upgrades, &installed)?;
            return Ok(((install, None), judged));
        }
        let (first, second) =
            both(|| self.verdict(&install, None, &cluster), || self.over(&install, upgrades, &installed));
        let first = first.unwrap_or_else(|| Err("cannot judge the install".to_owned()))?;
        Ok(((install, Some(self.without_guesses(first, upgrade))), second?))
    }

    /// Drops what differs between two renders of one chart, which it does by chance, and adds what the install alone has.
    pub(crate) fn as_one_chart(&self, judged: Judged, install: Option<&Render>, upgrade: &Render) -> Judged {
        let judged = judged.retaining(|finding| !is_of_values(finding));
        // Another policy has settings of its own.
        let (Some(install), Ok(settings)) = (install, self.judge.native_settings()) else { return judged };
        let renders = renders::Renders::of(&install.documents, &upgrade.documents, self.namespace, None);
        let judged = judged.with_found(evaluate_renders(&renders, &settings));
        judged.in_templates(self.place_of)
    }

    /// The upgrade from one render to another, whose record holds these templates. The cluster is what the operation before
    /// leaves in it.
    pub(crate) fn pair(
        &self,
        operation: Operation,
        before: &Render,
        upgrade: &Render,
        templates: &Templates,
    ) -> Result<Judged, String> {
        let (version, status, left) = match operation {
            Operation::Install => (1, "pending-install", before.left_by_install(self.release, self.namespace)),
            Operation::Upgrade | Operation::Rollback => {
                (2, "pending-upgrade", before.left_by_upgrade(self.release, self.namespace))
            }
        };
        let before = self.record(&Revision { version, status, templates: &Templates::new(), ..self.revision(before) });
        let upgrade = self.record(&Revision { version: version + 1, templates, ..self.revision(upgrade) });
        self.verdict(&upgrade, Some(&before), &self.cluster.with_objects(left))
    }

    /// The upgrade over an install; one that comes soon adds its denials.
    fn over(
        &self,
        install: &StoredRecord,
        (upgrade, soon): Upgrades<'_>,
        installed: &ClusterView,
    ) -> Result<Judged, String> {
        let judged = self.verdict(upgrade, Some(install), installed)?;
        let Some(soon) = soon else { return Ok(judged) };
        let soon = self.verdict(soon, Some(install), installed)?;
        Ok(soon.retaining(|finding| finding.level == Level::Deny).followed_by(judged))
    }

    /// Drops what the install alone could only guess of hooks that the upgrade has too.
    fn without_guesses(&self, judged: Judged, upgrade: &Render) -> Judged {
        let has = |object: &Name| upgrade.has(object, self.namespace);
        judged.retaining(|finding| !(finding.is_of(RuleId::OneSidedHook) && has(&finding.object)))
    }

    /// The upgrade over an install, from which Helm has dropped these hooks.
    pub(crate) fn upgrade(&self, render: &Render, dropped_hooks: &BTreeMap<String, String>) -> StoredRecord {
        self.record(&Revision { dropped_hooks: Some(dropped_hooks), ..self.revision(render) })
    }

    pub(crate) fn install(&self, render: &Render) -> StoredRecord {
        // A rule guesses from the templates what the upgrade would render, and here that is known.
        let templates = Templates::new();
        let revision = self.revision(render);
        self.record(&Revision { version: 1, status: "pending-install", templates: &templates, ..revision })
    }

    fn record(&self, revision: &Revision<'_>) -> StoredRecord {
        StoredRecord::of(revision, Storage::Secret, self.namespace)
    }

    /// Revision 2, an upgrade.
    pub(crate) fn revision<'r>(&'r self, render: &'r Render) -> Revision<'r> {
        Revision {
            name: self.release,
            namespace: self.namespace,
            version: 2,
            status: "pending-upgrade",
            chart: render.chart(),
            documents: &render.documents,
            templates: self.hook_templates,
            apply_method: self.apply_method,
            dropped_hooks: None,
        }
    }

    pub(crate) fn verdict(
        &self,
        record: &StoredRecord,
        baseline: Option<&StoredRecord>,
        cluster: &ClusterView,
    ) -> Result<Judged, String> {
        let place = Place { file: self.source.to_owned(), line: None };
        let judged = self.judge.verdict(record, baseline, cluster, (self.source.to_owned(), place))?;
        Ok(judged.in_templates(self.place_of))
    }
}

pub(crate) fn is_flip(finding: &Finding) -> bool {
    finding.is_of(RuleId::ReleaseIdentityFlip)
}

pub(crate) fn says_something(before: Option<&Before>) -> bool {
    let judged = before.and_then(|(_, judged)| judged.as_ref());
    judged.is_some_and(Judged::says_something)
}

/// What is compared, and whether it agrees.
pub(crate) fn says(before: &str, install: Option<&Render>, upgrade: &Render, is_clean: bool) -> String {
    if !is_clean {
        return format!("{before} and the upgrade over it");
    }
    let compared = install.into_iter().chain([upgrade]).map(contents).collect::<Vec<_>>().join(" against ");
    let agree = match install {
        Some(install) if sides(install) == sides(upgrade) => "agree",
        Some(_) | None => "differ in nothing that a rule is about",
    };
    format!("{before} and the upgrade over it {agree} ({compared})")
}

/// Which objects a render has, and which of them are hooks.
fn sides(render: &Render) -> BTreeSet<([&str; 3], bool)> {
    let named = render.documents.iter().map(|Document { head, .. }| {
        ([head.kind.as_str(), &head.namespace, &head.name], head.annotations.contains_key(HOOK))
    });
    named.collect()
}

/// How much a render holds.
fn contents(render: &Render) -> String {
    let hooks = render.documents.iter().filter(|document| document.head.annotations.contains_key(HOOK)).count();
    format!("{} and {}", counted(hooks, "hook"), counted(render.documents.len() - hooks, "resource"))
}
