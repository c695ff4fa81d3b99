//! The program under Helm's own name, in its place for every command.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::{Scene, history_text};
use stable_hooks_e2e::world::World;

use super::{report, with_release};
use crate::Report;

pub(super) fn as_helm(world: &World, major: Major) -> Report {
    let scene = with_release(world, "called helm", major, "upgrade-only-hook");
    // Other scenarios have releases in the same cluster, also of the other Helm.
    let release = format!("called-{}", major.number());
    let _ = scene.install(&release, "stable", &["--no-hooks"]).succeeds();
    let stable = scene.chart("stable");
    let filter = format!("^{release}$");
    let lines: &[&[&str]] = &[
        &["list", "-A", "-o", "json", "--filter", &filter],
        &["get", "manifest", "orders"],
        &["get", "values", "orders", "-o", "yaml"],
        &["history", "orders", "-o", "json"],
        // In words it says how old each object is.
        &["status", "orders", "-o", "json"],
        &["template", "orders", &stable],
        &["lint", &stable],
        &["show", "chart", &stable],
        &["version"],
        &["env"],
        &["frobnicate"],
        &[],
        &["--help"],
        &["upgrade", "--help"],
        &["upgrade"],
        &["upgrade", "orders"],
        &["upgrade", "orders", &stable, "--no-such-flag"],
        &["rollback", "nosuch"],
        &["rollback", "orders", "99"],
        &["uninstall", "nosuch"],
        &["install", "dry", &stable, "--dry-run=client"],
        &["install", "dry", &stable, "--dry-run=server"],
    ];
    let link = link(&scene);
    for line in lines {
        let [real, called] = [command(&scene, scene.helm.program()), as_link(&scene, &link)].map(|mut command| {
            let Output { status, stdout, stderr } = command.args(*line).output().expect("it runs");
            (status.code(), timeless(&stdout), timeless(&stderr))
        });
        assert_eq!(called, real, "helm {}", line.join(" "));
    }
    let before = scene.snapshot();
    let upgrade =
        |name: &str, chart: &str| as_link(&scene, &link).args(["upgrade", name, chart]).output().expect("it runs");
    let denied = upgrade("orders", &scene.chart("upgrade-only-hook"));
    assert_eq!(denied.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&denied.stderr).contains("deny release-identity-flip"), "{denied:?}");
    assert_eq!(scene.snapshot(), before);
    assert!(upgrade(&release, &stable).status.success());
    assert_eq!(history_text(&scene.helm.history(&release)), "1 superseded, 2 deployed");
    let shown: Vec<_> = lines
        .iter()
        .map(|line| format!("`{}`", ["helm"].iter().chain(*line).copied().collect::<Vec<_>>().join(" ")))
        .collect();
    let seen = format!(
        "Byte for byte the same on both streams, and the same exit code: {}. Only the time of a release that is not stored differs. \
         A flip is denied, an upgrade without one goes through.",
        shown.join(", ").replace(&stable, "stable").replace(&release, "other")
    );
    report(&scene, &seen, Vec::new())
}

/// A folder in which this program is called `helm`.
fn link(scene: &Scene<'_>) -> PathBuf {
    let found = scene.helm.command(Path::new("sh")).args(["-c", "command -v stable-hooks"]).output().expect("a shell");
    let program = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let link = scene.folder().join("helm");
    symlink(program, &link).expect("the program is linked");
    link
}

fn command(scene: &Scene<'_>, program: &Path) -> Command {
    let mut command = scene.helm.command(program);
    command.env("HELM_NAMESPACE", &scene.namespace);
    command
}

fn as_link(scene: &Scene<'_>, link: &Path) -> Command {
    let mut command = command(scene, link);
    command.env("STABLE_HOOKS_HELM", scene.helm.program());
    command
}

/// Without the time, where a release is made for the answer alone.
fn timeless(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    let text: Vec<_> = text.split('\n').filter(|line| !line.starts_with("LAST DEPLOYED: ")).collect();
    text.join("\n")
}
