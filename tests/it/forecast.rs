//! `stable-hooks forecast`: stored releases, rendered again by the real Helm, or by a `helm` of ours where it must do
//! something special.

#![cfg(unix)]

mod pages;
mod reports;
pub(crate) mod stored;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::cli::{code, stderr, stdout};
use crate::docs::assert_json_is_explained;
use crate::helms::{folder, helms, path_with, path_with_script};
use stored::{CANARY, Cluster, Release, chart, installed_job, job};

const TEMPLATE: &str = "templates/job.yaml";

/// The same with every Helm that is here.
fn with_each(name: &str, test: impl Fn(&Path)) {
    for (number, helm) in helms().iter().enumerate() {
        test(&path_with(&format!("forecast-{name}-{number}"), helm));
    }
}

/// A release of a chart with one Job that is a hook where the condition holds; it was not when it was installed.
fn release<'a>(namespace: &'a str, name: &'a str, condition: &str) -> Release<'a> {
    let installed = installed_job(name, "shop/templates/job.yaml", false);
    Release { namespace, name, chart: chart("shop", &[(TEMPLATE, &job(condition))]), installed }
}

/// One that will flip, one that will not, one with a subchart, one that does not render.
fn mixed(name: &str) -> Cluster {
    let mut with_subchart = release("shop", "whole", "false");
    with_subchart.chart["metadata"]["dependencies"] = json!([{"name": "postgresql"}]);
    let broken = Release {
        chart: chart("shop", &[(TEMPLATE, "{{ fail (printf \"no %s\" (b64enc .Values.password)) }}")]),
        ..release("data", "broken", "")
    };
    Cluster::new(name)
        .with(&release("shop", "orders", ".Release.IsUpgrade"))
        .with(&release("shop", "always", "false"))
        .with(&with_subchart)
        .with(&broken)
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

/// `<outlook> <namespace>/<name>` of each release.
fn outlooks(output: &Output) -> Vec<String> {
    let report = report(output);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let releases = report["releases"].as_array().unwrap();
    releases
        .iter()
        .map(|release| {
            let [outlook, namespace, name] = ["outlook", "namespace", "name"].map(|key| text(&release[key]));
            format!("{outlook} {namespace}/{name}")
        })
        .collect()
}

/// The reason why the first release is not forecastable.
fn reason(output: &Output) -> String {
    report(output)["releases"][0]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn forecast_tells_the_worst_first_with_reason_and_remedy() {
    let cluster = mixed("mixed");
    with_each("mixed", |helm| {
        let output = cluster.forecast(helm, &["-A", "-o", "json"]).output().unwrap();
        let expected =
            ["flips shop/orders", "not-forecastable data/broken", "not-forecastable shop/whole", "stable shop/always"];
        assert_eq!(outlooks(&output), expected, "{}", stderr(&output));
        assert_eq!(code(&output), 2);
        let report = report(&output);
        let flip = &report["releases"][0]["findings"][0];
        let object = json!({"group": "batch", "kind": "Job", "namespace": "shop", "name": "orders-migrations"});
        assert_eq!(
            (&flip["rule"], &flip["level"], &flip["object"]),
            (&json!("release-identity-flip"), &json!("deny"), &object)
        );
        assert_eq!(flip["template"], json!({"file": "shop/templates/job.yaml", "line": 8}));
        assert_eq!(
            (&report["releases"][0]["revision"], &report["releases"][0]["chart"]),
            (&json!(2), &json!("shop-0.1.0"))
        );
        let reasons = [1, 2].map(|at| report["releases"][at]["reason"].as_str().unwrap().to_owned());
        assert!(reasons[0].ends_with("execution error at (shop/templates/job.yaml:1:3): no ***"), "{reasons:?}");
        assert!(
            reasons[1].contains("the subcharts `postgresql`") && reasons[1].ends_with("--chart whole=PATH"),
            "{reasons:?}"
        );
        let summary = json!({"releases": 4, "flips": 1, "denied": 0, "notForecastable": 2, "warned": 0, "stable": 1, "ignored": 0});
        assert_eq!((&report["version"], &report["summary"]), (&json!(1), &summary));
        assert_json_is_explained("`forecast`", &stdout(&output));

        let text = stdout(&cluster.forecast(helm, &["-A"]).output().unwrap());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "OUTLOOK           NAMESPACE  RELEASE  CHART       WHY");
        assert_eq!(lines[1], "flips             shop       orders   shop-0.1.0  Job orders-migrations");
        assert_eq!(lines[3], "not forecastable  shop       whole    shop-0.1.0  its subcharts are not stored");
        assert_eq!(lines[4], "stable            shop       always   shop-0.1.0");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "deny release-identity-flip helm.sh/hook Job shop/orders-migrations: is",
            "-> In shop/templates/job.yaml,",
            "1 release: shop/orders",
        ] {
            assert!(words.contains(part), "{part}: {text}");
        }
        let sum = "4 releases: 1 will flip, 0 will be denied, 2 not forecastable, 0 with warnings, 1 stable";
        assert_eq!(lines.last(), Some(&sum));
    });
}

