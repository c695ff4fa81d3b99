//! `stable-hooks chart --against-all`: every version of a chart that its git history has, against every older one.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::chart_helm::pack;
use crate::chart_many::{chart, verdicts, with_each, write};
use crate::chart_revisions::{commit, git};
use crate::cli::{code, stderr, stdout};
use crate::docs::{OF_FINDINGS, assert_block, assert_json_is_explained};
use crate::engines::built;
use crate::helms::{command, folder, helms, path_with, path_with_script, stable_hooks};

const METADATA: &str = "apiVersion: v2\nname: orders\nversion: ";

/// A repository with these versions of `charts/orders`, each with its value of `hook`, which says what its Job is.
fn repository(name: &str, versions: &[(&str, &str)]) -> (PathBuf, PathBuf) {
    let repository = folder(name);
    let orders = chart(&repository.join("charts/orders"), "flip");
    // The two renders of one version differ in something else than hooks.
    let extra = "{{ if .Release.IsUpgrade }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: upgraded}\n{{ end }}\n";
    write(&orders.join("templates/upgraded.yaml"), extra);
    git(&repository, &["init", "-q"]);
    for (version, hook) in versions {
        set(&orders, version, hook);
        commit(&repository, &format!("v{version}"));
    }
    (repository, orders)
}

fn set(orders: &Path, version: &str, hook: &str) {
    write(&orders.join("Chart.yaml"), &format!("{METADATA}{version}\n"));
    write(&orders.join("values.yaml"), &format!("hook: {hook}\n"));
}

