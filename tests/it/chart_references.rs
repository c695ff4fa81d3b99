//! `stable-hooks chart` takes what `helm template` takes: charts that only Helm can fetch.

#![cfg(unix)]

use std::fs;
use std::process::{Command, Output};

use crate::chart_helm::pack;
use crate::chart_many::{verdicts, with_each};
use crate::cli::{code, stderr};
use crate::engines::root;
use crate::helms::{command, folder};
use crate::server::serve;

/// The chart that flips in version 0.1.0, and mended in 0.2.0, in a repository on loopback.
fn repository(name: &str, helm: &std::path::Path) -> String {
    let served = folder(name);
    for (version, hook) in [("0.1.0", "on upgrade"), ("0.2.0", "always")] {
        let chart = crate::chart_many::chart(&folder(&format!("{name}-chart")).join("orders"), "flip");
        fs::write(chart.join("values.yaml"), format!("hook: {hook}\n")).unwrap();
        fs::write(chart.join("Chart.yaml"), format!("apiVersion: v2\nname: orders\nversion: {version}\n")).unwrap();
        pack(&chart, "orders", &served.join(format!("orders-{version}.tgz")));
    }
    let index = Command::new(helm.join("helm")).args(["repo", "index"]).arg(&served).output().unwrap();
    assert_eq!(code(&index), 0, "{}", stderr(&index));
    serve(served)
}

#[test]
fn chart_references_are_fetched_by_helm() {
    with_each("references", |path| {
        let address = repository("references-served", path);
        let home = folder("references-home");
        let run = |program: &str, arguments: &[&str]| -> Output {
            let program = if program == "helm" { path.join("helm") } else { env!("CARGO_BIN_EXE_stable-hooks").into() };
            let mut command = command(program, &[path]);
            command.env("HELM_CACHE_HOME", &home).env("HELM_CONFIG_HOME", &home).env("HELM_DATA_HOME", &home);
            command.args(arguments).output().unwrap()
        };
        let added = run("helm", &["repo", "add", "shop", &address]);
        assert_eq!(code(&added), 0, "{}", stderr(&added));
        let url = format!("{address}/orders-0.1.0.tgz");
        for (arguments, source, verdict) in [
            (vec!["shop/orders"], "shop/orders", "allow"),
            (vec!["shop/orders", "--version", "0.1.0"], "shop/orders", "deny"),
            (vec!["orders", "--repo", &*address], "orders", "allow"),
            (vec!["orders", "--repo", &*address, "--version", "~0.1"], "orders", "deny"),
            (vec![&*url], &*url, "deny"),
            (vec!["tests/charts/flip", "--against", "shop/orders"], "tests/charts/flip", "allow"),
        ] {
            let arguments = [&["chart"], &arguments[..], &["-o", "json"]].concat();
            let output = run("stable-hooks", &arguments);
            assert_eq!(
                verdicts(&output),
                [(source.to_owned(), verdict.to_owned())],
                "{arguments:?}: {}",
                stderr(&output)
            );
        }
        for (arguments, told) in [
            (vec!["shop/nothing"], "error: shop/nothing: there is no such file or folder, and helm cannot pull it: "),
            (vec!["charts/ordres"], "error: charts/ordres: there is no such file or folder, and helm cannot pull it: "),
            (vec!["oci://127.0.0.1:9/orders"], "error: oci://127.0.0.1:9/orders: helm cannot pull it: "),
            (vec!["shop/orders", "--version", "9"], "helm cannot pull it: "),
        ] {
            let output = run("stable-hooks", &[&["chart"], &arguments[..]].concat());
            assert!(code(&output) == 2 && stderr(&output).contains(told), "{arguments:?}: {}", stderr(&output));
        }
        assert!(root().join("tests/charts/flip/values.yaml").exists());
    });
}
