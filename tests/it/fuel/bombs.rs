//! Input that is made to cost much: bounded work, stated in fuel, bounded memory, and an answer that says why.

use std::io::Write as _;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use stable_hooks::engine::payload;

use super::metered;

/// Takes less than a tenth of a millisecond; policy-server stops a policy after 2 s.
const MILLION: u64 = 1_000_000;

const MIB: usize = 1 << 20;

struct Bomb {
    name: &'static str,
    payload: Vec<u8>,
    /// In millions of fuel.
    most_fuel: u64,
    /// In MiB of linear memory, the payload itself in it.
    most_memory: usize,
    /// Stands in the answer.
    says: &'static str,
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap()
}

fn creation(kind: &Value, object: &Value, settings: &Value) -> Vec<u8> {
    let request = json!({
        "uid": "1", "operation": "CREATE", "userInfo": {"username": "a"}, "kind": kind, "namespace": "shop",
        "name": object["metadata"]["name"], "object": object,
    });
    payload(&request, settings)
}

fn job(metadata: &Value, spec: &Value) -> Vec<u8> {
    let mut object = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec});
    object["metadata"]["name"] = "a".into();
    object["metadata"]["labels"] = json!({"app": "migrate"});
    creation(&json!({"group": "batch", "version": "v1", "kind": "Job"}), &object, &json!({}))
}

fn stored(packed: &[u8]) -> Vec<u8> {
    let name = "sh.helm.release.v1.orders.v1";
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {"name": name, "namespace": "shop", "labels": {
            "name": "orders", "owner": "helm", "status": "pending-install", "version": "1",
        }},
        "data": {"release": BASE64.encode(BASE64.encode(packed))},
    });
    creation(&json!({"group": "", "version": "v1", "kind": "Secret"}), &object, &json!({"releases": {"scope": "all"}}))
}

fn record(manifest: &str, hooks: &[String]) -> Vec<u8> {
    record_at("pre-install", manifest, hooks)
}

fn record_at(event: &str, manifest: &str, hooks: &[String]) -> Vec<u8> {
    let hook = |manifest: &String| json!({"name": "a", "kind": "Job", "path": "a/templates/a.yaml", "manifest": manifest, "events": [event]});
    let record = json!({
        "name": "orders", "namespace": "shop", "version": 1, "info": {"status": "pending-install"},
        "manifest": manifest, "hooks": hooks.iter().map(hook).collect::<Vec<_>>(),
    });
    stored(&gzip(record.to_string().as_bytes()))
}

fn hook(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, labels: {{app: migrate}}, \
         annotations: {{helm.sh/hook: pre-install}}}}\nspec: {spec}\n"
    )
}

