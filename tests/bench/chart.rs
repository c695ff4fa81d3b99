//! What `chart` adds to the two renders that Helm makes for it, and how soon the program is there at all.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::{Ratio, grouped, table};

const ROUNDS: usize = 15;
/// As many as the largest public charts have.
const TEMPLATES: usize = 400;

/// The ratios to what the `helm` on the PATH takes.
pub(crate) fn section(program: &str) -> io::Result<String> {
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
    let judged = || quiet(program, &["chart", &chart, "--name", "orders"]);
    let (one_by_one, together) = (Ratio::of(ROUNDS, judged, in_turn), Ratio::of(ROUNDS, judged, at_once));
    let version = Ratio::of(ROUNDS, || quiet(program, &["--version"]), || quiet("helm", &["version"]));
    Ok(format!(
        "## A chart, and the program itself\n\nGoals: 1.05 times two renders one after the other, 0.1 times `helm version`.\n\n{}\n{TEMPLATES} \
         templates, {} bytes rendered; `chart` has Helm render install and upgrade at the same time. {ROUNDS} pairs each.\n",
        table(
            ["what", "time"],
            &[
                ["`chart` / two renders by Helm, one after the other".to_owned(), one_by_one.to_string()],
                ["`chart` / two renders by Helm at the same time".to_owned(), together.to_string()],
                ["`--version` / `helm version`".to_owned(), version.to_string()],
            ]
        ),
        grouped(rendered)
    ))
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
