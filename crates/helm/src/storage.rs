//! Helm's storage drivers that keep a record in the cluster (`pkg/storage/driver`): in which objects, what marks them, how
//! they are called, and how the record is packed.

use base64::Engine;
use serde_json::{Value, json};

use crate::record::base64::BASE64;
use crate::record::{self, DecodeError, Limits, Record};

/// The beginning of every record's name.
const PREFIX: &str = "sh.helm.release.v1.";

/// The `type` of a Secret that holds a record.
pub const SECRET_TYPE: &str = "helm.sh/release.v1";

/// Where Helm keeps its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Storage {
    ConfigMap,
    Secret,
}

/// The release, revision and status in a record's name and labels.
#[derive(Debug, Clone, Copy)]
pub struct Label<'a> {
    pub release: &'a str,
    pub revision: u64,
    pub status: &'a str,
}

impl Storage {
    /// Secrets first: they are Helm's default.
    pub const ALL: [Self; 2] = [Self::Secret, Self::ConfigMap];

    /// The driver that keeps its records in objects of that kind.
    pub fn of(group: &str, version: &str, kind: &str) -> Option<Self> {
        let of_kind = |storage: &Self| storage.kind() == kind;
        Self::ALL.into_iter().find(of_kind).filter(|_| (group, version) == ("", "v1"))
    }

    pub fn kind(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }

    /// As the API's paths and `kubectl` call it.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Secret => "secrets",
            Self::ConfigMap => "configmaps",
        }
    }

    /// Such an object is marked as a record.
    pub fn marks(self, object: &Value) -> bool {
        match self {
            Self::Secret => object.get("type").and_then(Value::as_str) == Some(SECRET_TYPE),
            Self::ConfigMap => object.pointer("/metadata/labels/owner").and_then(Value::as_str) == Some("helm"),
        }
    }

    /// Reads `data.release`, as the API server stores it.
    pub fn decode(self, data: &str, limits: Limits) -> Result<Record, DecodeError> {
        record::read(&self.unpack(data, limits)?)
    }

    /// The JSON in `data.release`: all that Helm wrote, the chart and its values too.
    pub fn unpack(self, data: &str, limits: Limits) -> Result<Vec<u8>, DecodeError> {
        record::json_of(data, self.has_base64_twice(), limits.inflated_bytes)
    }

    /// Packs a record for `data.release`. Helm writes gzip there, but reads plain JSON too.
    pub fn pack(self, record: &Value) -> String {
        let once = BASE64.encode(record.to_string());
        if self.has_base64_twice() { BASE64.encode(once) } else { once }
    }

    /// Helm writes base64, and the API has a Secret's data in base64 again.
    fn has_base64_twice(self) -> bool {
        self == Self::Secret
    }

    /// The object that holds a packed record.
    pub fn object(self, label: &Label<'_>, namespace: &str, data: &str) -> Value {
        let Label { release, revision, status } = label;
        let version = revision.to_string();
        let mut object = json!({
            "apiVersion": "v1", "kind": self.kind(),
            "metadata": {
                "name": record_name(release, *revision),
                "namespace": namespace,
                "labels": {"owner": "helm", "name": release, "version": version, "status": status},
            },
            "data": {"release": data},
        });
        if self == Self::Secret
            && let Some(fields) = object.as_object_mut()
        {
            fields.insert("type".to_owned(), SECRET_TYPE.into());
        }
        object
    }
}

/// The name of the object that holds a revision.
pub fn record_name(release: &str, revision: u64) -> String {
    format!("{PREFIX}{release}.v{revision}")
}

/// The release and the revision that a record's name says.
pub fn revision_of(record: &str) -> Option<(&str, u64)> {
    let (release, revision) = record.strip_prefix(PREFIX)?.rsplit_once(".v")?;
    Some((release, revision.parse().ok()?))
}

/// `data.release` of an object, if there is any.
pub fn data(object: &Value) -> Option<&str> {
    object.get("data")?.get("release")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Label, Storage, data, record_name, revision_of};
    use crate::record::Limits;
    use crate::testing::test;

    #[test]
    fn what_a_driver_writes_it_reads() {
        let label = Label { release: "a.v1", revision: 7, status: "deployed" };
        for storage in Storage::ALL {
            let packed = storage.pack(&json!({"name": "a.v1", "version": 7}));
            let object = storage.object(&label, "shop", &packed);
            assert!(storage.marks(&object), "{object}");
            assert_eq!(Storage::of("", "v1", object["kind"].as_str().unwrap()), Some(storage));
            let record = storage.decode(data(&object).unwrap(), Limits::default()).unwrap();
            assert_eq!((record.name.as_str(), record.version), ("a.v1", 7));
            assert_eq!(revision_of(object["metadata"]["name"].as_str().unwrap()), Some(("a.v1", 7)));
        }
        assert_eq!(record_name("orders", 2), "sh.helm.release.v1.orders.v2");
    }

    #[test]
    fn other_objects_are_no_records() {
        assert_eq!(Storage::of("", "v1", "Pod"), None);
        assert_eq!(Storage::of("apps", "v1", "Secret"), None);
        assert!(!Storage::Secret.marks(&json!({"type": "Opaque", "metadata": {"labels": {"owner": "helm"}}})));
        assert!(!Storage::ConfigMap.marks(&json!({"metadata": {"labels": {"owner": "me"}}})));
        for name in ["other", "sh.helm.release.v1.orders", "sh.helm.release.v1.orders.vx"] {
            assert_eq!(revision_of(name), None, "{name}");
        }
    }
}
