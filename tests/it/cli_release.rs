//! `stable-hooks release`: records that Helm 3 and 4 wrote, as `kubectl` prints them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::cli::{code, run, stderr, stdout, temporary};
use crate::engines::{built, files, root};

const HELMS: [&str; 2] = ["helm3", "helm4"];

/// The record that Helm created as this revision, from the request that the API server recorded.
fn record(helm: &str, scenario: &str, revision: u64) -> Value {
    let folder = format!("tests/corpus/admission/{helm}/{scenario}");
    let ending = format!(".v{revision}.json");
    let is_it = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.contains("-create-secret-") && name.ends_with(&ending)
    };
    let path = files(&folder, "json").iter().find(is_it).unwrap().clone();
    let request: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    request["object"].clone()
}

fn orders(revision: u64) -> Value {
    record("helm3", "resource-to-hook", revision)
}

/// As it lies in the cluster when that revision is over.
fn stored(mut record: Value, status: &str) -> Value {
    record["metadata"]["labels"]["status"] = json!(status);
    record
}

fn list(records: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": records})
}

fn file(name: &str, content: &Value) -> String {
    temporary(name, content.to_string().as_bytes()).to_str().unwrap().to_owned()
}

fn judge(arguments: &[&str], content: &Value) -> Output {
    run(&[&["release", "-"], arguments].concat(), content.to_string().as_bytes())
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

/// Name and verdict of each result.
fn verdicts(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results = report["results"].as_array().unwrap();
    results.iter().map(|result| (text(&result["object"]["name"]), text(&result["verdict"]))).collect()
}

/// The report without what names files.
fn without_sources(mut report: Value) -> Value {
    report["results"].as_array_mut().unwrap().iter_mut().for_each(|result| result["source"] = json!(""));
    report
}

/// Rules and objects of a result's denials.
fn denials(result: &Value) -> Vec<String> {
    let findings = result["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] == "deny");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings.map(|finding| format!("{} {}", text(&finding["rule"]), text(&finding["object"]["kind"]))).collect()
}

/// A flip on upgrade, of both objects.
fn is_flip(result: &Value) -> bool {
    let mut found = denials(result);
    found.sort();
    found == ["release-identity-flip Job", "release-identity-flip ServiceAccount"]
}

#[test]
fn release_a_flip_is_shown_with_its_template_and_remedy() {
    for helm in HELMS {
        let first = file(&format!("{helm}-flip-v1.json"), &record(helm, "resource-to-hook", 1));
        let second = file(&format!("{helm}-flip-v2.json"), &record(helm, "resource-to-hook", 2));
        let output = run(&["release", &first, &second], b"");
        assert_eq!(code(&output), 1, "{}", stderr(&output));
        let text = stdout(&output);
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines.iter().any(|line| line.starts_with("allow cap") && line.contains("/orders, revision 1")),
            "{text}"
        );
        assert!(
            lines.iter().any(|line| line.starts_with("deny cap") && line.contains("/orders, revision 2")),
            "{text}"
        );
        // However the lines are broken.
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "deny release-identity-flip helm.sh/hook ServiceAccount and Job cap",
            "/orders-migrations: each is a resource of the revision before and becomes a hook (\"pre-upgrade\"). ",
            "-> In flip/templates/all.yaml, leave helm.sh/hook out of every render; or give the hook a new name and, on every render, helm.sh/hook: \"pre-install,pre-upgrade\".",
        ] {
            assert!(words.contains(part), "{part}: {text}");
        }
        assert!(words.contains(&format!("({second}#1)")), "{text}");
        let findings = lines.iter().filter(|line| line.starts_with(' '));
        assert!(findings.clone().all(|line| line.chars().count() <= 100), "{text}");
    }
}

#[test]
fn release_a_list_two_files_and_any_order_say_the_same() {
    let (first, second) = (orders(1), orders(2));
    let [one, two] = [("alone-v1.json", &first), ("alone-v2.json", &second)].map(|(name, record)| file(name, record));
    let expected = run(&["release", "-o", "json", &one, &two], b"");
    assert!(is_flip(&report(&expected)["results"][1]), "{}", stdout(&expected));
    let swapped = run(&["release", "-o", "json", &two, &one], b"");
    assert_eq!(stdout(&expected), stdout(&swapped));
    let listed = judge(&["-o", "json"], &list(&[second, first]));
    assert_eq!(without_sources(report(&expected)), without_sources(report(&listed)));
    assert_eq!(report(&listed)["results"][0]["source"], json!("-#2"), "the second of the list is the first revision");
    assert_eq!([&expected, &swapped, &listed].map(code), [1, 1, 1]);
}

