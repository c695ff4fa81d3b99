//! What is read and what is held, counted in bytes allocated, not in time.

mod canonical;

use allocation_counter::measure;
use serde_json::Value;
use stable_hooks::fix::{Options, fix};
use stable_hooks_policy::Settings;
use stable_hooks_policy::cluster::NoCluster;
use stable_hooks_policy::wire::validate;

fn allocated(work: impl FnOnce()) -> u64 {
    measure(work).bytes_total
}

#[test]
fn an_unselected_request_is_read_in_part_and_copied_never() {
    let payloads = canonical::payloads();
    let (name, payload) = payloads.first().expect("payloads");
    assert_eq!(*name, "unselected");
    let parsing = allocated(|| drop(serde_json::from_slice::<Value>(payload)));
    // The settings' defaults do not grow with the request; measured without an object to see.
    let no_object = br#"{"request":{"uid":"","operation":"DELETE","kind":{"version":"v1","kind":"Job"}}}"#;
    let settings = allocated(|| drop(validate(no_object, &NoCluster)));
    let judging = allocated(|| drop(validate(payload, &NoCluster)));
    let read = judging - settings;
    assert!(read <= parsing / 4, "{read} bytes, reading everything takes {parsing}");
    // A second copy of what is read would not fit into what is allowed.
    assert!(2 * read > parsing / 4, "too much is allowed to tell: {read} bytes, reading everything takes {parsing}");
}

/// The most that is held at once while a stream is mended, the mended one included, for each byte of it.
#[expect(clippy::expect_used, reason = "a test fails by panicking, and clippy takes its helpers for production code")]
fn held_by_fix(stream: &str) -> f64 {
    let settings = Settings::parse(&serde_json::json!({})).expect("settings");
    let mut mended = Vec::new();
    let info = measure(|| {
        mended = fix(stream.as_bytes(), Options { settings: &settings, complete_events: true }).stream;
    });
    assert!(mended.len() > stream.len() / 2);
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    let ratio = info.bytes_max as f64 / stream.len() as f64;
    ratio
}

#[test]
fn fix_holds_a_small_multiple_of_its_stream() {
    let pod = "{serviceAccountName: NAME, containers: [{name: a, image: a, env: [{name: A, value: b}, {name: C, value: d}]}]}";
    let kinds = [
        "apiVersion: v1\nkind: Service\nmetadata: {name: NAME, labels: {app: a}}\nspec: {ports: [{port: 80}], selector: {app: a}}\n".to_owned(),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: b, c: d, e: f, g: h}\n".to_owned(),
        "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: NAME\n  annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-weight: \"-1\"}\n".to_owned(),
        format!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: NAME, labels: {{app: a}}}}\nspec: {{template: {{spec: {pod}}}}}\n"),
        format!("apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: NAME\n  labels: {{app: migrate}}\n  annotations: {{helm.sh/hook: \"PRE-upgrade\"}}\nspec: {{template: {{spec: {pod}}}}}\n"),
    ];
    let stream = |kinds: &[String], count: usize| -> String {
        let document =
            |(number, kind): (usize, &String)| format!("---\n{}", kind.replace("NAME", &format!("n{number}")));
        kinds.iter().cycle().take(count).enumerate().map(document).collect()
    };
    for kinds in [&kinds[..], &kinds[..2], &kinds[3..4], &kinds[4..]] {
        let [few, many] = [100, 500].map(|count| held_by_fix(&stream(kinds, count)));
        assert!(many <= 10.0, "{many} bytes for each of {kinds:?}");
        assert!(many <= 1.5 * few, "{few} bytes for each of a short stream, {many} for each of a long one");
    }
    // One document may be all of it.
    let definition =
        format!("kind: CustomResourceDefinition\nmetadata: {{name: a}}\nspec:\n{}", "- {a: {b: c}}\n".repeat(15_000));
    let held = held_by_fix(&definition);
    assert!(held <= 2.0, "{held} bytes for each of one large document");
}