#[test]
fn forecast_markdown_has_a_table_of_what_is_not_stable_and_each_cause_once() {
    with_each("markdown", |helm| {
        let written = |cluster: &Cluster| stdout(&cluster.forecast(helm, &["-A", "-o", "markdown"]).output().unwrap());
        let text = written(&mixed("markdown"));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "### stable-hooks forecast: flips");
        let (_, table) = text.split_once("|---|---|---|---|\n").unwrap();
        let rows: Vec<_> = table.lines().take(4).collect();
        assert_eq!(
            rows,
            [
                "| **flips** | `shop/orders` | `shop-0.1.0` | Job orders-migrations |",
                "| **not forecastable** | `data/broken` | `shop-0.1.0` | its chart does not render |",
                "| **not forecastable** | `shop/whole` | `shop-0.1.0` | its subcharts are not stored |",
                "",
            ]
        );
        assert_eq!(text.matches("- **deny** [`release-identity-flip`](https://").count(), 1, "{text}");
        assert!(text.contains("\n\n  1 release: `shop/orders`\n\n- **not forecastable** "), "{text}");
        let stable = Cluster::new("markdown-stable").with(&release("shop", "always", "false"));
        assert_eq!(written(&stable), "**stable-hooks forecast**: 1 release is stable.\n");
        let unreadable = Cluster::new("markdown-none").forecast(helm, &["-A", "-o", "markdown", "--chart", "x=./y"]);
        let head = stdout(&{ unreadable }.output().unwrap());
        assert!(head.starts_with("### stable-hooks forecast: not everything could be judged\n"), "{head}");
    });
}

