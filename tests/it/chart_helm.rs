//! `stable-hooks chart CHART`: rendered by the real Helm, or by a `helm` of ours where it must do something special.

#![cfg(unix)]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tar::Builder;

use crate::chart_renders::{denials, findings, result};
use crate::cli::{code, stderr, stdout, temporary};
use crate::engines::root;
use crate::helms::{command, folder, helms, path_with, path_with_script, stable_hooks};

const FLIP: &str = "tests/charts/flip";
const JOB_FLIPS: &str = "release-identity-flip deny Job/release-name-migrations";

/// The same with every Helm that is here.
fn with_each(name: &str, test: impl Fn(&dyn Fn(&[&str]) -> Output)) {
    for (number, helm) in helms().iter().enumerate() {
        let path = path_with(&format!("{name}-{number}"), helm);
        test(&|arguments| stable_hooks(&[&path], &[&["chart"], arguments].concat()));
    }
}

pub(crate) fn pack(chart: &Path, name: &str, archive: &Path) {
    let mut builder = Builder::new(GzEncoder::new(fs::File::create(archive).unwrap(), Compression::fast()));
    builder.append_dir_all(name, chart).unwrap();
    builder.into_inner().unwrap().finish().unwrap();
}

/// A chart of ours with another of ours as its subchart, the one a folder and the other an archive, or both archives.
fn with_packed_subchart(name: &str) -> [PathBuf; 2] {
    let parent = folder(name);
    let chart = parent.join("names");
    fs::create_dir_all(chart.join("templates")).unwrap();
    fs::create_dir_all(chart.join("charts")).unwrap();
    let source = root().join("tests/charts/names");
    for file in ["Chart.yaml", "templates/_job.tpl", "templates/revision.yaml", "templates/same.yaml"] {
        fs::copy(source.join(file), chart.join(file)).unwrap();
    }
    pack(&root().join("tests/charts/sub"), "sub", &chart.join("charts/sub-0.1.0.tgz"));
    let packed = parent.join("names-0.1.0.tgz");
    pack(&chart, "names", &packed);
    [chart, packed]
}

#[test]
fn chart_a_flip_is_found_with_its_template_and_line() {
    with_each("flip", |chart| {
        let output = chart(&[FLIP, "-n", "shop", "--name", "orders", "-o", "json"]);
        assert_eq!(code(&output), 1, "{}", stderr(&output));
        assert_eq!(denials(&output), ["release-identity-flip deny Job/orders-migrations"]);
        let result = result(&output);
        let flip = result["findings"].as_array().unwrap().iter().find(|finding| finding["level"] == "deny").unwrap();
        assert_eq!(flip["template"], json!({"file": "tests/charts/flip/templates/migrations.yaml", "line": 14}));
        assert_eq!(flip["object"]["namespace"], json!("shop"));
        assert_eq!((&result["source"], stderr(&output)), (&json!(FLIP), String::new()));
        for hook in ["always", "never"] {
            let output = chart(&[FLIP, "--set", &format!("hook={hook}"), "-o", "json"]);
            assert_eq!((denials(&output), code(&output)), (Vec::new(), 0), "{hook}");
        }
    });
}

#[test]
fn chart_values_and_the_cluster_s_versions_reach_helm() {
    let values = temporary("always.yaml", b"hook: always\n");
    with_each("values", |chart| {
        assert_eq!(code(&chart(&[FLIP, "-q", "-f", values.to_str().unwrap()])), 0);
        let output = chart(&[FLIP, "-q", "-f", values.to_str().unwrap(), "--", "--set-string", "hook=on upgrade"]);
        assert_eq!(code(&output), 1, "what stands behind `--` is Helm's: {}", stderr(&output));
    });
    // The real one would hide what it was given.
    let called = folder("called");
    let script = format!("echo \"$@\" >>{}/by\necho '---'", called.display());
    let values = temporary("c.yaml", b"c: d\n");
    let path = path_with_script("called-path", "helm", &script);
    let arguments = [
        "chart",
        FLIP,
        "--kube-version",
        "1.33",
        "-a",
        "a/v1",
        "-a",
        "b/v1",
        "--set",
        "a=b",
        "-f",
        values.to_str().unwrap(),
        "-n",
        "shop",
        "--name",
        "orders",
        "--",
        "--skip-schema-validation",
    ];
    let output = stable_hooks(&[&path], &arguments);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let called = fs::read_to_string(called.join("by")).unwrap();
    let more = "/c.yaml --set a=b --kube-version 1.33 --api-versions a/v1 --api-versions b/v1 --skip-schema-validation";
    let begins = [format!("template orders {FLIP} --namespace shop --values "), "--is-upgrade --values ".to_owned()];
    let copies: Vec<_> = begins
        .iter()
        .map(|begin| called.lines().find_map(|line| line.split_once(begin)?.1.strip_suffix(more)).expect(&called))
        .collect();
    assert_eq!(copies[0], copies[1], "one copy for both");
}

