//! What lives in the cluster under the names of a record: looked up one by one, so many at most.

use std::collections::BTreeMap;

use super::{Contents, Key};
use crate::cluster::{Cluster, Lookup, Query};
use crate::object::{Kind, Object};
use crate::references::{RefKind, references};

/// What a lookup told.
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
    live: BTreeMap<Key, Live>,
    /// Kinds that nobody tells us about, and why: asked once, since each question costs time.
    unavailable: Vec<(Kind, &'static str)>,
    skipped: Vec<Key>,
}

impl<'c> Lookups<'c> {
    pub(super) fn new(cluster: &'c dyn Cluster, most: u64) -> Self {
        Self { cluster, left: most, live: BTreeMap::new(), unavailable: Vec::new(), skipped: Vec::new() }
    }

    /// Hooks first, then Jobs, then ServiceAccounts of the manifest, then ServiceAccounts that hooks only name.
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
            let Some(object) = &hook.object else { continue };
            for reference in references(object) {
                if reference.kind == RefKind::ServiceAccount {
                    self.get(&Key::core("ServiceAccount", &hook.key.namespace, reference.name));
                }
            }
        }
    }

    fn get(&mut self, key: &Key) {
        let Some(kind) = key.judged_kind() else { return };
        if key.name.is_empty()
            || self.live.contains_key(key)
            || self.unavailable.iter().any(|(unavailable, _)| *unavailable == kind)
        {
            return;
        }
        if self.left == 0 {
            if !self.skipped.contains(key) {
                self.skipped.push(key.clone());
            }
            return;
        }
        self.left -= 1;
        let api_version = match kind {
            Kind::Job => "batch/v1",
            Kind::ServiceAccount => "v1",
        };
        let query =
            Query { api_version, kind: &key.kind, namespace: &key.namespace, name: &key.name, metadata_only: false };
        match self.cluster.get(&query) {
            Lookup::Found(object) => {
                self.live.insert(key.clone(), Live::Found(Object::new(kind, object)));
            }
            Lookup::NotFound => {
                self.live.insert(key.clone(), Live::Absent);
            }
            Lookup::Unavailable(reason) => {
                self.unavailable.push((kind, reason));
            }
        }
    }

    /// What was found, and in words what could not be looked up.
    pub(super) fn finish(self) -> (BTreeMap<Key, Live>, Vec<String>) {
        let mut notes: Vec<_> = self
            .unavailable
            .iter()
            .map(|(kind, reason)| format!("live {}s could not be looked up: {reason}", kind.as_str()))
            .collect();
        if let Some(first) = self.skipped.first() {
            let count = self.skipped.len();
            notes.push(format!(
                "{count} live objects were not looked up (releases.limits.lookups), the first is {first}"
            ));
        }
        (self.live, notes)
    }
}