fn all(path: &Path, chart: &Path, more: &[&str]) -> Output {
    let arguments = [&["chart", chart.to_str().unwrap(), "--against-all"], more].concat();
    // git is where this machine has it.
    stable_hooks(&[path, Path::new("/usr/bin"), Path::new("/bin")], &arguments)
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

/// The rows of the only result's table: `from > to: was > becomes`.
fn rows(output: &Output) -> Vec<String> {
    let report = json(output);
    assert_eq!(report["results"].as_array().unwrap().len(), 1, "{report:#}");
    let flips = report["results"][0]["flips"].as_array().unwrap().iter();
    let list = |value: &Value| {
        let items = value.as_array().unwrap().iter().map(|item| item.as_str().unwrap());
        items.collect::<Vec<_>>().join(" ")
    };
    let row = |flip: &Value| {
        assert_eq!((&flip["object"]["kind"], &flip["level"]), (&"Job".into(), &"deny".into()));
        let after = if flip["after"] == "upgrade" { " after an upgrade" } else { "" };
        let [was, becomes] = ["was", "becomes"].map(|side| flip[side].as_str().unwrap());
        format!("{}{after} > {}: {was} > {becomes}", list(&flip["from"]), list(&flip["to"]))
    };
    flips.map(row).collect()
}

#[test]
fn chart_history_tells_a_flip_in_the_middle_and_back() {
    let versions =
        [("0.1.0", "never"), ("0.2.0", "never"), ("0.3.0", "always"), ("0.4.0", "always"), ("0.5.0", "never")];
    let (_, orders) = repository("history", &versions);
    with_each("history-path", |path| {
        let output = all(path, &orders, &["-o", "json"]);
        let told = ["0.3.0 0.4.0 > 0.5.0: hook > resource", "0.1.0 0.2.0 > 0.3.0 0.4.0: resource > hook"];
        assert_eq!((rows(&output), code(&output), stderr(&output)), (told.map(str::to_owned).into(), 1, String::new()));
        let report = json(&output);
        let findings = report["results"][0]["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 2, "{report:#}");
        let message = findings[0]["message"].as_str().unwrap();
        let begins = "flips in an upgrade from 0.3.0 – 0.4.0 to 0.5.0: a hook before, a resource after. From 0.4.0 to 0.5.0 it \
                      is a hook of the revision before (\"post-install,pre-upgrade\") and becomes a resource. Helm stops with ";
        assert!(message.starts_with(begins), "{message}");
        // The file is here, and its line only where it is that of the newest version.
        let file = format!("{}/templates/migrations.yaml", orders.display());
        let place = |finding: &Value| (finding["template"]["file"].clone(), finding["template"]["line"].as_u64());
        assert_eq!(place(&findings[0]), (file.clone().into(), Some(14)));
        assert_eq!(place(&findings[1]), (file.into(), None));
    });
}

#[test]
fn chart_history_agrees_with_each_pair_by_itself() {
    let versions = [("0.1.0", "always"), ("0.2.0", "never"), ("0.2.1", "never"), ("0.3.0", "always")];
    let (repository, orders) = repository("history-pairs", &versions);
    with_each("history-pairs-path", |path| {
        let mut of_pairs = Vec::new();
        let output = all(path, &orders, &["-o", "json"]);
        for (at, (new, _)) in versions.iter().enumerate() {
            git(&repository, &["checkout", "-q", &format!("v{new}")]);
            for (old, _) in &versions[..at] {
                let old_tag = format!("v{old}");
                let arguments = ["chart", orders.to_str().unwrap(), "--against-ref", &old_tag, "-o", "json"];
                let one = stable_hooks(&[path, Path::new("/usr/bin"), Path::new("/bin")], &arguments);
                // Another image of a Job is another rule's.
                if stdout(&one).contains("\"release-identity-flip\"") {
                    of_pairs.push(format!("{old} {new}"));
                }
            }
        }
        git(&repository, &["checkout", "-q", "main"]);
        let report = json(&output);
        let flips = report["results"][0]["flips"].as_array().unwrap().iter();
        let names = |value: &Value| value.as_array().unwrap().clone();
        let pairs = flips.flat_map(|flip| {
            let of = |from: Value| names(&flip["to"]).into_iter().map(move |to| (from.clone(), to));
            names(&flip["from"]).into_iter().flat_map(of).collect::<Vec<_>>()
        });
        let mut pairs: Vec<_> =
            pairs.map(|(from, to)| format!("{} {}", from.as_str().unwrap(), to.as_str().unwrap())).collect();
        pairs.sort();
        of_pairs.sort();
        assert_eq!(pairs, of_pairs);
        assert_eq!(pairs.len(), 4);
    });
}

#[test]
fn chart_history_compares_versions_with_others_between_that_lack_the_object() {
    let (repository, orders) = repository("history-absent", &[("0.1.0", "never")]);
    let template = orders.join("templates/migrations.yaml");
    let text = fs::read_to_string(&template).unwrap();
    fs::remove_file(&template).unwrap();
    set(&orders, "0.2.0", "never");
    commit(&repository, "v0.2.0");
    write(&template, &text);
    set(&orders, "0.3.0", "always");
    commit(&repository, "v0.3.0");
    with_each("history-absent-path", |path| {
        assert_eq!(rows(&all(path, &orders, &["-o", "json"])), ["0.1.0 > 0.3.0: resource > hook"]);
    });
}

#[test]
fn chart_history_tells_of_a_version_that_flips_by_itself_once() {
    let versions = [("0.1.0", "never"), ("0.2.0", "on upgrade"), ("0.3.0", "never"), ("0.4.0", "always")];
    let (_, orders) = repository("history-itself", &versions);
    with_each("history-itself-path", |path| {
        let output = all(path, &orders, &["-o", "json"]);
        let told = [
            "0.1.0 0.2.0 0.3.0 > 0.4.0: resource > hook",
            // A fresh 0.2.0 is a resource, one that was upgraded to is a hook.
            "0.2.0 after an upgrade > 0.3.0: hook > resource",
            " > 0.2.0: resource > hook",
        ];
        assert_eq!(rows(&output), told);
        let human = stdout(&all(path, &orders, &[])).replace("\n    ", " ");
        let title = ": 4 versions from 0.1.0 to 0.4.0, each upgraded to every newer one: 5 of 6 upgrades flip objects, and 1 \
                     version flips one when it is upgraded to itself\n";
        assert!(human.contains(title), "{human}");
        for told in [
            "Job default/release-name-migrations  0.1.0 – 0.3.0       0.4.0  resource  hook\n",
            "Job default/release-name-migrations  itself or older     0.2.0  resource  hook\n",
            "Job default/release-name-migrations  0.2.0, if upgraded  0.3.0  hook      resource\n",
            "flips in an upgrade to 0.2.0 from the same version, or from an older one that has a resource: ",
            "flips in an upgrade from 0.2.0, if that was an upgrade too, to 0.3.0: a hook before, a resource after. ",
        ] {
            assert!(human.contains(told), "{told}: {human}");
        }
    });
}

#[test]
fn chart_history_takes_the_last_of_two_versions_with_one_number() {
    let (repository, orders) = repository("history-number", &[("0.1.0", "never")]);
    // Nobody has thought of the version; the template alone changes after it.
    set(&orders, "0.1.0", "always");
    commit(&repository, "again");
    set(&orders, "0.2.0", "never");
    commit(&repository, "v0.2.0");
    with_each("history-number-path", |path| {
        assert_eq!(rows(&all(path, &orders, &["-o", "json"])), ["0.1.0 > 0.2.0: hook > resource"]);
    });
}

#[test]
fn chart_history_ends_with_the_work_tree_and_leaves_it_alone() {
    let (repository, orders) = repository("history-work-tree", &[("0.1.0", "never"), ("0.2.0", "never")]);
    write(&orders.join("values.yaml"), "hook: always\n");
    let state = || (fs::read(repository.join(".git/index")).unwrap(), fs::read_dir(&orders).unwrap().count());
    let before = state();
    with_each("history-work-tree-path", |path| {
        assert_eq!(rows(&all(path, &orders, &["-o", "json"])), ["0.1.0 0.2.0 > the work tree: resource > hook"]);
        assert_eq!(state(), before);
    });
}

#[test]
fn chart_history_leaves_out_what_cannot_be_rendered_and_says_so() {
    let (repository, orders) = repository("history-broken", &[("0.1.0", "never")]);
    let broken = orders.join("templates/broken.yaml");
    write(&broken, "{{ fail \"not this one\" }}\n");
    for version in ["0.2.0", "0.2.1"] {
        set(&orders, version, "never");
        commit(&repository, &format!("v{version}"));
    }
    fs::remove_file(&broken).unwrap();
    set(&orders, "0.3.0", "never");
    commit(&repository, "v0.3.0");
    write(&orders.join("Chart.yaml"), "name: orders\nversion: [\n");
    commit(&repository, "unread");
    write(
        &orders.join("Chart.yaml"),
        "apiVersion: v2\nname: orders\nversion: 0.4.0\ndependencies:\n- {name: sub, version: 0.1.0, repository: 'https://127.0.0.1:9'}\n",
    );
    commit(&repository, "v0.4.0");
    set(&orders, "0.5.0", "always");
    commit(&repository, "v0.5.0");
    with_each("history-broken-path", |path| {
        let output = all(path, &orders, &["-o", "json"]);
        assert_eq!(rows(&output), ["0.1.0 0.3.0 > 0.5.0: resource > hook"]);
        assert_eq!(code(&output), 1, "an old version that nobody can mend is no failure: {}", stderr(&output));
        let said = stderr(&output);
        for told in [
            "orders: its Chart.yaml at commit ",
            " is left out: line ",
            "orders: 0.2.1, 0.2.0 are left out: helm cannot render it: ",
            "not this one",
            "orders: 0.4.0 is left out: what it depended on at that version is neither in git nor in the work tree: ",
        ] {
            assert!(said.contains(told), "{told}: {said}");
        }
        assert!(!said.contains("\nerror: ") && !said.contains("--debug"), "{said}");
        let human = stdout(&all(path, &orders, &[])).replace("\n    ", " ");
        assert!(
            human.contains("from 0.1.0, 0.3.0 to 0.5.0: ") && human.contains("(3 more could not be rendered)"),
            "{human}"
        );
    });
    // The newest is what is judged.
    write(&broken, "{{ fail \"not this one\" }}\n");
    with_each("history-broken-path", |path| {
        let output = all(path, &orders, &["-o", "json"]);
        assert!(code(&output) == 2 && stderr(&output).contains("error: "), "{}", stderr(&output));
        assert!(verdicts(&output).is_empty());
    });
}

#[test]
fn chart_history_that_is_not_there_is_said() {
    let (repository, orders) =
        repository("history-missing", &[("0.1.0", "never"), ("0.2.0", "always"), ("0.3.0", "never")]);
    let shallow = folder("history-shallow").join("clone");
    let url = format!("file://{}", repository.display());
    git(&repository, &["clone", "-q", "--depth", "2", &url, shallow.to_str().unwrap()]);
    let outside = chart(&std::env::temp_dir().join(format!("stable-hooks-history-{}", std::process::id())), "flip");
    let archive = folder("history-archive").join("orders.tgz");
    pack(&orders, "orders", &archive);
    let new = chart(&repository.join("charts/new"), "flip");
    write(&new.join("values.yaml"), "hook: never\n");
    with_each("history-missing-path", |path| {
        for (chart, told) in [
            (&outside, "git finds no work tree around `"),
            (&archive, "--against-all goes with a chart's folder in a git repository"),
        ] {
            let output = all(path, chart, &["-o", "json"]);
            assert!(code(&output) == 2 && stderr(&output).contains(told), "{told}: {}", stderr(&output));
        }
        // What is there is judged all the same.
        let output = all(path, &shallow.join("charts/orders"), &["-o", "json"]);
        assert_eq!((rows(&output), code(&output)), (vec!["0.2.0 > 0.3.0: hook > resource".to_owned()], 2));
        let said = stderr(&output);
        let told = "this is a shallow clone, and what was before 0.2.0 is not in it: fetch the history (`git fetch --unshallow`; \
                    in GitHub Actions `fetch-depth: 0`, in GitLab `GIT_DEPTH: 0`); or compare those that are here alone, with \
                    --against-versions 2\n";
        assert!(said.ends_with(told), "{said}");
        let output = all(path, &shallow.join("charts/orders"), &["-o", "json", "--against-versions", "2"]);
        assert_eq!((code(&output), stderr(&output)), (1, String::new()));
        let output = all(path, &new, &[]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(
            stderr(&output)
                .contains("git has no commit with its Chart.yaml, so there is no version to compare it with")
        );
        assert!(
            stdout(&output).replace("\n    ", " ").contains("/new: the work tree alone: no object flips\n"),
            "{}",
            stdout(&output)
        );
    });
    fs::remove_dir_all(outside).unwrap();
}

#[test]
fn chart_history_is_as_long_as_asked_for() {
    let (_, orders) = repository("history-most", &[("0.1.0", "always"), ("0.2.0", "never"), ("0.3.0", "always")]);
    with_each("history-most-path", |path| {
        let output = all(path, &orders, &["-o", "json", "--against-versions", "2"]);
        assert_eq!(rows(&output), ["0.2.0 > 0.3.0: resource > hook"]);
        let told = "orders: version 0.1.0 and the older ones are left out, for --against-versions is 2\n";
        assert!(stderr(&output).ends_with(told), "{}", stderr(&output));
    });
}

#[test]
fn chart_history_follows_first_parents_and_a_chart_that_moved_but_no_copy() {
    let (repository, orders) = repository("history-moved", &[("0.1.0", "always")]);
    git(&repository, &["checkout", "-q", "-b", "side"]);
    set(&orders, "0.1.1", "never");
    commit(&repository, "v0.1.1");
    set(&orders, "0.2.0", "never");
    commit(&repository, "v0.2.0");
    git(&repository, &["checkout", "-q", "main"]);
    git(&repository, &["merge", "-q", "--no-ff", "-m", "merged", "side"]);
    git(&repository, &["mv", "charts", "moved"]);
    commit(&repository, "moved");
    let moved = repository.join("moved/orders");
    let copy = chart(&repository.join("moved/payments"), "flip");
    write(&copy.join("Chart.yaml"), &format!("{METADATA}0.2.0\n").replace("orders", "payments"));
    write(&copy.join("values.yaml"), "hook: always\n");
    commit(&repository, "copied");
    with_each("history-moved-path", |path| {
        // 0.1.1 was never on the main line.
        assert_eq!(rows(&all(path, &moved, &["-o", "json"])), ["0.1.0 > 0.2.0: hook > resource"]);
        let output = all(path, &copy, &["-o", "json"]);
        assert_eq!((rows(&output), code(&output), stderr(&output)), (Vec::new(), 0, String::new()));
        // Both at once, each by itself.
        let both = all(path, &repository.join("moved"), &["-o", "json"]);
        let verdicts: Vec<_> = verdicts(&both).into_iter().map(|(_, verdict)| verdict).collect();
        assert_eq!(verdicts, ["deny", "allow"]);
    });
}

#[test]
fn chart_history_is_written_alike_each_time_in_every_format() {
    let versions = [("0.1.0", "never"), ("0.2.0", "on upgrade"), ("0.3.0", "always"), ("0.4.0", "never")];
    let (repository, orders) = repository("history-formats", &versions);
    write(&orders.join("ci/always-values.yaml"), "hook: always\n");
    git(&repository, &["add", "-A"]);
    git(&repository, &["commit", "-q", "-m", "values"]);
    // How a Helm renders is no matter of the format: one of them is enough.
    let Some(helm) = helms().last() else { return };
    let path = &path_with("history-formats-path", helm);
    for (format, told) in [
        ("human", "OBJECT                               FROM                TO     WAS       BECOMES\nJob default/"),
        ("json", "\"flips\": [\n"),
        (
            "markdown",
            "\n| object | from | to | was | becomes |\n|---|---|---|---|---|\n| `Job default/release-name-migrations` | ",
        ),
        ("sarif", "\"ruleId\": \"release-identity-flip\""),
        ("github", "/templates/migrations.yaml,line=14,title=stable-hooks%3A release-identity-flip::Job "),
        ("policyreport", "\"result\": \"fail\""),
        ("openreports", "\"result\": \"fail\""),
    ] {
        let [one, other] = [(); 2].map(|()| all(path, &orders, &["-o", format]));
        assert!(stdout(&one).contains(told), "{told}: {}", stdout(&one));
        assert_eq!((stdout(&one), stderr(&one)), (stdout(&other), stderr(&other)));
    }
    // The values of ci/ make a hook of it in every version.
    let verdicts = verdicts(&all(path, &orders, &["-o", "json"]));
    let verdicts: Vec<_> =
        verdicts.iter().map(|(source, verdict)| (source.rsplit_once('/').unwrap().1, verdict.as_str())).collect();
    assert_eq!(verdicts, [("orders (its own values)", "deny"), ("always-values.yaml)", "allow")]);
    let quiet = all(path, &orders, &["-q", "-f", orders.join("ci/always-values.yaml").to_str().unwrap()]);
    assert_eq!((code(&quiet), stdout(&quiet), stderr(&quiet)), (0, String::new(), String::new()));
}

#[test]
fn chart_history_is_judged_by_the_judge_that_is_given() {
    let (repository, orders) = repository("history-judge", &[("0.1.0", "never"), ("0.2.0", "always")]);
    let settings = repository.join("settings.yaml");
    write(&settings, "rules: {release-identity-flip: warn}\n");
    with_each("history-judge-path", |path| {
        let output = all(path, &orders, &["--settings", settings.to_str().unwrap()]);
        assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains("\n  warn release-identity-flip "), "{}", stdout(&output));
        if let Some(wasm) = built("annotated-releases-policy.wasm") {
            let [native, wasm] =
                [vec![], vec!["--policy", wasm.to_str().unwrap()]].map(|more| stdout(&all(path, &orders, &more)));
            assert_eq!(native, wasm);
        }
        let output = all(path, &orders, &["--against-ref", "v0.1.0"]);
        assert!(code(&output) == 2 && stderr(&output).contains("cannot be used with"), "{}", stderr(&output));
    });
    // What is ignored is counted, and stands in no table.
    write(&repository.join(".stable-hooks.yaml"), "ignore: {charts/orders: [release-identity-flip]}\n");
    with_each("history-judge-path", |path| {
        let output = all(path, &orders, &["-o", "json"]);
        assert_eq!((rows(&output), code(&output)), (Vec::new(), 0), "{}", stderr(&output));
        assert_eq!(json(&output)["summary"]["ignored"], 1);
    });
}

#[test]
fn chart_history_renders_a_version_twice_only_where_a_template_tells_upgrades() {
    let (repository, orders) = repository("history-once", &[("0.1.0", "always"), ("0.2.0", "always")]);
    let template = orders.join("templates/migrations.yaml");
    let text = fs::read_to_string(&template).unwrap();
    write(&template, &text.replace(" (and .Release.IsUpgrade (ne .Values.hook \"never\"))", ""));
    fs::remove_file(orders.join("templates/upgraded.yaml")).unwrap();
    set(&orders, "0.3.0", "never");
    commit(&repository, "v0.3.0");
    for (number, helm) in helms().iter().enumerate() {
        let log = folder(&format!("history-once-{number}")).join("log");
        let script = format!("echo \"$1\" >>'{}'\nexec '{}' \"$@\"", log.display(), helm.display());
        let path = path_with_script(&format!("history-once-path-{number}"), "helm", &script);
        assert_eq!(rows(&all(&path, &orders, &["-o", "json"])), ["0.1.0 0.2.0 > 0.3.0: hook > resource"]);
        let log = fs::read_to_string(&log).unwrap();
        assert_eq!(log.lines().filter(|verb| *verb == "template").count(), 5, "{log}");
    }
}

#[test]
fn chart_history_on_the_page_is_what_the_program_writes() {
    let versions =
        [("0.9.0", "never"), ("0.9.1", "never"), ("1.0.0", "always"), ("1.0.1", "always"), ("1.1.0", "always")];
    let (repository, _) = repository("history-page", &versions);
    with_each("history-page-path", |path| {
        let mut program =
            command(env!("CARGO_BIN_EXE_stable-hooks"), &[path, Path::new("/usr/bin"), Path::new("/bin")]);
        program.current_dir(&repository).args(["chart", "charts/orders", "--against-all", "-o", "markdown"]);
        let page = stdout(&program.output().unwrap());
        assert_block("docs/upgrading.md", "example", &format!("````markdown\n{page}````\n"));
        assert_json_is_explained(OF_FINDINGS, &stdout(&all(path, &repository.join("charts/orders"), &["-o", "json"])));
    });
}