#[test]
fn chart_a_revision_a_random_part_or_a_time_in_a_name_is_no_flip() {
    with_each("names", |chart| {
        let output = chart(&["tests/charts/names", "-o", "json"]);
        let found: Vec<_> = findings(&output).into_iter().filter(|found| !found.contains(" Job/day-")).collect();
        assert_eq!(found, ["release-identity-flip deny Job/same"], "{}", stderr(&output));
        assert_eq!(findings(&output).len(), 2, "a name with the day stays the same all day: {}", stdout(&output));
    });
}

#[test]
fn chart_archives_are_charts_too_and_so_are_their_subcharts() {
    let charts = with_packed_subchart("packed");
    with_each("archives", |chart| {
        for path in &charts {
            let output = chart(&[path.to_str().unwrap(), "-o", "json"]);
            let flips = ["release-identity-flip deny Job/same", "release-identity-flip deny Job/sub-same"];
            assert_eq!(findings(&output), flips, "{}", stderr(&output));
            let templates: Vec<_> =
                result(&output)["findings"].as_array().unwrap().iter().map(|found| found["template"].clone()).collect();
            assert!(
                templates.contains(&json!({"file": "names/charts/sub/templates/same.yaml", "line": null})),
                "{templates:?}"
            );
        }
    });
}

#[test]
fn chart_against_an_older_one_judges_the_upgrade_that_a_user_runs() {
    let never = temporary("never.yaml", b"hook: never\n");
    with_each("against", |chart| {
        let against = |more: &[&str]| {
            let output = chart(&[&[FLIP, "--against", FLIP, "-o", "json"], more].concat());
            (denials(&output), code(&output))
        };
        assert_eq!(against(&["--set", "hook=always"]), (vec![], 0), "the same values for both");
        let values = ["--set", "hook=always", "--against-values", never.to_str().unwrap()];
        assert_eq!(against(&values), (vec![JOB_FLIPS.to_owned()], 1));
        assert_eq!(against(&[]), (vec![JOB_FLIPS.to_owned()], 1));
    });
}

/// The record that Helm wrote when it installed `orders`, as kubectl lists it.
fn installed(kind: &str) -> Value {
    let request =
        "tests/corpus/admission/helm3/resource-to-hook/1-install/01-create-secret-sh.helm.release.v1.orders.v1.json";
    let request: Value = serde_json::from_slice(&fs::read(root().join(request)).unwrap()).unwrap();
    let mut record = request["object"].clone();
    record["metadata"]["labels"]["status"] = json!("deployed");
    if kind == "ConfigMap" {
        use base64::Engine;
        let data = record["data"]["release"].as_str().unwrap();
        let once = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
        record["kind"] = json!("ConfigMap");
        record["data"]["release"] = json!(String::from_utf8(once).unwrap());
    }
    json!({"apiVersion": "v1", "kind": "List", "items": [record]})
}

#[test]
fn chart_against_an_installed_release_judges_its_next_upgrade() {
    for (number, helm) in helms().iter().enumerate() {
        for kind in ["Secret", "ConfigMap"] {
            let listed = temporary(&format!("installed-{kind}.json"), installed(kind).to_string().as_bytes());
            let called = listed.with_extension("json.called");
            let _ = fs::remove_file(&called);
            // It may read records, and no Jobs.
            let script = format!(
                "echo \"$@\" >>{}\ncase \"$*\" in *jobs*) exit 1;; esac\nexec /bin/cat {}",
                called.display(),
                listed.display()
            );
            let kubectl = path_with_script(&format!("installed-kubectl-{kind}-{number}"), "kubectl", &script);
            let path = path_with(&format!("installed-helm-{kind}-{number}"), helm);
            let namespace = installed(kind)["items"][0]["metadata"]["namespace"].as_str().unwrap().to_owned();
            let arguments = ["chart", FLIP, "--release", "orders", "-n", &namespace, "-o", "json"];
            let output = stable_hooks(&[&path, &kubectl], &arguments);
            let flips = ["release-identity-flip deny Job/orders-migrations"];
            assert_eq!(denials(&output), flips, "{kind}: {}", stderr(&output));
            let name = &result(&output)["object"]["name"];
            assert_eq!((name, code(&output)), (&json!("sh.helm.release.v1.orders.v2"), 1));
            let called = fs::read_to_string(called).unwrap();
            let calls: Vec<_> = called.lines().collect();
            let list = format!("get secrets,configmaps -n {namespace} -l owner=helm,name=orders -o json");
            let live = format!("get jobs.batch,serviceaccounts -n {namespace} -o json");
            let wanted = [list.as_str(), "version -o json", live.as_str()];
            assert_eq!(calls, wanted, "the records, what the cluster can do, and what lives there");
            assert!(
                stderr(&output).contains("could not be read, only the records are compared"),
                "{}",
                stderr(&output)
            );
            let drawn = stable_hooks(&[&path, &kubectl], &["timeline", FLIP, "--release", "orders", "-n", &namespace]);
            assert!(stdout(&drawn).contains("Job orders-migrations → pre-upgrade hooks"), "{}", stdout(&drawn));
            assert_eq!(code(&drawn), 1);
        }
    }
}

