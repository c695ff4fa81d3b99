//! What other people's CI takes from this repository: the GitHub Action, the pre-commit hook and the examples of both.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use stable_hooks::input::value;

use crate::cli::{code, run, stderr, stdout};
use crate::engines::root;
use crate::helms::{command, folder, helms, path_with};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the scripts call besides `stable-hooks`, `helm` and `cargo`.
const TOOLS: [&str; 8] = ["bash", "cat", "chmod", "dirname", "mkdir", "rm", "sed", "sh"];

/// An `install.sh` that has a program to install, and one that has none.
const PUBLISHED: &str = "echo installed; cat \"$here/program\" >\"$5/stable-hooks\" && chmod +x \"$5/stable-hooks\"";
const UNPUBLISHED: &str = "echo there is no such release >&2; exit 1";

fn read(name: &str) -> Value {
    value(&fs::read(root().join(name)).unwrap()).unwrap()
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A program that says which one it is and what it was called with, one argument a line.
fn program(version: &str) -> String {
    format!("case $1 in --version) echo stable-hooks {version} ;; *) printf '%s\\n' \"$0\" \"$@\" ;; esac")
}

/// This repository's scripts in a folder of their own, with an `install.sh`, a `cargo` and a cache that are the test's.
struct Checkout(PathBuf);

impl Checkout {
    fn new(name: &str, install: &str) -> Self {
        let checkout = folder(&format!("ci-{name}"));
        for shared in ["Cargo.toml", "tools"] {
            symlink(root().join(shared), checkout.join(shared)).unwrap();
        }
        for made in ["path", "system"] {
            fs::create_dir(checkout.join(made)).unwrap();
        }
        for tool in TOOLS {
            let places = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
            symlink(places.iter().find(|place| place.exists()).unwrap(), checkout.join("system").join(tool)).unwrap();
        }
        write_program(&checkout.join("program"), &program(VERSION));
        let script = format!("here=${{0%/*}}\nprintf '%s\\n' \"$@\" >\"$here/install-called\"\n{install}");
        write_program(&checkout.join("install.sh"), &script);
        Self(checkout)
    }

    /// One whose `cargo` makes the program.
    fn with_cargo(name: &str, install: &str) -> Self {
        let checkout = Self::new(name, install);
        let cargo = "echo compiled; pwd >cargo-called; printf '%s\\n' \"$@\" >>cargo-called
            while [ \"$1\" != --root ]; do shift; done
            cat program >\"$2/bin/stable-hooks\" && chmod +x \"$2/bin/stable-hooks\"";
        write_program(&checkout.0.join("path/cargo"), cargo);
        checkout
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }

    fn command(&self, program: impl AsRef<Path>, more: &[&Path]) -> Command {
        let (path, system) = (self.0.join("path"), self.0.join("system"));
        let mut command = command(program.as_ref(), &[more, &[path.as_path(), system.as_path()]].concat());
        command.env("HOME", self.0.join("home"));
        command
    }

    /// `stable-hooks` as the pre-commit hook calls it.
    fn stable_hooks(&self, arguments: &[&str]) -> Output {
        self.command(self.0.join("tools/stable-hooks"), &[]).args(arguments).output().unwrap()
    }

    /// Where the hook keeps its program.
    fn cached(&self) -> PathBuf {
        self.0.join(format!("home/.cache/stable-hooks/{VERSION}/bin/stable-hooks"))
    }

    /// Runs the Action's step as the runner does: with these inputs, and the defaults of the others.
    fn action(&self, inputs: &[(&str, &str)], more: &[&Path]) -> Output {
        let action = read("action.yml");
        let [step] = action["runs"]["steps"].as_array().unwrap().as_slice() else { panic!("{action}") };
        let mut bash = self.command("/bin/bash", more);
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].as_str().unwrap()]);
        for (variable, expression) in step["env"].as_object().unwrap() {
            let input = expression.as_str().unwrap().strip_prefix("${{ inputs.").unwrap().strip_suffix(" }}").unwrap();
            let given = inputs.iter().find(|(name, _)| *name == input).map(|(_, given)| *given);
            bash.env(variable, given.unwrap_or_else(|| action["inputs"][input]["default"].as_str().unwrap()));
        }
        bash.env("GITHUB_ACTION_PATH", &self.0).env("RUNNER_TEMP", self.0.join("temp")).output().unwrap()
    }
}

