//! `--diff`: what became of each hook since the revision or the chart before, and who may read it.

#![cfg(unix)]

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};

use crate::chart_many::{with_each, write};
use crate::chart_revisions::{commit, git};
use crate::cli::{code, run, stderr, stdout, temporary};
use crate::helms::{folder, stable_hooks};
use crate::releases::render::Revision;

/// A hook for each thing that can become of one; the words end in `-word`.
fn rendered(word: &str, image: &str) -> String {
    let hook = |kind: &str, name: &str, events: &str, more: &str| {
        format!(
            "---\napiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n  annotations: {{helm.sh/hook: '{events}'}}\n{more}"
        )
    };
    let job = format!(
        "spec:\n  template:\n    spec:\n      containers:\n      - {{name: m, image: '{image}', args: ['--password={word}']}}\n"
    );
    let list = format!(
        "---\napiVersion: v1\nkind: SecretList\nmetadata: {{name: all, annotations: {{helm.sh/hook: 'pre-install,pre-upgrade'}}}}\nitems:\n\
         - metadata: {{name: of-list}}\n  stringData: {{p: {word}}}\n"
    );
    let only = match word {
        "first-word" => {
            hook("ServiceAccount", "gone", "pre-upgrade", "")
                + &hook("ServiceAccount", "plain", "pre-upgrade", "")
                + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: flipped}\n"
        }
        _ => {
            hook("Pod", "new", "post-upgrade", "")
                + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: plain}\n"
                + &hook("ConfigMap", "flipped", "post-upgrade", "")
        }
    };
    hook("Job", "migrate", "post-install,post-upgrade", &job).replace("apiVersion: v1", "apiVersion: batch/v1")
        + &hook("Secret", "config", "pre-install,pre-upgrade", &format!("stringData: {{password: {word}}}\n"))
        + &hook("ServiceAccount", "same", "pre-install,pre-upgrade", "")
        + &hook("ServiceAccount", "test", "test", &format!("imagePullSecrets: [{{name: {word}}}]\n"))
        + &list
        + &only
}

/// What became of which hook, in the order of the report.
fn told(report: &Value) -> Vec<String> {
    let hooks = report["results"].as_array().unwrap().last().unwrap()["hooks"].as_array().unwrap();
    let line = |hook: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let object = &hook["object"];
        format!("{} {}/{}", text(&hook["since"]), text(&object["kind"]), text(&object["name"]))
    };
    hooks.iter().map(line).collect()
}

const EXPECTED: [&str; 9] = [
    // By the names of the hooks: the list is called `all`.
    "changed Secret/of-list",
    "changed Secret/config",
    "unchanged ServiceAccount/same",
    "from-resource ConfigMap/flipped",
    "changed Job/migrate",
    "new Pod/new",
    "changed ServiceAccount/test",
    "gone ServiceAccount/gone",
    "to-resource ServiceAccount/plain",
];

fn revisions() -> [String; 2] {
    let of = |version, status, word, image| {
        let text = rendered(word, image);
        let secret = Revision::new("orders", "shop", version, status, &text).secret();
        let file = temporary(&format!("diff-{version}.json"), secret.to_string().as_bytes());
        file.to_str().unwrap().to_owned()
    };
    [of(1, "superseded", "first-word", "orders:1"), of(2, "deployed", "second-word", "orders:2")]
}

#[test]
fn diff_of_a_revision_tells_what_became_of_each_hook() {
    let [first, second] = revisions();
    let release = |more: &[&str]| run(&[&["release", &second, "--baseline", &first], more].concat(), b"");
    let output = release(&["--diff", "-o", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told(&report), EXPECTED, "{}", stderr(&output));
    let hooks = &report["results"][0]["hooks"];
    assert_eq!((&hooks[0]["at"], &hooks[0]["weight"]), (&json!("pre-install,pre-upgrade"), &json!(0)));
    let image = "spec.template.spec.containers[0].image";
    let changes = json!([
        {"path": "spec.template.spec.containers[0].args[0]", "change": "changed", "values": null},
        {"path": image, "change": "changed", "values": {"old": "orders:1", "new": "orders:2"}},
    ]);
    assert_eq!(hooks[4]["changes"], changes);
    let plain: Value = serde_json::from_slice(&release(&["-o", "json"]).stdout).unwrap();
    assert_eq!(plain["results"][0]["hooks"], json!([]));
    for format in ["human", "markdown"] {
        let printed = stdout(&release(&["--diff", "-o", format])).split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            &format!("{image}: orders:1 -> orders:2"),
            "stringData: changed",
            "metadata.annotations: added",
            "is new",
            "is unchanged",
            "is not run any more",
            "is no hook any more, but a resource",
            "was no hook, but a resource",
            "test, weight 0: ",
        ] {
            assert!(printed.contains(part), "{part}:\n{printed}");
        }
        assert!(!stdout(&release(&["-o", format])).contains("is unchanged"));
    }
}