#[test]
fn chart_without_records_of_the_release_nothing_is_judged() {
    let none = json!({"apiVersion": "v1", "kind": "List", "items": []});
    let kubectl = path_with_script("none-kubectl", "kubectl", &format!("echo '{none}'"));
    let output = stable_hooks(&[&kubectl], &["chart", FLIP, "--release", "orders", "-n", "shop"]);
    assert_eq!(code(&output), 2);
    assert_eq!(stderr(&output), "error: there is no record of `orders` in `shop`\n");
}

#[test]
fn chart_what_helm_cannot_render_is_told_in_its_own_words() {
    let broken = |name: &str, file: &str, text: &str| {
        let chart = folder(&format!("broken-{name}"));
        fs::create_dir_all(chart.join("templates")).unwrap();
        fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: broken\nversion: 0.1.0\n").unwrap();
        fs::write(chart.join(file), text).unwrap();
        chart.to_str().unwrap().to_owned()
    };
    let charts = [
        (broken("template", "templates/a.yaml", "{{ nonsense }}"), "function \"nonsense\" not defined"),
        (
            broken("upgrade", "templates/a.yaml", "{{ if .Release.IsUpgrade }}{{ fail \"not yet\" }}{{ end }}"),
            "not yet",
        ),
        (broken("yaml", "templates/a.yaml", "kind: ["), "broken/templates/a.yaml"),
    ];
    let no_yaml = temporary("no-yaml.yaml", b"a: [");
    with_each("broken", |chart| {
        for (path, reason) in &charts {
            let output = chart(&[path]);
            let nothing = "0 charts: 0 denied, 0 with warnings\n";
            assert_eq!((code(&output), stdout(&output).as_str()), (2, nothing), "{path}");
            let told = stderr(&output);
            assert!(told.contains(reason) && told.matches("Error: ").count() == 1, "once: {told}");
            let last =
                format!("error: {path}: helm could not render the chart (exit status: 1); its own words are above");
            assert_eq!(told.lines().last(), Some(last.as_str()));
        }
        let output = chart(&[FLIP, "-f", no_yaml.to_str().unwrap()]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains("failed to parse"), "{}", stderr(&output));
    });
}

#[test]
fn chart_without_a_helm_that_renders_nothing_is_judged() {
    let script = "case $1 in\nversion) echo 'Client: v2.17.0+ga690bad' ;;\n*) echo 'Error: needs 1 argument' >&2; exit 1 ;;\nesac";
    let helm_2 = path_with_script("helm-2", "helm", script);
    for (path, reason) in
        [(helm_2, "the `helm` on the PATH is Helm 2"), (folder("no-helm"), "there is no `helm` on the PATH")]
    {
        let output = stable_hooks(&[&path], &["chart", FLIP]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}

#[test]
fn chart_an_interrupted_run_leaves_no_folder_behind() {
    for (signal, status) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let temporary = folder(&format!("interrupted-{signal}"));
        let path = path_with_script(&format!("slow-{signal}"), "helm", "exec /bin/sleep 20");
        let mut child = command(env!("CARGO_BIN_EXE_stable-hooks"), &[&path])
            .args(["chart", FLIP])
            .env("TMPDIR", &temporary)
            .spawn()
            .unwrap();
        let count = || fs::read_dir(&temporary).unwrap().count();
        let begin = Instant::now();
        while count() == 0 && begin.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(20));
        }
        assert_eq!(count(), 1);
        let killed = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().signal(), Some(status));
        assert_eq!(count(), 0, "{signal}");
    }
}

#[test]
fn chart_helm_the_recipes_are_clean() {
    for helm in helms() {
        for recipe in ["hook-before", "hook-after", "job-per-image", "init-container"] {
            let path = path_with(&format!("recipe-{recipe}"), helm);
            let chart = format!("e2e/charts/recipe-{recipe}");
            let output = stable_hooks(&[&path], &["chart", &chart, "--fail-on", "warn", "-o", "json"]);
            assert_eq!(code(&output), 0, "{recipe}: {}{}", stdout(&output), stderr(&output));
            let upgraded = ["chart", &chart, "--against", &chart, "--set", "image=orders:2", "--fail-on", "warn"];
            let output = stable_hooks(&[&path], &upgraded);
            assert_eq!(code(&output), 0, "{recipe}: {}{}", stdout(&output), stderr(&output));
        }
    }
}