/// What a program of [`program`] was called with.
fn arguments(output: &Output) -> Vec<String> {
    assert_eq!(code(output), 0, "{}", stderr(output));
    stdout(output).lines().skip(1).map(str::to_owned).collect()
}

/// Which program of [`program`] it was.
fn ran(output: &Output) -> PathBuf {
    assert_eq!(code(output), 0, "{}", stderr(output));
    PathBuf::from(stdout(output).lines().next().unwrap())
}

#[test]
fn ci_the_action_hands_its_inputs_on_whatever_is_in_them() {
    let checkout = Checkout::new("action", PUBLISHED);
    let inputs = [
        ("charts", "charts/$(touch /nowhere) orders\n\n`exit 1`\n"),
        ("values", "a.yaml\n\nb c.yaml\n"),
        ("settings", "\"settings\".yaml"),
        ("against", "orders-1.0.0.tgz"),
        ("against-ref", "origin/main; exit 1"),
        ("output", "json"),
        ("arguments", "--set\na=\"b\"; $HOME\n--\n--dry-run=server"),
    ];
    let expected = [
        "chart",
        "--output",
        "json",
        "--values",
        "a.yaml",
        "--values",
        "b c.yaml",
        "--settings",
        "\"settings\".yaml",
        "--against",
        "orders-1.0.0.tgz",
        "--against-ref",
        "origin/main; exit 1",
        "charts/$(touch /nowhere) orders",
        "`exit 1`",
        "--set",
        "a=\"b\"; $HOME",
        "--",
        "--dry-run=server",
    ];
    assert_eq!(arguments(&checkout.action(&inputs, &[])), expected);
    assert_eq!(arguments(&checkout.action(&[], &[])), ["chart", "--output", "github"]);
}

#[test]
fn ci_the_action_has_a_variable_for_each_of_its_inputs_and_nothing_else_reaches_its_script() {
    let action = read("action.yml");
    let steps = action["runs"]["steps"].as_array().unwrap();
    let handed_on: Vec<_> = steps.iter().flat_map(|step| step["env"].as_object().unwrap().values().cloned()).collect();
    let inputs = action["inputs"].as_object().unwrap();
    assert_eq!(inputs.len(), handed_on.len());
    for input in inputs.keys() {
        assert!(handed_on.contains(&json!(format!("${{{{ inputs.{input} }}}}"))), "{input}");
    }
    for step in steps {
        assert!(!step["run"].as_str().unwrap().contains("${{"), "{step}");
    }
}

#[test]
fn ci_the_action_takes_the_published_program_and_else_compiles_that_and_no_more() {
    let checkout = Checkout::with_cargo("action-published", PUBLISHED);
    let bin = checkout.0.join(format!("temp/stable-hooks/{VERSION}/bin"));
    assert_eq!(ran(&checkout.action(&[], &[])), bin.join("stable-hooks"));
    let called = format!("--version\n{VERSION}\n--without-runtime\n--to\n{}\n", bin.display());
    assert_eq!((checkout.file("install-called"), checkout.file("cargo-called")), (called, String::new()));

    let checkout = Checkout::with_cargo("action-compiled", UNPUBLISHED);
    let cache = checkout.0.join(format!("temp/stable-hooks/{VERSION}"));
    let output = checkout.action(&[], &[]);
    assert_eq!(ran(&output), cache.join("bin/stable-hooks"));
    let (folder, cache) = (checkout.0.display(), cache.display());
    let called =
        format!("{folder}\ninstall\n--locked\n--path\n.\n--no-default-features\n--features\ncli\n--root\n{cache}\n");
    assert_eq!(checkout.file("cargo-called"), called);
    let said = format!(
        "there is no such release\nstable-hooks: the published program {VERSION} could not be installed (see above); \
         compiling it takes minutes\ncompiled\n"
    );
    assert_eq!(stderr(&output), said);
}

#[test]
fn ci_the_action_writes_to_a_file_and_keeps_it_where_everything_was_judged() {
    let checkout = Checkout::new("action-file", PUBLISHED);
    let file = checkout.0.join("a file.sarif");
    let path = file.display();
    for (ended, written, said) in [
        (0, true, String::new()),
        (1, true, format!("stable-hooks: something is denied, see {path}\n")),
        (2, false, format!("stable-hooks: not everything could be judged (see above), so there is no {path}\n")),
    ] {
        let ends = program(VERSION).replace(" ;; esac", &format!("; exit {ended} ;; esac"));
        write_program(&checkout.0.join("path/stable-hooks"), &ends);
        let output = checkout.action(&[("output", "sarif"), ("output-file", file.to_str().unwrap())], &[]);
        assert_eq!((code(&output), stdout(&output), stderr(&output)), (ended, String::new(), said));
        assert_eq!(checkout.file("a file.sarif").ends_with("\nchart\n--output\nsarif\n"), written, "{ended}");
        assert_eq!(file.exists(), written, "{ended}");
    }
}