#[test]
fn release_records_of_the_past_are_judged_as_they_were_created() {
    for helm in HELMS {
        let history: Vec<_> = [(1, "superseded"), (2, "superseded"), (3, "superseded"), (4, "deployed")]
            .map(|(revision, status)| stored(record(helm, "resource-to-hook", revision), status))
            .into();
        let pending: Vec<_> = (1..=4).map(|revision| record(helm, "resource-to-hook", revision)).collect();
        let now = report(&judge(&["-o", "json"], &list(&history)));
        assert_eq!(now, report(&judge(&["-o", "json"], &list(&pending))), "{helm}");
        let words: Vec<_> = verdicts(&now).into_iter().map(|(_, verdict)| verdict).collect();
        assert_eq!(words, ["allow", "deny", "allow", "allow"], "{helm}: a rollback never denies");
        let rollback = &now["results"][3]["findings"];
        let strict = file(&format!("{helm}-rollback.yaml"), &json!({"releases": {"rollback": "deny"}}));
        let strict = report(&judge(&["-o", "json", "--settings", &strict], &list(&history)));
        assert!(rollback.to_string().contains("release-identity-flip"), "{rollback}");
        assert_eq!(strict["results"][3]["verdict"], json!("deny"), "{helm}: judged as a rollback");
    }
}

#[test]
fn release_the_highest_deployed_revision_is_the_baseline() {
    // The second revision failed: the third is compared with the first, and flips again.
    let failed = list(&[stored(orders(1), "superseded"), stored(orders(2), "failed"), stored(orders(3), "deployed")]);
    let failed = report(&judge(&["-o", "json"], &failed));
    assert!(is_flip(&failed["results"][2]), "{failed}");
    // Revisions may lie between them, and `--baseline` is not judged itself.
    let first = file("far-v1.json", &stored(orders(1), "superseded"));
    let output = judge(&["-o", "json", "--baseline", &first], &stored(orders(3), "deployed"));
    let far = report(&output);
    assert_eq!(verdicts(&far), [("sh.helm.release.v1.orders.v3".to_owned(), "deny".to_owned())]);
    assert!(is_flip(&far["results"][0]), "{far}");
}

#[test]
fn release_a_record_alone_has_no_baseline_and_says_so() {
    let output = judge(&[], &orders(2));
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).contains("no earlier record of the release was found to"), "{}", stdout(&output));
    let other = file("other-release.json", &record("helm3", "never-deleted-hook", 1));
    let with_other = judge(&["--baseline", &other], &orders(2));
    assert_eq!(stdout(&with_other), stdout(&output), "another release is no baseline");
}

#[test]
fn release_a_hook_that_is_never_deleted_is_denied() {
    for helm in HELMS {
        let history = [1, 2].map(|revision| record(helm, "never-deleted-hook", revision));
        let report = report(&judge(&["-o", "json"], &list(&history)));
        let found = denials(&report["results"][1]);
        assert!(found.contains(&"hook-never-deleted Job".to_owned()), "{helm}: {found:?}");
        assert_eq!(report["results"][0]["verdict"], json!("allow"));
    }
}

#[test]
fn release_the_users_settings_and_labels_count() {
    let mut accepted = orders(2);
    accepted["metadata"]["labels"]["stable-hooks/accept-release-identity-flip"] = json!("2");
    assert_eq!(code(&judge(&["-q"], &list(&[orders(1), accepted]))), 0);
    let live = file("live.yaml", &json!({"releases": {"baseline": "live"}}));
    let flip = list(&[orders(1), orders(2)]);
    assert_eq!(code(&judge(&["-q", "--settings", &live], &flip)), 0, "nothing lives, nothing is compared");
    let off = file("off.yaml", &json!({"releases": {"scope": "all"}, "rules": {"release-identity-flip": "warn"}}));
    assert_eq!(code(&judge(&["-q", "--settings", &off], &flip)), 0);
    assert_eq!(code(&judge(&["-q", "--settings", &off, "--fail-on", "warn"], &flip)), 1);
    let cluster = file("live-job.json", &list(&[]));
    let looked_up = judge(&["--cluster", &cluster], &flip);
    assert!(!stdout(&looked_up).contains("could not be looked up"), "{}", stdout(&looked_up));
    assert_eq!(code(&looked_up), 1, "the records are known beside the cluster's objects");
}

