//! Programs that end when this one does, however it ends.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use anyhow::{Context, Result};

/// How much of a log says why a program did not start.
const LAST_LINES: usize = 15;

/// A command whose process the kernel kills as soon as the thread that starts it is gone.
///
/// `setpriv` (util-linux) sets that up and then becomes the program, so there is no process between the two.
#[must_use]
pub fn mortal(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// A server that runs until this is dropped.
pub struct Process {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts a program; the thread that calls this has to live for as long as the program shall.
    pub fn start(program: &Path, arguments: &[impl AsRef<OsStr>], logs: &Path) -> Result<Self> {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let mut command = mortal(program);
        command.args(arguments);
        Self::spawn(command, &name, logs)
    }

    /// The same with a command that is `mortal` already.
    pub(crate) fn spawn(mut command: Command, name: &str, logs: &Path) -> Result<Self> {
        let log = logs.join(format!("{name}.log"));
        let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let errors = output.try_clone().context("cannot share a log file")?;
        let child =
            command.stdout(output).stderr(errors).spawn().with_context(|| {
                format!("cannot start {name}: the tests need the program setpriv (package util-linux)")
            })?;
        Ok(Self { child, name: name.to_owned(), log })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Why it is not running any more, with the end of its log.
    pub fn failure(&mut self) -> Option<String> {
        let status: ExitStatus = self.child.try_wait().ok().flatten()?;
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        let end = lines.iter().rev().take(LAST_LINES).rev().copied().collect::<Vec<_>>().join("\n");
        Some(format!("{} ended with {status}; the end of its log:\n{end}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already, and that is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
