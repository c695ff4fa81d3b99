//! What a Pod or the pods of a Job need, from its JSON as it came. What has the wrong type is passed over.

use std::collections::BTreeSet;

use serde_json::Value;

/// What Kubernetes makes for every namespace.
const DEFAULT_SERVICE_ACCOUNT: &str = "default";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefKind {
    ServiceAccount,
    Secret,
    ConfigMap,
    PersistentVolumeClaim,
    Service,
}

impl RefKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ServiceAccount => "ServiceAccount",
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::Service => "Service",
        }
    }
}

/// One object that a pod needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference<'a> {
    pub kind: RefKind,
    /// Only a Service can be one of another namespace than the pod's.
    pub namespace: Option<&'a str>,
    pub name: &'a str,
    /// For example `spec.template.spec.containers[0].env[2].valueFrom.secretKeyRef`.
    pub field: String,
}

/// What has to exist before the pods of that object can start, in the order of the fields.
pub fn references(object: &Value) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    let Some((at, pod)) = pod(object) else {
        return found;
    };
    // The second is what the first was called once, and the API server still reads it.
    let mut accounts = ["serviceAccountName", "serviceAccount"].into_iter();
    let account = accounts.find_map(|field| Some((field, text(pod, field)?)));
    if let Some((field, name)) = account.filter(|(_, name)| *name != DEFAULT_SERVICE_ACCOUNT) {
        let field = format!("{at}.{field}");
        found.push(Reference { kind: RefKind::ServiceAccount, namespace: None, name, field });
    }
    for (path, secret) in items(pod, at, "imagePullSecrets") {
        found.extend(reference(RefKind::Secret, secret, "name", path));
    }
    for (path, container) in containers(at, pod) {
        for (path, variable) in items(container, &path, "env") {
            let Some(source) = variable.get("valueFrom") else {
                continue;
            };
            let path = format!("{path}.valueFrom");
            found.extend(held(source, &path, "secretKeyRef", RefKind::Secret, "name"));
            found.extend(held(source, &path, "configMapKeyRef", RefKind::ConfigMap, "name"));
        }
        for (path, source) in items(container, &path, "envFrom") {
            found.extend(held(source, &path, "secretRef", RefKind::Secret, "name"));
            found.extend(held(source, &path, "configMapRef", RefKind::ConfigMap, "name"));
        }
    }
    for (path, volume) in items(pod, at, "volumes") {
        found.extend(held(volume, &path, "secret", RefKind::Secret, "secretName"));
        found.extend(held(volume, &path, "configMap", RefKind::ConfigMap, "name"));
        found.extend(held(volume, &path, "persistentVolumeClaim", RefKind::PersistentVolumeClaim, "claimName"));
        let Some(projected) = volume.get("projected") else {
            continue;
        };
        for (path, source) in items(projected, &format!("{path}.projected"), "sources") {
            found.extend(held(source, &path, "secret", RefKind::Secret, "name"));
            found.extend(held(source, &path, "configMap", RefKind::ConfigMap, "name"));
        }
    }
    found
}

/// Which of these services, each a namespace and a name, the containers name as a whole host.
pub fn named_services<'a>(object: &Value, namespace: &str, services: &'a [(String, String)]) -> Vec<Reference<'a>> {
    let mut found = Vec::new();
    for (field, text) in texts(object) {
        for (namespace, name) in hosts(text).filter_map(|host| service(host, namespace, services)) {
            let reference =
                Reference { kind: RefKind::Service, namespace: Some(namespace), name, field: field.clone() };
            if !found.contains(&reference) {
                found.push(reference);
            }
        }
    }
    found
}

/// What a Service would have to be called so that the containers name it.
pub fn possible_services(object: &Value) -> BTreeSet<String> {
    let first_label = |host: &str| host.split('.').next().unwrap_or_default().to_ascii_lowercase();
    texts(object).iter().flat_map(|(_, text)| hosts(text)).map(first_label).collect()
}

/// Where containers say what they connect to: the values of variables, arguments, and commands without the program
/// that they start, each with its path.
fn texts(object: &Value) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let Some((at, pod)) = pod(object) else {
        return found;
    };
    for (path, container) in containers(at, pod) {
        let command = items(container, &path, "command").skip(1);
        let words = command.chain(items(container, &path, "args"));
        let variables = items(container, &path, "env");
        let values = variables.filter_map(|(path, variable)| Some((format!("{path}.value"), variable.get("value")?)));
        found.extend(words.chain(values).filter_map(|(path, text)| Some((path, text.as_str()?))));
    }
    found
}

/// The ServiceAccount that the pods of a workload run as: of a Pod, of what has a pod template, or of a CronJob.
pub fn pod_account(object: &Value) -> Option<&str> {
    let holder = if is_kind(object, "CronJob") { object.get("spec")?.get("jobTemplate")? } else { object };
    let (_, pod) = pod(holder)?;
    text(pod, "serviceAccountName").or_else(|| text(pod, "serviceAccount"))
}