#[test]
fn release_requests_yaml_and_config_maps_are_read() {
    let [first, second] = [
        "1-install/01-create-secret-sh.helm.release.v1.orders.v1.json",
        "2-upgrade/05-create-secret-sh.helm.release.v1.orders.v2.json",
    ]
    .map(|name| format!("tests/corpus/admission/helm3/resource-to-hook/{name}"));
    let recorded = run(&["release", "-o", "json", &first, &second], b"");
    let objects = judge(&["-o", "json"], &list(&[orders(1), orders(2)]));
    assert_eq!(without_sources(report(&recorded)), without_sources(report(&objects)));
    assert_eq!(report(&recorded)["results"][1]["source"], json!(second));

    // `kubectl get secrets -o yaml` prints a namespace's other Secrets too.
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": "hunter2"}});
    let config_maps = [1, 2].map(|revision| config_map(&orders(revision)));
    let yaml = format!("{secret}\n---\n{}\n---\n{}\n", config_maps[0], config_maps[1]);
    let output = run(&["release", "-", "-o", "json"], yaml.as_bytes());
    assert!(is_flip(&report(&output)["results"][1]), "{}", stderr(&output));
    assert_eq!(report(&output)["summary"]["objects"], json!(2));
    let mixed = judge(&["-o", "json"], &list(&[orders(1), config_map(&orders(2))]));
    assert_eq!(code(&mixed), 0, "Helm keeps all records of a release in one place");
}

/// The same record as Helm's other driver stores it: the outer base64 is the Secret's.
fn config_map(secret: &Value) -> Value {
    let data = secret["data"]["release"].as_str().unwrap();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": secret["metadata"],
        "data": {"release": String::from_utf8(base64(data)).unwrap()},
    })
}

fn base64(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |byte: u8| u32::try_from(alphabet.iter().position(|letter| *letter == byte).unwrap()).unwrap();
    let digits: Vec<_> = text.trim_end_matches('=').bytes().map(value).collect();
    let group = |digits: &[u32]| {
        let bits = digits.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - digits.len()));
        bits.to_be_bytes()[1..digits.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

#[test]
fn release_the_wasm_says_the_same_as_the_native_core() {
    let Some(wasm) = built("annotated-releases-policy.wasm") else { return };
    let wasm = wasm.to_str().unwrap();
    let scenarios = [("resource-to-hook", 4), ("never-deleted-hook", 2)];
    let all = HELMS.into_iter().flat_map(|helm| scenarios.map(|(scenario, revisions)| (helm, scenario, revisions)));
    let records: Vec<_> = all
        .flat_map(|(helm, scenario, revisions)| (1..=revisions).map(move |revision| record(helm, scenario, revision)))
        .collect();
    // A run compiles the module, which takes most of it.
    let native = judge(&["-o", "json"], &list(&records));
    let guest = judge(&["-o", "json", "--policy", wasm], &list(&records));
    assert_eq!(stdout(&native), stdout(&guest), "{}", stderr(&guest));
    assert_eq!((code(&native), code(&guest)), (1, 1));
}

#[test]
fn release_a_record_that_cannot_be_read_is_named_and_the_others_are_judged() {
    for (data, reason) in [
        (json!("hunter2"), "data.release is not base64"),
        (json!("aHVudGVyMg=="), "data.release is base64 once"),
        (json!("YUhWdWRHVnlNZz09"), "neither gzip nor JSON"),
        (json!("ZTMwPQ=="), "data.release has no name or no version"),
        (json!(null), "there is no data.release"),
    ] {
        let mut garbage = orders(3);
        garbage["data"]["release"] = data;
        let output = judge(&[], &list(&[orders(1), garbage.clone(), orders(2)]));
        assert_eq!(code(&output), 2, "{reason}");
        assert!(stderr(&output).contains(reason), "{reason}: {}", stderr(&output));
        assert!(stderr(&output).starts_with("error: -:1: sh.helm.release.v1.orders.v3: "), "{}", stderr(&output));
        let said = stdout(&output) + &stderr(&output);
        assert!(!["hunter2", "aHVudGVy", "YUhWdWRH"].iter().any(|secret| said.contains(secret)), "{said}");
        assert!(said.contains("2 revisions: 1 denied"), "{said}");

        let baseline = file("garbage-baseline.json", &garbage);
        let output = judge(&["-q", "--baseline", &baseline], &orders(1));
        assert_eq!((code(&output), stdout(&output)), (2, String::new()));
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}

#[test]
fn release_what_is_no_record_is_exit_code_2_with_a_reason() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}});
    let file = file("plain-job.json", &job);
    for (arguments, reason) in [
        (vec!["release", &file], "plain-job.json: there is no release record in it"),
        (vec!["release", "-"], "-: there is no object in it"),
        (vec!["release", &file, "-n", "shop"], "-n goes with a release's name, and only files are given"),
        (vec!["release", "./nowhere.json", "-n", "shop"], "-n goes with a release's name, and only files are given"),
        (vec!["release"], "required"),
    ] {
        let output = run(&arguments, b"");
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    }
}

