//! `stable-hooks chart --install FILE --upgrade FILE`: two renders that were made elsewhere.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::cli::{code, run, stderr, stdout, temporary};
use crate::engines::{built, files, relative, root};

const CHARTS: &str = "tests/corpus/charts";

/// The report's only result.
pub(crate) fn result(output: &Output) -> Value {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)));
    let [result] = report["results"].as_array().unwrap().as_slice() else { panic!("{report}") };
    result.clone()
}

/// "<rule> <level> <Kind>/<name>" of every finding, sorted.
pub(crate) fn findings(output: &Output) -> Vec<String> {
    let result = result(output);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let line = |finding: &Value| {
        let object = &finding["object"];
        let [rule, level, kind, name] =
            [&finding["rule"], &finding["level"], &object["kind"], &object["name"]].map(text);
        format!("{rule} {level} {kind}/{name}")
    };
    let mut findings: Vec<_> = result["findings"].as_array().unwrap().iter().map(line).collect();
    findings.sort();
    findings
}

pub(crate) fn denials(output: &Output) -> Vec<String> {
    findings(output).into_iter().filter(|finding| finding.contains(" deny ")).collect()
}

fn judge(install: &Path, upgrade: &Path, more: &[&str]) -> Output {
    let [install, upgrade] = [install, upgrade].map(|path| path.to_str().unwrap());
    run(&[&["chart", "--install", install, "--upgrade", upgrade], more].concat(), b"")
}

/// Two texts as files.
fn judge_texts(name: &str, install: &str, upgrade: &str) -> Output {
    let [install, upgrade] = [("install", install), ("upgrade", upgrade)]
        .map(|(operation, text)| temporary(&format!("{name}-{operation}.yaml"), text.as_bytes()));
    judge(&install, &upgrade, &["-o", "json"])
}

fn job(name: &str, more: &str) -> String {
    format!(
        "---\n# Source: shop/templates/job.yaml\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n{more}"
    )
}

const HOOK: &str = "  annotations:\n    helm.sh/hook: post-install,pre-upgrade\n";

#[test]
fn chart_every_corpus_chart_gets_what_its_author_expected() {
    let mut charts = 0;
    for expected in files(CHARTS, "json") {
        let wanted: Value = serde_json::from_slice(&fs::read(&expected).unwrap()).unwrap();
        let [install, upgrade] = ["install.yaml", "upgrade.yaml"].map(|name| expected.with_file_name(name));
        let output = judge(&install, &upgrade, &["-o", "json"]);
        let (found, what) = (findings(&output), format!("{}: {}", relative(&expected), stdout(&output)));
        let denied = !denials(&output).is_empty();
        let fits = match wanted["decision"].as_str().unwrap() {
            "reject" => denied,
            "allow+warn" | "warn" => !denied && !found.is_empty(),
            "allow" | "skip" => !denied,
            other => panic!("unknown decision {other}"),
        };
        assert!(fits, "{} is expected: {what}", wanted["decision"]);
        assert_eq!(code(&output), i32::from(denied), "{what}");
        charts += 1;
    }
    assert_eq!(charts, 21);
}

#[test]
fn chart_one_pair_is_one_result_and_says_each_finding_once() {
    let account = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n";
    let logs = "  labels: {app: migrate}\n  annotations:\n    helm.sh/hook: post-install,pre-upgrade\n    \
                helm.sh/hook-delete-policy: hook-failed,before-hook-creation\n";
    let text = format!("{}{account}", job("a", logs));
    let output = judge_texts("once", &text, &text);
    assert_eq!(findings(&output), ["hook-log-retention warn Job/a"], "{}", stdout(&output));
    let result = result(&output);
    assert_eq!(result["verdict"], json!("allow"));
    let finding = &result["findings"][0];
    assert_eq!(finding["template"], json!({"file": "shop/templates/job.yaml", "line": null}));
    assert_eq!(finding["object"]["namespace"], json!("default"));
    assert!(result["source"].as_str().unwrap().ends_with("once-upgrade.yaml"), "{result}");
}