#[test]
fn forecast_of_many_releases_says_each_cause_once() {
    let names: Vec<_> = (1..=40).map(|number| format!("orders-{number}")).collect();
    let cluster = names
        .iter()
        .fold(Cluster::new("many"), |cluster, name| cluster.with(&release("shop", name, ".Release.IsUpgrade")));
    with_each("many", |helm| {
        let text = stdout(&cluster.forecast(helm, &["-A"]).output().unwrap());
        assert_eq!(text.matches("deny release-identity-flip").count(), 1, "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("and 37 more: each is a resource of the revision before"), "{text}");
        assert!(words.contains("40 releases: shop/orders-1, shop/orders-10, "), "{text}");
        // The table, and a paragraph or two.
        assert!(text.lines().count() < 70, "{} lines: {text}", text.lines().count());
    });
}

#[test]
fn forecast_says_the_same_each_time() {
    let cluster = mixed("again");
    with_each("again", |helm| {
        for format in ["human", "json", "markdown", "html", "openreports"] {
            let once = || cluster.forecast(helm, &["-A", "-o", format]).output().unwrap();
            assert_eq!(stdout(&once()), stdout(&once()), "{format}");
        }
    });
}

#[test]
fn forecast_the_exit_code_tells_what_is_ahead() {
    let cluster = Cluster::new("codes")
        .with(&release("bad", "orders", ".Release.IsUpgrade"))
        .with(&release("good", "orders", "false"))
        .with(&Release {
            installed: installed_job("orders", "shop/templates/job.yaml", true).replace(",pre-upgrade", ""),
            chart: chart("shop", &[(TEMPLATE, &job("true").replace(",pre-upgrade", ""))]),
            ..release("so-so", "orders", "")
        });
    with_each("codes", |helm| {
        let forecast = |arguments: &[&str]| cluster.forecast(helm, arguments).output().unwrap();
        let all = forecast(&["-A", "-o", "json"]);
        assert_eq!(outlooks(&all), ["flips bad/orders", "warned so-so/orders", "stable good/orders"]);
        assert_eq!(code(&all), 1, "{}", stderr(&all));
        for (arguments, expected) in [
            (["-q", "-n", "bad"], 1),
            (["-q", "-n", "good"], 0),
            (["-q", "-n", "so-so"], 0),
            (["--fail-on=warn", "-n", "so-so"], 1),
            (["--fail-on=warn", "-n", "good"], 0),
        ] {
            let output = forecast(&arguments);
            assert_eq!(code(&output), expected, "{arguments:?}: {}", stderr(&output));
            assert!(arguments[0] != "-q" || (stdout(&output) + &stderr(&output)).is_empty(), "{arguments:?}");
        }
    });
}

#[test]
fn forecast_one_release_is_found_where_the_user_works() {
    let cluster = Cluster::new("one")
        .with(&release("shop", "orders", ".Release.IsUpgrade"))
        .with(&release("shop", "pay", ".Release.IsUpgrade"))
        .with(&release("data", "orders", ".Release.IsUpgrade"));
    with_each("one", |helm| {
        let told = |arguments: &[&str]| {
            let output = cluster.forecast(helm, &[arguments, &["-o", "json"]].concat()).output().unwrap();
            outlooks(&output)
        };
        assert_eq!(told(&["orders"]), ["flips shop/orders"], "the namespace of the context");
        assert_eq!(told(&["orders", "-n", "data"]), ["flips data/orders"]);
        assert_eq!(told(&["orders", "-A"]), ["flips data/orders", "flips shop/orders"]);
        assert_eq!(told(&[]), ["flips shop/orders", "flips shop/pay"]);
        for (arguments, reason) in [
            (vec!["gone"], "there is no release `gone` in `shop` that can be upgraded"),
            (vec!["-n", "empty"], "there is no release in `empty` that can be upgraded"),
            (vec!["gone", "-A"], "there is no release `gone` in any namespace that can be upgraded"),
        ] {
            let output = cluster.forecast(helm, &arguments).output().unwrap();
            assert_eq!((code(&output), stderr(&output)), (2, format!("error: {reason}\n")));
        }
    });
}

#[test]
fn forecast_no_value_is_shown_whatever_helm_says_of_it() {
    // Each of these makes Helm 3 or Helm 4 quote the value, or what the chart makes of it.
    let quoting = [
        "{{ fail .Values.password }}",
        "{{ fail (printf \"no %s\" (b64enc .Values.password)) }}",
        "{{ fail (upper .Values.password) }}",
        "{{ tpl (printf \"{{ %s\" .Values.password) . }}",
        "{{ semverCompare .Values.password \"1.2.3\" }}",
        "{{ include .Values.password . }}",
        "a: {{ .Values.password }}: b: {{ .Values.password }}",
        "kind: {{ toJson .Values.password }}\napiVersion: [",
        "apiVersion: v1\nkind: Job\nmetadata: {name: a, annotations: {a: [{{ .Values.password }}]}}",
    ];
    let mut cluster = Cluster::new("canary");
    for (number, template) in quoting.iter().enumerate() {
        let name = format!("release-{number}");
        let installed = installed_job(&name, "shop/templates/job.yaml", false);
        let chart = chart("shop", &[(TEMPLATE, template)]);
        cluster = cluster.with(&Release { namespace: "shop", name: &name, chart, installed });
    }
    let mut strict = release("shop", "schema", "false");
    let schema = json!({"properties": {"password": {"pattern": "^a$", "maxLength": 3, "enum": ["a"]}}});
    strict.chart["schema"] = json!(STANDARD.encode(schema.to_string()));
    cluster = cluster.with(&strict);
    let mut rendered = release("shop", "flips", ".Release.IsUpgrade");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: {{ .Values.password | quote }}}\n";
    rendered.chart["templates"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "templates/s.yaml", "data": STANDARD.encode(secret)}));
    cluster = cluster.with(&rendered);
    let encoded = STANDARD.encode(CANARY);
    with_each("canary", |helm| {
        for format in ["human", "json", "markdown", "html", "openreports"] {
            let output = cluster.forecast(helm, &["-A", "-o", format]).env("HELM_DEBUG", "true").output().unwrap();
            assert_eq!(code(&output), 2);
            let said = (stdout(&output) + &stderr(&output)).to_lowercase();
            for part in [CANARY, &encoded, "canary", "horse", "correct"] {
                let at = said.find(&part.to_lowercase());
                assert_eq!(at.and_then(|at| said.get(at.saturating_sub(300)..at + 40)), None, "{part}");
            }
        }
        let output = cluster.forecast(helm, &["-A", "-o", "json"]).output().unwrap();
        let failed = outlooks(&output).iter().filter(|outlook| outlook.starts_with("not-forecastable")).count();
        assert_eq!(failed, quoting.len() + 1, "{}", stdout(&output));
        assert!(stdout(&output).contains("execution error at (shop/templates/job.yaml:1:3): ***"));
        assert_eq!(fs::read_dir(cluster.temporary()).unwrap().count(), 0);
    });
}

