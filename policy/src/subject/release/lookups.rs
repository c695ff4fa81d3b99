//! Live objects under the names of a record: looked up one by one, up to a limit.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::Contents;
use crate::cluster::{Cluster, Lookup, Query, Unavailable};
use crate::name::Name;
use crate::note::{Note, NoteKind};
use crate::object::{Kind, Object};
use crate::references::references;

/// The state of an object in the cluster, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Live {
    Found(Object),
    Absent,
    /// Not looked up, or the lookup failed.
    Unknown,
}

pub(super) struct Lookups<'c> {
    cluster: &'c dyn Cluster,
    left: u64,
    live: BTreeMap<Name, Live>,
    /// Kinds that cannot be looked up, and why: asked once, since each question costs time.
    unavailable: BTreeMap<&'static str, Unavailable>,
    skipped: BTreeSet<Name>,
}

impl<'c> Lookups<'c> {
    pub(super) fn new(cluster: &'c dyn Cluster, most: u64) -> Self {
        let (live, unavailable, skipped) = Default::default();
        Self { cluster, left: most, live, unavailable, skipped }
    }

    /// Hooks first, then Jobs, then ServiceAccounts of the manifest, then what hooks only name.
    pub(super) fn look_at(&mut self, contents: &Contents<'_>) {
        for hook in &contents.hooks {
            self.get(&hook.key);
        }
        for wanted in [Kind::Job, Kind::ServiceAccount] {
            for resource in contents.resources.iter().filter(|resource| resource.key.judged_kind() == Some(wanted)) {
                self.get(&resource.key);
            }
        }
        for hook in &contents.hooks {
            for reference in hook.object.iter().flat_map(references) {
                self.get(&Name::core(reference.kind.as_str(), &hook.key.namespace, reference.name));
            }
        }
    }

    fn get(&mut self, key: &Name) {
        let Some(kind) = key.judged_kind() else { return };
        if key.name.is_empty() || self.live.contains_key(key) || self.unavailable.contains_key(kind.as_str()) {
            return;
        }
        if self.left == 0 {
            self.skipped.insert(key.clone());
            return;
        }
        self.left -= 1;
        let api_version = match kind {
            Kind::Job => "batch/v1",
            Kind::ServiceAccount => "v1",
        };
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        match self.cluster.get(&Query { api_version, kind: &key.kind, namespace, name, metadata_only: false }) {
            Lookup::Found(object) => {
                self.live.insert(key.clone(), Live::Found(Object::new(kind, object)));
            }
            Lookup::NotFound => {
                self.live.insert(key.clone(), Live::Absent);
            }
            Lookup::Unavailable(reason) => {
                self.unavailable.insert(kind.as_str(), reason);
            }
        }
    }

    /// The results, and notes on what could not be looked up.
    pub(super) fn finish(self) -> (BTreeMap<Name, Live>, Vec<Note>) {
        let mut notes = Vec::new();
        for (kind, reason) in &self.unavailable {
            let text = format!("live {kind}s could not be looked up: {reason}");
            notes.push(Note::new(reason.note_kind(), text));
        }
        if let Some(first) = self.skipped.first() {
            let count = self.skipped.len();
            let text =
                format!("{count} live objects were not looked up (releases.limits.lookups), one of them is {first}");
            notes.push(Note::new(NoteKind::NotLookedUp, text));
        }
        (self.live, notes)
    }
}
