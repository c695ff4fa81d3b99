//! The user's own `kubectl`, which reads the records of releases.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use helm::storage::{SECRET_TYPE, Storage};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use stable_hooks_policy::shown::Visible;
use thiserror::Error;

use crate::program::{self, Failed};
use crate::words::counted;

/// As in names, which stay readable so.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// So many records are asked for at once. Helm's are 1 MiB at most, and mostly some tens of KiB.
const PAGE: usize = 50;

/// The output of `kubectl`, and in words why that is not all.
#[derive(Debug, Default)]
pub struct Listing {
    /// The command, as an error names it.
    pub command: String,
    pub printed: Vec<u8>,
    pub failure: Option<String>,
    /// It was waited for in vain.
    pub is_too_slow: bool,
}

/// Where records are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    Namespace(&'a str),
    AllNamespaces,
}

impl<'a> Scope<'a> {
    fn arguments(self) -> Vec<&'a str> {
        match self {
            Self::Namespace(namespace) => vec!["-n", namespace],
            Self::AllNamespaces => vec!["-A"],
        }
    }
}

/// The facts about a cluster that a chart may ask for without a look at its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub kube_version: String,
    /// `batch/v1`, and `batch/v1/Job`.
    pub api_versions: Vec<String>,
}

/// The program, as the user has it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kubectl {
    /// What takes longer is given up.
    limit: Option<Duration>,
}

/// Why `kubectl` has not done what it was asked for.
#[derive(Debug, Error)]
pub enum KubectlError {
    #[error(
        "there is no `kubectl` on the PATH, which reads releases from the cluster; `stable-hooks release` also takes their \
         records as files"
    )]
    Missing,
    #[error("cannot run kubectl: {0}")]
    Run(io::Error),
    #[error("kubectl takes longer than {}", counted(limit.as_secs(), "second"))]
    TooSlow { limit: Duration },
    /// Its last words, or how it ended.
    #[error("kubectl: {0}")]
    Failed(String),
}