/// Where the fields of a pod stand, and they.
fn pod(object: &Value) -> Option<(&'static str, &Value)> {
    let spec = object.get("spec")?;
    if is_kind(object, "Pod") {
        return Some(("spec", spec));
    }
    Some(("spec.template.spec", spec.get("template")?.get("spec")?))
}

fn is_kind(object: &Value, kind: &str) -> bool {
    object.get("kind").and_then(Value::as_str) == Some(kind)
}

fn text<'a>(holder: &'a Value, field: &str) -> Option<&'a str> {
    holder.get(field)?.as_str().filter(|text| !text.is_empty())
}

/// The items of a list, each with its path.
fn items<'a>(holder: &'a Value, path: &str, field: &str) -> impl Iterator<Item = (String, &'a Value)> {
    let items = holder.get(field).and_then(Value::as_array).into_iter().flatten();
    let path = format!("{path}.{field}");
    items.enumerate().map(move |(index, item)| (format!("{path}[{index}]"), item))
}

fn containers<'a>(at: &'a str, pod: &'a Value) -> impl Iterator<Item = (String, &'a Value)> {
    ["initContainers", "containers"].into_iter().flat_map(move |field| items(pod, at, field))
}

/// The reference in a field of `holder`.
fn held<'a>(holder: &'a Value, path: &str, field: &str, kind: RefKind, name: &str) -> Option<Reference<'a>> {
    reference(kind, holder.get(field)?, name, format!("{path}.{field}"))
}

/// A pod starts without what is optional.
fn reference<'a>(kind: RefKind, source: &'a Value, name: &str, field: String) -> Option<Reference<'a>> {
    let optional = source.get("optional").and_then(Value::as_bool) == Some(true);
    let name = text(source, name).filter(|_| !optional)?;
    Some(Reference { kind, namespace: None, name, field })
}

/// What could be host names in a value: the hosts of URLs, and words before a port or a path.
fn hosts(text: &str) -> impl Iterator<Item = &str> {
    let ends_word = |character: char| character.is_whitespace() || "\"'`,;=|&<>(){}[]$".contains(character);
    text.split(ends_word).filter_map(|word| {
        let address = word.split_once("://").map_or(word, |(_, address)| address);
        let authority = address.split(['/', '?', '#']).next()?;
        let host = authority.rsplit('@').next()?.split(':').next()?;
        Some(host.strip_suffix('.').unwrap_or(host)).filter(|host| !host.is_empty())
    })
}