fn bombs() -> Vec<Bomb> {
    let many = |count: usize, text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<String>();
    let zeros = vec![b' '; 64 * MIB];
    let account = |n: usize| format!("---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: a{n}}}\n");
    let aliased = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, labels: {{app: migrate}}, annotations: {{helm.sh/hook: \
         pre-install}}}}\nx0: &x0 [x, x, x, x, x, x, x, x, x, x]\n{}",
        many(9, &|n| format!("x{}: &x{} [{}]\n", n + 1, n + 1, vec![format!("*x{n}"); 10].join(", ")))
    );
    let references = many(40, &|n| format!("{{name: E{n}, valueFrom: {{secretKeyRef: {{name: s{n}, key: k}}}}}}, "));
    let referring = |n: usize| {
        let container = format!("{{name: a, image: a, env: [{references}]}}");
        hook(
            &format!("j{n}"),
            &format!("{{template: {{spec: {{serviceAccountName: a{n}, containers: [{container}]}}}}}}"),
        )
    };
    let references_of_many: Vec<_> = (0..500).map(referring).collect();
    let hooks_of_many: Vec<_> = (0..20_000).map(|n| hook(&format!("j{n}"), "{}")).collect();
    // Each waits for one Job many times.
    let waiting = |n: usize| {
        let jobs = "job/a ".repeat(500);
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d{n}}}\nspec: {{template: {{spec: {{initContainers: \
             [{{name: w, image: a, args: [sh, -c, kubectl wait {jobs}]}}]}}}}}}\n"
        )
    };
    let open = "[".repeat(10_000);
    let closed = open.clone() + &"]".repeat(10_000);
    let with = |annotations: Value| job(&json!({"annotations": annotations}), &json!({}));
    let with_text = |field: &str, name: &str| {
        let text = String::from_utf8(with(json!({"helm.sh/hook": "pre-upgrade"}))).unwrap();
        let start = format!("\"{field}\":{{");
        text.replacen(&start, &format!("{start}\"{name}\":{closed},"), 1).replace(",}", "}").into_bytes()
    };
    let mut lying = gzip(&zeros);
    let size = lying.len() - 4;
    lying[size..].copy_from_slice(&u32::to_le_bytes((16 << 20) - 1));
    let unread = "the release record cannot be read";
    [
        ("gzip of 1000 to 1", stored(&gzip(&zeros)), 350, 55, "inflates to more than 16777216 bytes"),
        ("gzip that says it is smaller", stored(&lying), 600, 55, "inflates to more than 16777216 bytes"),
        ("YAML aliases", record("", &[aliased]), 330, 25, "one-sided-hook"),
        ("an unknown YAML alias", record("", &[hook("a", "*a")]), 3, 2, "one-sided-hook"),
        ("YAML 10,000 deep and open", record("", &[hook("a", &open)]), 3, 2, "one-sided-hook"),
        ("YAML 10,000 deep", record("", &[hook("a", &closed)]), 3, 2, "one-sided-hook"),
        ("labels 10,000 deep", with_text("metadata", "labels"), 1, 2, "nested deeper than 127 levels"),
        ("a spec 10,000 deep", with_text("spec", "template"), 7, 2, "\"mutated_object\":{"),
        ("record 10,000 deep", stored(&gzip(format!("{{\"info\":{closed}}}").as_bytes())), 1, 2, unread),
        (
            "100,000 documents",
            record(&many(100_000, &account), &[]),
            2700,
            22,
            "more documents than releases.limits.documents",
        ),
        ("100,000 empty documents", record(&"---\n".repeat(100_000), &[]), 150, 3, "\"accepted\":true"),
        ("20,000 hooks", record("", &hooks_of_many), 380, 11, "more than 10,000 hooks"),
        (
            "500 hooks that need 40 others",
            record(&many(500, &account), &references_of_many),
            4400,
            36,
            " more: the audit annotation",
        ),
        (
            "500 workloads that wait 500 times",
            record_at("post-install", &many(500, &waiting), hooks_of_many.get(..500).unwrap()),
            2300,
            8,
            "hook-wait-deadlock",
        ),
        ("an annotation of 1 MiB", with(json!({"helm.sh/hook": "a".repeat(MIB)})), 210, 6, "unknown-hook-event"),
        (
            "an annotation of 1 MiB of commas",
            with(json!({"helm.sh/hook": ",".repeat(MIB)})),
            15,
            4,
            "unknown-hook-event",
        ),
        ("100,000 events", with(json!({"helm.sh/hook": "pre-install,".repeat(100_000) + "test"})), 500, 6, ""),
        (
            "1,000,000 delete policies",
            with(json!({"helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": ",".repeat(MIB)})),
            1300,
            6,
            "",
        ),
        (
            "a body of 2 MiB",
            job(&json!({"annotations": {"helm.sh/hook": "pre-upgrade"}}), &json!({"a": vec!["x"; MIB / 2]})),
            380,
            16,
            "\"mutated_object\":{",
        ),
    ]
    .map(|(name, payload, most_fuel, most_memory, says)| Bomb { name, payload, most_fuel, most_memory, says })
    .into()
}

#[test]
fn fuel_and_memory_of_bombs_are_bounded() {
    let Some(guest) = metered() else { return };
    let mut dear = Vec::new();
    for Bomb { name, payload, most_fuel, most_memory, says } in bombs() {
        let cost = guest.cost("validate", &payload);
        let (fuel, memory) = (cost.fuel / MILLION, cost.memory / MIB);
        let answer = String::from_utf8(cost.answer).unwrap();
        let start: String = answer.chars().take(400).collect();
        assert!(answer.contains(says), "{name}: {says} is not in {start}");
        if fuel > most_fuel || memory > most_memory {
            dear.push(format!("{name}: {fuel} million of fuel, {memory} MiB"));
        }
    }
    assert!(dear.is_empty(), "{}", dear.join("\n"));
}