impl Kubectl {
    /// The same, given up where it takes longer.
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        Self { limit: Some(limit) }
    }

    /// Whether it can be run at all.
    ///
    /// # Errors
    ///
    /// When it cannot.
    pub fn check(self) -> Result<(), KubectlError> {
        self.output(kubectl(&["version", "--client"]).stderr(Stdio::null())).map(drop)
    }

    /// The records of a release, wherever Helm keeps them. `kubectl` tells on its own what went wrong.
    #[must_use]
    pub fn records(self, name: &str, namespace: &str) -> Listing {
        let selector = format!("owner=helm,name={name}");
        let command = format!("kubectl get -n {namespace} -l {selector}");
        let kinds = Storage::ALL.map(Storage::resource).join(",");
        let arguments = ["get", &kinds, "-n", namespace, "-l", &selector, "-o", "json"];
        self.listing(command, &arguments, &format!("read the records of `{name}`"))
    }

    /// A table of records of that kind: first the namespace, where that is not given, then the name, at the end the status.
    /// The API server makes it, so that no record's data comes along.
    #[must_use]
    pub fn table(self, storage: Storage, name: Option<&str>, scope: Scope<'_>) -> Listing {
        let kinds = storage.resource();
        let selector = name.map_or_else(|| "owner=helm".to_owned(), |name| format!("owner=helm,name={name}"));
        let mut arguments = vec!["get", kinds];
        arguments.extend(scope.arguments());
        arguments.extend(["-l", &selector, "-L", "status", "--no-headers", "--ignore-not-found"]);
        let of_type = format!("type={SECRET_TYPE}");
        if storage == Storage::Secret {
            arguments.extend(["--field-selector", &of_type]);
        }
        let place = scope.arguments().join(" ");
        self.listing(format!("kubectl get {kinds} {place} -l {selector}"), &arguments, &format!("list {kinds}"))
    }

    /// A page of the records of that kind that are deployed, as the API server's JSON. The first one continues nothing, each
    /// other one what the page before it says.
    ///
    /// # Errors
    ///
    /// When it cannot be read. A page that comes late has to be asked for from the beginning: the API server has forgotten
    /// what it continues.
    pub fn page(
        self,
        storage: Storage,
        name: Option<&str>,
        scope: Scope<'_>,
        continued: &str,
    ) -> Result<Vec<u8>, KubectlError> {
        let place = match scope {
            Scope::Namespace(namespace) => format!("namespaces/{}/", utf8_percent_encode(namespace, ESCAPED)),
            Scope::AllNamespaces => String::new(),
        };
        let name = name.map(|name| format!(",name={name}")).unwrap_or_default();
        let mut query = vec![("labelSelector", format!("owner=helm,status=deployed{name}"))];
        if storage == Storage::Secret {
            query.push(("fieldSelector", format!("type={SECRET_TYPE}")));
        }
        query.push(("limit", PAGE.to_string()));
        if !continued.is_empty() {
            query.push(("continue", continued.to_owned()));
        }
        let query = query.iter().map(|(key, value)| format!("{key}={}", utf8_percent_encode(value, ESCAPED)));
        let query = query.collect::<Vec<_>>().join("&");
        self.answer(&["get", "--raw", &format!("/api/v1/{place}{}?{query}", storage.resource())])
    }

    /// All objects of that resource but Helm's records, as a Go template writes them: what it does not name stays in
    /// `kubectl`.
    #[must_use]
    pub fn written(self, resource: &str, scope: Scope<'_>, template: &str) -> Listing {
        let other_type = format!("type!={SECRET_TYPE}");
        let is = |storage: Storage| storage.resource() == resource;
        let template = format!("go-template={template}");
        let mut arguments = vec!["get", resource];
        arguments.extend(scope.arguments());
        arguments.extend(["-o", &template]);
        if is(Storage::Secret) {
            arguments.extend(["--field-selector", &other_type]);
        } else if is(Storage::ConfigMap) {
            arguments.extend(["-l", "owner!=helm"]);
        }
        let place = scope.arguments().join(" ");
        self.listing(format!("kubectl get {resource} {place}"), &arguments, &format!("list {resource}"))
    }

    /// The Pods of a namespace, as a List.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn pods(self, namespace: &str) -> Result<Vec<u8>, KubectlError> {
        self.answer(&["get", "pods", "-n", namespace, "-o", "json"])
    }

    /// One record, as JSON.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn record(self, storage: Storage, namespace: &str, name: &str) -> Result<Vec<u8>, KubectlError> {
        self.answer(&["get", &storage.kind().to_lowercase(), name, "-n", namespace, "-o", "json"])
    }

    /// The same, and `None` where it is gone.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn record_if_there(
        self,
        storage: Storage,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Vec<u8>>, KubectlError> {
        let kind = storage.kind().to_lowercase();
        let printed = self.answer(&["get", &kind, name, "-n", namespace, "-o", "json", "--ignore-not-found"])?;
        Ok(Some(printed).filter(|printed| !printed.is_empty()))
    }

    /// The Jobs and `ServiceAccounts` that live in a namespace, as a List.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn live(self, namespace: &str) -> Result<Vec<u8>, KubectlError> {
        self.answer(&["get", "jobs.batch,serviceaccounts", "-n", namespace, "-o", "json"])
    }

    /// The same with the flags that say which cluster, as whom, and in which namespace.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn live_where(self, flags: &[String]) -> Result<Vec<u8>, KubectlError> {
        let mut kubectl = Command::new("kubectl");
        kubectl.args(["get", "jobs.batch,serviceaccounts", "-o", "json"]).args(flags).stdin(Stdio::null());
        printed_by(self.output(kubectl.stderr(Stdio::piped()))?)
    }

    /// Stores what the file holds, whoever wrote it before. `kubectl` tells on its own what went wrong.
    ///
    /// # Errors
    ///
    /// When not all of it is stored.
    pub fn apply(self, file: &Path) -> Result<(), KubectlError> {
        let mut kubectl =
            kubectl(&["apply", "--server-side", "--force-conflicts", "--field-manager=stable-hooks", "-f"]);
        printed_by(self.output(kubectl.arg(file))?).map(drop)
    }

    /// The namespace and the name of each object that the selector selects.
    ///
    /// # Errors
    ///
    /// When they cannot be listed.
    pub fn names(
        self,
        resource: &str,
        scope: Scope<'_>,
        selector: &str,
    ) -> Result<Vec<(String, String)>, KubectlError> {
        let template = "go-template={{range .items}}{{.metadata.namespace}} {{.metadata.name}}{{\"\\n\"}}{{end}}";
        let mut arguments = vec!["get", resource];
        arguments.extend(scope.arguments());
        arguments.extend(["-l", selector, "-o", template]);
        let printed = self.answer(&arguments)?;
        let printed = String::from_utf8_lossy(&printed);
        let names = printed.lines().filter_map(|line| line.split_once(' '));
        Ok(names.map(|(namespace, name)| (namespace.to_owned(), name.to_owned())).collect())
    }

    /// Deletes objects of a namespace; those that are gone already are none of its business.
    ///
    /// # Errors
    ///
    /// When not all of them could be.
    pub fn delete(self, resource: &str, namespace: &str, names: &[String]) -> Result<(), KubectlError> {
        let mut arguments = vec!["delete", resource, "-n", namespace, "--ignore-not-found", "--wait=false"];
        arguments.extend(names.iter().map(String::as_str));
        self.answer(&arguments).map(drop)
    }

    /// The namespace of the user's context.
    #[must_use]
    pub fn namespace(self) -> Option<String> {
        let namespace = self.printed(&["config", "view", "--minify", "-o", "jsonpath={..namespace}"]);
        Some(namespace).filter(|namespace| !namespace.is_empty())
    }

    /// The version of Kubernetes; `None` where no cluster is reached.
    #[must_use]
    pub fn server_version(self) -> Option<String> {
        let version: Value = serde_json::from_str(&self.printed(&["version", "-o", "json"])).ok()?;
        Some(version.pointer("/serverVersion/gitVersion")?.as_str()?.to_owned())
    }

    /// `None` where the cluster does not say its version.
    #[must_use]
    pub fn capabilities(self) -> Option<Capabilities> {
        let kube_version = self.server_version()?;
        // Where an aggregated API is down, these two still print the others.
        let (versions, kinds) = (self.printed(&["api-versions"]), self.printed(&["api-resources", "--no-headers"]));
        let all = versions.lines().map(str::to_owned).chain(kinds.lines().filter_map(kind_of));
        let api_versions: BTreeSet<_> = all.collect();
        Some(Capabilities { kube_version, api_versions: api_versions.into_iter().collect() })
    }

    fn printed(self, arguments: &[&str]) -> String {
        let output = self.output(kubectl(arguments).stderr(Stdio::null()));
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }

    fn answer(self, arguments: &[&str]) -> Result<Vec<u8>, KubectlError> {
        printed_by(self.output(kubectl(arguments).stderr(Stdio::piped()))?)
    }

    fn listing(self, command: String, arguments: &[&str], what: &str) -> Listing {
        let (printed, failure, is_too_slow) = match self.output(&mut kubectl(arguments)) {
            // It prints what it may read before it fails about the rest.
            Ok(Output { status, stdout: printed, .. }) => {
                (printed, (!status.success()).then(|| format!("kubectl could not {what}: {status}")), false)
            }
            Err(error @ KubectlError::TooSlow { .. }) => (Vec::new(), Some(format!("{error} to {what}")), true),
            Err(error) => (Vec::new(), Some(error.to_string()), false),
        };
        Listing { command, printed, failure, is_too_slow }
    }

    fn output(self, command: &mut Command) -> Result<Output, KubectlError> {
        program::output(command, self.limit).map_err(|failed| match failed {
            Failed::Run(error) if error.kind() == ErrorKind::NotFound => KubectlError::Missing,
            Failed::Run(error) => KubectlError::Run(error),
            Failed::TooSlow { limit } => KubectlError::TooSlow { limit },
        })
    }
}

