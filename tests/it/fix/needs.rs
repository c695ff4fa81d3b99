//! With `--complete-events` an event is added only where nothing that the hook may need is created later.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;

use super::{becomes, fixed, stays};

pub(super) const COMPLETE: &[&str] = &["--complete-events"];

/// A hook of upgrades whose one container has these fields.
pub(super) fn hook(container: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  labels: {{app: migrate}}\n  annotations:\n    \
         helm.sh/hook: pre-upgrade\nspec:\n  template:\n    spec:\n      containers:\n      - {{name: m, {container}}}\n"
    )
}

pub(super) fn object(api_version: &str, kind: &str, name: &str, rest: &str) -> String {
    format!("---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}}}\n{rest}")
}

fn service() -> String {
    object("v1", "Service", "db", "")
}

#[test]
fn fix_adds_no_event_before_a_service_that_the_hook_names_in_any_way() {
    for value in [
        "db",
        "DB",
        "db.shop.svc.cluster.local",
        "db.default",
        "db-0.db",
        "Server=tcp:db,1433",
        "jdbc:oracle:thin:@//db:1521/x",
        "postgres://u:p@db/x",
        "run $(DB_SERVICE_HOST) now",
        "a_db/b",
    ] {
        for container in [
            format!("env: [{{name: X, value: \"{value}\"}}]"),
            format!("args: [\"{value}\"]"),
            format!("command: [\"{value}\"]"),
        ] {
            let field = match container.split(':').next() {
                Some("env") => "env[0].value",
                Some("args") => "args[0]",
                _ => "command[0]",
            };
            let words = format!(
                "at pre-install it may need Service db, which spec.template.spec.containers[0].{field} names and this \
                 stream creates only later"
            );
            stays(COMPLETE, &(hook(&container) + &service()), &[&words]);
        }
    }
}

#[test]
fn fix_adds_an_event_where_no_word_is_a_name_of_something_to_connect_to() {
    for value in ["dbx", "my-db", "db-0", "elsewhere:5432"] {
        let stream = hook(&format!("env: [{{name: DB, value: \"{value}\"}}]")) + &service();
        becomes(COMPLETE, &stream, &stream.replace("pre-upgrade", "pre-install,pre-upgrade"));
    }
    // After the install it is there.
    let stream = hook("args: [db]").replace("pre-upgrade", "post-upgrade") + &service();
    becomes(COMPLETE, &stream, &stream.replace("post-upgrade", "post-install,post-upgrade"));
}

#[test]
fn fix_counts_what_stands_behind_a_service_too() {
    for (api_version, kind) in [("apps/v1", "StatefulSet"), ("apps/v1", "Deployment"), ("v1", "Pod")] {
        let words = format!("it may need {kind} db, which");
        stays(COMPLETE, &(hook("args: [\"db:1\"]") + &object(api_version, kind, "db", "")), &[&words]);
    }
}

#[test]
fn fix_looks_for_hosts_in_the_config_maps_of_a_hook() {
    let field = "spec.template.spec.containers[0]";
    for (container, source) in [
        ("envFrom: [{configMapRef: {name: config}}]", format!("{field}.envFrom[0].configMapRef")),
        ("envFrom: [{configMapRef: {name: config, optional: true}}]", format!("{field}.envFrom[0].configMapRef")),
        (
            "env: [{name: A, valueFrom: {configMapKeyRef: {name: config, key: url}}}]",
            format!("{field}.env[0].valueFrom.configMapKeyRef"),
        ),
        (
            "x: y}\n      volumes:\n      - {configMap: {name: config}",
            "spec.template.spec.volumes[0].configMap".to_owned(),
        ),
    ] {
        let annotations =
            "{name: config, annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-weight: \"-1\"}}";
        let config = object("v1", "ConfigMap", "config", "data: {other: x, url: \"http://db.other:80\"}\n")
            .replace("{name: config}", annotations);
        let words = format!("it may need Service db, which ConfigMap config ({source}) names in data.url and");
        stays(COMPLETE, &(hook(container) + &config + &service()), &[&words]);
        let (out, said) = fixed(COMPLETE, &(hook(container) + &config));
        assert!(out.contains("helm.sh/hook: pre-install,pre-upgrade\n") && said.is_empty(), "{said}");
    }
}

#[test]
fn fix_looks_for_hosts_in_the_secrets_of_a_hook_and_shows_nothing_of_them() {
    let encoded = BASE64.encode("postgres://hunter2:hunter3@db/x");
    for data in [format!("data: {{hunter4: {encoded}}}\n"), "stringData: {hunter4: hunter2@db}\n".to_owned()] {
        let annotations =
            "{name: creds, annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-weight: \"-1\"}}";
        let secret = object("v1", "Secret", "creds", &data).replace("{name: creds}", annotations);
        let stream = hook("envFrom: [{secretRef: {name: creds}}]") + &secret + &service();
        let (out, said) = fixed(COMPLETE, &stream);
        assert_eq!(out, stream);
        let words = "at pre-install it may need what Secret creds (spec.template.spec.containers[0].envFrom[0].secretRef) \
                     names and this stream creates only later";
        assert!(said.contains(words), "{said}");
        assert!(!said.contains("hunter") && !said.contains(&encoded) && !said.contains("db"), "{said}");
    }
}

#[test]
fn fix_takes_every_object_that_may_be_meant_to_be_needed() {
    // One account of that name is there in time, and the stream does not say which is the release's namespace.
    let account = |namespace: &str, annotations: &str| {
        format!(
            "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: migrate{namespace}, annotations: {{{annotations}}}}}\n"
        )
    };
    let early = account("", "helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-weight: \"-1\"");
    let job =
        hook("x: y}\n      serviceAccountName: migrate\n      more: {a: b").replace("{name: m, x: y}", "{name: m}");
    let stream = job.clone() + &early;
    becomes(COMPLETE, &stream, &stream.replace("hook: pre-upgrade", "hook: pre-install,pre-upgrade"));
    stays(
        COMPLETE,
        &(stream + &account(", namespace: shop", "a: b")),
        &["at pre-install it would need ServiceAccount migrate (spec.template.spec.serviceAccountName)"],
    );
}
