//! Makes the AdmissionRequest that the policy is asked from the content of a file.

use serde_json::{Value, json};
use stable_hooks_host::metadata::{Metadata, Target};

use super::document::Content;

/// The request itself, or for a manifest that of its CREATE; with `audit`, what the audit scanner would ask about the object.
pub fn request_of(content: Content, audit: bool) -> Value {
    match content {
        Content::Manifest(object) => request(object, audit),
        Content::Request(mut request) if audit => {
            let object = request.get_mut("object").map(Value::take).unwrap_or_default();
            audited(request, object)
        }
        Content::Request(request) => request,
    }
}

fn request(object: Value, audit: bool) -> Value {
    let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let request = json!({
        "uid": "",
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": plural(kind)},
        "operation": "CREATE",
        "userInfo": {"username": "stable-hooks"},
        "name": object.pointer("/metadata/name"),
        "namespace": object.pointer("/metadata/namespace"),
    });
    if audit { audited(request, object) } else { with(request, "object", object) }
}

/// Whether an API server would ask a policy with that metadata; the resource is guessed where the request names none.
#[must_use]
pub fn is_covered(metadata: &Metadata, request: &Value) -> bool {
    let text = |pointer| request.pointer(pointer).and_then(Value::as_str);
    let guessed = plural(text("/kind/kind").unwrap_or_default());
    let of_either = |resource, kind| text(resource).or_else(|| text(kind)).unwrap_or_default();
    metadata.covers(&Target {
        operation: text("/operation").unwrap_or_default(),
        group: of_either("/resource/group", "/kind/group"),
        version: of_either("/resource/version", "/kind/version"),
        resource: text("/resource/resource").unwrap_or(&guessed),
        subresource: text("/subResource").unwrap_or_default(),
    })
}

/// The audit scanner asks without a user, and with the object's own uid.
fn audited(request: Value, object: Value) -> Value {
    let uid = object.pointer("/metadata/uid").filter(|uid| uid.is_string()).cloned().unwrap_or_else(|| json!(""));
    let request = with(with(request, "uid", uid), "userInfo", json!({}));
    let request = with(with(request, "operation", json!("CREATE")), "oldObject", Value::Null);
    with(request, "object", object)
}

fn with(mut request: Value, field: &str, value: Value) -> Value {
    if let Value::Object(fields) = &mut request {
        fields.insert(field.to_owned(), value);
    }
    request
}

/// The guess that kubectl makes where it has no discovery.
fn plural(kind: &str) -> String {
    let lower = kind.to_lowercase();
    match (lower.strip_suffix('y'), lower.ends_with('s')) {
        (Some(stem), _) => format!("{stem}ies"),
        (None, true) => format!("{lower}es"),
        (None, false) => format!("{lower}s"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stable_hooks_host::metadata::Metadata;

    use super::{is_covered, plural, request_of, with};
    use crate::input::Content;

    #[test]
    fn a_manifest_becomes_its_create() {
        let job =
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "n", "uid": "u"}});
        let request = request_of(Content::Manifest(job.clone()), false);
        assert_eq!(request["kind"], json!({"group": "batch", "version": "v1", "kind": "Job"}));
        assert_eq!((&request["operation"], &request["object"]), (&json!("CREATE"), &job));
        let audit = request_of(Content::Manifest(job), true);
        assert_eq!((&audit["uid"], &audit["userInfo"]), (&json!("u"), &json!({})));
    }

    #[test]
    fn a_request_is_kept_or_becomes_an_audit_of_its_object() {
        let update =
            json!({"uid": "1", "operation": "UPDATE", "object": {"metadata": {"uid": "u"}}, "oldObject": {"a": 1}});
        assert_eq!(request_of(Content::Request(update.clone()), false), update);
        let audit = request_of(Content::Request(update), true);
        assert_eq!(
            (&audit["uid"], &audit["operation"], &audit["oldObject"]),
            (&json!("u"), &json!("CREATE"), &json!(null))
        );
    }

    #[test]
    fn a_request_is_covered_by_its_resource_or_the_one_that_its_kind_suggests() {
        let rule =
            json!({"operations": ["CREATE"], "apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]});
        let metadata: Metadata = serde_json::from_value(json!({"rules": [rule]})).unwrap();
        let kind = json!({"group": "batch", "version": "v1", "kind": "Job"});
        let request = json!({"operation": "CREATE", "kind": kind});
        assert!(is_covered(&metadata, &request));
        for (field, value) in [
            ("operation", json!("DELETE")),
            ("subResource", json!("status")),
            ("resource", json!({"group": "batch", "version": "v1", "resource": "cronjobs"})),
        ] {
            assert!(!is_covered(&metadata, &with(request.clone(), field, value)), "{field}");
        }
    }

    #[test]
    fn plurals_are_guessed_as_kubectl_does() {
        for (kind, expected) in [("Job", "jobs"), ("Ingress", "ingresses"), ("NetworkPolicy", "networkpolicies")] {
            assert_eq!(plural(kind), expected);
        }
    }
}
