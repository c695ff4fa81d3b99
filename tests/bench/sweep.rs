//! What `chart --sweep` adds to the renders that Helm makes for it, and the memory that it takes itself.

use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::stream::peak_mib;
use crate::{Ratio, table};

const ROUNDS: usize = 9;
/// Half of them are migrations.
const TEMPLATES: usize = 30;
/// By how many values a migration is a hook where there shall be many renders.
const MANY_VALUES: usize = 14;
const RENDERS: [usize; 2] = [20, 200];

/// A chart to sweep.
struct Shape {
    /// That decide about a migration.
    values: usize,
    /// Of each so many migrations one is a hook or a resource; the others are hooks, before or after the rest.
    flips_each: usize,
}

/// The ratio to the same renders without the program, and the memory with few of them and with many.
pub(crate) fn section(program: &str) -> io::Result<String> {
    let migrations = TEMPLATES / 2;
    let mut rows = Vec::new();
    for flips_each in [3, 1] {
        let folder = tempfile::tempdir()?;
        let chart = write_chart(folder.path(), &Shape { values: 1, flips_each })?;
        let calls = calls(program, &chart, folder.path())?;
        let time = Ratio::of(ROUNDS, || done(&sweep(program, &chart, 200).output()), || bare(&calls));
        rows.push([
            format!(
                "time, {} of {migrations} values flip something / the same {} renders by Helm alone",
                migrations / flips_each,
                calls.len()
            ),
            time.to_string(),
        ]);
    }
    let folder = tempfile::tempdir()?;
    let chart = write_chart(folder.path(), &Shape { values: MANY_VALUES, flips_each: 1 })?;
    for renders in RENDERS {
        rows.push([format!("MiB held, {renders} renders"), format!("{:.1}", memory(program, &chart, renders)?)]);
    }
    Ok(format!(
        "## A sweep\n\nGoals: 1.2 times the same renders, equally many at once; memory that does not grow with them.\n\n{}\n\
         {TEMPLATES} templates, every second one a migration. The renders are all that `chart --sweep` asks Helm for, with the same \
         arguments, as many side by side as there are cores; {ROUNDS} pairs each. *MiB held*: the most by the program itself, \
         looked at each millisecond, measured once; there {} values decide.\n",
        table(["what", "sweep"], &rows),
        migrations * MANY_VALUES,
    ))
}

fn sweep(program: &str, chart: &Path, renders: usize) -> Command {
    let mut command = Command::new(program);
    command.arg("chart").arg(chart).args(["--sweep", "--no-config", "--sweep-renders", &renders.to_string()]);
    command
}

fn done(output: &io::Result<Output>) {
    let is_well = output.as_ref().is_ok_and(|output| output.status.success());
    assert!(is_well, "it fails: {output:?}");
}

/// What a sweep calls Helm with; the files that it names are kept in the folder.
fn calls(program: &str, chart: &Path, folder: &Path) -> io::Result<Vec<Vec<String>>> {
    let [temporary, kept, programs] = ["temporary", "kept", "programs"].map(|name| folder.join(name));
    for folder in [&temporary, &kept, &programs] {
        fs::create_dir(folder)?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let helm = std::env::split_paths(&path).map(|folder| folder.join("helm")).find(|helm| helm.is_file());
    let helm = helm.ok_or_else(|| io::Error::other("there is no helm on the PATH"))?;
    let [from, to] = [&temporary, &kept].map(|folder| folder.display());
    // The program removes its files at the end; what one call finds is all there when it comes.
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = template ]; then\n  cp -R '{from}/.' '{to}'\n  printf '%s\\n' \"$@\" >\"$(mktemp '{to}/call-XXXXXX')\"\nfi\n\
         exec '{}' \"$@\"\n",
        helm.display()
    );
    let wrapper = programs.join("helm");
    fs::write(&wrapper, script)?;
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)));
    let path = path.map_err(io::Error::other)?;
    done(&sweep(program, chart, 200).env("PATH", path).env("TMPDIR", &temporary).output());
    let mut calls = Vec::new();
    for entry in fs::read_dir(&kept)? {
        let file = entry?.path();
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("call-")) {
            let lines = fs::read_to_string(file)?.replace(&from.to_string(), &to.to_string());
            calls.push(lines.lines().map(str::to_owned).collect());
        }
    }
    assert!(calls.len() > TEMPLATES / 2, "a value decides in each second template: {calls:?}");
    Ok(calls)
}

/// Renders, as many at once as a sweep does, and throws the text away.
fn bare(calls: &[Vec<String>]) {
    let waiting = Mutex::new(calls.iter());
    let cores = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(call) = waiting.lock().ok().and_then(|mut calls| calls.next()) {
                    done(&Command::new("helm").args(call).output());
                }
            });
        }
    });
}

/// The most MiB that the program held while it ran; those of Helm are not its own.
fn memory(program: &str, chart: &Path, renders: usize) -> io::Result<f64> {
    let mut child = sweep(program, chart, renders).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut most = 0.0_f64;
    loop {
        // A process that has ended tells of no memory, and `max` passes over that.
        most = most.max(peak_mib(child.id()));
        if let Some(status) = child.try_wait()? {
            assert!(status.success(), "{status}");
            return Ok(most);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// A chart of migrations, each decided by values of its own, among Deployments.
fn write_chart(folder: &Path, shape: &Shape) -> io::Result<PathBuf> {
    let chart = folder.join("chart");
    fs::create_dir_all(chart.join("templates"))?;
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: swept\nversion: 0.1.0\n")?;
    let mut defaults = String::new();
    for number in 0..TEMPLATES {
        let is_migration = number % 2 == 0;
        let (version, kind) = if is_migration { ("batch/v1", "Job") } else { ("apps/v1", "Deployment") };
        let mut text =
            format!("apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {{{{ .Release.Name }}}}-{number}\n");
        if is_migration {
            let keys: Vec<_> = (0..shape.values).map(|value| format!("early{number}x{value}")).collect();
            let conditions = keys.join(" .Values.");
            let late = if number / 2 % shape.flips_each == 0 {
                ""
            } else {
                "{{- else }}\n  annotations: {helm.sh/hook: post-install}\n  "
            };
            let _ = writeln!(
                text,
                "  {{{{- if and true .Values.{conditions} }}}}\n  annotations: {{helm.sh/hook: pre-install}}\n  {late}{{{{- end }}}}"
            );
            defaults.extend(keys.iter().map(|key| format!("{key}: true\n")));
        }
        text.push_str("spec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - name: main\n          env:\n");
        for variable in 0..40 {
            let _ = writeln!(
                text,
                "            - name: VARIABLE_{variable}\n              value: {{{{ printf \"%s-{variable}\" .Release.Name | quote }}}}"
            );
        }
        fs::write(chart.join(format!("templates/{number}.yaml")), text)?;
    }
    fs::write(chart.join("values.yaml"), defaults)?;
    Ok(chart)
}
