//! The objects that a Pod or the pods of a Job need, from its JSON as it came. Values of the wrong type are skipped.

mod clients;
mod hosts;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The ServiceAccount that Kubernetes makes for every namespace.
pub const DEFAULT_SERVICE_ACCOUNT: &str = "default";

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

/// A Secret or ConfigMap that a container gets values from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source<'a> {
    pub reference: Reference<'a>,
    /// The keys that it names; without any it reads all of them.
    pub keys: Vec<&'a str>,
    /// The pod does not start without these.
    pub needs_keys: bool,
    /// A pod starts without it.
    pub is_optional: bool,
}

/// The objects that must exist before the pods of that object can start, in the order of the fields.
pub fn references(object: &Value) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    let Some((at, pod)) = placed_pod(object) else {
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
        let reference = text(secret, "name").map(|name| Reference::here(RefKind::Secret, name, path));
        found.extend(reference.filter(|_| !is_optional(secret)));
    }
    found.extend(sources(at, pod).into_iter().filter(|source| !source.is_optional).map(|source| source.reference));
    found
}

/// The same, with those that may be missing.
pub fn references_and_optional(object: &Value) -> Vec<Reference<'_>> {
    let mut found = references(object);
    let optional = value_sources(object).into_iter().filter(|source| source.is_optional);
    found.extend(optional.map(|source| source.reference));
    found
}

/// The Secrets and ConfigMaps that containers get values from, those too that may be missing.
pub fn value_sources(object: &Value) -> Vec<Source<'_>> {
    let found = placed_pod(object).map(|(at, pod)| sources(at, pod)).unwrap_or_default();
    let has_values = |source: &Source<'_>| matches!(source.reference.kind, RefKind::Secret | RefKind::ConfigMap);
    found.into_iter().filter(has_values).collect()
}

/// The objects that variables and volumes name.
fn sources<'a>(at: &str, pod: &'a Value) -> Vec<Source<'a>> {
    let mut found = Vec::new();
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
        let secret = held(volume, &path, "secret", RefKind::Secret, "secretName");
        let of_values = secret.or_else(|| held(volume, &path, "configMap", RefKind::ConfigMap, "name"));
        found.extend(of_values.map(|source| mounted(source, pod, text(volume, "name"))));
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

/// Services to look hosts up in: by name the namespaces that have one.
#[derive(Debug, Default)]
pub struct Services<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> Services<'a> {
    pub fn add(&mut self, namespace: &'a str, name: &'a str) {
        self.0.entry(name).or_default().push(namespace);
    }

    fn get(&self, namespace: &str, name: &str) -> Option<(&'a str, &'a str)> {
        let (name, namespaces) = self.0.get_key_value(name)?;
        let namespace = namespaces.iter().find(|other| **other == namespace)?;
        Some((namespace, name))
    }
}

/// The Services among these that the containers name as a host.
pub fn named_services<'a>(object: &Value, namespace: &str, services: &Services<'a>) -> Vec<Reference<'a>> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for_each_host(object, &mut |path, host| {
        for (name, other) in hosts::services(host) {
            let Some((namespace, name)) = services.get(other.unwrap_or(namespace), name) else { continue };
            if seen.insert(format!("{path} {namespace}/{name}")) {
                let field = path.to_owned();
                found.push(Reference { kind: RefKind::Service, namespace: Some(namespace), name, field });
            }
        }
    });
    found
}

/// The names that the containers' hosts may give to Services, whether there are such Services or not.
pub fn possible_services(object: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for_each_host(object, &mut |_, host| {
        for (name, _) in hosts::services(host) {
            found.insert(name.to_owned());
        }
    });
    found
}

