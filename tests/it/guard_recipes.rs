//! The recipes of the guard for pipelines: what they call is run here, with a script in Helm's place.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::cli::{code, stderr, stdout};
use crate::engines::root;
use crate::guard::Stage;
use crate::helms::command;
use crate::packages::yaml;

const GITHUB: &str = "examples/guard/github.yaml";
const GITLAB: &str = "examples/guard/gitlab-ci.yml";
const JENKINS: &str = "examples/guard/Jenkinsfile";
const HELMFILE: &str = "examples/guard/helmfile.yaml";

/// What a pipeline runs.
struct Recipe {
    name: &'static str,
    /// Its variable with what is Helm's.
    upgrade: String,
    plan: String,
    deploy: String,
}

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// The one line that calls this program.
fn ours<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<_> = lines.filter(|line| line.starts_with("stable-hooks ")).collect();
    let [line] = lines[..] else { panic!("{lines:?}") };
    line.to_owned()
}

/// What stands in quotes behind each of these.
fn quoted<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.split(start).skip(1).map(|rest| rest.split('\'').next().unwrap()).collect()
}

fn recipes() -> [Recipe; 3] {
    let (github, gitlab, jenkins) = (yaml(GITHUB), yaml(GITLAB), text(JENKINS));
    let steps = |job: &str| {
        let steps = github["jobs"][job]["steps"].as_array().unwrap();
        ours(steps.iter().filter_map(|step| step["run"].as_str()))
    };
    let script = |job: &str| ours(gitlab[job]["script"].as_array().unwrap().iter().filter_map(Value::as_str));
    let (before, behind) = jenkins.split_once("input {").unwrap();
    let upgrade = |value: &Value| value["UPGRADE"].as_str().unwrap().to_owned();
    [
        Recipe { name: "github", upgrade: upgrade(&github["env"]), plan: steps("plan"), deploy: steps("deploy") },
        Recipe {
            name: "gitlab",
            upgrade: upgrade(&gitlab["variables"]),
            plan: script("plan"),
            deploy: script("deploy"),
        },
        Recipe {
            name: "jenkins",
            upgrade: quoted(&jenkins, "UPGRADE = '").concat(),
            plan: ours(quoted(before, "sh '").into_iter()),
            deploy: ours(quoted(behind, "sh '").into_iter()),
        },
    ]
}

/// Runs a line where the chart is, as a pipeline does.
fn run(stage: &Stage, recipe: &Recipe, line: &str) -> Output {
    let mut shell = command("/bin/sh", &[&stage.0, Path::new("/usr/bin"), Path::new("/bin")]);
    shell.current_dir(&stage.0).env("UPGRADE", &recipe.upgrade).env("GITHUB_STEP_SUMMARY", stage.0.join("summary"));
    shell.args(["-ec", line]).output().unwrap()
}

#[test]
fn guard_recipes_show_the_plan_and_then_run_helm_where_nothing_is_denied() {
    for recipe in recipes() {
        for is_denied in [false, true] {
            let name = recipe.name;
            let stage = Stage::new(&format!("recipe-{name}-{is_denied}"), is_denied);
            symlink(env!("CARGO_BIN_EXE_stable-hooks"), stage.0.join("stable-hooks")).unwrap();
            fs::create_dir(stage.0.join("chart")).unwrap();
            stage.write("production.yaml", "a: 1\n");

            let plan = run(&stage, &recipe, &recipe.plan);
            assert_eq!(code(&plan), i32::from(is_denied), "{name}: {}", stderr(&plan));
            let shown = stdout(&plan) + &stage.read("summary") + &stage.read("plan.html");
            assert_eq!(shown.contains("release-identity-flip"), is_denied, "{name}: {shown}");
            assert!(shown.contains("migrate"), "{name}: {shown}");
            assert_eq!(stage.last(), None, "{name}");

            let deployment = run(&stage, &recipe, &recipe.deploy);
            // Helm's own exit code is 7 here.
            let (expected, run) = if is_denied { (1, None) } else { (7, Some(recipe.upgrade.clone())) };
            assert_eq!((code(&deployment), stage.last()), (expected, run), "{name}: {}", stderr(&deployment));
        }
    }
}

