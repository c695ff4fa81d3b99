//! The user's own `helm`, Helm 3 or 4, which renders charts.

pub mod chart;
pub mod folder;
pub mod ignore;
pub mod releases;
pub mod said;
pub mod values;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use helm::record::ApplyMethod;
use thiserror::Error;

use crate::words::counted;
use values::Values;

/// The options of every render of a run, in Helm's own words.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub release: String,
    pub namespace: String,
    pub values: Values,
    pub kube_version: Option<String>,
    pub api_versions: Vec<String>,
    /// Further arguments of `helm template`, as they are.
    pub more: Vec<OsString>,
    /// A render that takes longer is given up.
    pub limit: Option<Duration>,
}

/// Why there is no rendered text.
#[derive(Debug, Error)]
pub enum HelmError {
    #[error(
        "there is no `helm` on the PATH, which renders the chart; renders made elsewhere can be given with --install and --upgrade"
    )]
    Missing,
    #[error("cannot run helm: {0}")]
    Run(io::Error),
    #[error("the `helm` on the PATH is Helm 2; charts are rendered by Helm 3 or Helm 4")]
    Helm2,
    #[error("the chart cannot be copied: {0}")]
    Copy(io::Error),
    #[error("helm cannot pull it: {}", last_line(said))]
    Pull { said: Vec<u8> },
    #[error("`helm dependency build` fails: {}", last_line(said))]
    Dependencies { said: Vec<u8> },
    #[error("helm takes longer than {} to render it", counted(limit.as_secs(), "second"))]
    TooSlow { limit: Duration },
    #[error("helm could not render the chart ({status}); its own words are above")]
    Failed { status: ExitStatus, said: Vec<u8> },
}

/// Where Helm finds a chart that is no file, as its flags say it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Repository<'a> {
    pub url: Option<&'a str>,
    /// The newest that is no pre-release where none is given.
    pub version: Option<&'a str>,
}

/// The program: inside of Helm's plugin the very Helm that runs it.
#[derive(Debug, Clone)]
pub struct Helm(OsString);

impl Helm {
    #[must_use]
    pub fn of_the_user() -> Self {
        let own = std::env::var_os("HELM_BIN").filter(|path| !path.is_empty());
        Self(own.unwrap_or_else(|| "helm".into()))
    }