/// `name`, `name.namespace`, `name.namespace.svc` or that with the cluster's domain.
fn service<'a>(host: &str, namespace: &str, services: &'a [(String, String)]) -> Option<(&'a str, &'a str)> {
    let host = host.to_ascii_lowercase();
    let mut labels = host.splitn(4, '.');
    let name = labels.next()?;
    let namespace = labels.next().unwrap_or(namespace);
    if labels.next().is_some_and(|label| label != "svc") {
        return None;
    }
    let (namespace, name) = services.iter().find(|service| service.0 == namespace && service.1 == name)?;
    Some((namespace, name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{RefKind, Reference, named_services, possible_services, references};
    use crate::testing::test;

    fn job(pod: Value) -> Value {
        json!({"spec": {"template": {"spec": pod}}})
    }

    fn outline(found: Vec<Reference<'_>>) -> Vec<String> {
        let line = |found: Reference<'_>| {
            let field = found.field.strip_prefix("spec.template.spec.").unwrap();
            format!("{} {} {field}", found.kind.as_str(), found.name)
        };
        found.into_iter().map(line).collect()
    }

    #[test]
    fn finds_what_pods_need() {
        let job = job(json!({
            "serviceAccountName": "sa",
            "imagePullSecrets": [{"name": "pull"}],
            "initContainers": [{"envFrom": [{"secretRef": {"name": "a"}}, {"configMapRef": {"name": "b"}}]}],
            "containers": [{}, {"env": [
                {"name": "X", "value": "x"},
                {"valueFrom": {"secretKeyRef": {"name": "c", "key": "k"}}},
                {"valueFrom": {"configMapKeyRef": {"name": "d"}}},
                {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ]}],
            "volumes": [
                {"secret": {"secretName": "e"}},
                {"configMap": {"name": "f"}},
                {"persistentVolumeClaim": {"claimName": "g"}},
                {"projected": {"sources": [{"secret": {"name": "h"}}, {"configMap": {"name": "i"}}]}},
                {"emptyDir": {}},
            ],
        }));
        assert_eq!(
            outline(references(&job)),
            [
                "ServiceAccount sa serviceAccountName",
                "Secret pull imagePullSecrets[0]",
                "Secret a initContainers[0].envFrom[0].secretRef",
                "ConfigMap b initContainers[0].envFrom[1].configMapRef",
                "Secret c containers[1].env[1].valueFrom.secretKeyRef",
                "ConfigMap d containers[1].env[2].valueFrom.configMapKeyRef",
                "Secret e volumes[0].secret",
                "ConfigMap f volumes[1].configMap",
                "PersistentVolumeClaim g volumes[2].persistentVolumeClaim",
                "Secret h volumes[3].projected.sources[0].secret",
                "ConfigMap i volumes[3].projected.sources[1].configMap",
            ]
        );
    }

    #[test]
    fn what_is_optional_or_a_default_is_not_needed() {
        let job = job(json!({
            "serviceAccountName": "default",
            "serviceAccount": "other",
            "containers": [{
                "env": [{"valueFrom": {"secretKeyRef": {"name": "a", "optional": true}}}],
                "envFrom": [{"configMapRef": {"name": "b", "optional": true}}, {"secretRef": {"name": ""}}],
            }],
            "volumes": [
                {"secret": {"secretName": "c", "optional": true}},
                {"projected": {"sources": [{"secret": {"name": "d", "optional": true}}]}},
            ],
        }));
        assert_eq!(references(&job), []);
    }

    #[test]
    fn a_pod_is_its_own_pod() {
        let pod = json!({"kind": "Pod", "spec": {
            "serviceAccountName": "sa", "containers": [{"envFrom": [{"secretRef": {"name": "a"}}], "args": ["db"]}],
        }});
        let services = [("shop".to_owned(), "db".to_owned())];
        let found = references(&pod).into_iter().chain(named_services(&pod, "shop", &services));
        let fields: Vec<_> = found.map(|found| found.field).collect();
        assert_eq!(
            fields,
            ["spec.serviceAccountName", "spec.containers[0].envFrom[0].secretRef", "spec.containers[0].args[0]"]
        );
    }

    #[test]
    fn the_old_name_of_the_account_counts() {
        let job = job(json!({"serviceAccountName": "", "serviceAccount": "sa"}));
        assert_eq!(outline(references(&job)), ["ServiceAccount sa serviceAccount"]);
    }

    #[test]
    fn any_json_is_read() {
        let odd =
            json!({"containers": [5, {"env": {}}, {"env": [[], {"valueFrom": 1}], "args": 1}], "volumes": [null]});
        for object in [json!(null), json!([]), json!({"spec": {"template": []}}), job(json!("x")), job(odd)] {
            assert_eq!(references(&object), []);
            assert_eq!(named_services(&object, "shop", &[]), []);
        }
    }

    fn names_db(value: &str) -> bool {
        let services = [("shop".to_owned(), "db".to_owned())];
        let job = job(json!({"containers": [{"env": [{"value": value}]}]}));
        let is_named = !named_services(&job, "shop", &services).is_empty();
        assert!(!is_named || possible_services(&job).contains("db"), "{value}");
        is_named
    }

    #[test]
    fn a_service_is_a_whole_host_name() {
        for value in [
            "db",
            "DB",
            "db:5432",
            "db.shop",
            "db.shop.svc",
            "db.shop.svc.cluster.local.",
            "postgres://u:p@db/x?sslmode=off",
            "jdbc:postgresql://db.shop:5432/x",
            "host=db port=5432",
            "--host=db",
            "until nc -z db 5432; do sleep 1; done",
            "a:1,db:2",
            "redis://[db]",
        ] {
            assert!(names_db(value), "{value}");
        }
        for value in [
            "",
            "db-replica",
            "my-db",
            "db.other",
            "db.shop.example.com",
            "www.db",
            "db_name",
            "db://elsewhere/db",
            "postgres://db:db@elsewhere/db",
            "/var/lib/db",
            "a.db.shop",
        ] {
            assert!(!names_db(value), "{value}");
        }
    }

    #[test]
    fn commands_arguments_and_other_namespaces_are_looked_through() {
        let pair = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
        let services = [pair("shop", "db"), pair("data", "db"), pair("data", "queue")];
        let job = job(json!({
            "initContainers": [{"command": ["db", "wait", "db db"], "args": ["db.data", "queue"]}],
            "containers": [{"env": [{"name": "db"}, {"value": "queue.data.svc:1,db"}]}],
        }));
        let found = named_services(&job, "shop", &services);
        assert!(found.iter().all(|found| found.kind == RefKind::Service));
        assert_eq!(
            found.iter().map(|found| found.namespace).collect::<Vec<_>>(),
            [Some("shop"), Some("data"), Some("data"), Some("shop")]
        );
        assert_eq!(
            outline(found),
            [
                "Service db initContainers[0].command[2]",
                "Service db initContainers[0].args[0]",
                "Service queue containers[0].env[1].value",
                "Service db containers[0].env[1].value",
            ]
        );
    }
}