/// For people: what was compared, in the words of a chart's author, and that it agrees where it does.
#[test]
fn chart_says_what_it_compared() {
    let told = |name: &str, install: &str, upgrade: &str| {
        let [install, upgrade] = [("install", install), ("upgrade", upgrade)]
            .map(|(operation, text)| temporary(&format!("{name}-{operation}.yaml"), text.as_bytes()));
        let text = stdout(&judge(&install, &upgrade, &[]));
        text.replace(upgrade.to_str().unwrap(), "CHART").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let agrees = told("agrees", &job("m", HOOK), &job("m", HOOK));
    let sum = "1 chart: 0 denied, 0 with warnings";
    let expected = format!(
        "allow CHART: the install and the upgrade over it agree (1 hook and 0 resources against 1 hook and 0 resources) {sum}"
    );
    assert_eq!(agrees, expected);
    let cleanup =
        job("cleanup", "  annotations: {helm.sh/hook: post-upgrade}\n  labels: {stable-hooks/migration: \"false\"}\n");
    let differs = told("differs", &job("m", HOOK), &format!("{}{cleanup}", job("m", HOOK)));
    assert!(
        differs.contains("differ in nothing that a rule is about (1 hook and 0 resources against 2 hooks"),
        "{differs}"
    );
    let flips = told("flips", &job("m", ""), &job("m", HOOK));
    assert!(
        flips.starts_with("deny CHART: the install and the upgrade over it shop/templates/job.yaml deny"),
        "{flips}"
    );
    for foreign in ["CREATE", "Secret", "~1", "accept"] {
        assert!(!flips.contains(foreign), "{flips}");
    }
}

#[test]
fn chart_the_install_is_judged_too() {
    let needs = "  labels: {app: migrate}\n  annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}\nspec:\n  template:\n    spec:\n      \
                 serviceAccountName: late\n";
    let account = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: late}\n";
    let text = format!("{}{account}", job("a", needs));
    let output = judge_texts("install", &text, &text);
    assert_eq!(denials(&output), ["hook-missing-dependency deny Job/a"], "{}", stdout(&output));
    let cluster =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "late", "namespace": "default"}});
    let cluster = temporary("late.json", cluster.to_string().as_bytes());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [install, upgrade] = ["install-install.yaml", "install-upgrade.yaml"].map(|name| folder.join(name));
    let output = judge(&install, &upgrade, &["-o", "json", "--cluster", cluster.to_str().unwrap()]);
    assert_eq!((denials(&output), code(&output)), (Vec::new(), 0), "{}", stdout(&output));
}

