//! What one applies as it is: built by the real kustomize, held against the CRDs it is made of and against the policies.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stable_hooks::engine::check_settings;
use stable_hooks::input::{Content, documents};

use crate::engines::{files, guest, relative, releases, root};
use crate::outputs::{assert_valid, schema, strict};
use crate::packages::{kinds, yaml};

const CLUSTER_POLICY: &str = "ClusterAdmissionPolicy";
const NAMESPACE_POLICY: &str = "AdmissionPolicy";

/// What can be applied, below `policy/manifests`.
const BASE: &str = "base";
const MONITOR: &str = "overlays/monitor";
const FAIL_CLOSED: &str = "overlays/fail-closed";
const RECORDS: &str = "overlays/records";
const ONE_NAMESPACE: &str = "one-namespace";
const MONITORING: &str = "monitoring";
const FORECAST: &str = "forecast/base";
const FORECAST_SHARDS: &str = "forecast/shards";
const FORECAST_IN_ONE: &str = "forecast/one-namespace";
const ALL: [&str; 9] =
    [BASE, MONITOR, FAIL_CLOSED, RECORDS, ONE_NAMESPACE, MONITORING, FORECAST, FORECAST_SHARDS, FORECAST_IN_ONE];

/// The objects of a folder, as kustomize builds it; `None` where there is no kustomize, which CI does not accept.
fn build(folder: &str) -> Option<Vec<Value>> {
    build_in(&root().join("policy/manifests"), folder)
}

fn build_in(place: &Path, folder: &str) -> Option<Vec<Value>> {
    let Some(kustomize) = env::var_os("KUSTOMIZE").map(PathBuf::from) else {
        assert!(env::var_os("CI").is_none(), "KUSTOMIZE has to name a program: e2e/tools/build kustomize");
        eprintln!("SKIPPED: {folder} is not built, for KUSTOMIZE names no program");
        return None;
    };
    let output = Command::new(kustomize).current_dir(place).args(["build", folder]).output().unwrap();
    assert!(output.status.success(), "{folder}: {}", String::from_utf8_lossy(&output.stderr));
    let objects = documents(&output.stdout).map(|document| match document.unwrap().content {
        Content::Manifest(object) => object,
        Content::Request(_) => panic!("{folder} holds a request"),
    });
    Some(objects.collect())
}

fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let is_wanted = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
    objects.iter().find(is_wanted).unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn policies(objects: &[Value]) -> Vec<&Value> {
    let is_policy = |object: &&Value| [CLUSTER_POLICY, NAMESPACE_POLICY].iter().any(|kind| object["kind"] == **kind);
    objects.iter().filter(is_policy).collect()
}

#[test]
fn manifests_have_no_field_that_nobody_knows() {
    for folder in ALL {
        for object in build(folder).unwrap_or_default() {
            let kind = object["kind"].as_str().unwrap();
            match kind {
                "ConfigMap" => assert_known::<ConfigMap>(&object),
                "Namespace" => assert_known::<Namespace>(&object),
                "ServiceAccount" => assert_known::<ServiceAccount>(&object),
                "CronJob" => assert_known::<CronJob>(&object),
                "Role" => assert_known::<Role>(&object),
                "RoleBinding" => assert_known::<RoleBinding>(&object),
                "ClusterRole" => assert_known::<ClusterRole>(&object),
                "ClusterRoleBinding" => assert_known::<ClusterRoleBinding>(&object),
                CLUSTER_POLICY => assert_follows_crd(&object, "policies.kubewarden.io_clusteradmissionpolicies"),
                NAMESPACE_POLICY => assert_follows_crd(&object, "policies.kubewarden.io_admissionpolicies"),
                "PolicyServer" => assert_follows_crd(&object, "policies.kubewarden.io_policyservers"),
                "PrometheusRule" => assert_follows_crd(&object, "monitoring.coreos.com_prometheusrules"),
                "ServiceMonitor" => assert_follows_crd(&object, "monitoring.coreos.com_servicemonitors"),
                _ => panic!("{folder}: a {kind}"),
            }
        }
    }
}

/// Nothing is lost on the way through the type.
fn assert_known<K: DeserializeOwned + Serialize>(object: &Value) {
    let read: K = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(&serde_json::to_value(read).unwrap(), object);
}

fn assert_follows_crd(object: &Value, name: &str) {
    let Some(crd) = schema(&format!("{name}.yaml")) else { return };
    let schema = strict(&crd, "v1");
    assert_valid(&schema, object);
    let mut broken = object.clone();
    broken["spec"]["hunter2"] = json!("x");
    assert!(!jsonschema::is_valid(&schema, &broken), "the schema checks nothing");
}

