//! The words of an object that may be names of others, each with the field that holds it.

use std::collections::BTreeSet;

use serde_json::Value;
use stable_hooks_policy::references::{Reference, references_and_optional};

/// Names hardly have more parts, and a text of dots alone shall cost no more than another.
const MOST_PARTS: usize = 8;

/// A `name` below one of these is known within the pod alone.
const LOCAL_NAMES: [&str; 10] = [
    "containers",
    "initContainers",
    "ephemeralContainers",
    "volumes",
    "volumeMounts",
    "volumeDevices",
    "ports",
    "env",
    "resourceClaims",
    "claims",
];

/// Fields that lead to no other object: paths, keys within one, images, and whom a pod keeps away from.
const LEAD_NOWHERE: [&str; 10] = [
    "image",
    "key",
    "path",
    "mountPath",
    "subPath",
    "workingDir",
    "terminationMessagePath",
    "matchLabels",
    "podAntiAffinity",
    "topologySpreadConstraints",
];

/// Kubernetes names a variable after the Service that it tells of, and puts one of these behind the name.
const OF_A_SERVICE: [&str; 2] = ["_SERVICE_", "_PORT"];

/// Each part of a text that may be a name: `db.shop` may be one, or `db`, or `shop`.
pub(super) fn for_each_word<'t>(text: &'t str, mut found: impl FnMut(&'t str)) {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-';
    for run in text.split(|character| !is_part(character) && character != '.') {
        let starts = run.match_indices('.').map(|(dot, _)| dot + 1);
        for rest in [0].into_iter().chain(starts).filter_map(|start| run.get(start..)) {
            let ends = rest.match_indices('.').map(|(dot, _)| dot).chain([rest.len()]);
            let words = ends.take(MOST_PARTS).filter_map(|end| rest.get(..end));
            words.filter(|word| !word.is_empty()).for_each(&mut found);
        }
    }
}

/// Each name that a Service may have for a variable in this text to tell of it: `my-db` for `MY_DB_SERVICE_HOST`.
pub(super) fn for_each_service_of_a_variable(text: &str, mut found: impl FnMut(&str)) {
    let is_part = |character: char| matches!(character, 'A'..='Z' | '0'..='9' | '_');
    for variable in text.split(|character| !is_part(character)) {
        for (end, _) in OF_A_SERVICE.into_iter().filter_map(|behind| variable.rmatch_indices(behind).next()) {
            let name = variable.get(..end).unwrap_or_default();
            found(&name.to_ascii_lowercase().replace('_', "-"));
        }
    }
}

/// A choice of the texts of an object to look through.
pub(super) struct Texts {
    /// Fields that are passed over, with all below them.
    passed_over: BTreeSet<String>,
    /// Keys may be names too.
    with_keys: bool,
}

impl Texts {
    /// The texts of a hook that may name something it needs; fields that also say its kind are read as references.
    pub(super) fn of_hook(object: &Value) -> Self {
        let known =
            ["apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.annotations", "spec.selector"];
        let passed_over = known.map(str::to_owned).into_iter().chain(taken_by_pods(object)).collect();
        Self { passed_over, with_keys: false }
    }

    /// The texts by which one of Kubernetes' own objects may give something to another.
    pub(super) fn of_built_in(object: &Value) -> Self {
        let mut passed_over = Self::of_hook(object).passed_over;
        // A token belongs to the account that an annotation names.
        passed_over.remove("metadata.annotations");
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        let fields: &[&str] = match kind {
            // Its content shall not be told, and gives nothing.
            "Secret" => &["data", "stringData"],
            "ServiceAccount" => &["imagePullSecrets", "secrets"],
            _ => &[],
        };
        passed_over.extend(fields.iter().map(|field| (*field).to_owned()));
        Self { passed_over, with_keys: false }
    }

    /// All texts of an object whose meaning its controller alone knows: it may make others under its own name.
    pub(super) fn of_custom(object: &Value) -> Self {
        let passed_over = taken_by_pods(object).chain(["metadata.namespace".to_owned()]).collect();
        Self { passed_over, with_keys: true }
    }

    /// Each text with its field.
    pub(super) fn for_each(&self, object: &Value, mut found: impl FnMut(&str, &str)) {
        self.walk(object, &mut String::new(), "", &mut found);
    }

