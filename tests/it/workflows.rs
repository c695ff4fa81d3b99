//! The project's own CI: pinned, with the least permissions, and of the Makefile's verbs alone.

use std::fs;

use serde_json::{Value, json};

use crate::engines::{files, relative, root};
use crate::packages::yaml;

fn workflows() -> Vec<(String, Value)> {
    files(".github/workflows", "yml")
        .iter()
        .map(|path| relative(path))
        .map(|file| (file.clone(), yaml(&file)))
        .collect()
}

fn jobs(workflow: &Value) -> impl Iterator<Item = (&String, &Value)> {
    workflow["jobs"].as_object().unwrap().iter()
}

fn steps(workflow: &Value) -> impl Iterator<Item = &Value> {
    jobs(workflow).flat_map(|(_, job)| job["steps"].as_array().unwrap())
}

#[test]
fn workflows_pin_each_action_by_hash_and_say_which_version_that_is() {
    for path in files(".github/workflows", "yml") {
        for line in fs::read_to_string(&path).unwrap().lines().filter(|line| line.contains("uses:")) {
            let (_, pinned) = line.split_once('@').unwrap_or_else(|| panic!("{line} is not pinned"));
            let (hash, version) = pinned.split_once(" # v").unwrap_or_else(|| panic!("{line} names no version"));
            assert!(hash.len() == 40 && hash.chars().all(|digit| digit.is_ascii_hexdigit()), "{line}");
            assert!(version.split('.').count() == 3, "{line}");
        }
    }
}

#[test]
fn workflows_grant_nothing_but_what_a_job_says() {
    for (file, workflow) in workflows() {
        assert_eq!(workflow["permissions"], json!({}), "{file}");
        for (name, job) in jobs(&workflow) {
            let granted = job["permissions"].as_object().unwrap_or_else(|| panic!("{file}: {name}"));
            let writes = granted.values().any(|access| access == "write");
            assert!(!writes || file.ends_with("/release.yml"), "{file}: {name} may write");
        }
        for step in
            steps(&workflow).filter(|step| step["uses"].as_str().is_some_and(|uses| uses.contains("/checkout@")))
        {
            assert_eq!(step["with"]["persist-credentials"], json!(false), "{file}");
        }
    }
}

#[test]
fn workflows_call_verbs_that_the_makefile_has() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let mut called = Vec::new();
    for (_, workflow) in workflows() {
        let suites = workflow["jobs"]["cluster"]["strategy"]["matrix"]["suite"].as_array();
        called.extend(suites.into_iter().flatten().map(|suite| suite.as_str().unwrap().to_owned()));
        let verbs = steps(&workflow).filter_map(|step| step["run"].as_str()?.strip_prefix("make "));
        called.extend(
            verbs
                .filter(|verbs| !verbs.contains("matrix."))
                .flat_map(str::split_whitespace)
                .filter(|word| !word.starts_with('-'))
                .map(str::to_owned),
        );
    }
    for verb in &called {
        let has =
            makefile.lines().any(|line| line.starts_with(&format!("{verb}:")) || line.starts_with(&format!("{verb} ")));
        assert!(has, "make {verb}");
    }
    assert!(called.len() > 8, "only {called:?}");
}

#[test]
fn workflows_sign_each_module_in_both_formats_and_verify_it_as_the_docs_say() {
    let release = yaml(".github/workflows/release.yml");
    let mut scripts = steps(&release).filter_map(|step| step["run"].as_str());
    let script = scripts.find(|script| script.contains("kwctl push")).unwrap();
    for is_new in [false, true] {
        let sign = format!("cosign sign --yes --new-bundle-format={is_new} --use-signing-config={is_new} \"$digest\"");
        assert!(script.contains(&sign), "{sign}");
    }
    let page = fs::read_to_string(root().join("docs/verify.md")).unwrap();
    let issuer = "--certificate-oidc-issuer https://token.actions.githubusercontent.com";
    for command in ["kwctl verify --github-owner stable-hooks --github-repo stable-hooks", "cosign verify ", issuer] {
        assert!(script.contains(command) && page.contains(command), "{command}");
    }
    let identity = "https://github.com/stable-hooks/stable-hooks/.github/workflows/release.yml@refs/tags/v";
    assert!(page.contains(identity), "{identity}");
}
