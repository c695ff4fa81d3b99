//! `chart --argocd` and `timeline --argocd`: a chart as Argo CD deploys it, rendered by the real Helm.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::chart_many::{with_each, write};
use crate::chart_renders::{findings, result};
use crate::chart_revisions::{commit, git};
use crate::cli::{code, run, stderr, stdout, temporary};
use crate::engines::root;
use crate::helms::{folder, stable_hooks};

const ACCOUNT: &str = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: orders\n";

fn job(metadata: &str, image: &str) -> String {
    format!(
        "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n{metadata}spec:\n  template:\n    spec:\n      \
         serviceAccountName: orders\n      containers: [{{name: migrate, image: \"{image}\"}}]\n"
    )
}

fn hook(events: &str) -> String {
    format!("  name: orders-migrations\n  annotations:\n    helm.sh/hook: {events}\n")
}

fn chart(at: &Path, template: &str) -> PathBuf {
    write(&at.join("Chart.yaml"), "apiVersion: v2\nname: orders\nversion: 1.0.0\n");
    write(&at.join("templates/all.yaml"), template);
    at.to_owned()
}

fn judge(path: &Path, chart: &Path, more: &[&str]) -> Output {
    let arguments = ["chart", chart.to_str().unwrap(), "--argocd", "-n", "shop", "--name", "orders", "-o", "json"];
    stable_hooks(&[path, Path::new("/usr/bin"), Path::new("/bin")], &[&arguments, more].concat())
}

#[test]
fn chart_argocd_finds_what_each_sync_does() {
    let with_events = |events: &str| format!("{ACCOUNT}{}", job(&hook(events), "a:1"));
    let named = |name: &str| job(&format!("  name: {name}\n"), "a:1");
    let random =
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: orders\nstringData:\n  password: {{ randAlphaNum 30 }}\n";
    let cases = [
        ("first", with_events("post-install,pre-upgrade"), vec!["argocd-first-sync deny Job/orders-migrations"]),
        ("after", with_events("post-install,post-upgrade"), vec![]),
        ("twice", job(&hook("post-install,pre-upgrade"), "a:1"), vec!["argocd-runs-twice warn Job/orders-migrations"]),
        // Nothing of Helm's own operations is judged here.
        (
            "upgrade-only",
            "{{ if .Release.IsUpgrade }}\n".to_owned() + &job(&hook("pre-upgrade"), "a:1") + "{{ end }}\n",
            vec![],
        ),
        ("random", random.to_owned(), vec!["argocd-drift warn Secret/orders"]),
        ("time", named("orders-{{ now | date \"2006-01-02-150405\" }}"), vec!["argocd-drift warn Job/orders-*"]),
        ("revision", named("orders-{{ .Release.Revision }}"), vec!["argocd-drift warn Job/orders-1"]),
        (
            "image-by-time",
            job("  name: orders\n", "a:{{ now | unixEpoch }}"),
            vec!["argocd-immutable-job deny Job/orders"],
        ),
        ("day", job("  name: orders\n", "a:{{ now | date \"2006\" }}"), vec![]),
    ];
    for (name, template, wanted) in cases {
        let chart = chart(&folder(&format!("argocd-{name}")), &template);
        with_each(&format!("argocd-{name}-path"), |path| {
            let output = judge(path, &chart, &[]);
            let found = findings(&output);
            assert_eq!(
                (found, stderr(&output)),
                (wanted.iter().map(|text| (*text).to_owned()).collect(), String::new()),
                "{name}"
            );
            assert_eq!(code(&output), i32::from(wanted.iter().any(|found| found.contains(" deny "))), "{name}");
        });
    }
}

