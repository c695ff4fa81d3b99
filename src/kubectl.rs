//! The user's own `kubectl`, which reads the records of releases.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::process::{Command, Output, Stdio};

use helm::storage::{SECRET_TYPE, Storage};
use serde_json::Value;
use stable_hooks_policy::shown::Visible;

/// The output of `kubectl`, and in words why that is not all.
#[derive(Debug, Default)]
pub struct Listing {
    /// The command, as an error names it.
    pub command: String,
    pub printed: Vec<u8>,
    pub failure: Option<String>,
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

/// Whether it can be run at all.
///
/// # Errors
///
/// In words, when it cannot.
pub fn check() -> Result<(), String> {
    kubectl(&["version", "--client"]).stderr(Stdio::null()).output().map(drop).map_err(|error| unable(&error))
}

/// The records of a release, wherever Helm keeps them. `kubectl` tells on its own what went wrong.
#[must_use]
pub fn records(name: &str, namespace: &str) -> Listing {
    let selector = format!("owner=helm,name={name}");
    let command = format!("kubectl get -n {namespace} -l {selector}");
    let kinds = Storage::ALL.map(Storage::resource).join(",");
    let arguments = ["get", &kinds, "-n", namespace, "-l", &selector, "-o", "json"];
    listing(command, &arguments, &format!("read the records of `{name}`"))
}

/// A table of records of that kind: first the namespace, where that is not given, then the name, at the end the status. The
/// API server makes it, so that no record's data comes along.
#[must_use]
pub fn table(storage: Storage, name: Option<&str>, scope: Scope<'_>) -> Listing {
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
    listing(format!("kubectl get {kinds} {place} -l {selector}"), &arguments, &format!("list {kinds}"))
}

/// All objects of that resource but Helm's records, as a Go template writes them: what it does not name stays in `kubectl`.
#[must_use]
pub fn written(resource: &str, scope: Scope<'_>, template: &str) -> Listing {
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
    listing(format!("kubectl get {resource} {place}"), &arguments, &format!("list {resource}"))
}

/// The Pods of a namespace, as a List.
///
/// # Errors
///
/// In words, when they cannot be read.
pub fn pods(namespace: &str) -> Result<Vec<u8>, String> {
    json(&["get", "pods", "-n", namespace, "-o", "json"])
}

/// The context that is asked, where it is not the user's own: inside of Helm's plugin it is Helm's to choose.
#[must_use]
pub fn context() -> Option<String> {
    let context = std::env::var_os("HELM_KUBECONTEXT").filter(|context| !context.is_empty())?;
    Some(context.to_string_lossy().into_owned())
}

/// One record, as JSON.
///
/// # Errors
///
/// In words, when it cannot be read.
pub fn record(storage: Storage, namespace: &str, name: &str) -> Result<Vec<u8>, String> {
    json(&["get", &storage.kind().to_lowercase(), name, "-n", namespace, "-o", "json"])
}

/// The same, and `None` where it is gone.
///
/// # Errors
///
/// In words, when it cannot be read.
pub fn record_if_there(storage: Storage, namespace: &str, name: &str) -> Result<Option<Vec<u8>>, String> {
    let kind = storage.kind().to_lowercase();
    let printed = json(&["get", &kind, name, "-n", namespace, "-o", "json", "--ignore-not-found"])?;
    Ok(Some(printed).filter(|printed| !printed.is_empty()))
}

fn json(arguments: &[&str]) -> Result<Vec<u8>, String> {
    let output = kubectl(arguments).stderr(Stdio::piped()).output().map_err(|error| unable(&error))?;
    printed_by(output)
}

fn printed_by(output: Output) -> Result<Vec<u8>, String> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().last().filter(|line| !line.is_empty());
    Err(said.map_or_else(|| format!("kubectl: {}", output.status), |said| format!("kubectl: {}", Visible(said))))
}

/// The Jobs and `ServiceAccounts` that live in a namespace, as a List.
///
/// # Errors
///
/// In words, when they cannot be read.
pub fn live(namespace: &str) -> Result<Vec<u8>, String> {
    json(&["get", "jobs.batch,serviceaccounts", "-n", namespace, "-o", "json"])
}

/// The same with the flags that say which cluster, as whom, and in which namespace.
///
/// # Errors
///
/// In words, when they cannot be read; `None` where there is no `kubectl`.
pub fn live_where(flags: &[String]) -> Result<Vec<u8>, Option<String>> {
    let mut kubectl = Command::new("kubectl");
    kubectl.args(["get", "jobs.batch,serviceaccounts", "-o", "json"]).args(flags).stdin(Stdio::null());
    match kubectl.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(None),
        Err(error) => Err(Some(unable(&error))),
        Ok(output) => printed_by(output).map_err(Some),
    }
}

/// The namespace of the user's context.
#[must_use]
pub fn namespace() -> Option<String> {
    let namespace = printed(&["config", "view", "--minify", "-o", "jsonpath={..namespace}"]);
    Some(namespace).filter(|namespace| !namespace.is_empty())
}

/// The version of Kubernetes; `None` where no cluster is reached.
#[must_use]
pub fn server_version() -> Option<String> {
    let version: Value = serde_json::from_str(&printed(&["version", "-o", "json"])).ok()?;
    Some(version.pointer("/serverVersion/gitVersion")?.as_str()?.to_owned())
}

/// `None` where the cluster does not say its version.
#[must_use]
pub fn capabilities() -> Option<Capabilities> {
    let kube_version = server_version()?;
    // Where an aggregated API is down, these two still print the others.
    let (versions, kinds) = (printed(&["api-versions"]), printed(&["api-resources", "--no-headers"]));
    let all = versions.lines().map(str::to_owned).chain(kinds.lines().filter_map(kind_of));
    let api_versions: BTreeSet<_> = all.collect();
    Some(Capabilities { kube_version, api_versions: api_versions.into_iter().collect() })
}

/// The line is `jobs  batch/v1  true  Job`, and may have short names in a second column.
fn kind_of(line: &str) -> Option<String> {
    let mut columns = line.split_whitespace().rev();
    let (kind, _, version) = (columns.next()?, columns.next()?, columns.next()?);
    Some(format!("{version}/{kind}"))
}

fn printed(arguments: &[&str]) -> String {
    let output = kubectl(arguments).stderr(Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

fn listing(command: String, arguments: &[&str], what: &str) -> Listing {
    match kubectl(arguments).output() {
        Ok(Output { status, stdout: printed, .. }) => {
            // It prints what it may read before it fails about the rest.
            let failure = (!status.success()).then(|| format!("kubectl could not {what}: {status}"));
            Listing { command, printed, failure }
        }
        Err(error) => Listing { command, printed: Vec::new(), failure: Some(unable(&error)) },
    }
}

fn kubectl(arguments: &[&str]) -> Command {
    let mut kubectl = Command::new("kubectl");
    kubectl.args(arguments).stdin(Stdio::inherit()).stderr(Stdio::inherit());
    if let Some(context) = context() {
        kubectl.arg("--context").arg(context);
    }
    kubectl
}

fn unable(error: &io::Error) -> String {
    if error.kind() == ErrorKind::NotFound {
        return "there is no `kubectl` on the PATH, which reads releases from the cluster; `stable-hooks release` also \
                takes their records as files"
            .to_owned();
    }
    format!("cannot run kubectl: {error}")
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