    /// All calls share the text `path`, so that long keys are not copied for each field below them.
    fn walk(&self, value: &Value, path: &mut String, holder: &str, found: &mut impl FnMut(&str, &str)) {
        if self.passed_over.contains(path.as_str()) {
            return;
        }
        let end = path.len();
        match value {
            Value::String(text) => found(path, text),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                    self.walk(item, path, holder, found);
                    path.truncate(end);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields.iter().filter(|(key, value)| !leads_nowhere(holder, key, value)) {
                    path.push_str(if end == 0 { "" } else { "." });
                    path.push_str(key);
                    if self.with_keys {
                        found(path, key);
                    }
                    self.walk(value, path, key, found);
                    path.truncate(end);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn leads_nowhere(holder: &str, key: &str, value: &Value) -> bool {
    match key {
        "name" => LOCAL_NAMES.contains(&holder),
        // An image may come from a volume, which is an object.
        "image" => value.is_string(),
        _ if holder == "labels" => describes(key),
        _ => LEAD_NOWHERE.contains(&key),
    }
}

/// A label that says what its own object is; one of another domain speaks to a controller, for example of a queue.
fn describes(label: &str) -> bool {
    let Some((domain, _)) = label.split_once('/') else { return true };
    domain == "app.kubernetes.io" || domain == "helm.sh"
}

/// The fields through which pods get what is there already: they say its kind, and make nothing.
fn taken_by_pods(object: &Value) -> impl Iterator<Item = String> {
    let template = object.get("spec").and_then(|spec| spec.get("jobTemplate"));
    [("", Some(object)), ("spec.jobTemplate.", template)].into_iter().flat_map(|(path, object)| {
        let taken = object.into_iter().flat_map(references_and_optional);
        taken.map(move |Reference { field, .. }| format!("{path}{field}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Texts, for_each_service_of_a_variable, for_each_word};

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for_each_word(text, |word| words.push(word));
        words
    }

    #[test]
    fn every_part_of_a_dotted_word_may_be_a_name() {
        assert_eq!(words("tcp://a_db-0.x,/"), ["tcp", "a", "db-0", "db-0.x", "x"]);
        assert_eq!(words("..a..").into_iter().filter(|word| *word == "a").count(), 1);
        assert!(words(&"a.".repeat(1_000)).len() <= 8_008);
    }

    #[test]
    fn a_variable_tells_of_a_service() {
        let mut names = Vec::new();
        let text = "$(MY_DB_SERVICE_HOST) DB_PORT_80_TCP_ADDR, A_SERVICE_PORT PORT my_SERVICE_HOST";
        for_each_service_of_a_variable(text, |name| names.push(name.to_owned()));
        assert_eq!(names, ["my-db", "db", "a", "a-service", ""]);
    }

    fn texts(texts: &Texts, object: &Value) -> Vec<String> {
        let mut found = Vec::new();
        texts.for_each(object, |field, text| found.push(format!("{field}={text}")));
        found
    }

    #[test]
    fn what_only_describes_a_hook_is_passed_over() {
        let hook = json!({
            "metadata": {
                "name": "a", "namespace": "b", "annotations": {"c": "d"},
                "labels": {"app": "e", "helm.sh/chart": "f", "kueue.x-k8s.io/queue-name": "g"},
            },
            "spec": {"template": {"metadata": {"name": "h"}, "spec": {
                "serviceAccountName": "i", "priorityClassName": "j",
                "containers": [{"name": "k", "image": "l", "args": ["m"], "env": [
                    {"name": "n", "value": "o"},
                    {"name": "p", "valueFrom": {"secretKeyRef": {"name": "q", "key": "r"}}},
                ]}],
                "volumes": [{"name": "s", "csi": {"volumeAttributes": {"name": "t"}}}],
            }}},
        });
        let pod = "spec.template.spec";
        let mut expected = [
            "metadata.labels.kueue.x-k8s.io/queue-name=g".to_owned(),
            "spec.template.metadata.name=h".to_owned(),
            format!("{pod}.priorityClassName=j"),
            format!("{pod}.containers[0].args[0]=m"),
            format!("{pod}.containers[0].env[0].value=o"),
            format!("{pod}.volumes[0].csi.volumeAttributes.name=t"),
        ];
        let mut found = texts(&Texts::of_hook(&hook), &hook);
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_secret_tells_nothing_but_its_annotations() {
        let secret =
            json!({"kind": "Secret", "metadata": {"name": "a", "annotations": {"b": "c"}}, "data": {"d": "e"}});
        assert_eq!(texts(&Texts::of_built_in(&secret), &secret), ["metadata.annotations.b=c"]);
    }

    #[test]
    fn the_own_name_and_the_keys_of_a_custom_resource_count() {
        let custom = json!({"metadata": {"name": "a"}, "spec": {"b": {"c": "d"}}});
        let found = texts(&Texts::of_custom(&custom), &custom);
        for text in ["metadata.name=a", "spec.b=b", "spec.b.c=d"] {
            assert!(found.contains(&text.to_owned()), "{found:?}");
        }
    }
}
