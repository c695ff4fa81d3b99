//! An AdmissionRequest, read once and into what the rules need.

use helm::operation::Told;
use helm::storage::{self, Storage};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::name::Name;
use crate::object::{HOOK_ANNOTATIONS, Kind, Object};

/// Why something is no AdmissionRequest. The texts are fixed: a request can hold Secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error("the payload is not valid JSON, or nested deeper than 127 levels")]
    NotJson,
    #[error("the payload is not an object with `request` and `settings`")]
    NotAPayload,
    #[error(
        "the request is not an AdmissionRequest: it wants an object with the strings `uid` and `operation`, and `kind` with `group`, `version` and `kind`"
    )]
    NotARequest,
    #[error("the AdmissionRequest has no `object`, which a CREATE or UPDATE needs")]
    NoObject,
}

/// The change that is asked for, and the name and namespace that the request gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub change: Change,
}

/// The change to one object that we judge, or something that is not ours.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Create {
        object: Object,
    },
    Update {
        object: Object,
        old: Option<Object>,
    },
    /// The audit scanner asks about an object that lives.
    Audit {
        object: Object,
    },
    /// Helm writes down what it is about to do.
    Release(StoredRelease),
    Other,
}

/// A release record in its Secret or ConfigMap.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRelease {
    pub(crate) storage: Storage,
    raw: Value,
    /// How Helm was told to do it, which no record says.
    pub(crate) told: Option<Told>,
}

impl StoredRelease {
    /// The object, if it is a release record: everything else in Secrets and ConfigMaps is none of our business.
    fn new(storage: Storage, raw: Value) -> Option<Self> {
        storage.marks(&raw).then_some(Self { storage, raw, told: None })
    }

    /// A record as it was read from the cluster.
    pub(crate) fn found(storage: Storage, raw: Value) -> Self {
        Self { storage, raw, told: None }
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.raw.get("metadata")?.get("labels")?.get(key)?.as_str()
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.raw.get("metadata")?.get("namespace")?.as_str()
    }

    /// `data.release`, as the API server stores it.
    pub(crate) fn data(&self) -> Option<&str> {
        storage::data(&self.raw)
    }
}

impl Request {
    /// Reads a request; what is not ours is told apart before its object is looked at.
    pub fn parse(request: Value) -> Result<Self, RequestError> {
        let Value::Object(mut request) = request else {
            return Err(RequestError::NotARequest);
        };
        let uid = string(&request, "uid")?.ok_or(RequestError::NotARequest)?.to_owned();
        let operation = string(&request, "operation")?.ok_or(RequestError::NotARequest)?.to_owned();
        let kind = kind(&request)?;
        let subresource = string(&request, "subResource")?.is_some_and(|name| !name.is_empty());
        let not_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let name = string(&request, "name")?.and_then(not_empty);
        let namespace = string(&request, "namespace")?.and_then(not_empty);
        let user = user(&request)?;

        let change = match (kind, operation.as_str()) {
            (Some(Asked::Storage(storage)), "CREATE") if !subresource => {
                let record = request.remove("object").and_then(|object| StoredRelease::new(storage, object));
                record.map_or(Change::Other, Change::Release)
            }
            (Some(Asked::Object(kind)), "CREATE") if !subresource => {
                let object = object(&mut request, "object", kind)?.ok_or(RequestError::NoObject)?;
                // The API server sends a user name and a random uid; only the audit scanner sends neither.
                if user.is_empty() && uid == object.uid().unwrap_or_default() {
                    Change::Audit { object }
                } else {
                    Change::Create { object }
                }
            }
            (Some(Asked::Object(kind)), "UPDATE") if !subresource => Change::Update {
                object: object(&mut request, "object", kind)?.ok_or(RequestError::NoObject)?,
                old: object(&mut request, "oldObject", kind)?,
            },
            _ => Change::Other,
        };
        Ok(Self { name, namespace, change })
    }

    /// The same where it is known how Helm was told to do it.
    #[must_use]
    pub fn told(mut self, told: Option<Told>) -> Self {
        if let Change::Release(release) = &mut self.change {
            release.told = told;
        }
        self
    }

    /// The request fills in what the object does not say of itself.
    pub(crate) fn name_of(&self, object: &Object) -> Name {
        let namespace = object.namespace().or(self.namespace.as_deref());
        let name = object.name().or(self.name.as_deref()).map(str::to_owned);
        let generated = || object.generate_name().map(|prefix| format!("{prefix}*"));
        Name {
            group: object.kind().group().to_owned(),
            kind: object.kind().as_str().to_owned(),
            namespace: namespace.unwrap_or_default().to_owned(),
            name: name.or_else(generated).unwrap_or_default(),
        }
    }
}

impl Change {
    /// The object as it would be stored.
    pub fn into_object(self) -> Option<Object> {
        match self {
            Self::Create { object } | Self::Update { object, .. } | Self::Audit { object } => Some(object),
            Self::Release(_) | Self::Other => None,
        }
    }

    /// An UPDATE that we must let through: denied, it would leave the object stuck; or it cannot change an identity.
    pub fn is_harmless_update(&self) -> bool {
        match self {
            Self::Update { object, old: Some(old) } => {
                let deleting = object.is_being_deleted() || old.is_being_deleted();
                let watched = HOOK_ANNOTATIONS.into_iter().chain([helm::RELEASE_NAME]);
                deleting || watched.into_iter().all(|key| object.annotation(key) == old.annotation(key))
            }
            Self::Update { object, old: None } => object.is_being_deleted(),
            Self::Create { .. } | Self::Audit { .. } | Self::Release(_) | Self::Other => false,
        }
    }
}