    /// The program at that path.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self(path.into())
    }

    /// A command of its own.
    #[must_use]
    pub fn command(&self) -> Command {
        Command::new(&self.0)
    }

    /// Renders a chart as it would be installed.
    ///
    /// # Errors
    ///
    /// When Helm cannot be run or cannot render it.
    pub fn install(&self, chart: &Path, options: &Options) -> Result<Output, HelmError> {
        self.template(chart, options, &[])
    }

    /// Renders a chart as it would be upgraded to.
    ///
    /// # Errors
    ///
    /// When Helm cannot be run or cannot render it.
    pub fn upgrade(&self, chart: &Path, options: &Options) -> Result<Output, HelmError> {
        self.template(chart, options, &["--is-upgrade"])
    }

    /// Fetches a chart, `repo/name` or a URL, into an empty folder.
    ///
    /// # Errors
    ///
    /// When Helm cannot be run or cannot fetch it.
    pub fn pull(&self, reference: &OsStr, repository: Repository<'_>, into: &Path) -> Result<PathBuf, HelmError> {
        let mut helm = Command::new(&self.0);
        helm.arg("pull").arg(reference).arg("--destination").arg(into);
        helm.args(repository.url.iter().flat_map(|url| ["--repo", url]));
        helm.args(repository.version.iter().flat_map(|version| ["--version", version]));
        let output = helm.stdin(Stdio::null()).output().map_err(HelmError::of_run)?;
        let pulled = fs::read_dir(into).ok().and_then(|mut entries| entries.next()?.ok());
        match pulled {
            Some(archive) if output.status.success() => Ok(archive.path()),
            _ => Err(HelmError::Pull { said: output.stderr }),
        }
    }

    /// Fetches what a chart's folder depends on into its `charts/`.
    ///
    /// # Errors
    ///
    /// When Helm cannot be run or cannot fetch it.
    pub fn build_dependencies(&self, chart: &Path) -> Result<(), HelmError> {
        let mut helm = Command::new(&self.0);
        let output = helm.args(["dependency", "build"]).arg(chart).stdin(Stdio::null()).output();
        let output = output.map_err(HelmError::of_run)?;
        if output.status.success() { Ok(()) } else { Err(HelmError::Dependencies { said: output.stderr }) }
    }

    /// The method by which it applies a new release.
    #[must_use]
    pub fn apply_method(&self) -> ApplyMethod {
        let version =
            Command::new(&self.0).args(["version", "--template", "{{.Version}}"]).stdin(Stdio::null()).output();
        let is_4 = version.is_ok_and(|version| version.stdout.starts_with(b"v4."));
        if is_4 { ApplyMethod::ServerSide } else { ApplyMethod::ClientSide }
    }

    /// Whether it can be run at all.
    ///
    /// # Errors
    ///
    /// When it is not there, or too old.
    pub fn check(&self) -> Result<(), HelmError> {
        if self.is_helm_2()? { Err(HelmError::Helm2) } else { Ok(()) }
    }

    fn template(&self, chart: &Path, options: &Options, mode: &[&str]) -> Result<Output, HelmError> {
        let mut helm = Command::new(&self.0);
        helm.arg("template").arg(&options.release).arg(chart).args(["--namespace", &options.namespace]).args(mode);
        helm.args(options.values.arguments());
        helm.args(options.kube_version.iter().flat_map(|version| ["--kube-version", version]));
        helm.args(options.api_versions.iter().flat_map(|version| ["--api-versions", version]));
        helm.args(&options.more);
        helm.stdin(Stdio::null());
        let output = match options.limit {
            Some(limit) => output_within(limit, &mut helm)?,
            None => helm.output().map_err(HelmError::of_run)?,
        };
        if output.status.success() {
            return Ok(output);
        }
        // Asked only now: it costs as much as a small render.
        self.check()?;
        Err(HelmError::Failed { status: output.status, said: output.stderr })
    }

    /// Helm 2 asks a server for its version unless it is told not to; Helm 4 does not know that flag any more.
    fn is_helm_2(&self) -> Result<bool, HelmError> {
        let version = Command::new(&self.0).args(["version", "--client", "--short"]).stdin(Stdio::null()).output();
        let version = version.map_err(HelmError::of_run)?;
        Ok(String::from_utf8_lossy(&version.stdout).contains("v2."))
    }
}

/// Runs a program that is ended where it takes longer.
fn output_within(limit: Duration, program: &mut Command) -> Result<Output, HelmError> {
    let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(HelmError::of_run)?;
    let (sender, receiver) = mpsc::channel();
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let result = pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes));
            // Nobody waits any more for what comes too late.
            let _ = sender.send(());
            result.map(|_| bytes)
        })
    };
    let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let begun = Instant::now();
    // Both are at their end when the program is.
    for _ in 0..2 {
        if receiver.recv_timeout(limit.saturating_sub(begun.elapsed())).is_err() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(HelmError::TooSlow { limit });
        }
    }
    let status = child.wait().map_err(HelmError::Run)?;
    let bytes = |thread: JoinHandle<io::Result<Vec<u8>>>| {
        thread.join().unwrap_or_else(|_| Err(io::Error::other("its words cannot be read"))).map_err(HelmError::Run)
    };
    Ok(Output { status, stdout: bytes(stdout)?, stderr: bytes(stderr)? })
}

/// Helm's reason stands last; what stands before it are warnings.
fn last_line(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("without a word");
    last.trim_start_matches("Error: ").to_owned()
}

impl HelmError {
    fn of_run(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Run(error) }
    }
}
