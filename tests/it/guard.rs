//! Helm behind the guard: here `helm` is a script that tells how it was called; `make e2e` has the real one.

#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use stable_hooks::invocation::{Invocation, Verb, takes_a_value};

use crate::cli::{code, stderr, stdout};
use crate::helms::{command, folder, helms};

/// Answers from files, and writes down its calls. What it is run for in the end fails with 7.
const HELM: &str = r#"#!/bin/sh
here=$(dirname "$0")
line=$(echo "$*" | tr '\n' ' ')
echo "${line% }" >>"$here/calls"
for word in "$@"; do
  case $word in /dev/fd/*) cat "$word" >>"$here/read" ;; --values=*) cat "${word#--values=}" >>"$here/read" ;; esac
done
case "$*" in
  *--dry-run=server*) if [ -f "$here/refused" ]; then cat "$here/refused" >&2; exit 3; fi; cat "$here/planned.json" ;;
  history*) [ -f "$here/history.json" ] && exec cat "$here/history.json"; echo "Error: it is forbidden, s3cret" >&2; exit 1 ;;
  *"get all"*--revision=*) exec cat "$here/older" ;;
  *"get all"*) exec cat "$here/record" ;;
  *) echo "helm's own words"; exit 7 ;;
esac
"#;

pub(crate) struct Stage(pub(crate) PathBuf);

impl Stage {
    /// A release whose Job is a resource, and an upgrade that makes it a hook or leaves it alone.
    pub(crate) fn new(name: &str, becomes_a_hook: bool) -> Self {
        let folder = folder(&format!("guard-{name}"));
        let stage = Self(folder);
        stage.program("helm", HELM);
        stage.program("kubectl", "#!/bin/sh\necho \"$*\" >\"$0.called\"\necho '{\"kind\": \"List\", \"items\": []}'\n");
        let job = |annotations: &str| {
            format!(
                "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: migrate{annotations}}}\nspec: {{template: {{spec: \
                 {{restartPolicy: Never, containers: [{{name: a, image: a}}]}}}}}}\n"
            )
        };
        let source = |text: &str| format!("---\n# Source: orders/templates/job.yaml\n{text}");
        let (manifest, hooks) = if becomes_a_hook {
            let text = job(", annotations: {helm.sh/hook: pre-upgrade}");
            let hook = json!({"name": "migrate", "kind": "Job", "path": "orders/templates/job.yaml", "manifest": text,
                              "events": ["pre-upgrade"]});
            (String::new(), json!([hook]))
        } else {
            (source(&job("")), json!([]))
        };
        stage.plan(&json!({
            "name": "orders", "namespace": "shop", "version": 3, "info": {"status": "pending-upgrade"},
            "chart": {"metadata": {"name": "orders", "version": "1.2.3"}}, "config": {"password": "s3cret"},
            "manifest": manifest, "hooks": hooks,
        }));
        let rows = json!([{"revision": 1, "status": "superseded"}, {"revision": 2, "status": "deployed"}]);
        stage.write("history.json", &rows.to_string());
        stage.stored("record", 2, "deployed", &source(&job("")));
        stage
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }

    fn program(&self, name: &str, script: &str) {
        self.write(name, script);
        fs::set_permissions(self.0.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn plan(&self, planned: &Value) {
        self.write("planned.json", &planned.to_string());
    }

    /// A revision as Helm prints it.
    fn stored(&self, file: &str, revision: u64, status: &str, manifest: &str) {
        let escaped = manifest.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
        self.write(file, &format!("orders shop {revision} {status} Upgrade+complete orders {escaped}\n"));
    }

    fn planned(&self) -> Value {
        serde_json::from_str(&self.read("planned.json")).unwrap()
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command =
            command(env!("CARGO_BIN_EXE_stable-hooks"), &[&self.0, Path::new("/usr/bin"), Path::new("/bin")]);
        command.args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// How Helm was called in the end, if it was.
    pub(crate) fn last(&self) -> Option<String> {
        let calls = self.read("calls");
        let is_question =
            |call: &&str| call.contains("--dry-run=server") || call.starts_with("history") || call.contains("get all");
        let mut run = calls.lines().filter(|call| !is_question(call));
        let last = run.next().map(str::to_owned);
        assert_eq!(run.next(), None, "Helm was run more than once");
        last
    }
}

#[test]
fn guard_a_flip_is_denied_and_helm_is_not_run() {
    let stage = Stage::new("denied", true);
    let output = stage.run(&["upgrade", "orders", "./chart", "-n", "shop"]);
    assert_eq!((code(&output), stdout(&output)), (1, String::new()));
    let said = stderr(&output);
    for words in [
        "deny shop/orders, revision 3, upgrade",
        "deny release-identity-flip",
        "Job shop/migrate",
        "helm upgrade was not run, and nothing has changed",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("s3cret"), "{said}");
    assert_eq!(stage.last(), None);
    let quiet = stage.run(&["-q", "upgrade", "orders", "./chart"]);
    assert_eq!(
        (code(&quiet), stderr(&quiet)),
        (1, "error: helm upgrade was not run, and nothing has changed\n".to_owned())
    );
}

#[test]
fn guard_becomes_helm_with_the_very_words_where_nothing_is_denied() {
    let stage = Stage::new("allowed", false);
    let words =
        ["upgrade", "orders", "./chart", "-n", "shop", "-o", "yaml", "--wait", "--set", "a=b c", "--color=always"];
    fs::create_dir(stage.0.join("chart")).unwrap();
    let output = stage.command(&words).current_dir(&stage.0).output().unwrap();
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (7, "helm's own words\n".to_owned(), String::new()));
    assert_eq!(stage.last().unwrap(), words.join(" "));
    let asked = stage.read("calls");
    for call in [
        "upgrade --dry-run=server --output=json orders ./chart -n shop --wait --set a=b c --color=always",
        "--template=",
    ] {
        assert!(asked.lines().any(|line| line.contains(call)), "{call}: {asked}");
    }
    assert!(!asked.contains("history"), "the last revision is deployed: {asked}");
}

#[test]
fn guard_judges_fifty_megabytes_of_manifest() {
    let stage = Stage::new("large", true);
    let mut planned = stage.planned();
    let line = format!("    {}\n", "x".repeat(995));
    let large = |number| {
        let data = line.repeat(1000);
        format!(
            "---\n# Source: orders/templates/{number}.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c-{number}}}\ndata:\n  a: |\n{data}"
        )
    };
    planned["manifest"] = (0..50).map(large).collect::<String>().into();
    stage.plan(&planned);
    let output = stage.run(&["upgrade", "orders", "./chart"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("release-identity-flip"), "{}", stderr(&output));
}

#[test]
fn guard_looks_further_back_where_the_last_revision_is_not_deployed() {
    let stage = Stage::new("failed", true);
    fs::rename(stage.0.join("record"), stage.0.join("older")).unwrap();
    stage.stored("record", 2, "failed", "");
    let rows = json!([{"revision": 1, "status": "deployed"}, {"revision": 2, "status": "failed"}]);
    stage.write("history.json", &rows.to_string());
    let output = stage.run(&["upgrade", "orders", "./chart", "-n", "shop"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("release-identity-flip"), "{}", stderr(&output));
    let asked = stage.read("calls");
    assert!(asked.lines().any(|line| line == "history --output=json -n shop -- orders"), "{asked}");
    assert!(asked.contains("--revision=1 -n shop -- orders"), "{asked}");
}

#[test]
fn guard_options_of_ours_stand_before_the_verb_or_in_a_variable() {
    let stage = Stage::new("options", true);
    let accepted = ["--accept", "release-identity-flip", "-n", "shop", "upgrade", "orders", "./x", "-l", "a=b"];
    assert_eq!(code(&stage.run(&accepted)), 7);
    let label = "stable-hooks/accept-release-identity-flip=3";
    assert_eq!(
        stage.last().unwrap(),
        format!("upgrade --labels={label} --version=1.2.3 -n shop orders ./x -l a=b"),
        "a chart that is no file here is pinned"
    );
    let check = stage.command(&["upgrade", "orders", "./x"]).env("STABLE_HOOKS_ARGS", "--check-only -ojson").output();
    let check = check.unwrap();
    let plan: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!((code(&check), &plan["timelines"][0]["release"]), (1, &json!("orders")));
    for (wrong, words) in [
        (&["--accept", "no-rule", "upgrade", "orders", "./x"][..], "no rule that a release can accept"),
        (&["--accept", "foreign-takeover", "upgrade", "orders", "./x"], "no rule that a release can accept"),
        (&["--accept", "release-identity-flip", "rollback", "orders"], "rollback takes none"),
        (&["-o", "json", "upgrade", "orders", "./x"], "--check-only"),
        (&["--unjudged", "maybe", "upgrade", "orders", "./x"], "--unjudged"),
        (&["--wait", "upgrade", "orders", "./x"], "--wait"),
    ] {
        let output = stage.run(wrong);
        assert_eq!(code(&output), 2, "{wrong:?}");
        assert!(stderr(&output).contains(words), "{wrong:?}: {}", stderr(&output));
    }
    assert_eq!(stage.read("calls").matches("./x").count(), 3, "nothing was asked for what is wrong");
}

#[test]
fn guard_a_plan_is_shown_in_each_format_and_nothing_is_run() {
    let stage = Stage::new("plan", false);
    for (format, words) in [
        ("human", "orders in shop"),
        ("markdown", "orders"),
        ("html", "<html"),
        ("json", "\"timelines\""),
        ("svg", "<svg"),
    ] {
        let output = stage.run(&["--check-only", "-o", format, "upgrade", "orders", "./chart"]);
        assert_eq!(code(&output), 0, "{format}: {}", stderr(&output));
        assert!(stdout(&output).contains(words), "{format}: {}", stdout(&output));
        assert!(!stdout(&output).contains("s3cret"), "{format}");
    }
    assert_eq!(stage.last(), None);
}

#[test]
fn guard_what_the_arguments_say_is_judged_and_shown() {
    let stage = Stage::new("told", true);
    let owner = json!({"meta.helm.sh/release-name": "orders", "meta.helm.sh/release-namespace": "shop"});
    let metadata = json!({"name": "migrate", "namespace": "shop", "uid": "1", "annotations": owner,
                          "labels": {"app.kubernetes.io/managed-by": "Helm"}});
    let live = json!({"kind": "List", "items": [{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}]});
    stage.program("kubectl", &format!("#!/bin/sh\necho '{live}'\n"));
    let output = stage.run(&["--check-only", "upgrade", "orders", "./chart", "--no-hooks"]);
    let plan = stdout(&output);
    assert_eq!(code(&output), 1);
    let words = "this operation runs no hook that creates it again: it is gone.";
    assert!(plan.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{plan}");
    assert!(!plan.contains("pre-upgrade hooks") && plan.contains("pruned"), "{plan}");
    let with = stdout(&stage.run(&["--check-only", "upgrade", "orders", "./chart"]));
    assert!(with.contains("pre-upgrade hooks") && !with.contains("creates it again"), "{with}");
}

#[test]
fn guard_what_can_be_read_once_reaches_both_runs() {
    let stage = Stage::new("once", false);
    let mut given = stage.command(&["upgrade", "orders", "./chart", "-f", "-"]);
    let mut child = given.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a: 1\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(stage.read("read"), "a: 1\na: 1\n");
    fs::remove_file(stage.0.join("read")).unwrap();
    fs::remove_file(stage.0.join("calls")).unwrap();
    let program = env!("CARGO_BIN_EXE_stable-hooks");
    let line = format!("{program} upgrade orders ./chart --values=<(echo 'b: 2') </dev/null");
    let mut bash = command("/bin/bash", &[&stage.0, Path::new("/usr/bin"), Path::new("/bin")]);
    let output = bash.args(["-c", &line]).output().unwrap();
    assert_eq!(code(&output), 7, "{}", stderr(&output));
    assert_eq!(stage.read("read"), "b: 2\nb: 2\n");
    let missing = stage.run(&["upgrade", "orders", "./chart", "-f", "nowhere.yaml"]);
    assert_eq!(code(&missing), 7, "that a file is not there is Helm's to say");
}

#[test]
fn guard_what_changes_nothing_is_helm_s_at_once() {
    for flag in ["--dry-run", "--dry-run=client", "--help", "-h", "--set"] {
        let stage = Stage::new("nothing", true);
        let output = stage.run(&["upgrade", "orders", "./chart", flag]);
        assert_eq!((code(&output), stderr(&output)), (7, String::new()), "{flag}");
        assert_eq!(stage.read("calls"), format!("upgrade orders ./chart {flag}\n"));
    }
}

#[test]
fn guard_helm_s_refusal_is_helm_s_own() {
    let stage = Stage::new("refused", true);
    stage.write("refused", "Error: UPGRADE FAILED: \"orders\" has no deployed releases\n");
    let output = stage.run(&["--unjudged", "run", "upgrade", "orders", "./chart"]);
    assert_eq!((code(&output), stderr(&output)), (3, stage.read("refused")));
    assert_eq!(stage.last(), None);
    stage.write("refused", "Error: invalid argument \"server\" for \"--dry-run\" flag: strconv.ParseBool\n");
    let output = stage.run(&["upgrade", "orders", "./chart"]);
    assert_eq!(code(&output), 2);
    let words = "this Helm has no --dry-run=server: Helm 3.13 and later have it; helm upgrade was not run";
    assert!(stderr(&output).contains(words), "{}", stderr(&output));
}

#[test]
fn guard_what_cannot_be_judged_is_not_run_unless_that_is_wanted() {
    let stage = Stage::new("unjudged", true);
    let expect = |words: &str| {
        let output = stage.run(&["upgrade", "orders", "./chart"]);
        assert_eq!(code(&output), 2, "{words}");
        assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output));
        assert_eq!(stage.last(), None, "{words}");
    };
    stage.stored("record", 7, "deployed", "");
    expect("its history and Helm's dry run do not agree, twice");
    stage.write("record", "what is this\n");
    expect("what is installed of shop/orders cannot be read");
    stage.stored("record", 2, "failed", "");
    fs::remove_file(stage.0.join("history.json")).unwrap();
    expect("what is installed of shop/orders cannot be read");
    let ours = stderr(&stage.run(&["upgrade", "orders", "./chart"]));
    let ours: Vec<_> = ours.lines().filter(|line| !line.starts_with("Error: ")).collect();
    assert!(!ours.concat().contains("s3cret"), "{ours:?}");
    stage.write("history.json", "[]");
    expect("do not agree");
    stage.write("history.json", "{}");
    expect("cannot be read");
    for planned in [json!({}), json!({"name": "orders", "version": 3, "info": {"status": "deployed"}}), json!([1])] {
        stage.plan(&planned);
        expect("helm upgrade was not run");
    }
    stage.write("planned.json", "no JSON");
    expect("Helm's dry run cannot be read");
    let output = stage.run(&["--unjudged", "run", "upgrade", "orders", "./chart"]);
    assert_eq!((code(&output), stdout(&output)), (7, "helm's own words\n".to_owned()));
    assert!(stderr(&output).contains("this upgrade is not judged"), "{}", stderr(&output));
    assert_eq!(stage.last().unwrap(), "upgrade orders ./chart");
}

#[test]
fn guard_what_is_live_is_looked_up_as_helm_would_or_not_at_all() {
    let stage = Stage::new("live", false);
    let upgrade = ["upgrade", "orders", "./chart", "-n", "shop", "--kube-context", "prod"];
    assert_eq!(code(&stage.run(&upgrade)), 7);
    let looked_up = "get jobs.batch,serviceaccounts -o json --context=prod --namespace=shop\n";
    assert_eq!(stage.read("kubectl.called"), looked_up);
    stage.program("kubectl", "#!/bin/sh\necho 'error: You must be logged in' >&2\nexit 1\n");
    let output = stage.run(&upgrade);
    assert_eq!(code(&output), 2);
    let words = "the Jobs and ServiceAccounts that are there cannot be read: kubectl: error: You must be logged in; helm upgrade was \
                 not run";
    assert!(stderr(&output).contains(words), "{}", stderr(&output));
    let with_a_token = stage.command(&upgrade).env("HELM_KUBETOKEN", "t").output().unwrap();
    assert_eq!(code(&with_a_token), 7, "{}", stderr(&with_a_token));
    let denied = Stage::new("live-denied", true);
    denied.program("kubectl", "#!/bin/sh\nexit 1\n");
    assert_eq!(code(&denied.run(&upgrade)), 1, "what the records show is denied all the same");
}

#[test]
fn guard_a_warning_is_told_and_helm_is_run() {
    let stage = Stage::new("warns", false);
    let mut planned = stage.planned();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {helm.sh/hook: pre-upgrade, \
                helm.sh/hook-delete-policy: hook-failed}}\n";
    planned["hooks"] = json!([{"name": "c", "kind": "ConfigMap", "path": "orders/templates/c.yaml", "manifest": text,
                               "events": ["pre-upgrade"], "delete_policies": ["hook-failed"]}]);
    stage.plan(&planned);
    let warned = stage.run(&["upgrade", "orders", "./chart"]);
    assert_eq!((code(&warned), stdout(&warned)), (7, "helm's own words\n".to_owned()));
    assert!(stderr(&warned).contains("warn hook-never-deleted"), "{}", stderr(&warned));
    fs::remove_file(stage.0.join("calls")).unwrap();
    let failed = stage.run(&["--fail-on", "warn", "upgrade", "orders", "./chart"]);
    assert_eq!((code(&failed), stage.last()), (1, None));
}

#[test]
fn guard_called_helm_is_helm() {
    for (number, helm) in helms().iter().enumerate() {
        let folder = folder(&format!("guard-helm-{number}"));
        symlink(env!("CARGO_BIN_EXE_stable-hooks"), folder.join("helm")).unwrap();
        let run = |program: &Path, arguments: &[&str]| {
            let mut command = command(program, &[&folder, helm.parent().unwrap(), Path::new("/usr/bin")]);
            let output = command.args(arguments).output().unwrap();
            // The one line that says the time.
            let said = stdout(&output);
            let said: Vec<_> =
                said.lines().filter(|line| !line.starts_with("LAST DEPLOYED: ")).map(str::to_owned).collect();
            (code(&output), said, stderr(&output))
        };
        for line in [
            "version",
            "env",
            "lint tests/charts/sweep",
            "template orders tests/charts/sweep",
            "show chart tests/charts/sweep",
            "upgrade --help",
            "upgrade",
            "upgrade orders",
            "upgrade orders tests/charts/sweep --set",
            "install orders tests/charts/sweep --dry-run=client",
            "--kube-context upgrade version",
            "no-such-verb",
            "",
        ] {
            let arguments: Vec<_> = line.split_whitespace().collect();
            assert_eq!(run(&folder.join("helm"), &arguments), run(helm, &arguments), "helm {line}");
        }
        let itself = command(folder.join("helm"), &[&folder]).arg("version").output().unwrap();
        assert_eq!(code(&itself), 2);
        assert!(stderr(&itself).contains("no other `helm` on the PATH; STABLE_HOOKS_HELM"), "{}", stderr(&itself));
        let mut circle = command(folder.join("helm"), &[&folder]);
        let circle = circle.arg("version").env("STABLE_HOOKS_HELM", folder.join("helm")).output().unwrap();
        assert!(stderr(&circle).contains("names no other program"), "{}", stderr(&circle));
        Stage(folder.clone()).program("again", "#!/bin/sh\nexec helm \"$@\"\n");
        let mut circle = command(folder.join("helm"), &[&folder, Path::new("/bin")]);
        let circle = circle.arg("version").env("STABLE_HOOKS_HELM", folder.join("again")).output().unwrap();
        assert_eq!(code(&circle), 2);
        assert!(stderr(&circle).contains("leads back to this program"), "{}", stderr(&circle));
    }
}

#[test]
fn guard_finds_the_verb_where_helm_finds_it() {
    let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
    for line in ["--set a=b upgrade", "--wait x upgrade", "-io upgrade json", "-ns upgrade", "--debug -f x upgrade"] {
        let read = Invocation::read(words(line)).unwrap();
        assert_eq!(read.verb, Verb::Upgrade, "{line}");
        for helm in helms() {
            let output = command(helm, &[Path::new("/usr/bin")]).args(line.split(' ')).output().unwrap();
            assert!(stderr(&output).contains("\"helm upgrade\" requires"), "{line}: {}", stderr(&output));
        }
    }
    for line in ["--wait upgrade orders c", "-outputn shop upgrade c", "-i upgrade orders c", "-an s upgrade c"] {
        assert_eq!(Invocation::read(words(line)), None, "{line}");
        for helm in helms() {
            let output = command(helm, &[Path::new("/usr/bin")]).args(line.split(' ')).output().unwrap();
            assert!(stderr(&output).contains("unknown command"), "{line}: {}", stderr(&output));
        }
    }
    let stage = Stage::new("before-the-verb", true);
    let guard = folder("before-the-verb-guard");
    symlink(env!("CARGO_BIN_EXE_stable-hooks"), guard.join("helm")).unwrap();
    let path = [&guard, &stage.0, Path::new("/usr/bin"), Path::new("/bin")];
    for line in ["--set a=b upgrade orders ./chart", "-in upgrade shop orders ./chart", "-f - upgrade orders ./chart"] {
        let output = command(guard.join("helm"), &path).args(line.split(' ')).stdin(Stdio::null()).output().unwrap();
        assert_eq!(code(&output), 1, "{line}: {}", stderr(&output));
        assert!(stderr(&output).contains("deny release-identity-flip"), "{line}: {}", stderr(&output));
        assert_eq!(stage.last(), None, "{line}");
    }
}

/// What `--help` says: `-f, --values strings`, `--wait WaitStrategy[=watcher]`, `--debug`.
#[test]
fn guard_knows_which_of_helm_s_flags_take_a_value() {
    let mut count = 0;
    for helm in helms() {
        for verb in Verb::ALL {
            // Lines of the text above can begin with a flag.
            let help = command(helm, &[]).args([verb.as_str(), "--help"]).output().unwrap();
            let help = stdout(&help);
            let (_, flags) = help.split_once("\nFlags:\n").unwrap();
            for line in flags.lines().map(str::trim_start).filter(|line| line.starts_with('-')) {
                let Some((_, flag)) = line.split_once("--") else { continue };
                let (name, rest) = flag.split_once(' ').unwrap();
                let takes = !rest.starts_with(' ') && !rest.split_whitespace().next().unwrap().contains("[=");
                assert_eq!(takes_a_value(name, verb), takes, "{} {line}", verb.as_str());
                count += 1;
            }
        }
    }
    assert!(count > 200 || helms().is_empty(), "{count} flags");
}
