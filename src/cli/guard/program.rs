//! The `helm` that is guarded, and how this program becomes it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cli::outcome::Failure;
use crate::helm::Helm;

/// Names the real one where this program is called `helm` itself.
const HELM: &str = "STABLE_HOOKS_HELM";
/// How often this program has called another Helm that was this program again.
const DEPTH: &str = "STABLE_HOOKS_DEPTH";
/// A plugin of Helm's, and its post-renderer, may call it again.
const MOST: u32 = 8;

/// This program is called `helm`, and stands in its place.
pub(super) fn is_called_helm(called: &OsStr) -> bool {
    Path::new(called).file_stem().is_some_and(|name| name == "helm")
}

/// The real Helm where this program is called `helm`: the one that is named, else the next on the PATH that is another file.
pub(super) fn real() -> Result<Helm, Failure> {
    if depth() >= MOST {
        return Err(Failure(format!(
            "`helm` leads back to this program {MOST} times: {HELM} has to name the real Helm"
        )));
    }
    let own = env::current_exe().and_then(fs::canonicalize).ok();
    let is_other = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|path| Some(path) != own);
    if let Some(named) = env::var_os(HELM).filter(|path| !path.is_empty()) {
        let named = Some(PathBuf::from(named)).filter(is_other);
        return named
            .map(Helm::at)
            .ok_or_else(|| Failure(format!("{HELM} names no other program: it has to be the path of the real Helm")));
    }
    let name = format!("helm{}", env::consts::EXE_SUFFIX);
    let on_path = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&on_path).map(|folder| folder.join(&name)).find(|path| is_program(path) && is_other(path));
    found
        .map(Helm::at)
        .ok_or_else(|| Failure(format!("there is no other `helm` on the PATH; {HELM} can name the real one")))
}

/// Runs Helm in the place of this program; comes back only where that fails, or where a program cannot become another one.
pub(super) fn become_helm(helm: &Helm, words: &[OsString]) -> Result<ExitCode, Failure> {
    let mut command = helm.command();
    command.args(words).env(DEPTH, (depth() + 1).to_string());
    replace(&mut command).map_err(|error| Failure(format!("cannot run helm: {error}")))
}

fn depth() -> u32 {
    env::var(DEPTH).ok().and_then(|depth| depth.parse().ok()).unwrap_or_default()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(unix)]
fn replace(command: &mut Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec())
}

#[cfg(not(unix))]
fn replace(command: &mut Command) -> std::io::Result<ExitCode> {
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
