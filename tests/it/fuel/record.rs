//! Release records of made-up charts, as Helm stores them.

use std::fmt::Write;
use std::io::Write as _;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

const WORDS: [&str; 16] = [
    "api", "worker", "cache", "queue", "gateway", "ledger", "billing", "search", "mail", "audit", "export", "import",
    "report", "stream", "session", "index",
];

/// One record that is being created for an upgrade.
pub(crate) struct Packed {
    /// The JSON in gzip, which is what Helm compresses.
    pub(crate) gzip: Vec<u8>,
    /// The size of what the Secret holds, in bytes: the gzip in base64.
    pub(crate) stored: usize,
    /// The size of the JSON in bytes.
    pub(crate) inflated: usize,
    /// With which the API server would ask.
    pub(crate) request: Value,
}

impl Packed {
    /// What policy-server would hand to the policy.
    pub(crate) fn payload(&self) -> Vec<u8> {
        stable_hooks::engine::payload(&self.request, &json!({}))
    }
}

/// As many documents as make a record of the size that Kubernetes stores at most, 1 MiB in a Secret.
pub(crate) const DOCUMENTS_OF_ONE_MIB: usize = 3_220;

/// Documents of one component: an application as charts render it.
const OF_A_COMPONENT: usize = 7;

/// A release with that many documents beside its hooks: about half of the record is the manifest, the rest is what Helm
/// stores of the chart and its values.
pub(crate) fn packed(documents: usize) -> Packed {
    naming(documents, 0)
}

/// The same with a hook that refers to that many Secrets.
pub(crate) fn naming(documents: usize, names: usize) -> Packed {
    let mut random = Random(7);
    let components = documents.div_ceil(OF_A_COMPONENT);
    let manifests: String = (0..components).map(|number| component(number, &mut random)).collect();
    let manifest: String = manifests.split("---\n").skip(1).take(documents).flat_map(|text| ["---\n", text]).collect();
    let templates: Vec<_> = (0..components / 3).map(|number| template(number, &mut random)).collect();
    let values: Value = (0..components).map(|number| (format!("component{number}"), values(&mut random))).collect();
    let files: Vec<_> = (0..components / 50).map(|number| dashboard(number, &mut random)).collect();
    let mut job = JOB.to_owned() + if names > 0 { "          envFrom:\n" } else { "" };
    for number in 0..names {
        let _ = writeln!(job, "            - secretRef: {{name: shop-{number}}}");
    }
    let record = json!({
        "name": "shop", "namespace": "shop", "version": 2, "apply_method": "ssa",
        "info": {
            "first_deployed": "2026-11-21T10:00:00Z", "last_deployed": "2026-11-21T10:00:00Z", "deleted": "",
            "description": "Preparing upgrade", "status": "pending-upgrade", "notes": "Thank you for installing shop.",
        },
        "chart": {
            "metadata": {"name": "shop", "version": "4.2.0", "apiVersion": "v2"}, "lock": null,
            "templates": templates, "values": values, "schema": null, "files": files,
        },
        "config": values, "manifest": manifest, "hooks": [hook("ServiceAccount", ""), hook("Job", &job)],
    });
    let json = record.to_string();
    let gzip = gzip(json.as_bytes());
    let stored = BASE64.encode(&gzip);
    Packed { stored: stored.len(), inflated: json.len(), request: request(&stored), gzip }
}

fn gzip(json: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(json).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn request(stored: &str) -> Value {
    let name = "sh.helm.release.v1.shop.v2";
    let labels = json!({"name": "shop", "owner": "helm", "status": "pending-upgrade", "version": "2"});
    json!({
        "uid": "1", "operation": "CREATE", "name": name, "namespace": "shop", "userInfo": {"username": "deployer"},
        "kind": {"group": "", "version": "v1", "kind": "Secret"},
        "object": {
            "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
            "metadata": {"name": name, "namespace": "shop", "labels": labels},
            "data": {"release": BASE64.encode(stored)},
        },
    })
}

/// The same numbers on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        // Knuth's MMIX constants; the low bits are not random enough.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn word(&mut self) -> &'static str {
        let place = usize::try_from(self.below(16)).unwrap_or_default();
        WORDS.get(place).copied().unwrap_or_default()
    }

    fn hex(&mut self, digits: usize) -> String {
        (0..digits)
            .map(|_| char::from_digit(u32::try_from(self.below(16)).unwrap_or_default(), 16).unwrap_or('0'))
            .collect()
    }
}

fn head(name: &str, template: &str, api_version: &str, kind: &str) -> String {
    format!(
        "---\n# Source: shop/templates/{template}.yaml\napiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: \
         {name}\n  namespace: shop\n  labels:\n    helm.sh/chart: shop-4.2.0\n    app.kubernetes.io/name: {name}\n    \
         app.kubernetes.io/instance: shop\n    app.kubernetes.io/version: \"4.2.0\"\n    \
         app.kubernetes.io/managed-by: Helm\n"
    )
}