#[test]
fn chart_argocd_names_what_is_never_run_and_its_own_application() {
    let template = job("  name: orders-test\n  annotations:\n    helm.sh/hook: test\n", "a:1");
    let chart = chart(&folder("argocd-never"), &template);
    with_each("argocd-never-path", |path| {
        let output = judge(path, &chart, &[]);
        let result = result(&output);
        assert_eq!(result["operation"], "SYNC");
        assert_eq!(result["object"]["kind"], "Application");
        assert_eq!(result["object"]["name"], "orders");
        let human = stable_hooks(&[path], &["chart", chart.to_str().unwrap(), "--argocd"]);
        let said = stdout(&human).split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = "Argo CD's first sync and the next one: no rule finds anything (0 in PreSync, 0 in Sync, 0 in PostSync); never \
                      run by Argo CD: Job default/orders-test (test)";
        assert!(said.contains(wanted), "{said}");
    });
}

#[test]
fn chart_argocd_says_what_helm_drops_before_argocd_sees_it() {
    let chart = chart(&folder("argocd-dropped"), &job(&hook("pre-install,pre-update"), "a:1"));
    with_each("argocd-dropped-path", |path| {
        let output = judge(path, &chart, &[]);
        let result = result(&output);
        let message = result["findings"][0]["message"].as_str().unwrap();
        assert!(
            message.starts_with("Helm drops a document of this chart: its helm.sh/hook is \"pre-install,pre-update\""),
            "{message}"
        );
        assert_eq!(result["verdict"], "allow");
    });
}

#[test]
fn chart_argocd_judges_the_sync_over_the_text_before() {
    let old = format!("{ACCOUNT}{}", job("  name: orders-migrations\n", "a:1"));
    let new = format!("{ACCOUNT}{}", job(&hook("pre-install,pre-upgrade"), "a:2"));
    let old_chart = chart(&folder("argocd-old"), &old);
    let new_chart = chart(&folder("argocd-new"), &new);
    with_each("argocd-over-path", |path| {
        let output = judge(path, &new_chart, &["--against", old_chart.to_str().unwrap()]);
        // Its account is there already.
        assert_eq!(findings(&output), ["argocd-flip warn Job/orders-migrations"], "{}", stderr(&output));
        let back = judge(path, &old_chart, &["--against", new_chart.to_str().unwrap()]);
        assert_eq!(findings(&back), ["argocd-flip deny Job/orders-migrations"], "{}", stderr(&back));
    });
    let repository = folder("argocd-in-git");
    let in_git = chart(&repository.join("orders"), &old);
    git(&repository, &["init", "-q"]);
    commit(&repository, "old");
    let other_image = format!("{ACCOUNT}{}", job("  name: orders-migrations\n", "a:2"));
    fs::write(in_git.join("templates/all.yaml"), other_image).unwrap();
    with_each("argocd-in-git-path", |path| {
        let output = judge(path, &in_git, &["--against-ref", "old"]);
        assert_eq!(findings(&output), ["argocd-immutable-job deny Job/orders-migrations"], "{}", stderr(&output));
        let template = &result(&output)["findings"][0]["template"];
        assert!(template["file"].as_str().unwrap().ends_with("/orders/templates/all.yaml"), "{template}");
    });
}

#[test]
fn chart_argocd_takes_texts_that_were_rendered_elsewhere() {
    let first = format!("{ACCOUNT}{}", job(&hook("pre-install,pre-upgrade"), "a:1"));
    let next = format!("{ACCOUNT}{}", job("  name: orders-migrations\n", "a:2"));
    let [first, next] = [("first", &first), ("next", &next)]
        .map(|(name, text)| temporary(&format!("argocd-{name}.yaml"), text.as_bytes()));
    let texts = ["--argocd", "--install", first.to_str().unwrap(), "--upgrade", next.to_str().unwrap()];
    let output = run(&[&["chart"], &texts[..], &["-o", "json"]].concat(), b"");
    let wanted = ["argocd-first-sync deny Job/orders-migrations", "argocd-flip deny Job/orders-migrations"];
    assert_eq!((findings(&output), code(&output)), (wanted.map(str::to_owned).to_vec(), 1), "{}", stderr(&output));
    let off = temporary("argocd-off.yaml", b"rules: {argocd-first-sync: 'off', argocd-flip: warn}\n");
    let output = run(&[&["chart"], &texts[..], &["-o", "json", "--settings", off.to_str().unwrap()]].concat(), b"");
    assert_eq!((findings(&output), code(&output)), (vec!["argocd-flip warn Job/orders-migrations".to_owned()], 0));
    let conflict = "cannot be used with";
    for (more, told) in [
        (&["--release", "orders"][..], conflict),
        (&["--policy", "policy.wasm"], conflict),
        (&["--cluster", "cluster.json"], conflict),
        (&["--reuse-values"], conflict),
        (&["--reset-then-reuse-values"], conflict),
        (&["--show-values"], "--show-values goes with --against or --against-ref"),
        (&["--show-values", "--against", "./old", "-o", "sarif"], "--show-values goes with -o human, markdown or json"),
    ] {
        let output = run(&[&["chart", "./orders", "--argocd"][..], more].concat(), b"");
        assert_eq!(code(&output), 2, "{more:?}");
        assert!(stderr(&output).contains(told), "{more:?}: {}", stderr(&output));
    }
}