/// Each host that a container names, in lower case, with its field: in its command line without the program that it
/// starts, and in the values of its variables.
fn for_each_host(object: &Value, found: &mut dyn FnMut(&str, &str)) {
    let Some((at, pod)) = placed_pod(object) else { return };
    for (path, container) in containers(at, pod) {
        // It is given the hosts that its certificate is for, and connects to none.
        if text(container, "image").is_some_and(|image| image.contains("certgen")) {
            continue;
        }
        let mut words = Vec::new();
        for (path, word) in items(container, &path, "command").skip(1).chain(items(container, &path, "args")) {
            words.extend(word.as_str().map(|word| (path, word)));
        }
        hosts::hosts(&mut words.iter().map(|(_, word)| *word), false, &mut |place, host| {
            if let Some((path, _)) = words.get(place) {
                found(path, &host.to_ascii_lowercase());
            }
        });
        for (path, variable) in items(container, &path, "env") {
            let Some(value) = text(variable, "value") else { continue };
            let says_host = text(variable, "name").is_some_and(hosts::says_host);
            let path = format!("{path}.value");
            hosts::hosts(&mut [value].into_iter(), says_host, &mut |_, host| found(&path, &host.to_ascii_lowercase()));
        }
    }
}

/// All that containers are started with: commands, arguments and the values of variables, each with its field.
pub fn texts(object: &Value) -> impl Iterator<Item = (String, &str)> {
    let containers = placed_pod(object).into_iter().flat_map(|(at, pod)| containers(at, pod));
    containers.flat_map(|(path, container)| {
        let words = items(container, &path, "command").chain(items(container, &path, "args"));
        let variables = items(container, &path, "env");
        let values = variables.filter_map(|(path, variable)| Some((format!("{path}.value"), variable.get("value")?)));
        words.chain(values).filter_map(|(path, text)| Some((path, text.as_str()?)))
    })
}

/// The Jobs that a pod waits for before it is ready, by name, each with the field that names it: where an init container,
/// or a container with a probe, is a kubectl, a k8s-wait-for or a script that waits for a Job.
pub fn awaited_jobs(object: &Value) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let Some((at, pod)) = placed_pod(object) else { return found };
    for (path, container) in containers(at, pod) {
        let is_sidecar = text(container, "restartPolicy") == Some("Always");
        let has_a_probe = ["readinessProbe", "startupProbe"].iter().any(|probe| container.get(probe).is_some());
        if !has_a_probe && (is_sidecar || !path.contains("initContainers")) {
            continue;
        }
        let words = items(container, &path, "command").chain(items(container, &path, "args"));
        let words = words.filter_map(|(path, word)| Some((path, word.as_str()?))).collect();
        found.extend(waits::jobs(text(container, "image").unwrap_or_default(), words));
    }
    found
}

/// The ServiceAccount that the pods of a workload run as: of a Pod, of what has a pod template, or of a CronJob.
pub fn pod_account(object: &Value) -> Option<&str> {
    let pod = pod(object)?;
    text(pod, "serviceAccountName").or_else(|| text(pod, "serviceAccount"))
}

/// The field that shows a container to be a client of the API server: its image, or a word of its command line.
pub fn api_client(object: &Value) -> Option<String> {
    let (at, pod) = placed_pod(object)?;
    for (path, container) in containers(at, pod) {
        if text(container, "image").is_some_and(clients::is_image) {
            return Some(format!("{path}.image"));
        }
        for (path, word) in items(container, &path, "command").chain(items(container, &path, "args")) {
            let Some(word) = word.as_str() else { continue };
            if clients::calls_one(word) || (path.ends_with(".command[0]") && clients::is_program(word)) {
                return Some(path);
            }
        }
    }
    None
}

/// An account gives its token, or a pod takes it, unless it says otherwise.
pub fn has_token(holder: &Value) -> bool {
    holder.get("automountServiceAccountToken").and_then(Value::as_bool) != Some(false)
}

/// It is not scaled to zero.
pub fn has_replicas(workload: &Value) -> bool {
    workload.pointer("/spec/replicas").and_then(Value::as_u64) != Some(0)
}

/// The specification of a Pod, or of the pods of a workload.
pub fn pod(object: &Value) -> Option<&Value> {
    Some(placed_pod(object)?.1)
}

/// Where the fields of a pod stand, and they.
fn placed_pod(object: &Value) -> Option<(&'static str, &Value)> {
    let spec = object.get("spec")?;
    if is_kind(object, "Pod") {
        return Some(("spec", spec));
    }
    if is_kind(object, "CronJob") {
        let pod = spec.get("jobTemplate")?.get("spec")?.get("template")?.get("spec")?;
        return Some(("spec.jobTemplate.spec.template.spec", pod));
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
fn items<'a>(holder: &'a Value, path: &str, field: &str) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
    let items = holder.get(field).and_then(Value::as_array).into_iter().flatten();
    let path = format!("{path}.{field}");
    items.enumerate().map(move |(index, item)| (format!("{path}[{index}]"), item))
}

