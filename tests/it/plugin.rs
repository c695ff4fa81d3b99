//! `helm stable-hooks …`: the plugin, installed by the real Helm 3 and Helm 4.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::chart_renders::denials;
use crate::cli::{code, run, stderr, stdout, temporary};
use crate::engines::{files, root};
use crate::helms::{command, folder, helms, path_with, path_with_script};
use stable_hooks::input::value;

/// Each Helm with the plugin installed from a copy of this repository, and a `kubectl` that prints its arguments into a file.
fn with_plugin(name: &str, test: impl Fn(&dyn Fn(&[&str]) -> Command)) {
    for (number, helm) in helms().iter().enumerate() {
        let path = path_with(&format!("{name}-{number}"), helm);
        let home = folder(&format!("{name}-home-{number}"));
        let called = temporary(&format!("{name}-called"), b"");
        let none = json!({"apiVersion": "v1", "kind": "List", "items": []});
        let script = format!("echo \"$@\" >{}\necho '{none}'", called.display());
        let kubectl = path_with_script(&format!("{name}-kubectl-{number}"), "kubectl", &script);
        let helm = |arguments: &[&str]| {
            let mut helm = command("helm", &[&path, &kubectl, Path::new("/usr/bin"), Path::new("/bin")]);
            helm.env("HELM_DATA_HOME", &home)
                .env("HELM_CONFIG_HOME", &home)
                .env("HELM_CACHE_HOME", &home)
                .args(arguments);
            helm
        };
        // Its hook writes beside it.
        let copy = folder(&format!("{name}-copy-{number}"));
        for file in ["plugin.yaml", "install.sh"] {
            fs::copy(root().join(file), copy.join(file)).unwrap();
        }
        let installed = helm(&["plugin", "install", copy.to_str().unwrap()]).output().unwrap();
        assert_eq!(code(&installed), 0, "{}", stderr(&installed));
        test(&helm);
    }
}

#[test]
fn plugin_has_the_program_s_version() {
    let plugin = value(&fs::read(root().join("plugin.yaml")).unwrap()).unwrap();
    assert_eq!(plugin["version"], json!(env!("CARGO_PKG_VERSION")));
}

#[test]
fn plugin_says_what_the_program_says() {
    with_plugin("plugin", |helm| {
        for install in files("tests/corpus/charts", "yaml").iter().filter(|file| file.ends_with("install.yaml")) {
            let [install, upgrade] = [install.clone(), install.with_file_name("upgrade.yaml")];
            let [install, upgrade] = [install.to_str().unwrap(), upgrade.to_str().unwrap()];
            let arguments = ["chart", "--install", install, "--upgrade", upgrade, "-o", "json"];
            let (ours, plugin) = (run(&arguments, b""), helm(&["stable-hooks"]).args(arguments).output().unwrap());
            assert_eq!(stdout(&plugin), stdout(&ours), "{}", stderr(&plugin));
            assert_eq!(code(&plugin), code(&ours));
        }
        let explained = helm(&["stable-hooks", "explain", "hook-events"]).output().unwrap();
        assert_eq!(stdout(&explained), stdout(&run(&["explain", "hook-events"], b"")));
    });
}

#[test]
fn plugin_renders_with_the_helm_that_runs_it_in_its_namespace() {
    with_plugin("plugin-renders", |helm| {
        let arguments = ["stable-hooks", "chart", "tests/charts/flip", "-n", "shop", "-o", "json"];
        let output = helm(&arguments).output().unwrap();
        assert_eq!(denials(&output), ["release-identity-flip deny Job/release-name-migrations"], "{}", stderr(&output));
        assert!(stdout(&output).contains("\"namespace\": \"shop\""), "{}", stdout(&output));
        assert_eq!(code(&output), 1);
    });
}

#[test]
fn plugin_draws_what_runs_when() {
    with_plugin("plugin-timeline", |helm| {
        let drawn = helm(&["stable-hooks", "timeline", "tests/charts/flip", "-n", "shop"]).output().unwrap();
        assert_eq!(code(&drawn), 1, "{}", stderr(&drawn));
        assert!(stdout(&drawn).starts_with("release-name in shop: install (revision 1), then upgrade (revision 2)\n"));
        assert!(stdout(&drawn).contains("→ pre-upgrade hooks"), "{}", stdout(&drawn));
    });
}

#[test]
fn plugin_reads_a_release_in_the_context_that_helm_was_told() {
    with_plugin("plugin-release", |helm| {
        let output =
            helm(&["stable-hooks", "release", "orders", "-n", "shop", "--kube-context", "test"]).output().unwrap();
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).contains("there is no record of `orders` in `shop`"), "{}", stderr(&output));
        let called = fs::read_to_string(temporary_path("plugin-release-called")).unwrap();
        assert_eq!(called, "get secrets,configmaps -n shop -l owner=helm,name=orders -o json --context test\n");
    });
}

#[test]
fn plugin_foretells_in_the_namespace_and_the_context_that_helm_was_told() {
    with_plugin("plugin-forecast", |helm| {
        let output = helm(&["stable-hooks", "forecast", "-n", "shop", "--kube-context", "test"]).output().unwrap();
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        let called = fs::read_to_string(temporary_path("plugin-forecast-called")).unwrap();
        assert!(called.starts_with("get configmaps -n shop ") && called.ends_with(" --context test\n"), "{called}");
    });
}

fn temporary_path(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}