#[test]
fn chart_argocd_draws_both_syncs() {
    let template = format!("{ACCOUNT}{}", job(&hook("post-install,pre-upgrade"), "a:1"));
    let chart = chart(&folder("argocd-picture"), &template);
    with_each("argocd-picture-path", |path| {
        let timeline = |more: &[&str]| {
            let arguments = ["timeline", chart.to_str().unwrap(), "--argocd", "-n", "shop", "--name", "orders"];
            stable_hooks(&[path], &[&arguments, more].concat())
        };
        let human = stdout(&timeline(&[]));
        for part in [
            "Argo CD's first sync, then Argo CD's next sync",
            "PreSync, by wave",
            "first sync: needs ServiceAccount orders, which comes too",
        ] {
            assert!(human.contains(part), "{part}:\n{human}");
        }
        let json: Value = serde_json::from_slice(&timeline(&["-o", "json"]).stdout).unwrap();
        let [before, after] = ["before", "after"].map(|side| json["timelines"][0][side].clone());
        assert_eq!((&before["operation"], &before["revision"]), (&"first sync".into(), &Value::Null));
        assert_eq!(before["needs"][0]["late"], true);
        let phases: Vec<_> = after["phases"].as_array().unwrap().iter().map(|phase| phase["phase"].clone()).collect();
        assert_eq!(phases, ["pre-hooks", "resources", "post-hooks"]);
        assert_eq!(after["phases"][0]["lanes"][0]["entries"][0]["deletes"], "last-run");
        let svg = stdout(&timeline(&["-o", "svg"]));
        assert!(svg.contains(">First sync<") && svg.contains(">wave 0<") && !svg.contains(">revision "), "{svg}");
    });
}

#[test]
fn chart_argocd_draws_what_stays_and_what_is_pruned() {
    let texts = [
        format!(
            "{ACCOUNT}{}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: gone}}\n",
            job(&hook("pre-install"), "a:1")
        ),
        job("  name: orders-migrations\n", "a:1"),
    ];
    let [first, next] = ["first", "next"].map(|name| format!("argocd-stays-{name}.yaml"));
    let [first, next] = [(first, &texts[0]), (next, &texts[1])].map(|(name, text)| temporary(&name, text.as_bytes()));
    let arguments = [
        "timeline",
        "--argocd",
        "--install",
        first.to_str().unwrap(),
        "--upgrade",
        next.to_str().unwrap(),
        "-o",
        "json",
    ];
    let json: Value = serde_json::from_slice(&run(&arguments, b"").stdout).unwrap();
    let after = &json["timelines"][0]["after"]["phases"];
    assert_eq!(after[1]["lanes"][0]["entries"][0]["leaves"], "hook");
    let pruned: Vec<_> = after[0]["lanes"].as_array().unwrap().iter().map(|lane| lane["kind"].clone()).collect();
    assert_eq!((&after[0]["phase"], pruned), (&"pruned".into(), vec!["ServiceAccount".into(), "ConfigMap".into()]));
}

