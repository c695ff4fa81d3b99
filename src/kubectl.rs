//! The user's own `kubectl`, which reads the records of a release.

use std::io::ErrorKind;
use std::process::{Command, Stdio};

/// What `kubectl` printed, and in words why that is not all.
#[derive(Debug, Default)]
pub struct Listing {
    /// The command, as an error names it.
    pub command: String,
    pub printed: Vec<u8>,
    pub failure: Option<String>,
}

/// The records of a release, wherever Helm keeps them. `kubectl` tells on its own what went wrong.
#[must_use]
pub fn records(name: &str, namespace: &str) -> Listing {
    let selector = format!("owner=helm,name={name}");
    let command = format!("kubectl get -n {namespace} -l {selector}");
    let mut kubectl = Command::new("kubectl");
    kubectl.args(["get", "secrets,configmaps", "-n", namespace, "-l", &selector, "-o", "json"]);
    // Inside of Helm's plugin the context is Helm's to choose.
    if let Some(context) = std::env::var_os("HELM_KUBECONTEXT").filter(|context| !context.is_empty()) {
        kubectl.arg("--context").arg(context);
    }
    let failed = |reason| Listing { command: command.clone(), printed: Vec::new(), failure: Some(reason) };
    let output = match kubectl.stderr(Stdio::inherit()).stdin(Stdio::inherit()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return failed(
                "there is no `kubectl` on the PATH, which reads a release by its name; its records can also be given \
                 as files to `stable-hooks release`"
                    .to_owned(),
            );
        }
        Err(error) => return failed(format!("cannot run kubectl: {error}")),
    };
    // It prints what it may read before it fails about the rest.
    let failure = (!output.status.success())
        .then(|| format!("kubectl could not read the records of `{name}`: {}", output.status));
    Listing { command, printed: output.stdout, failure }
}