#[test]
fn forecast_nothing_is_written_outside_of_the_chart() {
    let mut cluster = Cluster::new("hostile").with(&release("shop", "orders", ".Release.IsUpgrade"));
    let outside = cluster.temporary().parent().unwrap().join("outside");
    let names = ["../../../outside", "templates/../../../../outside", outside.to_str().unwrap(), "..", ""];
    for (number, name) in names.iter().enumerate() {
        for place in ["templates", "files"] {
            let mut hostile = release("shop", "hostile", "false");
            hostile.chart[place] = json!([{"name": name, "data": STANDARD.encode("x")}]);
            let release = format!("hostile-{place}-{number}");
            cluster = cluster.with(&Release { name: &release, ..hostile });
        }
    }
    with_each("hostile", |helm| {
        let output = cluster.forecast(helm, &["-A", "-o", "json"]).output().unwrap();
        assert_eq!(code(&output), 2);
        let report = report(&output);
        assert_eq!(report["summary"]["flips"], json!(1), "the others go on");
        assert_eq!(report["summary"]["notForecastable"], json!(names.len() * 2));
        let reason = report["releases"][1]["reason"].as_str().unwrap();
        assert!(reason.contains("which would lie outside of the chart"), "{reason}");
        assert!(!outside.exists());
        assert_eq!(fs::read_dir(cluster.temporary()).unwrap().count(), 0);
    });
}