#[test]
fn diff_shows_values_where_they_are_asked_for_and_of_secrets_never() {
    let [first, second] = revisions();
    let texts = [("old", "first-word"), ("new", "second-word")]
        .map(|(name, word)| temporary(&format!("diff-{name}.yaml"), rendered(word, "orders:1").as_bytes()));
    let [old, new] = texts.each_ref().map(|text| text.to_str().unwrap());
    let of_release = ["release", &second, "--baseline", &first, "--diff"];
    let of_chart = ["chart", "--install", old, "--upgrade", new, "--diff"];
    let of_argocd = ["chart", "--argocd", "--install", old, "--upgrade", new];
    for arguments in [&of_release[..], &of_chart, &of_argocd] {
        for format in ["human", "markdown", "json"] {
            let printed = |more: &[&str]| stdout(&run(&[arguments, &["-o", format], more].concat(), b""));
            let unasked = printed(&[]);
            assert!(unasked.contains("stringData") && !unasked.contains("-word"), "{unasked}");
            let asked = printed(&["--show-values"]);
            // Of the Job's argument and of the account's Secrets to pull with, once for each side.
            let seen = if arguments == of_argocd { 2 } else { 4 };
            assert_eq!(asked.matches("-word").count(), seen, "{arguments:?} {format}: {asked}");
        }
    }
}

#[test]
fn diff_of_a_hook_that_cannot_be_read_says_so_and_nothing_of_it() {
    let records = [(1, "superseded", "first-word"), (2, "deployed", "second-word")].map(|(version, status, word)| {
        let text = rendered(word, "orders:1");
        let revision = Revision::new("orders", "shop", version, status, &text);
        let mut json = revision.json();
        for hook in json["hooks"].as_array_mut().unwrap() {
            if hook["kind"] == "Job" {
                hook["manifest"] = json!(format!("kind: Job\nmetadata: {{name: migrate}}\nspec: [{word}\n"));
            }
        }
        let data = revision.secret_with(&BASE64.encode(BASE64.encode(json.to_string())));
        temporary(&format!("diff-unread-{version}.json"), data.to_string().as_bytes())
    });
    let [first, second] = records.each_ref().map(|record| record.to_str().unwrap());
    let printed = stdout(&run(&["release", second, "--baseline", first, "--diff", "--show-values", "-o", "json"], b""));
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert!(told(&report).contains(&"unread Job/migrate".to_owned()), "{:?}", told(&report));
    assert_eq!(printed.matches("-word").count(), 2, "the account's alone: {printed}");
    let human = stdout(&run(&["release", second, "--baseline", first, "--diff"], b""));
    let human = human.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(human.contains("has changed, but cannot be read"), "{human}");
}

/// A record of hooks with those kinds, names and manifests.
fn record_of(name: &str, version: u64, hooks: &[(&str, &str, &str)]) -> String {
    let revision = Revision::new("orders", "shop", version, "deployed", "");
    let mut json = revision.json();
    let hooks = hooks.iter().map(|(kind, name, manifest)| {
        json!({"kind": kind, "name": name, "path": "orders/templates/hook.yaml", "manifest": manifest,
            "events": ["pre-upgrade"], "weight": 0})
    });
    json["hooks"] = hooks.collect();
    let data = revision.secret_with(&BASE64.encode(BASE64.encode(json.to_string())));
    let file = temporary(&format!("{name}-{version}.json"), data.to_string().as_bytes());
    file.to_str().unwrap().to_owned()
}

#[test]
fn diff_of_a_hook_that_can_be_read_in_one_record_only_lists_it_once() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, namespace: data}\nspec: {}\n";
    let other = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: other}\nspec: {}\n";
    let broken = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\nspec: [\n";
    let list = "apiVersion: v1\nkind: List\nmetadata: {name: all}\nitems:\n\
                - {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- {apiVersion: v1, kind: Pod, metadata: {name: b}}\n";
    let read = [("Job", "migrate", job), ("Job", "other", other), ("List", "all", list)];
    let unread = [("Job", "migrate", broken), ("Job", "new", broken), ("List", "all", "items: [\n")];
    let since = |name: &str, old: &[(&str, &str, &str)], new: &[(&str, &str, &str)]| {
        let [old, new] = [record_of(name, 1, old), record_of(name, 2, new)];
        let output = run(&["release", &new, "--baseline", &old, "--diff", "-o", "json"], b"");
        let mut told = told(&serde_json::from_slice(&output.stdout).unwrap());
        told.sort();
        told
    };
    let expected = ["gone Job/other", "new Job/new", "unread Job/migrate", "unread List/all"];
    assert_eq!(since("diff-unread-new", &read, &unread), expected);
    let expected = ["gone Job/new", "new Job/other", "unread Job/migrate", "unread Pod/a", "unread Pod/b"];
    assert_eq!(since("diff-unread-old", &unread, &read), expected);
}