/// An item of a list need not say its kind.
#[test]
fn chart_argocd_shows_no_secret_of_a_list() {
    let text = |word: &str| {
        format!(
            "apiVersion: v1\nkind: SecretList\nitems:\n  - metadata: {{name: s, annotations: {{helm.sh/hook: pre-install}}}}\n    stringData: {{p: \
             {word}}}\n"
        )
    };
    let [old, new] = [("old", "first-word"), ("new", "second-word")]
        .map(|(name, word)| temporary(&format!("argocd-list-{name}.yaml"), text(word).as_bytes()));
    let texts =
        ["chart", "--argocd", "--install", old.to_str().unwrap(), "--upgrade", new.to_str().unwrap(), "--show-values"];
    let printed = stdout(&run(&texts, b""));
    assert!(printed.contains("stringData: changed") && !printed.contains("-word"), "{printed}");
}

#[test]
fn chart_argocd_lists_the_hooks_with_what_changed_and_no_value_unasked() {
    let template = |image: &str, password: &str| {
        let secret = |at: &str| {
            format!(
                "---\napiVersion: v1\nkind: Secret\nmetadata:\n{}stringData:\n  password: {at}\n",
                hook("pre-install,pre-upgrade")
            )
        };
        let job = format!(
            "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n{}spec:\n  template:\n    spec:\n      containers:\n        - name: \
             migrate\n          image: \"{image}\"\n          args: [\"--password={password}\"]\n",
            hook("pre-install,pre-upgrade")
        );
        format!("{}{job}", secret(password))
    };
    let old = chart(&folder("argocd-hooks-old"), &template("a:1", "first-word"));
    let after = "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: after\n  annotations: {helm.sh/hook: \"post-install,post-upgrade\"}\n";
    let new = chart(&folder("argocd-hooks-new"), &(template("a:2", "second-word") + after));
    with_each("argocd-hooks-path", |path| {
        let run = |more: &[&str]| {
            let against =
                ["chart", new.to_str().unwrap(), "--argocd", "-n", "shop", "--against", old.to_str().unwrap()];
            let printed = stdout(&stable_hooks(&[path], &[&against, more].concat()));
            printed.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for format in ["human", "markdown"] {
            let printed = run(&["-o", format]);
            let places = ["Secret shop/orders-migrations", "Job shop/orders-migrations", "Pod shop/after"]
                .map(|name| printed.find(name));
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{printed}");
            for part in [
                "PreSync, wave 0",
                "PostSync, wave 0",
                "spec.template.spec.containers[0].image: a:1 -> a:2",
                "args[0]: changed",
                "stringData: changed",
                "is new",
            ] {
                assert!(printed.contains(part), "{part}:\n{printed}");
            }
            assert!(!printed.contains("-word"), "{printed}");
            let asked = run(&["-o", format, "--show-values"]);
            assert!(asked.contains("--password=first-word -> --password=second-word"), "{asked}");
            // Once for each side of the argument: a Secret's data are shown to nobody.
            assert_eq!(asked.matches("-word").count(), 2, "{asked}");
        }
        assert!(!run(&["-o", "json"]).contains("-word"));
    });
}

/// Real charts as one text that is synced twice: no more than a judgement that nobody has looked at may come up.
#[test]
fn chart_argocd_reads_every_real_chart() {
    let Ok(entries) = fs::read_dir(root().join("../shared/corpus/field")) else {
        eprintln!("SKIPPED: there are no real charts beside the repository");
        return;
    };
    let mut denied = Vec::new();
    for case in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let text = case.join("install.yaml").display().to_string();
        let arguments = ["chart", "--argocd", "--install", &text, "--upgrade", &text, "-n", "apps", "-o", "json"];
        let output = run(&arguments, b"");
        assert!(code(&output) <= 1 && stderr(&output).is_empty(), "{}: {}", case.display(), stderr(&output));
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        denied.extend(
            findings(&output)
                .into_iter()
                .filter(|found| found.contains(" deny "))
                .map(|found| format!("{name}: {found}")),
        );
    }
    denied.sort();
    // Each of them read: the hook's account, Secret or ConfigMap is a resource of the same text.
    assert!(denied.iter().all(|found| found.contains(" argocd-first-sync deny ")), "{denied:#?}");
}
