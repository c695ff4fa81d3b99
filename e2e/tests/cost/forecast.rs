//! What `forecast -A` adds to the renders that it needs: 1,000 releases, whose records are written to the real API server as
//! Helm would, and the very calls of Helm by themselves, as many side by side as there are cores. In turns.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::world::World;

use super::{median, rewrite};

/// Fewer with `RELEASES=…`, for a look.
const RELEASES: usize = 1000;
const ROUNDS: usize = 3;
/// Stands for each release's name in the record that is copied.
const MODEL: &str = "model-of-a-release";

/// Rewrites the table in docs/forecast.md.
pub(super) fn measure(world: &World) -> Result<()> {
    let scene = Scene::new(world, "cost-forecast", Major::Four, None);
    let _ = scene.install(MODEL, "stable", &["--no-hooks"]).succeeds();
    let model = scene.get("Secret", &format!("sh.helm.release.v1.{MODEL}.v1"));
    let text = decoded(&model).context("Helm's record is read")?;
    let number_in = |variable: &str| std::env::var(variable).ok()?.parse().ok();
    let releases = number_in("RELEASES").unwrap_or(RELEASES);
    let rounds = number_in("ROUNDS").unwrap_or(ROUNDS);
    let mut table =
        "| releases | namespaces | the renders alone | `forecast -A` | ratio | of processor time | calls of \
                     `kubectl` | MiB held |\n|---:|---:|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for namespaces in [1, releases] {
        let _ = scene.kubectl_of_a_page("delete secrets -A -l owner=helm --wait=false").succeeds();
        for number in 0..releases {
            let namespace = format!("cost-{namespaces}-{}", number % namespaces);
            scene.has_namespace(&namespace);
            let name = format!("release-{number:04}");
            let text = text.replace(MODEL, &name).replace(&scene.namespace, &namespace);
            world.cluster().create(&record(&text, &namespace, &name)?);
        }
        table.push_str(&row(&scene, releases, namespaces, rounds)?);
    }
    rewrite("forecast", &table)
}

fn row(scene: &Scene<'_>, releases: usize, namespaces: usize, rounds: usize) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let (calls, lookups) = calls(scene, folder.path())?;
    ensure!(calls.len() == releases, "{} renders", calls.len());
    let (mut ratios, mut of_processor, mut alone, mut foretold) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut held = 0.0_f64;
    for _ in 0..rounds {
        let begun = processor_time()?;
        let bare = bare(scene, &calls)?;
        let between = processor_time()?;
        let (time, memory) = forecast(&mut scene.helm.command(Path::new("stable-hooks")))?;
        of_processor.push((processor_time()? - between) / (between - begun));
        held = held.max(memory);
        ratios.push(time.as_secs_f64() / bare.as_secs_f64());
        alone.push(bare.as_secs_f64());
        foretold.push(time.as_secs_f64());
    }
    let [ratio, of_processor, alone, foretold] = [ratios, of_processor, alone, foretold].map(median);
    let mut line = String::new();
    writeln!(
        line,
        "| {releases} | {namespaces} | {alone:.1} s | {foretold:.1} s | {ratio:.2} | {of_processor:.2} | {lookups} | {held:.0} |"
    )?;
    Ok(line)
}

/// The ticks of all programs that were run and waited for, with those that they waited for.
fn processor_time() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").context("there are fields")?.1.split(' ');
    fields.skip(13).take(2).map(|ticks| Ok(ticks.parse::<f64>()?)).sum()
}

/// How long it takes, and the most MiB that the program itself held.
fn forecast(command: &mut Command) -> Result<(Duration, f64)> {
    let begun = Instant::now();
    let mut child =
        command.args(["forecast", "-A", "-o", "json"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut most = 0.0_f64;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most = most.max(peak.and_then(|peak| peak.trim().parse::<f64>().ok()).unwrap_or_default() / 1024.0);
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "the forecast says {status}");
            return Ok((begun.elapsed(), most));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// What it calls Helm with, with the files kept, and how often it calls `kubectl`.
fn calls(scene: &Scene<'_>, folder: &Path) -> Result<(Vec<Vec<String>>, usize)> {
    let [temporary, kept, programs] = ["temporary", "kept", "programs"].map(|name| folder.join(name));
    for folder in [&temporary, &kept, &programs] {
        fs::create_dir(folder)?;
    }
    let [from, to] = [&temporary, &kept].map(|folder| folder.display());
    let kubernetes = scene.world.tools.kubernetes.join("kubectl");
    // The third word is the chart, two folders below that of this render.
    let helm = format!(
        "if [ \"$1\" = template ]; then\n  own=$(dirname \"$(dirname \"$3\")\")\n  mkdir -p \"{to}${{own#{from}}}\"\n  \
         cp -R \"$own/.\" \"{to}${{own#{from}}}\"\n  printf '%s\\n' \"$@\" >\"$(mktemp '{to}/call-XXXXXX')\"\nfi\n\
         exec '{}' \"$@\"\n",
        scene.helm.program().display()
    );
    let kubectl = format!("echo >>'{to}/lookups'\nexec '{}' \"$@\"\n", kubernetes.display());
    for (name, script) in [("helm", helm), ("kubectl", kubectl)] {
        let program = programs.join(name);
        fs::write(&program, format!("#!/bin/sh\n{script}"))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)))?;
    let mut command = scene.helm.command(Path::new("stable-hooks"));
    let _ = forecast(command.env("PATH", path).env("TMPDIR", &temporary))?;
    let mut calls = Vec::new();
    for entry in fs::read_dir(&kept)? {
        let file = entry?.path();
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("call-")) {
            let lines = fs::read_to_string(file)?.replace(&from.to_string(), &to.to_string());
            calls.push(lines.lines().map(str::to_owned).collect());
        }
    }
    Ok((calls, fs::read_to_string(kept.join("lookups"))?.lines().count()))
}

/// The renders alone, as many at once as there are cores.
fn bare(scene: &Scene<'_>, calls: &[Vec<String>]) -> Result<Duration> {
    let begun = Instant::now();
    let waiting = Mutex::new(calls.iter());
    let failed = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                while let Some(call) = waiting.lock().ok().and_then(|mut calls| calls.next()) {
                    let output = Command::new(scene.helm.program()).args(call).output();
                    if !output.is_ok_and(|output| output.status.success())
                        && let Ok(mut failed) = failed.lock()
                    {
                        *failed += 1;
                    }
                }
            });
        }
    });
    ensure!(failed.into_inner().is_ok_and(|failed| failed == 0), "not all renders succeed");
    Ok(begun.elapsed())
}

fn decoded(secret: &Value) -> Result<String> {
    let data = secret.pointer("/data/release").and_then(Value::as_str).context("there is no data.release")?;
    let zipped = BASE64_STANDARD.decode(BASE64_STANDARD.decode(data)?)?;
    let mut text = String::new();
    GzDecoder::new(zipped.as_slice()).read_to_string(&mut text)?;
    Ok(text)
}

/// The Secret that Helm would have written.
fn record(text: &str, namespace: &str, name: &str) -> Result<Value> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    let data = BASE64_STANDARD.encode(BASE64_STANDARD.encode(encoder.finish()?));
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {
            "name": format!("sh.helm.release.v1.{name}.v1"), "namespace": namespace,
            "labels": {"owner": "helm", "name": name, "version": "1", "status": "deployed"},
        },
        "data": {"release": data},
    }))
}