#[test]
fn ci_the_action_judges_with_the_real_helm() {
    let flip = [("charts", "tests/charts/flip")];
    for (number, helm) in helms().iter().enumerate() {
        let programs = path_with(&format!("ci-programs-{number}"), helm);
        let checkout = Checkout::new(&format!("action-helm-{number}"), UNPUBLISHED);
        let output = checkout.action(&flip, &[&programs]);
        assert_eq!(code(&output), 1, "{}", stderr(&output));
        let annotation = "::error file=tests/charts/flip/templates/";
        assert!(stdout(&output).contains(annotation), "{}", stdout(&output));
        let file = checkout.0.join("found.sarif");
        let to_file = [flip[0], ("output", "sarif"), ("output-file", file.to_str().unwrap())];
        assert_eq!(code(&checkout.action(&to_file, &[&programs])), 1);
        let sarif = value(checkout.file("found.sarif").as_bytes()).unwrap();
        assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], json!("release-identity-flip"), "{sarif}");
    }
}

#[test]
fn ci_the_program_on_the_path_is_taken_in_its_version_only() {
    let checkout = Checkout::new("path", PUBLISHED);
    let on_path = checkout.0.join("path/stable-hooks");
    write_program(&on_path, &program(VERSION));
    assert_eq!(ran(&checkout.stable_hooks(&["chart", "a b"])), on_path);
    assert_eq!(arguments(&checkout.stable_hooks(&["chart", "a b"])), ["chart", "a b"]);
    assert_eq!(checkout.file("install-called"), "");
    for other in ["9.9.9", &format!("{VERSION}0"), &format!("{VERSION}-rc.1")] {
        let checkout = Checkout::new("path-other", PUBLISHED);
        write_program(&checkout.0.join("path/stable-hooks"), &program(other));
        assert_eq!(ran(&checkout.stable_hooks(&["chart"])), checkout.cached(), "{other}");
    }
}

#[test]
fn ci_the_program_is_installed_once_and_then_comes_from_the_cache() {
    let checkout = Checkout::new("cache", PUBLISHED);
    assert_eq!(ran(&checkout.stable_hooks(&["chart"])), checkout.cached());
    write_program(&checkout.0.join("install.sh"), UNPUBLISHED);
    let output = checkout.stable_hooks(&["chart"]);
    assert_eq!((ran(&output), stderr(&output)), (checkout.cached(), String::new()));

    let mut elsewhere = checkout.command(checkout.0.join("tools/stable-hooks"), &[]);
    write_program(&checkout.0.join("install.sh"), &format!("here=${{0%/*}}\n{PUBLISHED}"));
    let cache = checkout.0.join("xdg");
    let output = elsewhere.env("XDG_CACHE_HOME", &cache).arg("chart").output().unwrap();
    assert_eq!(ran(&output), cache.join(format!("stable-hooks/{VERSION}/bin/stable-hooks")));
}

#[test]
fn ci_the_program_judges_where_it_was_called_also_after_it_was_compiled() {
    let checkout = Checkout::with_cargo("compiled", UNPUBLISHED);
    fs::write(checkout.0.join("program"), format!("#!/bin/sh\n{}\npwd", program(VERSION))).unwrap();
    for _ in 0..2 {
        let output = checkout.stable_hooks(&["chart", "orders"]);
        assert_eq!(arguments(&output), ["chart", "orders", root().to_str().unwrap()]);
    }
}

#[test]
fn ci_without_any_program_nothing_is_judged_and_the_reason_is_said() {
    let checkout = Checkout::new("nothing", UNPUBLISHED);
    let output = checkout.stable_hooks(&["chart"]);
    assert_eq!((code(&output), stdout(&output)), (2, String::new()));
    let said = format!("there is no cargo to compile it; install Rust, or put stable-hooks {VERSION} on the PATH\n");
    assert!(stderr(&output).ends_with(&said), "{}", stderr(&output));

    write_program(&checkout.0.join("path/cargo"), "echo does not compile >&2; exit 101");
    let output = checkout.stable_hooks(&["chart"]);
    assert_eq!((code(&output), stdout(&output)), (2, String::new()));
    assert!(stderr(&output).ends_with("does not compile\n"), "{}", stderr(&output));
}

