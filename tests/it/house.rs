//! House rules that no compiler knows.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::engines::{files, relative, root};

/// Processes, network, runtimes and Kubernetes clients.
const OUT_OF_REACH: [&str; 9] =
    ["clap", "wasmtime", "wapc", "tokio", "kube", "kube_client", "reqwest", "hyper", "getrandom"];

/// All that a package with its default features is built from as wasm: each crate by its name.
fn crates_below(package: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--offline", "-p", package, "-e", "normal", "--prefix", "none"])
        .args(["--target", "wasm32-unknown-unknown", "-f", "{lib}"])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree: BTreeSet<_> = String::from_utf8(tree.stdout).unwrap().lines().map(str::to_owned).collect();
    assert!(tree.contains("serde_json"), "the tree is not as expected: {tree:?}");
    tree
}

#[test]
fn house_the_policy_cannot_reach_what_it_must_not() {
    let tree = crates_below("stable-hooks-policy");
    for banned in OUT_OF_REACH {
        assert!(!tree.contains(banned), "{banned} is in the policy's tree");
    }
}

#[test]
fn house_the_host_reaches_a_runtime_only_where_it_is_asked_to_and_never_our_rules() {
    let tree = crates_below("stable-hooks-host");
    let ours = ["stable_hooks", "stable_hooks_policy"];
    for banned in OUT_OF_REACH.into_iter().chain(["wasmtime_provider"]).chain(ours) {
        assert!(!tree.contains(banned), "{banned} is in the host's tree");
    }
}

#[test]
fn house_no_file_holds_two_things() {
    for folder in [
        "crates/helm/src",
        "crates/host/src",
        "policy/src",
        "src",
        "tests/it",
        "tests/bench",
        "e2e/src",
        "e2e/tests",
        "fuzz/src",
        "fuzz/tests",
    ] {
        for path in files(folder, "rs") {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 600, "{} has {lines} lines, 600 at most", relative(&path));
        }
    }
    for (file, most) in [("policy/src/guest.rs", 80), ("policy/src/evaluate.rs", 60), ("src/main.rs", 30)] {
        let lines = fs::read_to_string(root().join(file)).unwrap().lines().count();
        assert!(lines <= most, "{file} has {lines} lines, {most} at most");
    }
}