#[test]
fn diff_of_a_list_skips_items_that_are_no_objects() {
    let list = |image: &str, more: &str| {
        format!(
            "apiVersion: v1\nkind: List\nmetadata: {{name: all, annotations: {{helm.sh/hook: pre-upgrade}}}}\nitems:\n\
             - {{apiVersion: v1, kind: Pod, metadata: {{name: a}}, image: '{image}'}}\n{more}"
        )
    };
    let (old, new) = (list("a:1", "- null\n- [x]\n"), list("a:2", "- null\n- [y]\n- z\n"));
    let [old, new] = [
        record_of("diff-items", 1, &[("List", "all", &old), ("Job", "text", "- a\n")]),
        record_of("diff-items", 2, &[("List", "all", &new), ("Job", "text", "- b\n")]),
    ];
    let output = run(&["release", &new, "--baseline", &old, "--diff", "-o", "json"], b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told(&report), ["changed Pod/a", "unread Job/text"], "{}", stderr(&output));
    for format in ["human", "markdown"] {
        let printed = stdout(&run(&["release", &new, "--baseline", &old, "--diff", "-o", format], b""));
        assert!(printed.contains("image") && !printed.contains("(no name)"), "{printed}");
    }
}

#[test]
fn diff_of_a_chart_starts_from_the_other_chart() {
    let chart = |name: &str, text: &str| {
        let folder = folder(&format!("diff-chart-{name}"));
        write(&folder.join("Chart.yaml"), "apiVersion: v2\nname: orders\nversion: 1.0.0\n");
        write(&folder.join("templates/all.yaml"), text);
        folder.to_str().unwrap().to_owned()
    };
    let [old, new] = [("first-word", "orders:1"), ("second-word", "orders:2")]
        .map(|(word, image)| chart(word, &rendered(word, image)));
    let repository = folder("diff-in-git");
    let in_git = |word: &str, image: &str| write(&repository.join("orders/templates/all.yaml"), &rendered(word, image));
    write(&repository.join("README.md"), "");
    git(&repository, &["init", "-q"]);
    commit(&repository, "before");
    write(&repository.join("orders/Chart.yaml"), "apiVersion: v2\nname: orders\nversion: 1.0.0\n");
    in_git("first-word", "orders:1");
    commit(&repository, "old");
    in_git("second-word", "orders:2");
    with_each("diff-in-git-path", |path| {
        let against = |revision: &str| {
            let chart = repository.join("orders");
            let arguments =
                ["chart", chart.to_str().unwrap(), "--diff", "-n", "shop", "-o", "json", "--against-ref", revision];
            let output = stable_hooks(&[path, Path::new("/usr/bin"), Path::new("/bin")], &arguments);
            serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
        };
        assert_eq!(told(&against("old")), EXPECTED);
        assert_eq!(told(&against("before")), Vec::<String>::new(), "a new chart has changed nothing");
    });
    with_each("diff-chart-path", |path| {
        let judge = |more: &[&str]| stable_hooks(&[path], &[&["chart", &new, "-n", "shop"], more].concat());
        let output = judge(&["--against", &old, "--diff", "-o", "json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
        assert_eq!(told(&report), EXPECTED, "{}", stderr(&output));
        // The install and the upgrade of one chart.
        let report: Value = serde_json::from_slice(&judge(&["--diff", "-o", "json"]).stdout).unwrap();
        assert!(told(&report).iter().all(|line| line.starts_with("unchanged ")), "{:?}", told(&report));
    });
}

#[test]
fn diff_goes_where_hooks_are_listed() {
    let listed = "goes with -o human, markdown or json: hooks are listed nowhere else";
    for (arguments, told) in [
        (&["chart", "./orders", "--diff", "-o", "sarif"][..], format!("--diff {listed}")),
        (&["release", "./orders.json", "--diff", "-o", "policyreport"], format!("--diff {listed}")),
        (
            &["chart", "./orders", "--argocd", "--against", "./old", "--show-values", "-o", "github"],
            format!("--show-values {listed}"),
        ),
        (
            &["chart", "./orders", "--show-values"],
            "--show-values goes with --diff, or with --argocd and a text before".to_owned(),
        ),
        (&["chart", "./orders", "--argocd", "--diff"], "--diff goes with --against or --against-ref".to_owned()),
        (&["release", "./orders.json", "--show-values"], "--diff".to_owned()),
    ] {
        let output = run(arguments, b"");
        assert!(code(&output) == 2 && stderr(&output).contains(&told), "{arguments:?}: {}", stderr(&output));
    }
}
