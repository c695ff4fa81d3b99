//! One Helm operation, prepared for the rules: what its record says, what was there before, what lives now.

mod contents;
mod lookups;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::finding::{ObjectRef, Problem};
use helm::Event;
use helm::record::{ApplyMethod, Record};
use crate::identity::{Identity, Owner, classify};
use crate::object::{Kind, Object};
use crate::settings::{Scope, Settings, Strictness};
use crate::shown::Shown;
pub(crate) use contents::{Contents, HookDocument, ResourceDocument};
pub(crate) use lookups::Live;
use lookups::Lookups;

/// The label of a record that accepts its flips; good only for the revision that it names.
pub(crate) const ACCEPT_LABEL: &str = "stable-hooks/accept-flip";

/// What Helm is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Install,
    Upgrade,
    Rollback,
}

impl Operation {
    /// The operation of a record that Helm has just begun; `None` for one that is over, a restored backup for example.
    pub fn of_status(status: &str) -> Option<Self> {
        match status {
            "pending-install" => Some(Self::Install),
            "pending-upgrade" => Some(Self::Upgrade),
            "pending-rollback" => Some(Self::Rollback),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::Rollback => "rollback",
        }
    }

    /// The event before the release's resources are touched.
    pub fn pre(self) -> Event {
        match self {
            Self::Install => Event::PreInstall,
            Self::Upgrade => Event::PreUpgrade,
            Self::Rollback => Event::PreRollback,
        }
    }

    /// The event after that.
    pub fn post(self) -> Event {
        match self {
            Self::Install => Event::PostInstall,
            Self::Upgrade => Event::PostUpgrade,
            Self::Rollback => Event::PostRollback,
        }
    }
}

/// What an object is called, across hooks, resources and the cluster. The version is no part of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    /// The kind that the policy judges, if it is one.
    pub(crate) fn judged_kind(&self) -> Option<Kind> {
        Kind::parse(&self.group, "v1", &self.kind)
    }

    pub(crate) fn core(kind: &str, namespace: &str, name: &str) -> Self {
        let [group, kind, namespace, name] = ["", kind, namespace, name].map(str::to_owned);
        Self { group, kind, namespace, name }
    }

    pub(crate) fn object_ref(&self) -> ObjectRef {
        let shown = |text: &str| Shown(text).to_string();
        ObjectRef {
            group: shown(&self.group),
            kind: shown(&self.kind),
            namespace: shown(&self.namespace),
            name: shown(&self.name),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object_ref().fmt(f)
    }
}

/// The template that rendered a document, from the chart's name on; a render that was made elsewhere may not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Template<'a>(pub(crate) &'a str);

impl Template<'_> {
    /// Where something is to be changed: behind "In".
    pub(crate) fn place(self) -> String {
        if self.0.is_empty() { "its template".to_owned() } else { Shown(self.0).to_string() }
    }

    /// Both, where a sentence is about two documents.
    pub(crate) fn and(self, other: Self) -> String {
        if self.0.is_empty() || other.0.is_empty() {
            return "templates unknown".to_owned();
        }
        format!("templates {} and {}", Shown(self.0), Shown(other.0))
    }
}

impl fmt::Display for Template<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("template unknown") } else { write!(f, "template {}", Shown(self.0)) }
    }
}

/// Everything that the release rules look at.
pub(crate) struct Release<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) operation: Operation,
    pub(crate) name: &'a str,
    /// Where the record is stored.
    pub(crate) namespace: &'a str,
    /// Where its objects live; Flux lets the two differ.
    objects_namespace: &'a str,
    pub(crate) revision: u64,
    pub(crate) apply_method: ApplyMethod,
    pub(crate) record: Contents<'a>,
    /// What the release's last good revision holds, where its record could be read.
    pub(crate) baseline: Option<Contents<'a>>,
    /// That revision is the one that an install made.
    pub(crate) is_baseline_first: bool,
    live: BTreeMap<Key, Live>,
    is_flip_accepted: bool,
}

