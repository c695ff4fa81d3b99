//! Signals at any moment: either Helm has run or it has not.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use stable_hooks_e2e::cluster::wait_for;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::{Scene, history_text};
use stable_hooks_e2e::world::World;

use super::{report, with_own_temporary_files};
use crate::Report;

const MOMENTS: u32 = 12;

pub(super) fn interrupted(world: &World, major: Major) -> Report {
    let scene = Scene::new(world, "interrupted", major, None);
    let (scene, temporary) = with_own_temporary_files(&scene);
    while_dry(&scene);
    at_any_moment(&scene);
    let left: Vec<_> = fs::read_dir(temporary).expect("the folder is there").collect();
    assert!(left.is_empty(), "{left:?}");
    let seen = "While the dry run goes on nothing has changed. At any other moment either nothing has changed, or Helm was there \
                already: then it leaves what it leaves. No temporary file is left.";
    report(&scene, seen, Vec::new())
}

/// As a terminal sends it: to Helm, too.
const TO_ALL: bool = true;

/// A chart that takes long to be rendered.
fn while_dry(scene: &Scene<'_>) {
    let chart = scene.folder().join("slow");
    fs::create_dir_all(chart.join("templates")).expect("the folder is made");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: slow}\ndata: {image: {{ .Values.image }}}\n\
                    {{- if .Values.slow }}{{ range until 3000 }}{{ range until 1000 }}{{ end }}{{ end }}{{ end }}\n";
    for (file, content) in [
        ("Chart.yaml", "{apiVersion: v2, name: slow, version: 1.0.0}"),
        ("values.yaml", "{image: 'orders:1', slow: false}"),
        ("templates/slow.yaml", template),
    ] {
        fs::write(chart.join(file), content).expect("the file is written");
    }
    let chart = chart.to_string_lossy();
    let _ = scene.helm.run(&["install", "slow", &chart]).succeeds();
    let before = scene.snapshot();
    for (signal, to_all) in [("INT", TO_ALL), ("TERM", !TO_ALL)] {
        let mut guard = start(scene, &["upgrade", "slow", &chart, "-f", "-"], "{image: 'orders:2', slow: true}");
        wait_for("Helm's dry run", || (!children(guard.id()).is_empty()).then_some(()));
        send(signal, to_all, guard.id());
        assert_eq!(guard.wait().expect("the guard ends").code(), None, "it ends by the signal");
        nobody_works_in(scene);
        assert_eq!(scene.snapshot(), before, "{signal}");
        assert_eq!(history_text(&scene.helm.history("slow")), "1 deployed", "{signal}");
    }
}

fn at_any_moment(scene: &Scene<'_>) {
    let chart = scene.chart("stable");
    let upgrade = |release: &str| start(scene, &["upgrade", release, &chart, "--set", "image=orders:2"], "");
    let names: Vec<_> = (0..=MOMENTS).map(|number| format!("orders-{number}")).collect();
    for name in &names {
        let _ = scene.install(name, "stable", &["--no-hooks"]).succeeds();
    }
    let begun = Instant::now();
    assert!(upgrade(&names[0]).wait().expect("the upgrade ends").success());
    let whole = begun.elapsed();
    for (number, name) in (0..MOMENTS).zip(&names[1..]) {
        let before = scene.get("ConfigMap", name);
        let mut guard = upgrade(name);
        thread::sleep(whole * number / MOMENTS);
        let (signal, to_all) = if number % 2 == 0 { ("INT", TO_ALL) } else { ("TERM", !TO_ALL) };
        send(signal, to_all, guard.id());
        let _ = guard.wait().expect("it ends");
        nobody_works_in(scene);
        if scene.helm.history(name).len() == 1 {
            assert_eq!(scene.get("ConfigMap", name), before, "{name}");
            assert!(scene.find("Job", &format!("{name}-migrations")).is_none(), "{name}");
        }
    }
}

/// The guard, in a group of its own.
fn start(scene: &Scene<'_>, arguments: &[&str], input: &str) -> Child {
    let mut command = scene.guarded(&[]).helm.in_namespace(arguments);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut guard = command.spawn().expect("the guard starts");
    let mut stdin = guard.stdin.take().expect("a pipe");
    // Who is dead already reads nothing.
    let _ = stdin.write_all(input.as_bytes());
    guard
}

fn send(signal: &str, to_all: bool, process: u32) {
    let target = if to_all { format!("-{process}") } else { process.to_string() };
    // That it has ended before is fine.
    let _ = Command::new("bash").args(["-c", &format!("kill -s {signal} -- {target}")]).stderr(Stdio::null()).status();
}

/// The dry runs that a process has started.
fn children(process: u32) -> Vec<u32> {
    let of_process = |other: &u32| {
        let status = fs::read_to_string(format!("/proc/{other}/status")).unwrap_or_default();
        status.lines().any(|line| line == format!("PPid:\t{process}"))
    };
    processes("--dry-run=server").into_iter().filter(of_process).collect()
}

/// Those with this in their command line.
fn processes(words: &str) -> Vec<u32> {
    let numbers =
        fs::read_dir("/proc").expect("Linux").filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_meant = |process: &u32| {
        let line = fs::read(Path::new("/proc").join(process.to_string()).join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(words)
    };
    numbers.filter(is_meant).collect()
}

/// What a guard that was ended alone has asked Helm goes on for a while.
fn nobody_works_in(scene: &Scene<'_>) {
    wait_for("the end of all dry runs", || processes(&scene.namespace).is_empty().then_some(()));
}
