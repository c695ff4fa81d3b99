//! Whether the API server would take two pod templates, or two Jobs around them, for the same: read with its defaults,
//! empty for absent where it makes no difference, and quantities by their value.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::shown::Shown;

/// The fields that a Job keeps for life, beside its pod template.
const IMMUTABLE: [&str; 7] = [
    "completionMode",
    "completions",
    "selector",
    "backoffLimitPerIndex",
    "podFailurePolicy",
    "successPolicy",
    "managedBy",
];

/// In the place of a parent's name: the fields of a Job's own `spec`.
const JOB: &str = "job";

/// The old template that a new one is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Old {
    /// A template as it was applied: a field that is gone is a change too.
    Applied,
    /// A template in the cluster: fields that the new one does not set belong to others.
    Live,
}

/// A field that a Job keeps for life.
pub(crate) enum JobField {
    /// A path behind `spec.template`.
    Template(String),
    OfTheJob(&'static str),
}

impl Old {
    /// The first field that differs between the `spec`s of two Jobs, of those that cannot be changed.
    pub(crate) fn difference_for_life(self, new: &Value, old: &Value) -> Option<JobField> {
        let templates = new.get("template").zip(old.get("template"));
        let in_template = templates.and_then(|(new, old)| self.first_difference(new, old));
        let in_job = || self.immutable_difference(new, old);
        in_template.map(JobField::Template).or_else(|| in_job().map(JobField::OfTheJob))
    }

    /// Where the new template first differs, as a path behind `spec.template`.
    pub(crate) fn first_difference(self, new: &Value, old: &Value) -> Option<String> {
        self.differ("", "", Some(new), Some(old))
    }

    /// The first field of a Job's `spec`, other than its template, that differs and cannot be changed.
    pub(crate) fn immutable_difference(self, new: &Value, old: &Value) -> Option<&'static str> {
        let (new, old) = (new.as_object()?, old.as_object()?);
        IMMUTABLE.into_iter().find(|field| {
            let is_unset = new.get(*field).is_none_or(Value::is_null);
            let is_open = self == Self::Live && is_unset || *field == "completions" && grows(new);
            let [before, after] = [old, new].map(|spec| effective(JOB, field, spec));
            !is_open && self.differ(JOB, field, after.as_deref(), before.as_deref()).is_some()
        })
    }

    /// Two values of one field, below a field called `parent`.
    fn differ(self, parent: &str, field: &str, new: Option<&Value>, old: Option<&Value>) -> Option<String> {
        match (new, old) {
            (None, None) => None,
            (Some(Value::Object(new)), Some(Value::Object(old))) => self.fields(field, new, old),
            (Some(Value::Array(new)), Some(Value::Array(old))) if new.len() == old.len() => {
                new.iter().zip(old).enumerate().find_map(|(index, (new, old))| {
                    self.differ(parent, field, Some(new), Some(old)).map(|inner| format!("[{index}]{inner}"))
                })
            }
            (Some(new), Some(old)) if is_quantity(parent, field) && milli(new).is_some() => {
                (milli(new) != milli(old)).then(String::new)
            }
            (new, old) => (new != old).then(String::new),
        }
    }

    fn fields(self, parent: &str, new: &Map<String, Value>, old: &Map<String, Value>) -> Option<String> {
        let set = new.iter().filter(|(_, value)| !value.is_null()).map(|(field, _)| field.as_str());
        let is_gone = |field: &&String| new.get(*field).is_none_or(Value::is_null);
        let gone = old.keys().filter(|field| self == Self::Applied && is_gone(field)).map(String::as_str);
        set.chain(gone).find_map(|field| {
            let field = if (parent, field) == ("spec", "serviceAccount") { "serviceAccountName" } else { field };
            let [new, old] = [new, old].map(|object| effective(parent, field, object));
            let inner = self.differ(parent, field, new.as_deref(), old.as_deref())?;
            Some(format!(".{}{inner}", Shown(field)))
        })
    }
}

