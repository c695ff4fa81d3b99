//! Every command on a page is run here, or named with the suite that runs it on the real thing.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::chart_helm::pack;
use crate::cli::{code, stderr, stdout};
use crate::engines::{built, files, relative, root};
use crate::helms::{command, folder, helms, path_with, path_with_script, stable_hooks};

/// Signs, and asks then what a user asks.
const RELEASE: &str = ".github/workflows/release.yml";

/// Has a script in Helm's place, and `make e2e` the real one.
const GUARD: &str = "tests/it/guard.rs";

/// What wants a cluster, a repository, or minutes: how it begins, and which file runs the same with which words.
const ELSEWHERE: [(&str, &str, &str); 31] = [
    ("stable-hooks upgrade orders", GUARD, "[\"upgrade\", \"orders\", \"./chart\", \"-n\", \"shop\"]"),
    ("stable-hooks --check-only", GUARD, "[\"--check-only\", \"-o\", format, \"upgrade\""),
    ("stable-hooks --fail-on warn upgrade", GUARD, "[\"--fail-on\", \"warn\", \"upgrade\", \"orders\", \"./chart\"]"),
    ("STABLE_HOOKS_ARGS=", GUARD, "env(\"STABLE_HOOKS_ARGS\""),
    (
        "PATH=$PWD/guarded:$PATH helm upgrade",
        GUARD,
        "symlink(env!(\"CARGO_BIN_EXE_stable-hooks\"), folder.join(\"helm\"))",
    ),
    ("stable-hooks --accept", GUARD, "[\"--accept\", \"release-identity-flip\", \"-n\", \"shop\", \"upgrade\""),
    (
        "stable-hooks chart charts/orders --against-all",
        "tests/it/chart_history.rs",
        "[\"chart\", \"charts/orders\", \"--against-all\"",
    ),
    (
        "stable-hooks chart ./orders --argocd --against-ref",
        "tests/it/chart_argocd.rs",
        "judge(path, &in_git, &[\"--against-ref\", \"old\"])",
    ),
    ("curl -fsSL https://raw.githubusercontent.com/", "tests/it/install.rs", "fn install_with_curl_and_with_wget"),
    ("curl -fsSLO https://github.com/stable-hooks/stable-hooks/releases/", RELEASE, ">assets/stable-hooks-plugins.gpg"),
    ("cargo binstall ", "tests/it/install.rs", "fn install_with_binstall_asks_for_archives_that_are_made"),
    ("docker run ", RELEASE, "docker run --rm \"$IMAGE\" sh -c 'stable-hooks --version"),
    ("helm plugin install https://", "tests/it/install/plugins.rs", "fn install_as_a_signed_plugin_of_helm_4"),
    ("helm plugin update ", "tests/it/install/plugins.rs", "&[\"plugin\", \"update\", \"stable-hooks\"]"),
    ("make ", "Makefile", ".PHONY: help setup try test"),
    ("cargo install --path .", "tools/stable-hooks", "cargo install --locked --path ."),
    ("helm plugin install plugins/post-renderer", "e2e/tests/helm/works.rs", "/../plugins/post-renderer"),
    ("helm stable-hooks chart", "tests/it/plugin.rs", "`helm stable-hooks …`: the plugin, installed by the real Helm"),
    (
        "helm upgrade --install orders ./chart --post-renderer",
        "e2e/tests/helm/works.rs",
        "\"--post-renderer\", \"stable-hooks-fix\"",
    ),
    (
        "helm upgrade orders ./chart -n shop --labels",
        "e2e/tests/helm/works.rs",
        "\"--labels\", \"stable-hooks/accept-release-identity-flip=2\"",
    ),
    ("helm upgrade orders ./chart -n shop", "e2e/tests/helm/works.rs", "hook=false,image=orders:4"),
    (
        "stable-hooks chart charts/ --against-ref",
        "tests/it/chart_revisions.rs",
        "\"chart\", chart, \"--against-ref\", revision",
    ),
    (
        "stable-hooks chart shop/orders",
        "tests/it/chart_references.rs",
        "vec![\"shop/orders\", \"--version\", \"0.1.0\"]",
    ),
    ("stable-hooks forecast", "e2e/tests/helm/forecast.rs", "&[\"forecast\", \"-A\""),
    ("stable-hooks orphans", "e2e/tests/helm/orphans.rs", "&[\"orphans\", \"-n\""),
    ("kubectl delete ", "e2e/tests/helm/works.rs", "\"delete\", \"job,serviceaccount\""),
    ("kubectl apply ", "tests/it/manifests.rs", "manifests_are_all_built_here"),
    (
        "kwctl verify ",
        RELEASE,
        "kwctl verify --github-owner stable-hooks --github-repo stable-hooks \"registry://$digest\"",
    ),
    ("cosign verify ", RELEASE, "cosign verify --certificate-oidc-issuer"),
    ("cosign verify-blob ", RELEASE, "cosign verify-blob --bundle SHA256SUMS.bundle.sigstore SHA256SUMS"),
    ("sha256sum --check ", RELEASE, "sha256sum --check --ignore-missing SHA256SUMS"),
];