#[test]
fn forecast_what_cannot_be_read_is_told_and_hides_no_other() {
    let no_chart = Release { chart: Value::Null, ..release("shop", "no-chart", "") };
    let other_name = release("shop", "other", "false").json();
    let mut no_base64 = release("shop", "no-base64", "false");
    no_base64.chart["templates"][0]["data"] = json!("hunter2!");
    let mut no_list = release("shop", "no-list", "false");
    no_list.chart["files"] = json!("hunter2!");
    let mut twice = release("shop", "twice", "false");
    twice.chart["files"] = json!([{"name": "templates", "data": ""}]);
    let cluster = Cluster::new("unreadable")
        .with(&release("shop", "orders", ".Release.IsUpgrade"))
        .with_data("shop", "garbage", "hunter2")
        .with(&no_chart)
        .with(&no_base64)
        .with(&no_list)
        .with(&twice)
        .with_json("shop", "renamed", &other_name)
        .listed("secrets", "shop   sh.helm.release.v1.unreadable.v1   helm.sh/release.v1   1   3d   deployed\n");
    with_each("unreadable", |helm| {
        let output = cluster.forecast(helm, &["-A", "-o", "json"]).output().unwrap();
        assert_eq!(code(&output), 2);
        let report = report(&output);
        assert_eq!(outlooks(&output)[0], "flips shop/orders");
        for (name, reason) in [
            ("garbage", "sh.helm.release.v1.garbage.v1: data.release is not base64"),
            ("no-base64", "the chart's file `templates/job.yaml` is not base64 in the record"),
            ("no-chart", "the record holds no chart; give the chart itself: --chart no-chart=PATH"),
            (
                "no-list",
                "sh.helm.release.v1.no-list.v1: the chart in data.release is none that Helm would have written",
            ),
            ("renamed", "sh.helm.release.v1.renamed.v1: it is the record of a release of another name"),
            ("twice", "the chart's file `templates` cannot be written: "),
            ("unreadable", "sh.helm.release.v1.unreadable.v1: kubectl: "),
        ] {
            let found = report["releases"].as_array().unwrap().iter().find(|release| release["name"] == name).unwrap();
            assert_eq!(found["outlook"], json!("not-forecastable"), "{name}");
            assert!(found["reason"].as_str().unwrap().starts_with(reason), "{found}");
        }
        assert!(!stdout(&output).contains("hunter2"));
        assert_eq!(fs::read_dir(cluster.temporary()).unwrap().count(), 0);
    });
}

#[test]
fn forecast_a_given_chart_takes_the_place_of_the_stored_one() {
    let mut whole = release("shop", "whole", "false");
    whole.chart["metadata"]["dependencies"] = json!([{"name": "postgresql"}]);
    whole.installed +=
        "---\n# Source: shop/charts/redis/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let cluster = Cluster::new("given").with(&whole);
    with_each("given", |helm| {
        let forecast =
            |chart: &[&str]| cluster.forecast(helm, &[chart, &["-A", "-o", "json"]].concat()).output().unwrap();
        let without = reason(&forecast(&[]));
        assert!(without.contains("the subcharts `postgresql`, `redis`"), "{without}");
        let given = forecast(&["--chart", "whole=tests/charts/flip"]);
        assert_eq!((outlooks(&given), code(&given)), (vec!["flips shop/whole".to_owned()], 1), "{}", stderr(&given));
        let unknown = forecast(&["--chart", "whole=tests/charts/flip", "--chart", "gone=tests/charts/flip"]);
        assert!(stderr(&unknown).contains("--chart gone=…: there is no release of that name here"));
        let twice = cluster.forecast(helm, &["-A", "--chart", "gone=.", "--chart", "gone=/"]).output().unwrap();
        assert_eq!((code(&twice), stderr(&twice)), (2, "error: --chart gone=… is given twice\n".to_owned()));
        assert_eq!((outlooks(&unknown).len(), code(&unknown)), (1, 2));
        let nowhere = forecast(&["--chart", "whole=nowhere"]);
        assert!(reason(&nowhere).starts_with("nowhere: "), "{}", stdout(&nowhere));
        let malformed = forecast(&["--chart", "whole"]);
        assert_eq!(code(&malformed), 2);
        assert!(stderr(&malformed).contains("it is a release's name, `=`, and the path of a chart"));
    });
}

