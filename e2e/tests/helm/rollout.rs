//! The rollout page, command by command: on a real API server with Kubewarden's own CRDs, without its controller.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use serde_json::Value;
use stable_hooks_e2e::cluster::{has_condition, wait_for};
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::world::World;

use crate::works::report;
use crate::{Case, Report};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/rollout.md");

const SERVER: &str = "system:serviceaccount:kubewarden:stable-hooks-policy-server";

pub(crate) const CASES: &[Case] = &[Case {
    section: "What is rolled out",
    name: "The rollout page, command by command",
    about: "Every `kubectl` command of docs/rollout.md in its order, with Kubewarden's CRDs and without its controller.",
    helms: &[Major::Four],
    run: page,
    ..Case::EMPTY
}];

fn page(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "rollout", major, None);
    define(&scene);
    let page = fs::read_to_string(PAGE).expect("the page is there");
    let commands = page.lines().filter_map(|line| line.strip_prefix("kubectl ")).filter(|line| !line.contains('|'));
    // Only its controller says when something has arrived: that is `make e2e-kubewarden`.
    let commands = commands.filter(|line| !line.starts_with("wait "));
    let commands = commands.map(|line| line.split("  #").next().unwrap_or(line).trim_end());
    let mut seen = Vec::new();
    for command in commands {
        let _ = scene.line_of_a_page(&format!("kubectl {}", of_this_tree(command)), "stable").succeeds();
        if command.starts_with("apply") {
            seen.push(format!("`kubectl {command}`: {}", state(&scene)));
        }
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
    let own = scene.kubectl(&["get", "admissionpolicies.policies.kubewarden.io", "stable-hooks", "-o", "name"]);
    let _ = own.succeeds();
    report(&scene, &seen.join("\n"), &[])
}

/// A folder that a command fetches from the repository is here as well.
fn of_this_tree(command: &str) -> String {
    match command.split_once("'https://github.com/stable-hooks/stable-hooks//") {
        Some((before, rest)) => format!("{before}{}", rest.split('?').next().unwrap_or(rest)),
        None => command.to_owned(),
    }
}

/// What Kubewarden's charts bring, as far as the page needs it.
fn define(scene: &Scene<'_>) {
    let schemas = env::var("SCHEMAS").expect("SCHEMAS names the folder that `make schemas` fills");
    for file in [
        "policies.kubewarden.io_policyservers.yaml",
        "policies.kubewarden.io_clusteradmissionpolicies.yaml",
        "policies.kubewarden.io_admissionpolicies.yaml",
        "openreports.io_reports.yaml",
    ] {
        let path = Path::new(&schemas).join(file);
        // Another scenario may have defined it already.
        let _ = scene.kubectl_of_a_page(&format!("apply --server-side -f {}", path.display())).succeeds();
    }
    scene.has_namespace("kubewarden");
    wait_for("the definitions are served", || {
        let defined = scene.kubectl_of_a_page("get crd -o json").succeeds();
        let defined: Value = serde_json::from_str(&defined.stdout).expect("kubectl prints JSON");
        let defined = defined["items"].as_array().cloned().unwrap_or_default();
        defined.iter().all(|definition| has_condition(definition, "Established")).then_some(())
    });
    // The server that Kubewarden's own chart brings.
    let server = scene.folder().join("default.yaml");
    let spec = "{image: \"ghcr.io/kubewarden/adm-controller/policy-server:v1.36.0\", replicas: 1}";
    let text = format!(
        "apiVersion: policies.kubewarden.io/v1\nkind: PolicyServer\nmetadata: {{name: default}}\nspec: {spec}\n"
    );
    fs::write(&server, text).expect("the file is written");
    let _ = scene.kubectl_of_a_page(&format!("create -f {}", server.display())).succeeds();
}

/// Both policies as they are now, and what their server may read.
fn state(scene: &Scene<'_>) -> String {
    let printed = scene.kubectl_of_a_page("get clusteradmissionpolicies.policies.kubewarden.io -o json").succeeds();
    let list: Value = serde_json::from_str(&printed.stdout).expect("kubectl prints JSON");
    let spec = |policy: &Value| {
        let spec = &policy["spec"];
        let text = |field: &str| spec[field].as_str().unwrap_or_default().to_owned();
        (policy["metadata"]["name"].to_string(), [text("mode"), text("failurePolicy")])
    };
    let policies: BTreeMap<_, _> = list["items"].as_array().into_iter().flatten().map(spec).collect();
    assert_eq!(policies.len(), 2, "{policies:?}");
    let states: Vec<_> = policies.into_values().collect();
    assert_eq!(states[0], states[1], "the two policies are rolled out together");
    let may_get = |kind: &str| {
        scene.kubectl_of_a_page(&format!("auth can-i get {kind} --all-namespaces --as {SERVER}")).stdout.trim() == "yes"
    };
    let kinds = ["jobs", "serviceaccounts", "secrets", "configmaps", "pods"].into_iter();
    let readable: Vec<_> = kinds.filter(|kind| may_get(kind)).collect();
    format!(
        "both policies in mode {}, failurePolicy {}; the server may get {}.",
        states[0][0],
        states[0][1],
        readable.join(", ")
    )
}
