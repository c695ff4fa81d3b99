//! A Kubernetes object: its JSON as far as it was read (`wire/payload.rs`), and checked views that borrow from it.
//!
//! A field of the wrong type counts as absent; [`Object::malformed`] says which one that was.

use serde_json::{Map, Value};

use crate::argocd;
use crate::shown::Shown;

/// The kinds that the policy judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Job,
    ServiceAccount,
}

impl Kind {
    /// The kind of that group, version and name, if it is one that we judge.
    pub fn parse(group: &str, version: &str, kind: &str) -> Option<Self> {
        match (group, version, kind) {
            ("batch", "v1", "Job") => Some(Self::Job),
            ("", "v1", "ServiceAccount") => Some(Self::ServiceAccount),
            _ => None,
        }
    }

    pub fn group(self) -> &'static str {
        match self {
            Self::Job => "batch",
            Self::ServiceAccount => "",
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Job => "Job",
            Self::ServiceAccount => "ServiceAccount",
        }
    }
}

/// The label that selects an object ("true") or switches the policy off for it ("false").
pub const MIGRATION_LABEL: &str = "stable-hooks/migration";

/// The annotations whose change can change an object's identity or its normal form.
pub const HOOK_ANNOTATIONS: [&str; 6] = [
    helm::HOOK,
    helm::HOOK_WEIGHT,
    helm::HOOK_DELETE_POLICY,
    argocd::HOOK,
    argocd::HOOK_DELETE_POLICY,
    argocd::SYNC_WAVE,
];

/// One Job or ServiceAccount.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    kind: Kind,
    raw: Value,
}

impl Object {
    pub fn new(kind: Kind, raw: Value) -> Self {
        Self { kind, raw }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The JSON, as far as it was read.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    pub fn into_raw(self) -> Value {
        self.raw
    }

    fn metadata(&self, field: &str) -> Option<&Value> {
        self.raw.get("metadata")?.get(field)
    }

    fn metadata_str(&self, field: &str) -> Option<&str> {
        self.metadata(field)?.as_str().filter(|value| !value.is_empty())
    }

    pub fn name(&self) -> Option<&str> {
        self.metadata_str("name")
    }

    pub fn generate_name(&self) -> Option<&str> {
        self.metadata_str("generateName")
    }

    pub fn namespace(&self) -> Option<&str> {
        self.metadata_str("namespace")
    }

    pub fn uid(&self) -> Option<&str> {
        self.metadata_str("uid")
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata("labels")?.get(key)?.as_str()
    }

    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata("annotations")?.get(key)?.as_str()
    }

    /// Deletion has begun; only finalizers can still change.
    pub fn is_being_deleted(&self) -> bool {
        self.metadata_str("deletionTimestamp").is_some()
    }

    /// Another object controls this one, a CronJob for example.
    pub fn has_controller(&self) -> bool {
        let owners = self.metadata("ownerReferences").and_then(Value::as_array);
        owners.is_some_and(|owners| {
            owners.iter().any(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))
        })
    }

    /// `spec.ttlSecondsAfterFinished` of a Job, in seconds.
    pub fn ttl_seconds_after_finished(&self) -> Option<u64> {
        match self.kind {
            Kind::Job => self.raw.get("spec")?.get("ttlSecondsAfterFinished")?.as_u64(),
            Kind::ServiceAccount => None,
        }
    }

    /// The label and annotation fields that count as absent because of their type, in words.
    ///
    /// Keys that are not ours are not repeated: they are foreign data.
    pub fn malformed(&self) -> Option<String> {
        let mut fields = Vec::new();
        for field in ["annotations", "labels"] {
            match self.metadata(field) {
                None | Some(Value::Null) => {}
                Some(Value::Object(map)) => fields.extend(malformed_value(field, map)),
                Some(_) => fields.push(format!("metadata.{field} is not an object")),
            }
        }
        (!fields.is_empty()).then(|| {
            let name = self.name().unwrap_or("(no name)");
            let fields = fields.join(", ");
            format!("{} {}: {fields}; what has the wrong type counts as absent", self.kind.as_str(), Shown(name))
        })
    }
}

fn malformed_value(field: &str, map: &Map<String, Value>) -> Option<String> {
    let ours = HOOK_ANNOTATIONS.into_iter().chain([helm::RELEASE_NAME, helm::RELEASE_NAMESPACE, MIGRATION_LABEL]);
    let known = ours.into_iter().find(|key| map.get(*key).is_some_and(|value| !value.is_string()));
    match known {
        Some(key) => Some(format!("metadata.{field}[\"{key}\"] is not a string")),
        None => map
            .values()
            .any(|value| !value.is_string())
            .then(|| format!("metadata.{field} holds a value that is not a string")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Kind, Object};
    use crate::testing::test;

    fn job(raw: serde_json::Value) -> Object {
        Object::new(Kind::Job, raw)
    }

    #[test]
    fn other_groups_versions_and_kinds_are_not_ours() {
        assert_eq!(Kind::parse("batch", "v1", "Job"), Some(Kind::Job));
        assert_eq!(Kind::parse("", "v1", "ServiceAccount"), Some(Kind::ServiceAccount));
        for (group, version, kind) in
            [("batch", "v2", "Job"), ("", "v1", "Job"), ("batch.example.com", "v1", "Job"), ("batch", "v1", "job")]
        {
            assert_eq!(Kind::parse(group, version, kind), None, "{group}/{version} {kind}");
        }
    }

    #[test]
    fn a_kind_is_known_by_its_group_and_name() {
        for kind in [Kind::Job, Kind::ServiceAccount] {
            assert_eq!(Kind::parse(kind.group(), "v1", kind.as_str()), Some(kind));
        }
    }

    #[test]
    fn the_json_is_kept_whole() {
        let raw = json!({"metadata": {"name": "a"}, "spec": {"unknown": [1, null]}});
        assert_eq!(job(raw.clone()).raw(), &raw);
        assert_eq!(job(raw.clone()).into_raw(), raw);
    }

    #[test]
    fn fields_of_the_wrong_type_count_as_absent_and_are_named() {
        let object =
            job(json!({"metadata": {"name": 5, "annotations": {"helm.sh/hook": ["pre-install"]}, "labels": []}}));
        assert_eq!(object.name(), None);
        assert_eq!(object.annotation("helm.sh/hook"), None);
        let malformed = object.malformed().unwrap();
        assert!(malformed.contains("metadata.annotations[\"helm.sh/hook\"] is not a string"), "{malformed}");
        assert!(malformed.contains("metadata.labels is not an object"), "{malformed}");
    }

    #[test]
    fn a_foreign_key_is_not_repeated() {
        let malformed = job(json!({"metadata": {"labels": {"hunter2": 1}}})).malformed().unwrap();
        assert!(!malformed.contains("hunter2"), "{malformed}");
    }

    #[test]
    fn absent_and_null_maps_are_well_formed() {
        assert_eq!(job(json!({})).malformed(), None);
        assert_eq!(job(json!({"metadata": {"annotations": null, "labels": {}}})).malformed(), None);
        assert_eq!(job(json!([])).malformed(), None);
    }

    #[test]
    fn only_a_controller_owns() {
        assert!(
            job(json!({"metadata": {"ownerReferences": [{"kind": "CronJob", "controller": true}]}})).has_controller()
        );
        assert!(
            !job(json!({"metadata": {"ownerReferences": [{"kind": "Foo"}, {"controller": false}]}})).has_controller()
        );
        assert!(!job(json!({"metadata": {"ownerReferences": {}}})).has_controller());
    }
}