fn containers<'a>(at: &str, pod: &'a Value) -> impl Iterator<Item = (String, &'a Value)> {
    ["initContainers", "containers"].into_iter().flat_map(move |field| items(pod, at, field))
}

/// The source with the keys that are mounted as single files, where each mount of its volume is one.
fn mounted<'a>(mut source: Source<'a>, pod: &'a Value, volume: Option<&str>) -> Source<'a> {
    let mut files = Vec::new();
    for (path, container) in containers("", pod) {
        for (_, mount) in items(container, &path, "volumeMounts").filter(|(_, mount)| text(mount, "name") == volume) {
            match text(mount, "subPath") {
                Some(file) => files.push(file),
                None => return source,
            }
        }
    }
    if source.keys.is_empty() {
        source.keys = files;
    }
    source
}

/// The object that a field of `holder` names.
fn held<'a>(holder: &'a Value, path: &str, field: &str, kind: RefKind, name: &str) -> Option<Source<'a>> {
    let source = holder.get(field)?;
    let reference = Reference::here(kind, text(source, name)?, format!("{path}.{field}"));
    // A variable names one key, a volume can name some.
    let of_volume = items(source, "", "items").filter_map(|(_, item)| text(item, "key"));
    let keys: Vec<_> = text(source, "key").into_iter().chain(of_volume).collect();
    let is_optional = is_optional(source);
    Some(Source { reference, needs_keys: !keys.is_empty() && !is_optional, keys, is_optional })
}

fn is_optional(source: &Value) -> bool {
    source.get("optional").and_then(Value::as_bool) == Some(true)
}

impl<'a> Reference<'a> {
    /// To an object in the pod's own namespace.
    fn here(kind: RefKind, name: &'a str, field: String) -> Self {
        Self { kind, namespace: None, name, field }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{
        RefKind, Reference, Services, api_client, named_services, pod_account, possible_services, references, texts,
        value_sources,
    };
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
        assert_eq!(
            outline(value_sources(&job).into_iter().map(|source| source.reference).collect()),
            [
                "Secret a containers[0].env[0].valueFrom.secretKeyRef",
                "ConfigMap b containers[0].envFrom[0].configMapRef",
                "Secret c volumes[0].secret",
                "Secret d volumes[1].projected.sources[0].secret",
            ]
        );
    }

    #[test]
    fn a_pod_is_its_own_pod() {
        let pod = json!({"kind": "Pod", "spec": {
            "serviceAccountName": "sa", "containers": [{"envFrom": [{"secretRef": {"name": "a"}}], "args": ["db:1"]}],
        }});
        let services = of_services(&[("shop", "db")]);
        let found = references(&pod).into_iter().chain(named_services(&pod, "shop", &services));
        let fields: Vec<_> = found.map(|found| found.field).collect();
        assert_eq!(
            fields,
            ["spec.serviceAccountName", "spec.containers[0].envFrom[0].secretRef", "spec.containers[0].args[0]"]
        );
    }

