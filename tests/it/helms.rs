//! The real Helm 3 and Helm 4, where this machine has them.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::engines::root;

/// Every Helm that is here: those that `HELM3` and `HELM4` name, which then must work, else the one on the PATH.
/// Without any the test is skipped, and says so.
pub(crate) fn helms() -> &'static [PathBuf] {
    static HELMS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    HELMS.get_or_init(|| {
        let named = [("HELM3", "v3."), ("HELM4", "v4.")].into_iter().filter_map(|(variable, major)| {
            let path = PathBuf::from(env::var_os(variable)?);
            let version = version(&path).unwrap_or_default();
            assert!(version.starts_with(major), "{variable} names {}, which says {version:?}", path.display());
            Some(path)
        });
        let named: Vec<_> = named.collect();
        let folders = env::var_os("PATH").unwrap_or_default();
        let mut on_path = env::split_paths(&folders).map(|folder| folder.join("helm"));
        let usable = |path: &PathBuf| {
            version(path).is_some_and(|version| version.starts_with("v3.") || version.starts_with("v4."))
        };
        let found = if named.is_empty() { on_path.find(usable).into_iter().collect() } else { named };
        if found.is_empty() {
            // Not by a macro, whose words the test runner keeps to itself.
            let reason = "HELM3 and HELM4 name none, and no `helm` is on the PATH";
            let skipped = format!("SKIPPED: the tests with the real Helm ({reason})\n");
            stderr().write_all(skipped.as_bytes()).unwrap();
        }
        found
    })
}

pub(crate) fn is_helm_4(helm: &Path) -> bool {
    version(helm).is_some_and(|version| version.starts_with("v4."))
}

fn version(helm: &Path) -> Option<String> {
    let output = Command::new(helm).args(["version", "--short"]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A folder below the build directory, empty.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// A folder for the PATH, in which this Helm is called `helm` and this program `stable-hooks`.
#[cfg(unix)]
pub(crate) fn path_with(name: &str, helm: &Path) -> PathBuf {
    let folder = folder(name);
    std::os::unix::fs::symlink(helm, folder.join("helm")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_stable-hooks"), folder.join("stable-hooks")).unwrap();
    folder
}

/// A folder for the PATH with a program of ours in it.
#[cfg(unix)]
pub(crate) fn path_with_script(name: &str, program: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder(name);
    let path = folder.join(program);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A program with nothing of this machine's in its environment but these folders on the PATH.
pub(crate) fn command(program: impl AsRef<OsStr>, path: &[&Path]) -> Command {
    let mut command = Command::new(program);
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home");
    command.current_dir(root()).env_clear().env("PATH", env::join_paths(path).unwrap());
    command.env("HOME", home).env("TMPDIR", env!("CARGO_TARGET_TMPDIR")).stdin(Stdio::null());
    command
}

/// Our program with these folders on the PATH.
pub(crate) fn stable_hooks(path: &[&Path], arguments: &[&str]) -> Output {
    command(env!("CARGO_BIN_EXE_stable-hooks"), path).args(arguments).output().unwrap()
}