#[test]
fn guard_recipes_deploy_after_the_plan_and_what_somebody_has_said() {
    let github = yaml(GITHUB);
    assert_eq!(github["permissions"], json!({"contents": "read"}));
    let [plan, deploy] = ["plan", "deploy"].map(|job| &github["jobs"][job]);
    assert_eq!((&deploy["needs"], &deploy["environment"]), (&json!("plan"), &json!("production")));
    assert_eq!(deploy["if"], "github.event_name == 'push'");
    assert!(plan["if"].as_str().unwrap().contains("head.repo.full_name == github.repository"), "{plan}");
    assert!(!plan.to_string().contains("secrets.KUBECONFIG }}"), "what may write is the deployment's: {plan}");

    let gitlab = yaml(GITLAB);
    assert_eq!(gitlab["stages"], json!([gitlab["plan"]["stage"], gitlab["deploy"]["stage"]]));
    for rule in gitlab["deploy"]["rules"].as_array().unwrap() {
        assert_eq!((&rule["when"], &rule["allow_failure"]), (&json!("manual"), &Value::Null));
    }
    assert_eq!(gitlab["plan"]["artifacts"]["when"], "always");

    // An input is asked for before the stage's agent is taken, and without this before its `when`.
    let jenkins = text(JENKINS);
    let (_, deploy) = jenkins.split_once("stage('Deploy')").unwrap();
    let places = ["beforeInput true", "input {", "agent {", "sh '"].map(|word| deploy.find(word).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(jenkins.matches('{').count(), jenkins.matches('}').count());
}

/// How helmfile 1.8.0 calls Helm for this file.
const OF_HELMFILE: &str = "upgrade --install orders chart --create-namespace --namespace shop --values production.yaml \
                           --reset-values --history-max 10";

#[test]
fn guard_recipes_have_helmfile_call_the_guard_in_the_place_of_helm() {
    let helmfile = yaml(HELMFILE);
    let release = &helmfile["releases"][0];
    assert_eq!((&release["name"], &release["chart"]), (&json!("orders"), &json!("./chart")));
    let binary = helmfile["helmBinary"].as_str().unwrap();
    let makes_it = "mkdir -p guarded && ln -s \"$(command -v stable-hooks)\" guarded/helm";
    assert_eq!(binary, "./guarded/helm");
    assert!(text("docs/guard.md").contains(makes_it) && text(HELMFILE).contains(makes_it));
    for is_denied in [false, true] {
        let stage = Stage::new(&format!("recipe-helmfile-{is_denied}"), is_denied);
        symlink(env!("CARGO_BIN_EXE_stable-hooks"), stage.0.join("stable-hooks")).unwrap();
        fs::create_dir(stage.0.join("chart")).unwrap();
        stage.write("production.yaml", "a: 1\n");
        let path = [&stage.0, Path::new("/usr/bin"), Path::new("/bin")];
        let made = command("/bin/sh", &path).current_dir(&stage.0).args(["-ec", makes_it]).output().unwrap();
        assert_eq!(code(&made), 0, "{}", stderr(&made));
        let mut helm = command(stage.0.join(binary), &path);
        let output = helm.current_dir(&stage.0).args(OF_HELMFILE.split(' ')).output().unwrap();
        let (expected, run) = if is_denied { (1, None) } else { (7, Some(OF_HELMFILE.to_owned())) };
        assert_eq!((code(&output), stage.last()), (expected, run), "{}", stderr(&output));
    }
}

#[test]
fn guard_recipes_are_on_the_page_and_name_this_version() {
    let page = text("docs/guard.md");
    let (mut files, mut images) = (0, 0);
    for entry in fs::read_dir(root().join("examples/guard")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let file = format!("examples/guard/{name}");
        assert!(page.contains(&format!("[{name}](../{file})")), "docs/guard.md does not name {name}");
        for image in text(&file).split("ghcr.io/stable-hooks/stable-hooks:v").skip(1) {
            assert!(image.split(['\'', '\n']).next() == Some(env!("CARGO_PKG_VERSION")), "{file}: {image}");
            images += 1;
        }
        files += 1;
    }
    assert_eq!((files, images), (4, 5));
}