/// An indexed Job may get other completions if it gets as many pods at once.
fn grows(spec: &Map<String, Value>) -> bool {
    let of = |field| spec.get(field).and_then(Value::as_u64).unwrap_or(1);
    spec.get("completionMode").and_then(Value::as_str) == Some("Indexed") && of("completions") == of("parallelism")
}

/// The field as the API server has it.
fn effective<'a>(parent: &str, field: &str, object: &'a Map<String, Value>) -> Option<Cow<'a, Value>> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let set = object.get(field).filter(|value| !value.is_null());
    if is_map(parent) {
        return set.map(Cow::Borrowed);
    }
    let default = || match (parent, field) {
        // The older name of the field.
        ("spec", "serviceAccountName") => {
            object.get("serviceAccount").filter(|name| !is_zero(parent, field, name)).map(Cow::Borrowed)
        }
        ("containers" | "initContainers", "imagePullPolicy") => Some(Cow::Owned(pull_policy(text("image")).into())),
        ("image", "pullPolicy") => Some(Cow::Owned(pull_policy(text("reference")).into())),
        (JOB, "completions") => object.get("parallelism").is_none_or(Value::is_null).then(|| Cow::Owned(1.into())),
        ("volumes", "emptyDir") if object.iter().any(|(name, value)| name != "name" && !value.is_null()) => None,
        _ => default(parent, field).map(Cow::Owned),
    };
    set.filter(|value| !is_zero(parent, field, value)).map(Cow::Borrowed).or_else(default)
}

/// The default that the API server fills in; `{}` for structs and maps, which are there even where nothing is set.
fn default(parent: &str, field: &str) -> Option<Value> {
    Some(match (parent, field) {
        (JOB, "completionMode") => "NonIndexed".into(),
        ("onPodConditions", "status") => "True".into(),
        ("spec", "dnsPolicy") => "ClusterFirst".into(),
        ("spec", "restartPolicy") => "Always".into(),
        ("spec", "schedulerName") => "default-scheduler".into(),
        ("spec", "terminationGracePeriodSeconds") => 30.into(),
        // The `spec` is a claim's.
        ("spec", "volumeMode") => "Filesystem".into(),
        ("containers" | "initContainers", "terminationMessagePath") => "/dev/termination-log".into(),
        ("containers" | "initContainers", "terminationMessagePolicy") => "File".into(),
        ("ports", "protocol") => "TCP".into(),
        ("httpGet", "path") => "/".into(),
        ("httpGet", "scheme") => "HTTP".into(),
        ("fieldRef", "apiVersion") => "v1".into(),
        ("resourceFieldRef", "divisor") => "0".into(),
        ("secret" | "configMap" | "downwardAPI" | "projected", "defaultMode") => 0o644.into(),
        ("serviceAccountToken", "expirationSeconds") => 3600.into(),
        (_, "timeoutSeconds" | "successThreshold") => 1.into(),
        (_, "periodSeconds") => 10.into(),
        (_, "failureThreshold") => 3.into(),
        ("" | "volumeClaimTemplate", "metadata" | "spec")
        | ("spec", "securityContext")
        | ("volumes", "emptyDir")
        | ("containers" | "initContainers", "resources") => Value::Object(Map::new()),
        (_, field) if is_map(field) => Value::Object(Map::new()),
        _ => return None,
    })
}

/// Fields whose keys are not the API's: there the empty and the absent differ.
fn is_map(field: &str) -> bool {
    matches!(
        field,
        "labels" | "annotations" | "nodeSelector" | "matchLabels" | "limits" | "requests" | "volumeAttributes"
    )
}