#[test]
fn chart_every_kind_that_flips_is_denied() {
    let secret = |more: &str| format!("---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n{more}");
    let output = judge_texts("kinds", &secret(""), &secret(HOOK));
    assert_eq!(denials(&output), ["release-identity-flip deny Secret/s"]);
    let settings = temporary("narrow.yaml", b"releases: {scope: jobs-and-serviceaccounts}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [install, upgrade] = ["kinds-install.yaml", "kinds-upgrade.yaml"].map(|name| folder.join(name));
    let narrow = judge(&install, &upgrade, &["-o", "json", "--settings", settings.to_str().unwrap()]);
    assert_eq!(findings(&narrow), Vec::<String>::new(), "the user's own scope counts");
}

#[test]
fn chart_the_only_namespace_that_is_named_is_the_release_s() {
    let named = job("a", "  namespace: shop\n");
    let output = judge_texts("namespace", &(named + &job("b", "")), &job("b", HOOK));
    assert_eq!(result(&output)["findings"][0]["object"]["namespace"], json!("shop"));
}

#[test]
fn chart_the_last_of_duplicate_keys_counts_as_in_helm() {
    let twice = format!("{HOOK}  annotations: {{}}\n");
    let output = judge_texts("duplicate", &job("a", &twice), &job("a", HOOK));
    assert_eq!(denials(&output), ["release-identity-flip deny Job/a"], "{}", stdout(&output));
    let output = judge_texts("duplicate", &job("a", &twice), &job("a", ""));
    assert_eq!((findings(&output), code(&output)), (Vec::new(), 0));
}

#[test]
fn chart_broken_documents_are_named_and_the_good_ones_judged() {
    let broken = format!("{}---\nkind: [\n---\n- 5\n{}", job("a", ""), job("b", ""));
    let output = judge_texts("broken", &broken, &job("b", HOOK));
    assert_eq!(code(&output), 2);
    assert_eq!(denials(&output), ["release-identity-flip deny Job/b"]);
    let told = stderr(&output);
    assert!(told.contains("broken-install.yaml:8: malformed YAML at column"), "{told}");
    assert!(told.contains("broken-install.yaml:10: neither"), "{told}");
}

#[test]
fn chart_bad_usage_is_exit_code_2_with_a_reason() {
    let good = temporary("good.yaml", job("a", "").as_bytes());
    let good = good.to_str().unwrap();
    let empty = temporary("empty.yaml", b"# nothing\n");
    let empty = empty.to_str().unwrap();
    for (arguments, reason) in [
        (vec!["chart"], "which chart?"),
        (vec!["chart", "--install", good], "--upgrade"),
        (vec!["chart", ".", "--install", good, "--upgrade", good], "cannot be used with"),
        (vec!["chart", ".", "--against-values", good], "--against"),
        (vec!["chart", ".", "--against", ".", "--release", "a"], "cannot be used with"),
        (vec!["chart", ".", "--upgrade", good], "cannot be used with"),
        (vec!["chart", ".", "--against", ".", "--reuse-values"], "cannot be used with"),
        (vec!["chart", ".", "--against-ref", "v1", "--reset-values"], "cannot be used with"),
        (vec!["chart", ".", "--name", "a", "--reuse-values"], "cannot be used with"),
        (vec!["chart", "--install", good, "--upgrade", good, "--version", "1"], "cannot be used with"),
        (vec!["chart", "--install", good, "--upgrade", "nowhere.yaml"], "nowhere.yaml: "),
        (vec!["chart", "--install", empty, "--upgrade", good], "empty.yaml: there is no object in it"),
        (vec!["chart", "tests/charts"], "there is no `helm` on the PATH"),
    ] {
        let output = run(&arguments, b"");
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn chart_a_reader_that_closes_the_pipe_has_seen_enough() {
    let many: String = (0..3000).map(|number| job(&format!("job-{number}"), "")).collect();
    let hooks: String = (0..3000).map(|number| job(&format!("job-{number}"), HOOK)).collect();
    let [install, upgrade] =
        [("many-i.yaml", many), ("many-u.yaml", hooks)].map(|(name, text)| temporary(name, text.as_bytes()));
    let mut child = Command::new(env!("CARGO_BIN_EXE_stable-hooks"))
        .args(["chart", "--install", install.to_str().unwrap(), "--upgrade", upgrade.to_str().unwrap()])
        .current_dir(root())
        .env_clear()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 16];
    let mut pipe = child.stdout.take().unwrap();
    pipe.read_exact(&mut start).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output)), (1, String::new()));
}

#[test]
fn chart_the_wasm_says_the_same_as_the_native_core() {
    let Some(wasm) = built("annotated-releases-policy.wasm") else { return };
    let case = root().join(CHARTS).join("mastodon-three-phase");
    let [install, upgrade] = ["install.yaml", "upgrade.yaml"].map(|name| case.join(name));
    let native = judge(&install, &upgrade, &["-o", "json"]);
    let guest = judge(&install, &upgrade, &["-o", "json", "--policy", wasm.to_str().unwrap()]);
    assert_eq!(stdout(&native), stdout(&guest), "{}", stderr(&guest));
    assert!(!findings(&native).is_empty());
}