/// The context that is asked, where it is not the user's own: inside of Helm's plugin it is Helm's to choose.
#[must_use]
pub fn context() -> Option<String> {
    let context = std::env::var_os("HELM_KUBECONTEXT").filter(|context| !context.is_empty())?;
    Some(context.to_string_lossy().into_owned())
}

fn printed_by(output: Output) -> Result<Vec<u8>, KubectlError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().last().filter(|line| !line.is_empty());
    Err(KubectlError::Failed(said.map_or_else(|| output.status.to_string(), |said| Visible(said).to_string())))
}

/// The line is `jobs  batch/v1  true  Job`, and may have short names in a second column.
fn kind_of(line: &str) -> Option<String> {
    let mut columns = line.split_whitespace().rev();
    let (kind, _, version) = (columns.next()?, columns.next()?, columns.next()?);
    Some(format!("{version}/{kind}"))
}

fn kubectl(arguments: &[&str]) -> Command {
    let mut kubectl = Command::new("kubectl");
    kubectl.args(arguments).stdin(Stdio::inherit()).stderr(Stdio::inherit());
    if let Some(context) = context() {
        kubectl.arg("--context").arg(context);
    }
    kubectl
}

#[cfg(test)]
mod tests {
    use super::kind_of;

    #[test]
    fn a_kind_is_read_with_and_without_short_names() {
        assert_eq!(kind_of("bindings                 v1         true   Binding").as_deref(), Some("v1/Binding"));
        assert_eq!(kind_of("cronjobs   cj,cron   batch/v1   true   CronJob").as_deref(), Some("batch/v1/CronJob"));
        assert_eq!(kind_of(""), None);
    }
}