#[test]
fn ci_the_pre_commit_hook_calls_a_verb_when_a_chart_changes() {
    let hooks = read(".pre-commit-hooks.yaml");
    let [hook] = hooks.as_array().unwrap().as_slice() else { panic!("{hooks}") };
    let [script, verb] = hook["entry"].as_str().unwrap().split(' ').collect::<Vec<_>>()[..] else { panic!("{hook}") };
    let mode = fs::metadata(root().join(script)).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "{script} is no program");
    assert_eq!(code(&run(&[verb, "--help"], b"")), 0);
    let files = regex::Regex::new(hook["files"].as_str().unwrap()).unwrap();
    for (file, is_judged) in [
        ("Chart.yaml", true),
        ("orders/values-production.yaml", true),
        ("orders/ci/production-values.yaml", true),
        ("orders/.helmignore", true),
        ("orders/values.schema.json", true),
        ("orders/crds/orders.yaml", true),
        ("orders/templates/_helpers.tpl", true),
        ("orders/charts/postgresql-1.0.0.tgz", true),
        (".stable-hooks.yaml", true),
        ("README.md", false),
        ("docs/my-values.md", false),
        ("my-Chart.yaml", false),
    ] {
        assert_eq!(files.is_match(file), is_judged, "{file}");
    }
}

/// The YAML examples of docs/ci.md.
fn examples() -> Vec<Value> {
    let page = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|block| value(block.as_bytes()).unwrap_or_else(|error| panic!("{error}:\n{block}"))).collect()
}

#[test]
fn ci_the_examples_name_this_version_and_inputs_that_there_are() {
    let (inputs, hooks) = (read("action.yml")["inputs"].take(), read(".pre-commit-hooks.yaml"));
    let (mut actions, mut images, mut revisions) = (0, 0, 0);
    for example in examples() {
        for step in example["jobs"]["judge"]["steps"].as_array().into_iter().flatten() {
            let Some(version) = step["uses"].as_str().and_then(|uses| uses.strip_prefix("stable-hooks/stable-hooks@v"))
            else {
                continue;
            };
            assert_eq!(version, VERSION);
            for input in step["with"].as_object().unwrap().keys() {
                assert!(inputs.get(input).is_some(), "there is no input {input:?}");
            }
            actions += 1;
        }
        if let Some(image) = example["stable-hooks"]["image"].as_str() {
            assert_eq!(image, format!("ghcr.io/stable-hooks/stable-hooks:v{VERSION}"));
            images += 1;
        }
        for repository in example["repos"].as_array().into_iter().flatten() {
            assert_eq!(repository["rev"], json!(format!("v{VERSION}")));
            assert_eq!(repository["hooks"][0]["id"], hooks[0]["id"]);
            revisions += 1;
        }
    }
    assert_eq!((actions, images, revisions), (3, 1, 1));
}

#[test]
fn ci_the_example_that_comments_gives_its_token_to_one_step_and_to_no_fork() {
    let comments = |example: &Value| example.to_string().contains("gh pr comment");
    let [workflow] = examples().into_iter().filter(comments).collect::<Vec<_>>().try_into().unwrap();
    // As YAML 1.1 reads `on`.
    assert_eq!(workflow["true"], "pull_request");
    assert_eq!(workflow["permissions"], json!({"contents": "read", "pull-requests": "write"}));
    let steps = workflow["jobs"]["judge"]["steps"].as_array().unwrap();
    assert_eq!(steps[0]["with"]["persist-credentials"], json!(false));
    let (last, before) = steps.split_last().unwrap();
    assert!(before.iter().all(|step| !step.to_string().contains("token")), "{before:?}");
    let condition = last["if"].as_str().unwrap();
    assert!(condition.contains("github.event.pull_request.head.repo.full_name == github.repository"), "{condition}");
    // What a fork chooses is in no script.
    assert!(!last["run"].as_str().unwrap().contains("${{"), "{last}");
}

#[test]
fn ci_the_page_has_each_input_with_its_meaning() {
    let page = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let action = read("action.yml");
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let inputs = action["inputs"].as_object().unwrap();
    assert_eq!(rows.len(), inputs.len(), "{rows:?}");
    for (name, input) in inputs {
        let row = format!("| `{name}` | {} |", input["description"].as_str().unwrap());
        assert!(rows.contains(&row.as_str()), "docs/ci.md does not have the row\n{row}");
    }
}