fn component(number: usize, random: &mut Random) -> String {
    let name = format!("shop-{}-{number}", random.word());
    let mut text = head(&name, "serviceaccount", "v1", "ServiceAccount") + "automountServiceAccountToken: false\n";
    text += &head(&name, "configmap", "v1", "ConfigMap");
    text += "data:\n  application.properties: |\n";
    for _ in 0..80 + random.below(120) {
        let (group, key, value) = (random.word(), random.word(), random.word());
        let _ =
            writeln!(text, "    {group}.{key}.timeout.seconds={}\n    {group}.{key}.target={value}", random.below(90));
    }
    text += &head(&name, "service", "v1", "Service");
    let _ = writeln!(
        text,
        "spec:\n  type: ClusterIP\n  ports:\n    - port: {}\n      targetPort: http\n      protocol: TCP\n      name: \
         http\n  selector:\n    app.kubernetes.io/name: {name}\n    app.kubernetes.io/instance: shop",
        8000 + random.below(999)
    );
    text += &head(&name, "deployment", "apps/v1", "Deployment");
    let _ = writeln!(
        text,
        "spec:\n  replicas: {}\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: {name}\n      \
         app.kubernetes.io/instance: shop\n  template:\n    metadata:\n      annotations:\n        checksum/config: \
         {}\n      labels:\n        app.kubernetes.io/name: {name}\n        app.kubernetes.io/instance: shop\n    spec:\n      \
         serviceAccountName: {name}\n      containers:\n        - name: {name}\n          image: \
         \"registry.example.com/shop/{name}:4.2.0\"\n          imagePullPolicy: IfNotPresent\n          env:",
        1 + random.below(5),
        random.hex(64)
    );
    for place in 0..8 + random.below(12) {
        let (first, second) = (random.word().to_uppercase(), random.word().to_uppercase());
        let _ =
            writeln!(text, "            - name: {first}_{second}_{place}\n              value: \"{}\"", random.word());
    }
    text += "          livenessProbe:\n            httpGet:\n              path: /healthz\n              port: http\n          \
             readinessProbe:\n            httpGet:\n              path: /readyz\n              port: http\n          \
             resources:\n            limits:\n              cpu: 500m\n              memory: 512Mi\n            \
             requests:\n              cpu: 100m\n              memory: 128Mi\n";
    text += &head(&name, "hpa", "autoscaling/v2", "HorizontalPodAutoscaler");
    let _ = writeln!(
        text,
        "spec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: {name}\n  minReplicas: 1\n  \
         maxReplicas: {}",
        3 + random.below(9)
    );
    text += &head(&name, "pdb", "policy/v1", "PodDisruptionBudget");
    let _ = writeln!(
        text,
        "spec:\n  maxUnavailable: 1\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: {name}"
    );
    text += &head(&name, "rolebinding", "rbac.authorization.k8s.io/v1", "RoleBinding");
    let _ = writeln!(
        text,
        "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: shop-reader\nsubjects:\n  - kind: \
         ServiceAccount\n    name: {name}\n    namespace: shop"
    );
    text
}

fn template(number: usize, random: &mut Random) -> Value {
    let mut text = String::new();
    for _ in 0..60 {
        let (group, key) = (random.word(), random.word());
        let _ = writeln!(
            text,
            "{{{{- if .Values.{group}.{key}.enabled }}}}\n  {key}: {{{{ include \"shop.{group}\" . | quote }}}}\n  \
             {{{{- with .Values.{group}.annotations }}}}\n  annotations:\n    {{{{- toYaml . | nindent 4 }}}}\n  \
             {{{{- end }}}}\n{{{{- end }}}}"
        );
    }
    json!({"name": format!("templates/{number}.yaml"), "data": BASE64.encode(text)})
}

fn values(random: &mut Random) -> Value {
    json!({
        "enabled": true, "replicas": random.below(5), "image": {"repository": random.word(), "tag": "4.2.0"},
        "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "env": {random.word(): random.word(), random.word(): random.word()}, "nodeSelector": {}, "tolerations": [],
    })
}

fn dashboard(number: usize, random: &mut Random) -> Value {
    let panels: Vec<_> = (0..200).map(|id| json!({"id": id, "title": random.word(), "type": "graph"})).collect();
    let text = json!({"uid": random.hex(16), "panels": panels}).to_string();
    json!({"name": format!("files/dashboard-{number}.json"), "data": BASE64.encode(text)})
}

const JOB: &str = "spec:\n  template:\n    spec:\n      restartPolicy: Never\n      serviceAccountName: \
                   shop-migrations\n      containers:\n        - name: migrate\n          image: shop:4.2.0\n          env:\n            - name: \
                   DATABASE_URL\n              value: postgres://shop-db:5432/shop\n            - name: LOG_LEVEL\n              \
                   value: info\n";

fn hook(kind: &str, spec: &str) -> Value {
    let api_version = if kind == "Job" { "batch/v1" } else { "v1" };
    let manifest = format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: shop-migrations\n  labels:\n    \
         app.kubernetes.io/component: migrations\n  annotations:\n    helm.sh/hook: pre-install,pre-upgrade\n{spec}"
    );
    json!({
        "name": "shop-migrations", "kind": kind, "path": "shop/templates/migrations.yaml", "manifest": manifest,
        "events": ["pre-install", "pre-upgrade"], "weight": if kind == "Job" { 10 } else { 0 },
        "delete_policies": ["before-hook-creation"], "last_run": {"started_at": "", "completed_at": "", "phase": ""},
    })
}