/// A record, its labels, and where it is stored.
pub(crate) struct Stored<'a> {
    pub(crate) record: &'a Record,
    pub(crate) namespace: &'a str,
    pub(crate) operation: Operation,
    pub(crate) accepted_revision: Option<&'a str>,
}

impl<'a> Release<'a> {
    /// Prepares a record for the rules; what could not be looked up comes back in words.
    pub(crate) fn prepare(
        stored: &Stored<'a>,
        baseline: Option<&'a Record>,
        settings: &'a Settings,
        cluster: &dyn Cluster,
    ) -> (Self, Vec<String>) {
        let record = stored.record;
        let hooks = contents::hooks(record, settings);
        let old_hooks = baseline.map(|baseline| contents::hooks(baseline, settings)).unwrap_or_default();
        let wanted = contents::wanted(hooks.iter().chain(&old_hooks));
        let contents = Contents::of(hooks, record, &wanted, settings);
        let is_baseline_first = baseline.is_some_and(Record::is_first);
        let baseline = baseline.map(|record| Contents::of(old_hooks, record, &wanted, settings));
        let mut lookups = Lookups::new(cluster, settings.releases.limits.lookups);
        lookups.look_at(&contents);
        let mut notes = contents.notes();
        let (live, failures) = lookups.finish();
        notes.extend(failures);
        let labelled = stored.accepted_revision == Some(record.version.to_string().as_str());
        let listed = settings.releases.accepts(stored.namespace, &record.name, record.version);
        let release = Self {
            settings,
            operation: stored.operation,
            name: &record.name,
            namespace: stored.namespace,
            objects_namespace: &record.namespace,
            revision: record.version,
            apply_method: record.apply_method,
            record: contents,
            baseline,
            is_baseline_first,
            live,
            is_flip_accepted: labelled || listed,
        };
        (release, notes)
    }

    /// A denial would stop somebody's only way out, or was switched off.
    pub(crate) fn is_lenient(&self) -> bool {
        self.operation == Operation::Rollback && self.settings.releases.rollback == Strictness::Warn
    }

    /// What lets a flip through once: a rollback has no such flag, and where records are stored apart from their objects,
    /// as under Flux, nobody runs the command.
    pub(crate) fn acceptance(&self) -> String {
        let (name, namespace, revision) = (Shown(self.name), Shown(self.namespace), self.revision);
        match self.operation {
            Operation::Upgrade if !self.is_stored_apart() => format!(
                "\nIf the change is meant, accept it once:\n  helm upgrade {name} CHART -n {namespace} --labels \
                 {ACCEPT_LABEL}={revision}"
            ),
            Operation::Install | Operation::Upgrade | Operation::Rollback => format!(
                "\nIf the change is meant, accept it once with the setting\n  releases.accept: \
                 [\"{namespace}/{name}@{revision}\"]"
            ),
        }
    }

    /// What `releases.scope` and an acceptance leave of a problem with an identity.
    pub(crate) fn scoped(&self, key: &Key, is_selected: bool, problem: Problem) -> Option<Problem> {
        let problem = if self.is_flip_accepted { problem.warn_at_most() } else { problem };
        match self.settings.releases.scope {
            Scope::All => Some(problem),
            Scope::JobsAndServiceAccounts => key.judged_kind().map(|_| problem),
            Scope::Selected if is_selected => Some(problem),
            Scope::Selected => key.judged_kind().map(|_| problem.warn_at_most()),
        }
    }

    /// The record lies in another namespace than its objects.
    fn is_stored_apart(&self) -> bool {
        self.namespace != self.objects_namespace
    }