/// Set to what the API server reads as not set. A field that is a pointer in its types is none of these: there is a
/// difference between `runAsNonRoot: false` and nothing.
fn is_zero(parent: &str, field: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() && field != "storageClassName" && (parent, field) != ("csi", "fsType"),
        Value::Array(items) => items.is_empty(),
        Value::Bool(false) => match field {
            "hostNetwork" | "hostPID" | "hostIPC" | "stdin" | "stdinOnce" | "tty" => true,
            "readOnly" => parent != "csi",
            "optional" => parent == "fileKeyRef",
            _ => false,
        },
        Value::Number(number) => {
            let can_be_left_out = matches!(
                field,
                "initialDelaySeconds"
                    | "timeoutSeconds"
                    | "periodSeconds"
                    | "successThreshold"
                    | "failureThreshold"
                    | "hostPort"
            );
            can_be_left_out && number.as_u64() == Some(0)
        }
        Value::Bool(true) | Value::Object(_) => false,
    }
}

/// An image without a tag has the tag `latest`, unless it has a digest.
fn pull_policy(image: &str) -> &'static str {
    let (name, has_digest) = image.split_once('@').map_or((image, false), |(name, _)| (name, true));
    let last = name.rsplit('/').next().unwrap_or(name);
    let tag = last.split_once(':').map_or(if has_digest { "" } else { "latest" }, |(_, tag)| tag);
    if tag == "latest" { "Always" } else { "IfNotPresent" }
}

fn is_quantity(parent: &str, field: &str) -> bool {
    matches!(parent, "limits" | "requests") || matches!(field, "sizeLimit" | "divisor")
}

