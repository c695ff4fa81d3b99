//! What `chart` adds to the two renders that Helm makes for it, and how soon the program is there at all.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::{best_of, ratio};

const ROUNDS: u32 = 15;
/// As many as the largest public charts have.
const TEMPLATES: usize = 400;
/// Prints both ratios; without a `helm` it says that it measured nothing.
pub(crate) fn measure(program: &str) -> io::Result<()> {
    if Command::new("helm").arg("version").stdout(Stdio::null()).status().is_err() {
        println!("SKIPPED: chart and --version are compared with the `helm` on the PATH, and there is none");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let rendered = write_chart(folder.path())?;
    let chart = folder.path().to_string_lossy();
    let quiet = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).stdout(Stdio::piped()).output().map(|output| output.status);
        assert!(status.is_ok_and(|status| status.code().is_some_and(|code| code < 2)), "{program} {arguments:?} fails");
    };
    let install = || quiet("helm", &["template", "orders", &chart]);
    let upgrade = || quiet("helm", &["template", "orders", &chart, "--is-upgrade"]);
    let in_turn = || {
        install();
        upgrade();
    };
    let at_once = || {
        thread::scope(|scope| {
            scope.spawn(install);
            upgrade();
        });
    };
    let (mut renders, mut together, mut judged) = (Duration::MAX, Duration::MAX, Duration::MAX);
    // In turns, so that a busy moment of the machine meets all.
    for _ in 0..ROUNDS {
        renders = renders.min(best_of(1, in_turn));
        together = together.min(best_of(1, at_once));
        judged = judged.min(best_of(1, || quiet(program, &["chart", &chart, "--name", "orders"])));
    }
    let helm_version = best_of(ROUNDS, || quiet("helm", &["version"]));
    let version = best_of(ROUNDS, || quiet(program, &["--version"]));
    let (chart, version, at_once) = (ratio(judged, renders), ratio(version, helm_version), ratio(judged, together));
    println!("chart/two renders by helm: {chart:.3}, the goal is 1.05 ({TEMPLATES} templates, {rendered} bytes)");
    println!("chart/two renders by helm at the same time, as chart makes them: {at_once:.3}");
    println!("--version/helm version: {version:.3}, the goal is 0.1");
    Ok(())
}

/// A large chart of Deployments with a migration in each twentieth template. Gives about the size of its rendered text.
fn write_chart(folder: &Path) -> io::Result<usize> {
    fs::create_dir(folder.join("templates"))?;
    fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: large\nversion: 0.1.0\n")?;
    let mut bytes = 0;
    for number in 0..TEMPLATES {
        let is_migration = number % 20 == 0;
        let (version, kind) = if is_migration { ("batch/v1", "Job") } else { ("apps/v1", "Deployment") };
        let mut text =
            format!("apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {{{{ .Release.Name }}}}-{number}\n");
        if is_migration {
            text.push_str("  labels: {app: migrate}\n  annotations:\n    helm.sh/hook: post-install,pre-upgrade\n");
        }
        text.push_str("spec:\n  template:\n    spec:\n      containers:\n        - name: main\n          env:\n");
        for variable in 0..40 {
            let _ = writeln!(
                text,
                "            - name: VARIABLE_{variable}\n              value: {{{{ printf \"%s-{variable}\" .Release.Name | quote }}}}"
            );
        }
        bytes += text.len();
        fs::write(folder.join(format!("templates/{number}.yaml")), text)?;
    }
    Ok(bytes)
}
