//! One Helm operation, prepared for the rules: what its record says, what was there before, what lives now.

mod contents;
mod lookups;
mod template;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::identity::{Identity, Owner, classify};
use crate::name::Name;
use crate::note::Note;
use crate::object::Object;
use crate::settings::Settings;
pub(crate) use contents::{Contents, HookDocument, ResourceDocument};
use helm::Event;
use helm::operation::{Operation, Told};
use helm::record::{ApplyMethod, Record};
pub(crate) use lookups::Live;
use lookups::Lookups;
pub(crate) use template::Template;

/// Everything that the release rules look at.
pub(crate) struct Release<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) operation: Operation,
    /// Where that is known.
    pub(crate) told: Option<Told>,
    pub(crate) name: &'a str,
    /// Where the record is stored.
    pub(crate) namespace: &'a str,
    /// Where its objects live; Flux lets the two differ.
    pub(crate) objects_namespace: &'a str,
    pub(crate) apply_method: ApplyMethod,
    pub(crate) record: Contents<'a>,
    /// The contents of the release's last good revision, where its record could be read.
    pub(crate) baseline: Option<Contents<'a>>,
    /// That revision failed, and may not have made all of its objects.
    pub(crate) has_baseline_failed: bool,
    /// That revision is the one that an install made.
    pub(crate) is_baseline_first: bool,
    live: BTreeMap<Name, Live>,
}

/// A record, its labels, and where it is stored.
pub(crate) struct Stored<'a> {
    pub(crate) record: &'a Record,
    pub(crate) namespace: &'a str,
    pub(crate) operation: Operation,
    pub(crate) told: Option<Told>,
}

impl<'a> Release<'a> {
    /// Prepares a record for the rules; what could not be read or looked up comes back as notes.
    pub(crate) fn prepare(
        stored: &Stored<'a>,
        baseline: Option<&'a Record>,
        settings: &'a Settings,
        cluster: &dyn Cluster,
    ) -> (Self, Vec<Note>) {
        let record = stored.record;
        let hooks = contents::hooks(record, settings);
        let old_hooks = baseline.map(|baseline| contents::hooks(baseline, settings)).unwrap_or_default();
        let wanted = contents::wanted(hooks.iter().chain(&old_hooks));
        let contents = Contents::of(hooks, record, &wanted, settings);
        let has_baseline_failed = baseline.is_some_and(|baseline| baseline.status == "failed");
        let is_baseline_first = baseline.is_some_and(Record::is_first);
        let baseline = baseline.map(|record| Contents::of(old_hooks, record, &wanted, settings));
        let mut lookups = Lookups::new(cluster, settings.releases.limits.lookups);
        lookups.look_at(&contents);
        let (live, failures) = lookups.finish();
        let notes = contents.notes().chain(failures).collect();
        let release = Self {
            settings,
            operation: stored.operation,
            told: stored.told,
            name: &record.name,
            namespace: stored.namespace,
            objects_namespace: &record.namespace,
            apply_method: record.apply_method,
            record: contents,
            baseline,
            has_baseline_failed,
            is_baseline_first,
            live,
        };
        (release, notes)
    }

    /// This is a rollback, and the settings only warn of those: it may be the only way out.
    pub(crate) fn is_lenient(&self) -> bool {
        self.settings.releases.is_lenient(self.operation)
    }

    /// The record lies in another namespace than its objects, as under Flux.
    pub(crate) fn is_stored_apart(&self) -> bool {
        self.namespace != self.objects_namespace
    }

    /// The hooks that Helm minds: none where it is told to run none.
    pub(crate) fn hooks(&self) -> &[HookDocument<'a>] {
        if self.runs_no_hooks() { &[] } else { &self.record.hooks }
    }

    fn runs_no_hooks(&self) -> bool {
        self.told.is_some_and(|told| told.runs_no_hooks)
    }