/// Runs the program with nothing on the PATH but a `kubectl` of ours, which notes how it was called.
#[cfg(unix)]
fn with_kubectl(name: &str, script: &str, arguments: &[&str]) -> (Output, String) {
    use std::os::unix::fs::PermissionsExt;

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let (program, called) = (folder.join("kubectl"), folder.join("called"));
    fs::write(&program, format!("#!/bin/sh\necho \"$@\" >{}\n{script}\n", called.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = with_path(&folder, arguments);
    (output, fs::read_to_string(called).unwrap())
}

fn with_path(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stable-hooks"))
        .args(arguments)
        .current_dir(root())
        .env_clear()
        .env("PATH", folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
#[cfg(unix)]
fn release_a_name_is_read_with_kubectl() {
    let history = [stored(orders(1), "superseded"), stored(orders(2), "deployed")];
    let listed = file("kubectl-list.json", &list(&history));
    let script = format!("exec /bin/cat {listed}");
    let (output, called) = with_kubectl("kubectl-prints", &script, &["release", "orders", "-n", "cap3", "-o", "json"]);
    assert_eq!(called, "get secrets,configmaps -n cap3 -l owner=helm,name=orders -o json\n");
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let report = report(&output);
    assert!(is_flip(&report["results"][1]), "{report}");
    let sources: Vec<_> = report["results"].as_array().unwrap().iter().map(|result| &result["source"]).collect();
    assert_eq!(sources, [&json!("sh.helm.release.v1.orders.v1"), &json!("sh.helm.release.v1.orders.v2")]);

    let script_of_context = format!("case $1 in config) printf cap4;; *) exec /bin/cat {listed};; esac");
    let (output, called) = with_kubectl("kubectl-context", &script_of_context, &["release", "orders", "-q"]);
    assert_eq!(called, "get secrets,configmaps -n cap4 -l owner=helm,name=orders -o json\n");
    assert_eq!(code(&output), 1, "{}", stderr(&output));

    // Helm lets a name hold dots.
    for verb in ["release", "timeline"] {
        let (output, called) = with_kubectl("kubectl-dots", &script, &[verb, "api.v2", "-n", "cap3", "-q"]);
        assert_eq!(called, "get secrets,configmaps -n cap3 -l owner=helm,name=api.v2 -o json\n");
        assert_eq!(code(&output), 1, "{verb}: {}", stderr(&output));
    }

    // A folder of that name, a chart's for example, is no file.
    let (output, _) = with_kubectl("kubectl-folder", &script, &["release", "tests", "-n", "cap3", "-q"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
}

#[test]
#[cfg(unix)]
fn release_what_kubectl_cannot_do_is_told() {
    let arguments = ["release", "orders", "-n", "shop"];
    let fails = "echo 'Error from server (Forbidden): secrets is forbidden' >&2; exit 1";
    let (output, _) = with_kubectl("kubectl-fails", fails, &arguments);
    assert_eq!(code(&output), 2);
    for part in
        ["Error from server (Forbidden): secrets is forbidden", "kubectl could not read the records of `orders`"]
    {
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }

    let partly = file("kubectl-partly.json", &list(&[orders(1), orders(2)]));
    let partly = format!("/bin/cat {partly}; echo 'configmaps is forbidden' >&2; exit 1");
    let (output, _) = with_kubectl("kubectl-partly", &partly, &arguments);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).contains("2 revisions: 1 denied"), "{}", stderr(&output));

    let (output, _) = with_kubectl("kubectl-empty", &format!("echo '{}'", list(&[])), &arguments);
    assert_eq!(code(&output), 2);
    let told = "error: there is no record of `orders` in `shop`, and no file of that name here\n";
    assert_eq!(stderr(&output), told);
}

#[test]
#[cfg(unix)]
fn release_what_helm_would_not_take_for_a_name_is_a_file() {
    let (long, longest) = ("a".repeat(54), "a".repeat(53));
    for file in ["Orders", "a_b", "-a", "a..b", ".a", "a.", "./a", "a/b", "a b", &long] {
        let output = with_path(Path::new("/nowhere"), &["release", "-n", "shop", "orders", "--", file]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(&format!("error: {file}: No such file or directory")), "{}", stderr(&output));
    }
    for name in ["a", "a-b", "0.a", "a.b-c.d", &longest] {
        let output = with_path(Path::new("/nowhere"), &["release", "-n", "shop", name]);
        assert!(stderr(&output).contains("there is no `kubectl` on the PATH"), "{name}: {}", stderr(&output));
    }
}

#[test]
fn release_without_kubectl_a_name_is_nothing() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubectl-nowhere");
    fs::create_dir_all(&folder).unwrap();
    let output = with_path(&folder, &["release", "orders", "-n", "shop"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("there is no `kubectl` on the PATH"), "{}", stderr(&output));
}
