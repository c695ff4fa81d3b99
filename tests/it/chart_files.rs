//! What belongs to a chart: the real Helm must see the same files in our copy as in the chart.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use stable_hooks::helm::chart::{Changes, Clock, copy};

use crate::cli::{code, stderr, stdout};
use crate::helms::{command, folder, helms, path_with, stable_hooks};

/// Lists the chart's files; that it is there at all is the other half.
const LISTS: &str = "{{ range $path, $_ := .Files.Glob \"**\" }}# {{ $path }}\n{{ end }}kind: Job\n\
                     metadata: {name: {{ .Template.Name | quote }}}\n";

/// A chart's folder with files where a rule may or may not find them.
fn tree(chart: &Path, ignored: Option<&str>) {
    for path in [
        "templates/a.yaml",
        "templates/deep/b.yaml",
        "templates/.hidden/c.yaml",
        "templates/.d.yaml",
        "charts/sub/templates/e.yaml",
        "charts/_not/templates/f.yaml",
    ] {
        write(chart, path, LISTS);
    }
    write(chart, "Chart.yaml", "apiVersion: v2\nname: tree\nversion: 0.1.0\n");
    write(chart, "charts/sub/Chart.yaml", "apiVersion: v2\nname: called\nversion: 0.1.0\n");
    for path in [
        "a.log",
        "deep/a.log",
        "tmp/a",
        "deep/tmp/b",
        "b[c]",
        "d e",
        "f\\g",
        "ä",
        "files/templates/h.yaml",
        ".git/config",
        "charts/sub/a.log",
    ] {
        write(chart, path, "{{ now }}");
    }
    symlink("tmp", chart.join("linked")).unwrap();
    if let Some(ignored) = ignored {
        write(chart, ".helmignore", ignored);
    }
}

fn write(chart: &Path, path: &str, text: &str) {
    let path = chart.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What Helm renders, or that it does not.
fn rendered(helm: &Path, chart: &Path) -> Option<String> {
    let output = command(helm, &[]).args(["template", "r"]).arg(chart).output().unwrap();
    output.status.success().then(|| stdout(&output))
}

fn copied(chart: &Path, into: &Path) -> Option<std::path::PathBuf> {
    fs::create_dir_all(into).unwrap();
    copy(chart, Changes { revision: 2, values: None, clock: Clock::AYearLater, prints: false }, into)
        .ok()
        .map(|copied| copied.chart)
}

#[test]
fn chart_files_real_helm_sees_the_same_in_the_copy_whatever_is_ignored() {
    let rules = [
        "",
        "*.log",
        "tmp",
        "tmp/",
        "/tmp",
        "deep/*",
        "deep/tmp/",
        "/a.log",
        "!*.log",
        "!tmp/",
        "!*\n*.log",
        "!?*",
        "!*[a-z]*",
        ".*",
        ".git/\n.helmignore\n",
        "templates/deep",
        "charts",
        "charts/*/templates",
        "charts/*",
        "*[[]*",
        "b\\[c\\]",
        "[a-",
        "**/a",
        "f\\\\g",
        "?",
        "\u{e4}",
        "[^a]",
        "[[:alpha:]]",
        "# a\n\n  d e  ",
        "\u{FEFF}tmp",
        "a.log\r\ntmp\r\n",
        "linked",
        "linked/",
        "revision",
        "r*",
        "!",
        "/",
        "//tmp",
        "tmp\\/",
        "Chart.yaml",
        "*",
    ];
    for (number, helm) in helms().iter().enumerate() {
        for (at, rules) in rules.iter().map(|rules| Some(*rules)).chain([None]).enumerate() {
            // Helm 3 takes off one more slash each time that it asks this rule.
            if rules == Some("//tmp") && number == 0 {
                continue;
            }
            let folder = folder(&format!("ignore-{number}-{at}"));
            let chart = folder.join("chart");
            tree(&chart, rules);
            let wanted = rendered(helm, &chart);
            let seen = copied(&chart, &folder.join("into")).and_then(|copy| rendered(helm, &copy));
            // Rules that would ignore the template of ours are no part of the copy.
            let is_left_out = matches!(rules, Some("revision" | "r*"));
            let wanted = wanted.map(|text| if is_left_out { text.replace("# .helmignore\n", "") } else { text });
            assert_eq!(seen, wanted, "{rules:?} {}", helm.display());
        }
    }
}

#[test]
fn chart_files_real_helm_sees_the_same_in_the_copy_of_an_archive() {
    for (number, helm) in helms().iter().enumerate() {
        for (at, arguments) in [
            "-C chart -czf c.tgz .",
            "-czf c.tgz chart",
            "-czf c.tgz chart/Chart.yaml chart/templates",
            "--format=pax --pax-option=globexthdr.name=g,comment:=x -czf c.tgz chart",
            "--format=ustar -czf c.tgz chart",
            "--format=v7 -czf c.tgz chart",
            "--transform=s,/,\\\\,g -czf c.tgz chart",
            "--transform=s,chart/,chart//, -czf c.tgz chart",
            "--transform=s,chart/templates,chart/x/../templates, -czf c.tgz chart",
            "--transform=s,chart/templates,chart/../templates, -czf c.tgz chart",
            "-C chart -czf c.tgz Chart.yaml templates",
            "-C chart/templates -czf c.tgz .",
            "-C chart -cf c.tgz .",
            "-h -czf c.tgz chart",
        ]
        .iter()
        .enumerate()
        {
            let folder = folder(&format!("archive-{number}-{at}"));
            tree(&folder.join("chart"), Some("*.log"));
            let long = format!("templates/{}/x.yaml", "long".repeat(20));
            write(&folder.join("chart"), &long, LISTS);
            write(&folder.join("chart"), &long.replace("x.yaml", &"y".repeat(70)), LISTS);
            let sub = folder.join("sub");
            write(&sub, "Chart.yaml", "apiVersion: v2\nname: packed\nversion: 0.1.0\n");
            write(&sub, "templates/a.yaml", LISTS);
            let archive = folder.join("chart/charts/other-0.1.0.tgz");
            let tar = |arguments: &[&str]| Command::new("tar").current_dir(&folder).args(arguments).status().unwrap();
            assert!(tar(&["-C", "sub", "-czf", archive.to_str().unwrap(), "."]).success());
            // The old formats have no room for some of the names.
            tar(&arguments.split(' ').collect::<Vec<_>>());
            let wanted = rendered(helm, &folder.join("c.tgz"));
            let copy = copied(&folder.join("c.tgz"), &folder.join("into"));
            assert_eq!(copy.and_then(|copy| rendered(helm, &copy)), wanted, "{arguments} {}", helm.display());
        }
    }
}

#[test]
fn chart_files_that_are_ignored_do_not_matter() {
    for (number, helm) in helms().iter().enumerate() {
        let path = path_with(&format!("files-{number}"), helm);
        let folder = folder(&format!("ignored-{number}"));
        let chart = folder.join("chart");
        tree(&chart, Some("pipe\ntmp/\nlinked\n"));
        fifo(&chart.join("pipe"));
        symlink("..", chart.join("tmp/self")).unwrap();
        symlink("nowhere", chart.join("tmp/dangling")).unwrap();
        let judge = || stable_hooks(&[&path], &["chart", chart.to_str().unwrap(), "-q"]);
        let output = judge();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        fs::write(chart.join(".helmignore"), "tmp/\nlinked\n").unwrap();
        let output = judge();
        assert_eq!(code(&output), 2, "Helm refuses it as well");
        assert!(stderr(&output).contains("pipe"), "{}", stderr(&output));
    }
}
