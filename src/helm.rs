//! The user's own `helm`, Helm 3 or 4, which renders charts.

pub mod chart;
pub mod folder;
pub mod ignore;
pub mod line;
pub mod said;
pub mod values;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

use helm::record::ApplyMethod;
use thiserror::Error;

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
    #[error(
        "the chart cannot be copied ({0}); a chart is a folder or an archive here, and `helm pull` fetches one from a \
         repository"
    )]
    Copy(io::Error),
    #[error("helm could not render the chart ({status}); its own words are above")]
    Failed { status: ExitStatus, said: Vec<u8> },
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
        let output = helm.stdin(Stdio::null()).output().map_err(HelmError::of_run)?;
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

impl HelmError {
    fn of_run(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Run(error) }
    }
}