/// An optional string; `null` is absent.
fn string<'a>(map: &'a Map<String, Value>, field: &str) -> Result<Option<&'a str>, RequestError> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(value)) => Ok(Some(value)),
        Some(_) => Err(RequestError::NotARequest),
    }
}

fn map<'a>(map: &'a Map<String, Value>, field: &str) -> Result<Option<&'a Map<String, Value>>, RequestError> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(value)) => Ok(Some(value)),
        Some(_) => Err(RequestError::NotARequest),
    }
}

/// The kind of object that a request is about.
enum Asked {
    Object(Kind),
    Storage(Storage),
}

fn kind(request: &Map<String, Value>) -> Result<Option<Asked>, RequestError> {
    let kind = map(request, "kind")?.ok_or(RequestError::NotARequest)?;
    let part = |field| string(kind, field);
    let group = part("group")?.unwrap_or_default();
    match (part("version")?, part("kind")?) {
        (Some(version), Some(name)) => {
            let object = || Kind::parse(group, version, name).map(Asked::Object);
            Ok(object().or_else(|| Storage::of(group, version, name).map(Asked::Storage)))
        }
        _ => Err(RequestError::NotARequest),
    }
}

fn user(request: &Map<String, Value>) -> Result<String, RequestError> {
    let user = map(request, "userInfo")?;
    let name = user.map(|user| string(user, "username")).transpose()?.flatten();
    Ok(name.unwrap_or_default().to_owned())
}

/// Takes an object out of the request; `null` and `{}` are absent.
fn object(request: &mut Map<String, Value>, field: &str, kind: Kind) -> Result<Option<Object>, RequestError> {
    match request.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) if map.is_empty() => Ok(None),
        Some(object @ Value::Object(_)) => Ok(Some(Object::new(kind, object))),
        Some(_) => Err(RequestError::NotARequest),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Change, Request, RequestError};
    use crate::testing::test;

    fn request(patch: Value) -> Value {
        let mut request = json!({
            "uid": "1", "operation": "CREATE", "userInfo": {"username": "admin"},
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "object": {"metadata": {"name": "a", "uid": "2"}},
        });
        json_patch::merge(&mut request, &patch);
        request
    }

    fn parse(patch: Value) -> Result<Change, RequestError> {
        Request::parse(request(patch)).map(|request| request.change)
    }

    #[test]
    fn what_is_not_ours_is_told_apart_before_its_object_is_read() {
        for patch in [
            json!({"operation": "DELETE"}),
            json!({"operation": "CONNECT"}),
            json!({"operation": "PATCH"}),
            json!({"subResource": "status"}),
            json!({"kind": {"version": "v2"}}),
            json!({"kind": {"group": null}}),
        ] {
            let mut request = request(patch);
            request["object"] = json!(7);
            assert_eq!(Request::parse(request).unwrap().change, Change::Other);
        }
    }

    #[test]
    fn wrong_types_are_no_request() {
        for (field, value) in [
            ("uid", json!(1)),
            ("operation", json!([])),
            ("kind", json!("Job")),
            ("kind", json!({"kind": "Job"})),
            ("namespace", json!(false)),
            ("subResource", json!(1)),
            ("userInfo", json!("admin")),
            ("object", json!("x")),
        ] {
            let mut request = request(json!({}));
            request[field] = value;
            assert_eq!(Request::parse(request), Err(RequestError::NotARequest), "{field}");
        }
        for other in [json!(null), json!([]), json!("x"), json!({})] {
            assert_eq!(Request::parse(other), Err(RequestError::NotARequest));
        }
    }

    #[test]
    fn a_missing_null_or_empty_object_is_refused_and_such_an_old_object_is_nothing() {
        for object in [json!(null), json!({})] {
            for operation in ["CREATE", "UPDATE"] {
                let mut request = request(json!({"operation": operation}));
                request["object"] = object.clone();
                assert_eq!(Request::parse(request), Err(RequestError::NoObject));
            }
            let mut request = request(json!({"operation": "UPDATE"}));
            request["oldObject"] = object.clone();
            assert!(matches!(Request::parse(request).unwrap().change, Change::Update { old: None, .. }));
        }
    }

    #[test]
    fn only_the_audit_scanner_has_no_user_and_the_objects_own_uid() {
        assert!(matches!(parse(json!({"uid": "2", "userInfo": {"username": null}})), Ok(Change::Audit { .. })));
        assert!(matches!(parse(json!({"uid": "2", "userInfo": null})), Ok(Change::Audit { .. })));
        assert!(matches!(parse(json!({"uid": "2"})), Ok(Change::Create { .. })));
        assert!(matches!(parse(json!({"userInfo": null})), Ok(Change::Create { .. })));
    }

    #[test]
    fn updates_that_cannot_change_an_identity_are_harmless() {
        let update = |old: Value, new: Value| {
            parse(json!({"operation": "UPDATE", "object": {"metadata": new}, "oldObject": {"metadata": old}})).unwrap()
        };
        let hook = json!({"annotations": {"helm.sh/hook": "pre-install"}, "labels": {"a": "b"}});
        assert!(update(hook.clone(), json!({"annotations": {"helm.sh/hook": "pre-install"}})).is_harmless_update());
        assert!(!update(hook.clone(), json!({"annotations": {"helm.sh/hook": "post-install"}})).is_harmless_update());
        assert!(!update(json!({"name": "a"}), hook.clone()).is_harmless_update());
        let deleting = json!({"deletionTimestamp": "2026-11-21T00:00:00Z"});
        assert!(update(deleting.clone(), hook.clone()).is_harmless_update());
        assert!(update(hook, deleting).is_harmless_update());
    }
}