#[test]
fn forecast_rights_that_are_missing_are_told() {
    let forbidden = "echo 'Error from server (Forbidden): secrets is forbidden' >&2; exit 1";
    let nothing = path_with_script("forecast-no-rights", "kubectl", forbidden);
    let helm = path_with_script("forecast-idle", "helm", "echo v3.22.0");
    let cluster = Cluster::new("forbidden");
    let run = |kubectl: &Path, arguments: &[&str]| {
        let mut command = crate::helms::command(env!("CARGO_BIN_EXE_stable-hooks"), &[kubectl, &helm]);
        command.arg("forecast").args(arguments).output().unwrap()
    };
    let output = run(&nothing, &["-A"]);
    assert_eq!(code(&output), 2);
    for part in [
        "Error from server (Forbidden): secrets is forbidden",
        "error: kubectl could not list secrets: exit status: 1",
        "error: kubectl could not list configmaps: exit status: 1",
        "error: nothing can be foretold, for not all records could be listed; with -n NS the right to list Secrets and ConfigMaps of one namespace is enough",
    ] {
        assert!(stderr(&output).contains(part), "{part}: {}", stderr(&output));
    }

    let listed = "shop   sh.helm.release.v1.orders.v1   helm.sh/release.v1   1   3d   deployed";
    let script = format!("case \"$1 $2\" in\n'get secrets') echo '{listed}' ;;\n*) {forbidden} ;;\nesac");
    let partly = path_with_script("forecast-partly", "kubectl", &script);
    let output = run(&partly, &["-A", "-o", "json"]);
    assert_eq!((code(&output), outlooks(&output)), (2, vec!["not-forecastable shop/orders".to_owned()]));
    assert!(
        stderr(&output).contains("some releases can be missing, for not all records could be listed"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("the cluster does not say its version"), "{}", stderr(&output));
    assert!(reason(&output).contains("(Forbidden): secrets is forbidden"), "{}", stdout(&output));

    for (path, reason) in [
        (vec![folder("forecast-empty")], "there is no `helm` on the PATH, which renders the stored charts"),
        (vec![helm.clone()], "there is no `kubectl` on the PATH"),
        (vec![path_with_script("forecast-helm-2", "helm", "echo 'Client: v2.17.0'"), cluster.kubectl], "Helm 2"),
    ] {
        let path: Vec<_> = path.iter().map(AsRef::as_ref).collect();
        let output = crate::helms::stable_hooks(&path, &["forecast", "-A"]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}

/// A `helm` that does what the script says when it renders.
fn helm_that(name: &str, renders: &str) -> std::path::PathBuf {
    path_with_script(
        &format!("forecast-helm-{name}"),
        "helm",
        &format!("case $1 in\nversion) echo v3.22.0 ;;\n*) {renders} ;;\nesac"),
    )
}

#[test]
fn forecast_helm_is_told_of_the_cluster_and_finds_files_for_the_owner_alone() {
    let mut apart = release("flux-system", "orders", "false").json();
    apart["namespace"] = json!("shop");
    let cluster = Cluster::new("told").with_json("flux-system", "orders", &apart);
    let seen = folder("forecast-seen");
    let script = format!(
        "echo \"$@\" >{0}/called; /bin/cp \"$8\" {0}/values; cd \"$3/../../..\"; \
         /usr/bin/find . -type f -path '*stored*' -printf '%m %P\\n' >{0}/modes; /usr/bin/find . -type d -printf '%m %d\\n' >>{0}/modes; \
         echo ---",
        seen.display()
    );
    let output = cluster.forecast(&helm_that("told", &script), &["-A", "-o", "json"]).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let read = |name: &str| fs::read_to_string(seen.join(name)).unwrap();
    let called = read("called");
    assert!(
        called.starts_with("template orders ")
            && called.contains("/next/chart --namespace shop --is-upgrade --values "),
        "{called}"
    );
    let capabilities = "/values.json --kube-version v1.36.3 --api-versions batch/v1 --api-versions batch/v1/Job\n";
    assert!(called.ends_with(capabilities), "{called}");
    assert_eq!(read("values"), format!("{{\"password\":\"{CANARY}\"}}"));
    let modes = read("modes");
    let files: Vec<_> = modes.lines().filter(|line| line.contains("stored")).collect();
    assert!(files.len() >= 4 && files.iter().all(|line| line.starts_with("600 ")), "{modes}");
    assert!(modes.contains("700 0\n"), "{modes}");
    // One record, and only it, was read in full.
    let full: Vec<_> = cluster
        .called()
        .lines()
        .filter(|line| line.contains("-o json") && line.starts_with("get"))
        .map(str::to_owned)
        .collect();
    assert_eq!(full, ["get secret sh.helm.release.v1.orders.v1 -n flux-system -o json"]);
}

#[test]
fn forecast_an_interrupted_run_leaves_nothing_behind() {
    let cluster = mixed("interrupted");
    for (signal, status) in [("INT", 2), ("QUIT", 3), ("TERM", 15), ("HUP", 1)] {
        let helm = helm_that(&format!("slow-{signal}"), "exec /bin/sleep 20");
        let mut child = cluster.forecast(&helm, &["-A"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let count = || {
            fs::read_dir(cluster.temporary())
                .unwrap()
                .flatten()
                .map(|entry| fs::read_dir(entry.path()).unwrap().count())
        };
        let begin = Instant::now();
        while count().sum::<usize>() == 0 && begin.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(10));
        }
        assert!(count().sum::<usize>() > 0);
        let killed = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().signal(), Some(status));
        assert_eq!(count().count(), 0, "{signal}");
    }
}

#[test]
fn forecast_without_room_for_the_charts_nothing_is_judged() {
    let cluster = mixed("no-room");
    let helm = helm_that("no-room", "echo ---");
    let output = cluster.forecast(&helm, &["-A"]).env("TMPDIR", "/nowhere").output().unwrap();
    assert_eq!(code(&output), 2);
    let told = stderr(&output);
    assert!(told.contains("error: there can be no private folder for the charts: "), "{told}");
    assert!(told.ends_with("; TMPDIR can name another place\n"), "{told}");
    assert!(stdout(&output).starts_with("0 releases: "), "{}", stdout(&output));
}

#[test]
fn forecast_records_in_config_maps_are_releases_too() {
    let flips = release("shop", "orders", ".Release.IsUpgrade");
    let cluster = Cluster::new("config-maps").with(&release("shop", "orders", "false")).with_config_map(&flips);
    with_each("config-maps", |helm| {
        let output = cluster.forecast(helm, &["-A", "-o", "json"]).output().unwrap();
        assert_eq!(outlooks(&output), ["flips shop/orders", "stable shop/orders"], "{}", stderr(&output));
        let storage = [0, 1].map(|at| report(&output)["releases"][at]["storage"].clone());
        assert_eq!(storage, [json!("ConfigMap"), json!("Secret")]);
    });
}

/// The page of one release that will flip, of a chart with a hostile name.
pub(crate) fn page_of_a_flip(name: &str) -> Output {
    let chart = "<script>alert(1)</script>";
    let mut hostile = release("shop", "orders", ".Release.IsUpgrade");
    hostile.chart["metadata"]["name"] = json!(chart);
    let cluster = Cluster::new(&format!("page-{name}")).with(&hostile);
    let rendered = format!("{}\n", installed_job("orders", &format!("{chart}/templates/job.yaml"), true));
    let helm = helm_that(&format!("page-{name}"), &format!("printf '%s' '{rendered}'"));
    cluster.forecast(&helm, &["-A", "-o", "html"]).output().unwrap()
}

#[test]
fn forecast_a_page_loads_nothing_and_shows_hostile_names_as_they_are() {
    let output = page_of_a_flip("text");
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let page = stdout(&output);
    assert!(page.contains("1 release: 1 will flip") && page.contains("becomes a hook"), "{page}");
    assert!(!page.contains("<script") && page.contains("&#60;script&#62;alert(1)"), "{page}");
    assert!(!page.contains("src=") && !page.contains("http://") && !page.contains("https://"), "{page}");
}

#[test]
fn forecast_leaves_out_what_nelm_deploys() {
    let mut json = release("shop", "orders", ".Release.IsUpgrade").json();
    json["info"]["first_deployed"] = json!("2026-11-22T20:00:00Z");
    json["manifest"] = json!(json["manifest"].as_str().unwrap().trim_start_matches("---\n"));
    let cluster = Cluster::new("of-nelm").with_json("shop", "orders", &json);
    with_each("of-nelm", |helm| {
        let output = cluster.forecast(helm, &["-A", "-o", "json"]).output().unwrap();
        assert_eq!(outlooks(&output), ["not-forecastable shop/orders"], "{}", stderr(&output));
        assert!(reason(&output).contains("nelm (werf) has written it"), "{}", reason(&output));
    });
}
