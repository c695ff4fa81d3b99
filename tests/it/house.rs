//! House rules that no compiler knows.

use std::fs;
use std::process::Command;

use crate::engines::{files, relative, root};

/// The crate that runs in the cluster can reach no process, network, runtime or Kubernetes client.
#[test]
fn house_the_policy_cannot_reach_what_it_must_not() {
    let tree = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--offline", "-p", "stable-hooks-policy", "-e", "normal", "--prefix", "none"])
        .args(["--target", "wasm32-unknown-unknown", "-f", "{lib}"])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.lines().any(|krate| krate == "serde_json"), "the tree is not as expected:\n{tree}");
    for banned in ["clap", "wasmtime", "wapc", "tokio", "kube", "kube_client", "reqwest", "hyper", "getrandom"] {
        assert!(!tree.lines().any(|krate| krate == banned), "{banned} is in the policy's tree");
    }
}

#[test]
fn house_no_file_holds_two_things() {
    for folder in [
        "crates/helm/src",
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