    /// The hooks that this operation runs, in the order in which it runs them.
    pub(crate) fn hooks_now(&self) -> impl Iterator<Item = &HookDocument<'a>> {
        let hooks = self.hooks();
        let at = |event: Event| hooks.iter().filter(move |hook| hook.events.contains(&event));
        let (pre, post) = (self.operation.pre(), self.operation.post());
        at(pre).chain(at(post).filter(move |hook| !hook.events.contains(&pre)))
    }

    pub(crate) fn runs_now(&self, hook: &HookDocument<'_>) -> bool {
        self.runs_before_resources(hook) || self.runs_after_resources(hook)
    }

    /// No operation up to the last good revision has run this hook of it, so that it has left no object.
    pub(crate) fn has_never_run(&self, hook: &HookDocument<'_>) -> bool {
        let installs = [Event::PreInstall, Event::PostInstall].iter().any(|event| hook.events.contains(event));
        !installs && (self.is_baseline_first || !hook.runs_at_upgrades())
    }

    /// The hook runs before the release's resources are touched.
    pub(crate) fn runs_before_resources(&self, hook: &HookDocument<'_>) -> bool {
        !self.runs_no_hooks() && hook.events.contains(&self.operation.pre())
    }

    /// The hook runs when the release's resources are there.
    pub(crate) fn runs_after_resources(&self, hook: &HookDocument<'_>) -> bool {
        !self.runs_no_hooks() && hook.events.contains(&self.operation.post())
    }

    /// This operation runs the hook more than once: at both events, or at one that is written twice.
    pub(crate) fn runs_twice(&self, hook: &HookDocument<'_>) -> bool {
        let events = [self.operation.pre(), self.operation.post()];
        hook.events.iter().filter(|event| events.contains(event)).count() > 1
    }

    pub(crate) fn live(&self, key: &Name) -> &Live {
        self.live.get(key).unwrap_or(&Live::Unknown)
    }

    /// The identity of the live object under this key, if one was found.
    pub(crate) fn live_identity(&self, key: &Name) -> Option<Identity<'_>> {
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

    /// The object is there before this operation begins: `None` where that is not known.
    pub(crate) fn exists_before(&self, key: &Name) -> Option<bool> {
        let in_baseline = self.baseline.as_ref().is_some_and(|baseline| {
            let hook = baseline.hook(key);
            let is_left = hook.is_some_and(|hook| !self.has_never_run(hook) && !hook.is_deleted_after_success());
            is_left || baseline.resource(key).is_some()
        });
        match self.live(key) {
            Live::Found(_) => Some(true),
            Live::Absent => Some(false),
            // A revision that failed may have stopped before it made the object.
            Live::Unknown if in_baseline => (!self.has_baseline_failed).then_some(true),
            // On an install nothing of the release is there; on an upgrade only a record could tell.
            Live::Unknown if self.operation == Operation::Install || self.baseline.is_some() => Some(false),
            Live::Unknown => None,
        }
    }

    /// The revision that Helm starts from lists it as a resource, so that Helm prunes what this one does not list.
    pub(crate) fn lists(&self, key: &Name) -> bool {
        match &self.baseline {
            Some(baseline) => baseline.resource(key).is_some(),
            None if self.operation == Operation::Install => false,
            None => matches!(self.live_identity(key), Some(Identity::Resource(owner)) if self.is_own(owner)),
        }
    }

    /// The object is a resource of the release so far, this revision does not hold it, and Helm does not keep it.
    pub(crate) fn prunes(&self, key: &Name) -> bool {
        let is_lost = match (&self.baseline, self.live(key)) {
            (Some(baseline), _) => baseline.resource(key).is_some(),
            (None, Live::Found(object)) => {
                matches!(classify(object), Identity::Resource(owner) if self.is_own(owner))
            }
            (None, Live::Absent | Live::Unknown) => false,
        };
        is_lost && !self.keeps(key) && !self.record.holds(key)
    }

    /// Helm does not prune it: it asks the live object, of which the last good revision tells where no cluster does.
    pub(crate) fn keeps(&self, key: &Name) -> bool {
        if let Some(object) = self.live(key).object() {
            return object.annotation(helm::RESOURCE_POLICY).is_some_and(helm::keeps);
        }
        let before = self.baseline.as_ref().and_then(|baseline| baseline.resource(key));
        before.is_some_and(ResourceDocument::is_kept)
    }

    /// The Job that was there has a TTL, which removes it some time after its end, and no cluster shows that it is still
    /// there. `before` is the Job as the last good revision had it.
    pub(crate) fn ttl_may_have_removed(&self, key: &Name, before: Option<&Value>) -> bool {
        let live = self.live(key).object().map(Object::raw);
        let has_ttl = |job: &Value| job.pointer("/spec/ttlSecondsAfterFinished").is_some_and(|ttl| !ttl.is_null());
        !self.is_seen(key) && before.or(live).is_some_and(has_ttl)
    }

    /// A cluster has shown it: only an API server gives objects a uid, a render has none.
    pub(crate) fn is_seen(&self, key: &Name) -> bool {
        self.live(key).object().and_then(Object::uid).is_some()
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use helm::operation::{Operation, Told};
    use helm::record::{Record, RecordHook};

    use super::{Release, Stored};
    use crate::cluster::NoCluster;
    use crate::settings::Settings;
    use crate::testing::test;

    #[test]
    fn helm_that_was_told_to_run_no_hooks_runs_none() {
        let hook = RecordHook { events: vec!["pre-upgrade".to_owned()], ..RecordHook::default() };
        let record = Record { hooks: vec![hook], ..Record::default() };
        let settings = Settings::default();
        let runs = |told| {
            let stored = Stored { record: &record, namespace: "", operation: Operation::Upgrade, told };
            Release::prepare(&stored, None, &settings, &NoCluster).0.hooks_now().count()
        };
        let told = Told { runs_no_hooks: true, takes_ownership: false, waits: false, timeout: Duration::from_mins(5) };
        assert_eq!((runs(None), runs(Some(told)), runs(Some(Told { runs_no_hooks: false, ..told }))), (1, 0, 1));
    }
}