    /// The hooks that this operation runs, in the order in which it runs them.
    pub(crate) fn hooks_now(&self) -> impl Iterator<Item = &HookDocument<'a>> {
        let at = |event: Event| self.record.hooks.iter().filter(move |hook| hook.events.contains(&event));
        let (pre, post) = (self.operation.pre(), self.operation.post());
        at(pre).chain(at(post).filter(move |hook| !hook.events.contains(&pre)))
    }

    pub(crate) fn runs_now(&self, hook: &HookDocument<'_>) -> bool {
        self.runs_before_resources(hook) || self.runs_after_resources(hook)
    }

    /// No operation up to the last good revision has run this hook of it, so that it has left no object.
    pub(crate) fn has_never_run(&self, hook: &HookDocument<'_>) -> bool {
        let has = |events: [Event; 2]| events.iter().any(|event| hook.events.contains(event));
        let installs = has([Event::PreInstall, Event::PostInstall]);
        let upgrades = has([Event::PreUpgrade, Event::PostUpgrade]);
        !installs && (self.is_baseline_first || !upgrades)
    }

    /// The hook runs before the release's resources are touched.
    pub(crate) fn runs_before_resources(&self, hook: &HookDocument<'_>) -> bool {
        hook.events.contains(&self.operation.pre())
    }

    /// The hook runs when the release's resources are there.
    pub(crate) fn runs_after_resources(&self, hook: &HookDocument<'_>) -> bool {
        hook.events.contains(&self.operation.post())
    }

    pub(crate) fn live(&self, key: &Key) -> &Live {
        self.live.get(key).unwrap_or(&Live::Unknown)
    }

    /// What lives under this key, if that is known to be a hook or a resource.
    pub(crate) fn live_identity(&self, key: &Key) -> Option<Identity<'_>> {
        match self.live(key) {
            Live::Found(object) => Some(classify(object)),
            Live::Absent | Live::Unknown => None,
        }
    }

    pub(crate) fn is_own(&self, owner: Owner<'_>) -> bool {
        matches!(owner, Owner::Helm { release, namespace } if release == self.name && namespace == self.objects_namespace)
    }

    /// Another Helm release owns it.
    pub(crate) fn is_foreign(&self, owner: Owner<'_>) -> bool {
        matches!(owner, Owner::Helm { .. }) && !self.is_own(owner)
    }

    /// The object is there before this operation begins: `None` where nobody can tell.
    pub(crate) fn exists_before(&self, key: &Key) -> Option<bool> {
        let in_baseline = self.baseline.as_ref().is_some_and(|baseline| {
            let hook = baseline.hook(key);
            let is_left = hook.is_some_and(|hook| !self.has_never_run(hook) && !hook.is_deleted_after_success());
            is_left || baseline.resource(key).is_some()
        });
        match self.live(key) {
            Live::Found(_) => Some(true),
            Live::Absent => Some(false),
            Live::Unknown if in_baseline => Some(true),
            // On an install nothing of the release is there; on an upgrade only a record could tell.
            Live::Unknown if self.operation == Operation::Install || self.baseline.is_some() => Some(false),
            Live::Unknown => None,
        }
    }

    /// The Job that was there has a TTL, which removes it some time after its end, and no cluster shows that it is still
    /// there. `before` is the Job as the last good revision had it.
    pub(crate) fn ttl_may_have_removed(&self, key: &Key, before: Option<&Value>) -> bool {
        let live = self.live(key).object().map(Object::raw);
        let has_ttl = |job: &Value| job.pointer("/spec/ttlSecondsAfterFinished").is_some_and(|ttl| !ttl.is_null());
        // Only an API server gives objects a uid: a render has none.
        let is_seen = live.is_some_and(|live| live.pointer("/metadata/uid").is_some());
        !is_seen && before.or(live).is_some_and(has_ttl)
    }
}

impl Live {
    pub(crate) fn object(&self) -> Option<&Object> {
        match self {
            Self::Found(object) => Some(object),
            Self::Absent | Self::Unknown => None,
        }
    }
}
