//! House rules that no compiler knows.

mod imports;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::engines::{files, relative, root};
use imports::Imports;

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
    for banned in OUT_OF_REACH.into_iter().chain(["wasmtime"]).chain(ours) {
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

#[test]
fn house_no_file_imports_what_imports_it() {
    let imports = Imports::read();
    assert!(imports.0.values().map(BTreeSet::len).sum::<usize>() > 300, "the imports are not read: {:?}", imports.0);
    let circles: Vec<_> = imports.circles().iter().map(|files| files.join(", ")).collect();
    assert!(circles.is_empty(), "files that import each other:\n{}", circles.join("\n"));
}

/// The modules of a crate, the lowest first: none imports from a later one.
const STACKS: [(&str, &[&str]); 4] = [
    (
        "crates/helm/src",
        &[
            "yaml",
            "hook",
            "annotation",
            "operation",
            "manifest",
            "record",
            "storage",
            "history",
            "order",
            "write",
            "lib",
        ],
    ),
    ("crates/host/src", &["metadata", "cluster", "call", "runtime", "lib"]),
    (
        "policy/src",
        &[
            "shown",
            "note",
            "cluster",
            "argocd",
            "references",
            "pod_template",
            "rule",
            "object",
            "name",
            "identity",
            "request",
            "settings",
            "selector",
            "finding",
            "cause",
            "ignore",
            "patch",
            "verdict",
            "subject",
            "sync",
            "renders",
            "rules",
            "judge",
            "evaluate",
            "docs",
            "wire",
            "guest",
            "lib",
        ],
    ),
    (
        "src",
        &[
            "private",
            "escaped",
            "invocation",
            "words",
            "at_once",
            "value",
            "changes",
            "settings",
            "input",
            "reach",
            "sweep",
            "cluster",
            "git",
            "house",
            "program",
            "kubectl",
            "render",
            "engine",
            "judged",
            "origin",
            "flips",
            "helm",
            "records",
            "judge",
            "comparison",
            "syncs",
            "forecast",
            "orphans",
            "fix",
            "output",
            "timeline",
            "playground",
            "cli",
            "lib",
            "main",
        ],
    ),
];

#[test]
fn house_no_module_imports_from_above() {
    for (folder, stack) in STACKS {
        let place = |file: &str| {
            let module = file.strip_prefix(folder)?.strip_prefix('/')?.split(['/', '.']).next()?;
            let place = stack.iter().position(|known| *known == module);
            Some(place.unwrap_or_else(|| panic!("{file} has no place in the stack")))
        };
        for (file, imported) in Imports::read().0 {
            let Some(here) = place(&file) else { continue };
            for other in imported {
                let is_below = place(&other).is_none_or(|there| there <= here);
                assert!(is_below, "{file} imports {other}, which stands above it");
            }
        }
    }
}

#[test]
fn house_a_circle_is_found_wherever_it_is_planted() {
    let circles = |a: &str, b: &str| {
        let lib = "pub mod a; pub mod b;";
        let sources = [("lib.rs", lib), ("a.rs", a), ("b.rs", b), ("b/c.rs", "pub struct C;")];
        let sources = sources.map(|(path, text)| ("stable_hooks", path, Path::new(path), text));
        Imports::of(sources.into_iter()).circles().concat().join(" ")
    };
    let to_b = "use crate::b::B;";
    for back in [
        "use crate::a;\nfn f() { a::f() }",
        "use crate::a::A;",
        "use crate::{a::A, c};",
        "use super::a::A;",
        "fn f() { if true { crate::a::f() } }",
        "fn f() { vec![crate::a::f()] }",
        "mod inner { fn f() { super::super::a::f() } }",
    ] {
        assert_eq!(circles(to_b, back), "a.rs b.rs", "{back}");
    }
    assert_eq!(circles("use crate::b::c::C; use stable_hooks_policy::x;", "use crate::a::A; pub mod c;"), "");
    assert_eq!(circles(to_b, "pub(in crate::a) fn f() {}"), "");
    assert_eq!(circles(to_b, "mod tests { use crate::a::A; }"), "");
    assert_eq!(circles(to_b, "// crate::a::A\nconst A: &str = \"crate::a\";"), "");
}