/// A quantity in thousandths, rounded up as the API server does; `None` for what is none, or too large to tell.
fn milli(quantity: &Value) -> Option<u64> {
    let text = match quantity {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        Value::Number(number) => Cow::Owned(number.to_string()),
        _ => return None,
    };
    let text = text.strip_prefix('+').unwrap_or(&text);
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mantissa: u64 = [whole, fraction].concat().parse().ok()?;
    let (twos, tens) = match suffix {
        "n" => (0, -6),
        "u" => (0, -3),
        "m" => (0, 0),
        "" => (0, 3),
        "k" => (0, 6),
        "M" => (0, 9),
        "G" => (0, 12),
        "T" => (0, 15),
        "P" => (0, 18),
        "E" => (0, 21),
        "Ki" => (10, 3),
        "Mi" => (20, 3),
        "Gi" => (30, 3),
        "Ti" => (40, 3),
        "Pi" => (50, 3),
        "Ei" => (60, 3),
        exponent => (0, 3 + i32::from(exponent.strip_prefix(['e', 'E'])?.parse::<i8>().ok()?)),
    };
    let tens = tens - i32::try_from(fraction.len()).ok()?;
    let power = 10_u64.checked_pow(tens.unsigned_abs())?;
    let value = mantissa.checked_mul(1_u64 << twos)?;
    if tens < 0 { Some(value.div_ceil(power)) } else { value.checked_mul(power) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Old, milli, pull_policy};

    /// A template with this in its spec.
    fn spec(spec: &Value) -> Value {
        json!({"spec": spec})
    }

    fn container(fields: Value) -> Value {
        spec(&json!({"containers": [fields]}))
    }

    fn applied(new: &Value, old: &Value) -> Option<String> {
        let found = Old::Applied.first_difference(new, old);
        assert_eq!(Old::Applied.first_difference(old, new).is_some(), found.is_some(), "the other way round");
        found
    }

    #[test]
    fn what_a_job_keeps_for_life_is_compared_as_the_api_server_does() {
        let indexed = |completions: u64, parallelism: u64| json!({"completionMode": "Indexed", "completions": completions, "parallelism": parallelism});
        let policy = |condition: Value| json!({"podFailurePolicy": {"rules": [{"onPodConditions": [condition]}]}});
        // Each pair was shown to an API server.
        for (old, new, found) in [
            (json!({}), json!({"completions": 2}), Some("completions")),
            (json!({}), json!({"completions": 1}), None),
            (json!({"parallelism": 2}), json!({"parallelism": 2, "completions": 1}), Some("completions")),
            (json!({"parallelism": 2}), json!({"completions": 1}), Some("completions")),
            (indexed(2, 1), indexed(3, 3), None),
            (indexed(2, 1), indexed(3, 1), Some("completions")),
            (json!({"completions": 1}), indexed(1, 1), Some("completionMode")),
            (json!({}), json!({"completionMode": "NonIndexed", "backoffLimit": 3, "suspend": true}), None),
            (json!({}), json!({"managedBy": "kubernetes.io/job-controller"}), Some("managedBy")),
            (
                json!({"selector": {"matchLabels": {"a": "b"}}}),
                json!({"selector": {"matchLabels": {"a": "c"}}}),
                Some("selector"),
            ),
            (policy(json!({"type": "A"})), policy(json!({"type": "A", "status": "True"})), None),
            (policy(json!({"type": "A"})), policy(json!({"type": "B"})), Some("podFailurePolicy")),
        ] {
            assert_eq!(Old::Applied.immutable_difference(&new, &old), found, "{old} {new}");
        }
        let live = json!({"selector": {"matchLabels": {"controller-uid": "1"}}, "completions": 1});
        assert_eq!(Old::Live.immutable_difference(&json!({}), &live), None);
        assert_eq!(Old::Live.immutable_difference(&json!({"completions": 2}), &live), Some("completions"));
        assert_eq!(Old::Applied.immutable_difference(&json!(5), &live), None);
    }

    #[test]
    fn empty_is_absent_where_the_api_server_sees_no_difference() {
        for fields in [
            json!({"resources": {}}),
            json!({"resources": {"limits": {}, "requests": null}}),
            json!({"env": [], "args": null, "workingDir": ""}),
            json!({"stdin": false, "tty": false}),
        ] {
            assert_eq!(applied(&container(fields.clone()), &container(json!({}))), None, "{fields}");
        }
        for fields in [json!({"securityContext": {}, "nodeSelector": {}, "hostNetwork": false}), json!({"volumes": []})]
        {
            assert_eq!(applied(&spec(&fields), &spec(&json!({}))), None, "{fields}");
        }
        assert_eq!(applied(&json!({"metadata": {"labels": {}, "creationTimestamp": null}}), &json!({})), None);
    }

    #[test]
    fn what_is_a_pointer_or_a_map_differs_from_nothing() {
        for (fields, wanted) in [
            (json!({"automountServiceAccountToken": false}), ".spec.automountServiceAccountToken"),
            (json!({"enableServiceLinks": true}), ".spec.enableServiceLinks"),
            (json!({"securityContext": {"runAsNonRoot": false}}), ".spec.securityContext.runAsNonRoot"),
            (json!({"securityContext": {"runAsUser": 0}}), ".spec.securityContext.runAsUser"),
            (json!({"affinity": {}}), ".spec.affinity"),
            (json!({"resources": {}}), ".spec.resources"),
            (json!({"nodeSelector": {"gpu": ""}}), ".spec.nodeSelector.gpu"),
        ] {
            assert_eq!(applied(&spec(&fields), &spec(&json!({}))).as_deref(), Some(wanted));
        }
        for (fields, wanted) in [
            (json!({"securityContext": {}}), ".spec.containers[0].securityContext"),
            (json!({"resources": {"limits": {"cpu": 0}}}), ".spec.containers[0].resources.limits.cpu"),
            (json!({"livenessProbe": {}}), ".spec.containers[0].livenessProbe"),
        ] {
            assert_eq!(applied(&container(fields), &container(json!({}))).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn what_the_api_server_fills_in_is_equal_to_nothing() {
        let bare = json!({"spec": {
            "containers": [{
                "image": "a:1",
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"port": 80}},
                "env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "b"}}},
                        {"name": "b", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
            }],
            "serviceAccountName": "m",
            "volumes": [{"name": "a"}, {"name": "b", "secret": {"secretName": "s"}},
                        {"name": "c", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
                        {"name": "d", "hostPath": {"path": "p"}}],
        }});
        let filled = json!({"metadata": {}, "spec": {
            "containers": [{
                "image": "a:1", "imagePullPolicy": "IfNotPresent", "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "ports": [{"containerPort": 80, "protocol": "TCP", "hostPort": 0}],
                "livenessProbe": {
                    "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
                    "initialDelaySeconds": 0, "timeoutSeconds": 1, "periodSeconds": 0, "successThreshold": 1,
                    "failureThreshold": 3,
                },
                "env": [{"name": "a", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "b", "apiVersion": "v1"}}},
                        {"name": "b", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": 0}}}],
            }],
            "serviceAccount": "m", "serviceAccountName": "m", "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {}, "terminationGracePeriodSeconds": 30,
            "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
                        {"name": "c", "projected": {"sources": [
                            {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}], "defaultMode": 420}},
                        {"name": "d", "hostPath": {"path": "p", "type": ""}}],
        }});
        assert_eq!(applied(&bare, &filled), None);
        assert_eq!(Old::Live.first_difference(&bare, &filled), None);
        assert_eq!(Old::Live.first_difference(&filled, &bare), None);
        let [old_name, other] = ["m", "n"].map(|name| spec(&json!({"serviceAccount": name})));
        assert_eq!(applied(&old_name, &spec(&json!({"serviceAccountName": "m"}))), None);
        assert!(applied(&other, &spec(&json!({"serviceAccountName": "m"}))).is_some());
        assert!(applied(&spec(&json!({"dnsPolicy": "None"})), &spec(&json!({}))).is_some());
        let volume = |volume: Value| spec(&json!({"volumes": [volume]}));
        let secret = volume(json!({"name": "a", "secret": {}}));
        assert!(applied(&secret, &volume(json!({"name": "a", "emptyDir": {}}))).is_some());
    }

    #[test]
    fn quantities_are_compared_by_value() {
        let limits =
            |cpu: Value, memory: &str| container(json!({"resources": {"limits": {"cpu": cpu, "memory": memory}}}));
        let one = limits(json!(1), "512Mi");
        assert_eq!(applied(&one, &limits(json!("1000m"), "0.5Gi")), None);
        assert!(applied(&one, &limits(json!("1001m"), "0.5Gi")).is_some());
        assert!(applied(&one, &limits(json!(1), "512M")).is_some());
        let volume = |limit: &str| spec(&json!({"volumes": [{"name": "a", "emptyDir": {"sizeLimit": limit}}]}));
        assert_eq!(applied(&volume("1Gi"), &volume("1024Mi")), None);
        let value = |text: &str| container(json!({"env": [{"name": "a", "value": text}]}));
        assert!(applied(&value("1"), &value("1000m")).is_some(), "no quantity");
        for (text, wanted) in [
            ("1", Some(1000)),
            (".5", Some(500)),
            ("1.5k", Some(1_500_000)),
            ("1e3", Some(1_000_000)),
            ("1E-3", Some(1)),
            ("+100n", Some(1)),
            ("1001u", Some(2)),
            ("1E", None),
            ("8Pi", Some(9_007_199_254_740_992_000)),
            ("1e99", None),
            ("-1", None),
            ("1.2.3", None),
            ("Ki", None),
            ("", None),
            ("1e", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(milli(&json!(text)), wanted, "{text}");
        }
        assert_eq!(milli(&json!(0.5)), Some(500));
        assert_eq!(applied(&limits(json!("1E"), "1"), &limits(json!("1E"), "1")), None, "too large, but the same");
    }

    #[test]
    fn images_are_pulled_by_their_tag() {
        for (image, wanted) in [
            ("a", "Always"),
            ("a:latest", "Always"),
            ("r:5000/a", "Always"),
            ("r:5000/a:1", "IfNotPresent"),
            ("a@sha256:0", "IfNotPresent"),
            ("a:latest@sha256:0", "Always"),
        ] {
            assert_eq!(pull_policy(image), wanted, "{image}");
        }
        let pulled = |policy: Value| container(json!({"image": "a", "imagePullPolicy": policy}));
        assert_eq!(applied(&pulled(json!(null)), &pulled(json!("Always"))), None);
        assert!(applied(&pulled(json!(null)), &pulled(json!("Never"))).is_some());
    }
}