#[test]
fn manifests_ask_each_policy_what_its_metadata_says() {
    for folder in ALL {
        for policy in policies(&build(folder).unwrap_or_default()) {
            let (name, spec) = (policy["metadata"]["name"].as_str().unwrap(), &policy["spec"]);
            let metadata = yaml(metadata_of(name));
            assert_eq!(metadata["annotations"]["io.kubewarden.policy.title"], name);
            for field in ["rules", "mutating"] {
                assert_eq!(spec[field], metadata[field], "{folder}: {name}: {field}");
            }
            assert_eq!(spec.get("backgroundAudit").unwrap_or(&json!(true)), &metadata["backgroundAudit"]);
            let annotation = |field: &str| metadata["annotations"][format!("io.kubewarden.policy.{field}")].as_str();
            let (image, version) = (annotation("ociUrl").unwrap(), annotation("version").unwrap());
            assert_eq!(spec["module"], format!("registry://{image}:v{version}"));
            for field in ["severity", "category"] {
                let copied = policy["metadata"]["annotations"][format!("io.kubewarden.policy.{field}")].as_str();
                assert_eq!(copied, annotation(field), "{folder}: {name}: {field}");
            }
        }
    }
}

fn metadata_of(policy: &str) -> &'static str {
    if policy == "stable-hooks" { "policy/metadata.yml" } else { "policy/releases/metadata.yml" }
}

#[test]
fn manifests_grant_exactly_the_reads_that_the_policies_do() {
    for (folder, expected) in [(BASE, 2), (MONITOR, 2), (FAIL_CLOSED, 2), (RECORDS, 4)] {
        let Some(objects) = build(folder) else { continue };
        let none = json!([]);
        let asked: BTreeSet<_> = policies(&objects)
            .into_iter()
            .flat_map(|policy| kinds(policy["spec"].get("contextAwareResources").unwrap_or(&none)))
            .collect();
        let role = named(&objects, "ClusterRole", "stable-hooks-policy-server");
        let mut granted = BTreeSet::new();
        for rule in role["rules"].as_array().unwrap() {
            assert_eq!(rule["verbs"], json!(["get"]), "{folder}");
            for resource in rule["resources"].as_array().unwrap() {
                granted.insert(match (rule["apiGroups"][0].as_str().unwrap(), resource.as_str().unwrap()) {
                    ("batch", "jobs") => ("batch/v1", "Job"),
                    ("", "serviceaccounts") => ("v1", "ServiceAccount"),
                    ("", "secrets") => ("v1", "Secret"),
                    ("", "configmaps") => ("v1", "ConfigMap"),
                    (group, resource) => panic!("{folder} grants {resource} of {group:?}"),
                });
            }
        }
        assert_eq!((&asked, granted.len()), (&granted, expected), "{folder}");
        let most = yaml("policy/releases/metadata.yml");
        let most = kinds(&most["contextAwareResources"]);
        assert!(asked.is_subset(&most) && (expected < most.len() || asked == most), "{folder}");
        let binding = named(&objects, "ClusterRoleBinding", "stable-hooks-policy-server");
        let server = named(&objects, "PolicyServer", "stable-hooks");
        let account =
            json!({"kind": "ServiceAccount", "name": server["spec"]["serviceAccountName"], "namespace": "kubewarden"});
        assert_eq!(binding["subjects"], json!([account]));
        assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
        named(&objects, "ServiceAccount", server["spec"]["serviceAccountName"].as_str().unwrap());
    }
}

#[test]
fn manifests_have_settings_that_the_very_modules_take() {
    let all: Vec<_> = ALL.into_iter().filter_map(build).flatten().collect();
    for (name, module) in [("stable-hooks", guest()), ("stable-hooks-releases", releases())] {
        let Some(module) = module else { continue };
        for policy in policies(&all).into_iter().filter(|policy| policy["metadata"]["name"] == name) {
            check_settings(module, &policy["spec"]["settings"]).unwrap();
        }
        assert!(check_settings(module, &json!({"mode": "monitor"})).is_err(), "the module checks nothing");
    }
}

#[test]
fn manifests_differ_in_what_their_names_say() {
    for (folder, mode, failure_policy, baseline) in [
        (BASE, "protect", "Ignore", None),
        (MONITOR, "monitor", "Ignore", None),
        (FAIL_CLOSED, "protect", "Fail", None),
        (RECORDS, "protect", "Ignore", Some("record")),
    ] {
        let Some(objects) = build(folder) else { continue };
        for name in ["stable-hooks", "stable-hooks-releases"] {
            let spec = &named(&objects, CLUSTER_POLICY, name)["spec"];
            assert_eq!((&spec["mode"], &spec["failurePolicy"]), (&json!(mode), &json!(failure_policy)), "{folder}");
            let (evaluation, webhook) = (spec["timeoutEvalSeconds"].as_u64(), spec["timeoutSeconds"].as_u64());
            assert!(evaluation < webhook, "{folder}: the API server would not wait for {name}");
        }
        let releases = &named(&objects, CLUSTER_POLICY, "stable-hooks-releases")["spec"];
        assert_eq!(releases["settings"].pointer("/releases/baseline").and_then(Value::as_str), baseline);
        assert_eq!(releases["objectSelector"], json!({"matchLabels": {"owner": "helm"}}), "{folder}");
        let server = &named(&objects, "PolicyServer", "stable-hooks")["spec"];
        assert!(server["minAvailable"].as_u64() < server["replicas"].as_u64(), "no node could ever be drained");
    }
}