    #[test]
    fn a_cronjob_has_its_pod_further_down() {
        let pod = json!({"serviceAccountName": "sa", "containers": [{"envFrom": [{"secretRef": {"name": "a"}}]}]});
        let cron = json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}});
        let fields: Vec<_> = references(&cron).into_iter().map(|found| found.field).collect();
        let at = "spec.jobTemplate.spec.template.spec";
        assert_eq!(fields, [format!("{at}.serviceAccountName"), format!("{at}.containers[0].envFrom[0].secretRef")]);
        assert_eq!(pod_account(&cron), Some("sa"));
        assert_eq!(references(&json!({"kind": "CronJob", "spec": {"template": {"spec": pod}}})), []);
    }

    #[test]
    fn a_client_of_the_api_server_is_known_by_its_image_or_its_command_line() {
        let field = |container: Value| api_client(&job(json!({"containers": [{}, container]})));
        for (container, expected) in [
            (json!({"image": "bitnami/kubectl:1", "args": ["get"]}), "image"),
            (json!({"image": "orders:1", "command": ["/bin/kubectl", "get"]}), "command[0]"),
            (json!({"command": ["sh", "-c"], "args": ["set -e\nkubectl get pods"]}), "args[0]"),
        ] {
            let path = format!("spec.template.spec.containers[1].{expected}");
            assert_eq!(field(container), Some(path));
        }
        for container in [
            json!({"image": "orders:1", "command": ["migrate", "kubectl"], "args": ["helm", 5]}),
            json!({"env": [{"name": "NO_PROXY", "value": "kubernetes.default,localhost"}]}),
            json!({"image": 5, "command": "kubectl"}),
        ] {
            assert_eq!(field(container), None);
        }
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
            assert_eq!(named_services(&object, "shop", &Services::default()), []);
        }
    }

    /// Each a namespace and a name.
    fn of_services<'a>(all: &[(&'a str, &'a str)]) -> Services<'a> {
        let mut services = Services::default();
        for (namespace, name) in all {
            services.add(namespace, name);
        }
        services
    }

    fn names_db(name: &str, value: &str) -> bool {
        let services = of_services(&[("shop", "db")]);
        let job = job(json!({"containers": [{"env": [{"name": name, "value": value}]}]}));
        let is_named = !named_services(&job, "shop", &services).is_empty();
        assert!(!is_named || possible_services(&job).contains("db"), "{value}");
        is_named
    }

    #[test]
    fn a_service_is_named_where_it_is_a_host() {
        for value in [
            "db:5432",
            "DB:5432",
            "db.shop",
            "db.shop.svc",
            "db.shop.svc.cluster.local.",
            "db-0.db",
            "db-0.db.shop.svc.cluster.local:5432",
            "postgres://u:p@db/x?sslmode=off",
            "jdbc:postgresql://db.shop:5432/x",
            "host=db port=5432",
            "--host=db",
            "until nc -z db 5432; do sleep 1; done",
            "a:1,db:2",
        ] {
            assert!(names_db("X", value), "{value}");
        }
        for value in [
            "",
            "db",
            "db-replica",
            "my-db:1",
            "db.other",
            "db.shop.example.com",
            "www.db",
            "db_name",
            "db://elsewhere/db",
            "postgres://db:db@elsewhere/db",
            "/var/lib/db",
            "a.db.shop",
            "--database=db",
        ] {
            assert!(!names_db("X", value), "{value}");
        }
    }

    #[test]
    fn a_bare_word_is_what_its_variable_says() {
        for name in ["DB_HOST", "PGHOST", "KAFKA_BROKERS", "API_URL", "redisAddress"] {
            assert!(names_db(name, "db"), "{name}");
        }
        for name in ["DB_NAME", "OTEL_SERVICE_NAME", "DATABASE", "DB_SERVER_USER"] {
            assert!(!names_db(name, "db"), "{name}");
        }
    }

    #[test]
    fn commands_arguments_and_other_namespaces_are_looked_through() {
        let services = of_services(&[("shop", "db"), ("data", "db"), ("data", "queue")]);
        let job = job(json!({
            "initContainers": [{"command": ["db:1", "wait", "db:1 db:2"], "args": ["db.data", "--host", "queue"]}],
            "containers": [{"env": [{"name": "db"}, {"value": "queue.data.svc:1,db:1"}]}],
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

    #[test]
    fn a_certificate_is_for_hosts_that_nobody_connects_to() {
        let services = of_services(&[("shop", "db")]);
        for (image, count) in [("registry/kube-webhook-certgen:1", 0), ("registry/migrate:1", 1)] {
            let job = job(json!({"containers": [{"image": image, "args": ["create", "--host=db,db.shop.svc"]}]}));
            assert_eq!(named_services(&job, "shop", &services).len(), count, "{image}");
        }
    }

    #[test]
    fn all_texts_of_containers_have_a_field() {
        let job = job(json!({"containers": [{"command": ["a"], "args": ["b", 5], "env": [{"value": "c"}, {}]}]}));
        let found: Vec<_> = texts(&job).collect();
        let fields = ["command[0]", "args[0]", "env[0].value"];
        let expected = fields.map(|field| format!("spec.template.spec.containers[0].{field}"));
        assert_eq!(found, expected.into_iter().zip(["a", "b", "c"]).collect::<Vec<_>>());
    }
}
