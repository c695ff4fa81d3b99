//! The user's own `helm`, Helm 3 or 4, which renders charts.

pub mod chart;
pub mod folder;
pub mod ignore;
pub mod releases;
pub mod said;
pub mod values;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use helm::record::ApplyMethod;
use thiserror::Error;

use crate::program::{self, Failed};
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
    #[error("helm takes longer than {} to {what}", counted(limit.as_secs(), "second"))]
    TooSlow { what: &'static str, limit: Duration },
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
pub struct Helm {
    program: OsString,
    /// A render that takes longer is given up.
    limit: Option<Duration>,
}

impl Helm {
    #[must_use]
    pub fn of_the_user() -> Self {
        let own = std::env::var_os("HELM_BIN").filter(|path| !path.is_empty());
        Self { program: own.unwrap_or_else(|| "helm".into()), limit: None }
    }

    /// The program at that path.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { program: path.into(), limit: None }
    }

    /// The same, given up where it takes longer.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// A command of its own.
    #[must_use]
    pub fn command(&self) -> Command {
        Command::new(&self.program)
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
        let mut helm = self.command();
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
        let mut helm = self.command();
        let output = helm.args(["dependency", "build"]).arg(chart).stdin(Stdio::null()).output();
        let output = output.map_err(HelmError::of_run)?;
        if output.status.success() { Ok(()) } else { Err(HelmError::Dependencies { said: output.stderr }) }
    }

    /// The method by which it applies a new release.
    #[must_use]
    pub fn apply_method(&self) -> ApplyMethod {
        let version = self.command().args(["version", "--template", "{{.Version}}"]).stdin(Stdio::null()).output();
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
        let mut helm = self.command();
        helm.arg("template").arg(&options.release).arg(chart).args(["--namespace", &options.namespace]).args(mode);
        helm.args(options.values.arguments());
        helm.args(options.kube_version.iter().flat_map(|version| ["--kube-version", version]));
        helm.args(options.api_versions.iter().flat_map(|version| ["--api-versions", version]));
        helm.args(&options.more);
        let output = self.output(&mut helm, "render it")?;
        if output.status.success() {
            return Ok(output);
        }
        // Asked only now: it costs as much as a small render.
        self.check()?;
        Err(HelmError::Failed { status: output.status, said: output.stderr })
    }

    /// Helm 2 asks a server for its version unless it is told not to; Helm 4 does not know that flag any more.
    fn is_helm_2(&self) -> Result<bool, HelmError> {
        let version = self.output(self.command().args(["version", "--client", "--short"]), "say its version")?;
        Ok(String::from_utf8_lossy(&version.stdout).contains("v2."))
    }

    fn output(&self, command: &mut Command, what: &'static str) -> Result<Output, HelmError> {
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        program::output(command, self.limit).map_err(|failed| match failed {
            Failed::Run(error) => HelmError::of_run(error),
            Failed::TooSlow { limit } => HelmError::TooSlow { what, limit },
        })
    }
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