/// The commands in a page's `sh` blocks, each on one line, without comments.
fn commands(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap().replace("\\\n", "");
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines = blocks.flat_map(str::lines).map(|line| line.split("  #").next().unwrap().trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// A folder with everything that the pages speak of: charts, values, renders, and this repository's own files.
fn stage(name: &str, helm: &Path) -> PathBuf {
    let stage = folder(&format!("commands-{name}"));
    for shared in ["examples", "policy", "tests"] {
        symlink(root().join(shared), stage.join(shared)).unwrap();
    }
    if let Some(wasm) = built("annotated-policy.wasm") {
        symlink(wasm, stage.join("annotated-policy.wasm")).unwrap();
    }
    let chart = root().join("e2e/charts/stable");
    for copy in ["chart", "orders"] {
        symlink(&chart, stage.join(copy)).unwrap();
    }
    pack(&chart, "orders", &stage.join("orders-1.4.0.tgz"));
    for values in ["production.yaml", "new.yaml", "old.yaml"] {
        fs::write(stage.join(values), "image: orders:2\n").unwrap();
    }
    for (render, more) in [("install.yaml", &[][..]), ("upgrade.yaml", &["--is-upgrade"])] {
        let template = ["template", "orders", chart.to_str().unwrap()];
        let output = command(helm, &[]).args(template).args(more).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        fs::write(stage.join(render), &output.stdout).unwrap();
    }
    stage
}

/// A kubectl for a cluster with one release and its hook Job.
fn kubectl(name: &str) -> PathBuf {
    let recorded = |file: &str| -> Value {
        let corpus = root().join("tests/corpus/admission/helm3/resource-to-hook/1-install");
        serde_json::from_slice::<Value>(&fs::read(corpus.join(file)).unwrap()).unwrap()["object"].take()
    };
    let mut record = recorded("01-create-secret-sh.helm.release.v1.orders.v1.json");
    record["metadata"]["labels"]["status"] = json!("deployed");
    let list = |items: Value| json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let objects = list(json!([recorded("03-create-job-orders-migrations.json")]));
    let script = format!(
        "case \"$*\" in *secrets*) cat <<'END'\n{}\nEND\n;; *) cat <<'END'\n{objects}\nEND\n;; esac",
        list(json!([record]))
    );
    path_with_script(&format!("commands-kubectl-{name}"), "kubectl", &script)
}

/// Each of its commands is run in its order by `e2e/tests/hour`, which fails where it does not know one.
const OF_THE_CLUSTER: &str = "docs/worst-hour.md";

fn pages() -> Vec<PathBuf> {
    let pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name));
    pages.into_iter().chain(files("docs", "md")).filter(|page| relative(page) != OF_THE_CLUSTER).collect()
}

#[test]
fn commands_on_every_page_run() {
    let mut run = 0;
    for (number, helm) in helms().iter().enumerate() {
        let stage = stage(&number.to_string(), helm);
        let (programs, kubectl) =
            (path_with(&format!("commands-{number}-programs"), helm), kubectl(&number.to_string()));
        for page in pages() {
            for line in commands(&page) {
                if ELSEWHERE.iter().any(|(start, ..)| line.starts_with(start)) {
                    continue;
                }
                let path = [&programs, &kubectl, Path::new("/usr/bin"), Path::new("/bin")];
                let mut shell = command("/bin/bash", &path);
                let output = shell.current_dir(&stage).args(["-o", "pipefail", "-c", &line]).output().unwrap();
                // 1 is a finding.
                let is_well = [0, 1].contains(&code(&output)) && !stderr(&output).contains("error");
                assert!(is_well, "{}: {line}\n{}{}", relative(&page), stdout(&output), stderr(&output));
                run += 1;
            }
        }
    }
    assert!(helms().is_empty() || run > 10 * helms().len(), "only {run} commands ran");
}

#[test]
fn commands_the_first_on_the_readme_prints_what_stands_there() {
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = page.split_once("```sh\nstable-hooks ").unwrap();
    let (arguments, rest) = rest.split_once("\n```\n\n```text\n").unwrap();
    let arguments: Vec<_> = arguments.split(' ').collect();
    let shown = rest.split("```").next().unwrap();
    for (number, helm) in helms().iter().enumerate() {
        let output = stable_hooks(&[&path_with(&format!("commands-readme-{number}"), helm)], &arguments);
        assert_eq!((stdout(&output).as_str(), code(&output)), (shown, 1), "{}", stderr(&output));
    }
}

#[test]
fn commands_that_want_a_cluster_are_run_elsewhere() {
    let commands: Vec<_> = pages().iter().flat_map(|page| commands(page)).collect();
    for (start, file, words) in ELSEWHERE {
        assert!(commands.iter().any(|line| line.starts_with(start)), "no page says {start:?}");
        assert!(fs::read_to_string(root().join(file)).unwrap().contains(words), "{file} does not say {words:?}");
    }
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    for verb in commands.iter().filter_map(|line| line.strip_prefix("make ")) {
        assert!(makefile.contains(&format!("\n{verb}: ")), "make {verb}");
    }
    for applied in
        commands.iter().filter(|line| line.starts_with("kubectl apply")).filter_map(|line| line.split(" -k ").nth(1))
    {
        // A folder that is here, or the same of a release.
        let folder = applied.trim_matches('\'').trim_start_matches("https://github.com/stable-hooks/stable-hooks//");
        let folder = folder.split('?').next().unwrap();
        assert!(root().join(folder).join("kustomization.yaml").exists(), "{folder}");
    }
}