#[test]
fn manifests_fetched_alone_are_built_with_the_server_that_the_docs_patch_in() {
    let page = fs::read_to_string(root().join("docs/rollout.md")).unwrap();
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let documented: Vec<_> = blocks.filter(|block| block.contains("kind: Kustomization")).collect();
    let [documented] = documented[..] else { panic!("{} kustomizations", documented.len()) };
    let version = env!("CARGO_PKG_VERSION");
    let remote = format!("https://github.com/stable-hooks/stable-hooks//policy/manifests/{MONITOR}?ref=v{version}");
    assert!(documented.contains(&remote), "{remote}");

    // Nothing but the manifests: what leads out of their folder leads nowhere.
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manifests-fetched");
    if place.exists() {
        fs::remove_dir_all(&place).unwrap();
    }
    for file in files("policy/manifests", "yaml") {
        let copy = place.join(relative(&file));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(&file, copy).unwrap();
    }
    let local = documented.replace(&remote, &format!("../policy/manifests/{MONITOR}"));
    fs::create_dir(place.join("own")).unwrap();
    fs::write(place.join("own/kustomization.yaml"), local).unwrap();

    let (Some(mut rendered), Some(shipped)) = (build_in(&place, "own"), build(MONITOR)) else { return };
    let image = &named(&shipped, "PolicyServer", "stable-hooks")["spec"]["image"];
    let (repository, _) = image.as_str().unwrap().rsplit_once(':').unwrap();
    let server = rendered.iter_mut().find(|object| object["kind"] == "PolicyServer").unwrap();
    let patched = std::mem::replace(&mut server["spec"]["image"], image.clone());
    let patched = patched.as_str().unwrap();
    assert!(patched.starts_with(&format!("{repository}:")) && documented.contains(patched), "{patched}");
    assert!(image != patched, "the patch reaches nothing");
    assert_eq!(rendered, shipped);
}

#[test]
fn manifests_of_the_forecast_grant_what_it_does_and_no_more() {
    for (folder, kind) in [(FORECAST, "ClusterRole"), (FORECAST_SHARDS, "ClusterRole"), (FORECAST_IN_ONE, "Role")] {
        let Some(objects) = build(folder) else { continue };
        let role = named(&objects, kind, "stable-hooks-forecast");
        let expected = json!([
            {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "list"]},
            {"apiGroups": ["openreports.io"], "resources": ["reports"], "verbs": ["list", "create", "patch", "delete"]},
        ]);
        assert_eq!(role["rules"], expected, "{folder}");
        let binding = named(&objects, &format!("{kind}Binding"), "stable-hooks-forecast");
        let account = named(&objects, "ServiceAccount", "stable-hooks-forecast");
        let subject = json!([{"kind": "ServiceAccount", "name": "stable-hooks-forecast", "namespace": account["metadata"]["namespace"]}]);
        assert_eq!((&binding["subjects"], &binding["roleRef"]["kind"]), (&subject, &json!(kind)), "{folder}");
        let job = named(&objects, "CronJob", "stable-hooks-forecast");
        let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], account["metadata"]["name"]);
        assert_eq!(job["metadata"]["namespace"], account["metadata"]["namespace"], "{folder}");
        let image = format!("ghcr.io/stable-hooks/stable-hooks:v{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(pod["containers"][0]["image"], image, "{folder}");
    }
}

#[test]
fn manifests_of_the_forecast_have_as_many_shards_as_pods() {
    let Some(objects) = build(FORECAST_SHARDS) else { return };
    let job = &named(&objects, "CronJob", "stable-hooks-forecast")["spec"]["jobTemplate"]["spec"];
    let arguments = job["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
    let shard = arguments.last().unwrap().as_str().unwrap();
    let count = shard.strip_prefix("--shard=$(JOB_COMPLETION_INDEX)/").unwrap();
    for field in ["completions", "parallelism"] {
        assert_eq!(job[field].to_string(), count, "{field}");
    }
    assert_eq!((&job["completionMode"], &job["backoffLimit"]), (&json!("Indexed"), &Value::Null));
}

/// What the CronJob runs in each Pod.
pub(crate) fn forecast_arguments() -> Option<Vec<String>> {
    let objects = build(FORECAST)?;
    let job = named(&objects, "CronJob", "stable-hooks-forecast");
    let arguments = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"].clone();
    serde_json::from_value(arguments).ok()
}

#[test]
fn manifests_are_all_built_here() {
    let folders: BTreeSet<_> = files("policy/manifests", "yaml")
        .iter()
        .filter(|path| path.file_name().is_some_and(|name| name == "kustomization.yaml"))
        .map(|path| relative(path.parent().unwrap()).replace("policy/manifests/", ""))
        .filter(|folder| !folder.starts_with("components/"))
        .collect();
    assert_eq!(folders, ALL.map(str::to_owned).into());
}
