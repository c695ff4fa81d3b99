//! `orphans`: hooks that live in the cluster, and that no stored record names any more.

mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use clap::Args;
use serde_json::Value;
use stable_hooks_policy::references::references_and_optional;
use stable_hooks_policy::shown::Shown;

use super::arguments::OutputArguments;
use super::outcome::{Failure, Outcome, complain, namespace_in_use, remark, written};
use super::side_by_side::side_by_side;
use crate::kubectl::{self, Kubectl, Scope};
use crate::orphans::live::{self, Found, Hook, KINDS, Kind, read};
use crate::orphans::{Left, State, Summary};
use crate::output::orphans::Format;
use records::Records;

/// Finds hooks that no stored record of Helm names any more, with the command that removes each
///
/// Helm does not uninstall hooks, and forgets one that a chart no longer has. `kubectl` lists the hooks that live, then the
/// records of all releases, and what no revision names is left over. What Argo CD, Flux or `kubectl apply` deploys is not, and
/// where some record cannot be read, nothing is called an orphan. Nothing in the cluster changes.
///
/// Exit codes: 0 there is none, 1 there are some, 2 it cannot be told of some.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stable-hooks orphans -A
  stable-hooks orphans -n shop -o json")]
pub(super) struct Arguments {
    /// The namespace of the hooks; by default that of the current context
    #[arg(short, long, value_name = "NS", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// The hooks of all namespaces, and those of none, such as `ClusterRoles`
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    #[command(flatten)]
    output: OutputArguments<Format>,
}

/// The kinds of objects that a Pod names.
const OF_PODS: [&str; 4] = ["ServiceAccount", "Secret", "ConfigMap", "PersistentVolumeClaim"];

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let Looked { left, summary, is_complete } = look(arguments).unwrap_or_else(|Failure(reason)| {
        complain(&reason);
        Looked::default()
    });
    if !arguments.output.quiet {
        let mut out = arguments.output.stdout();
        let format = arguments.output.output;
        written(format.write(&mut out, &left, summary, is_complete).and_then(|()| out.flush()))?;
    }
    let has_found = summary.orphans + summary.in_use > 0;
    Ok(Outcome::of(is_complete && summary.unknown == 0, has_found))
}

/// The hooks that are left over, in order.
#[derive(Default)]
struct Looked {
    left: Vec<Left>,
    summary: Summary,
    /// All kinds of hooks could be listed.
    is_complete: bool,
}

fn look(arguments: &Arguments) -> Result<Looked, Failure> {
    check()?;
    let namespace = (!arguments.all_namespaces).then(|| namespace_in_use(arguments.namespace.as_deref()));
    let scope = namespace.as_deref().map_or(Scope::AllNamespaces, Scope::Namespace);
    // The hooks are listed first: a release that begins now writes its record before its hooks.
    let Live { hooks, tracked, is_complete } = live_hooks(scope);
    let count = hooks.len() + tracked;
    let mut records = Records::default();
    let unnamed = records.leave_out_named(hooks, scope);
    let mut left = judge(unnamed, &records);
    left.sort_by_cached_key(Left::order);
    let summary = Summary::of(&left, count, tracked);
    if summary.orphans > 0 && records.is_empty() && !arguments.output.quiet {
        remark(
            "no record is stored here; where Helm keeps them outside of the cluster (HELM_DRIVER=sql), every hook looks \
             like an orphan",
        );
    }
    Ok(Looked { left, summary, is_complete })
}

fn check() -> Result<(), Failure> {
    let driver = std::env::var("HELM_DRIVER").unwrap_or_default();
    if ["sql", "memory"].contains(&driver.as_str()) {
        return Err(Failure(format!(
            "HELM_DRIVER is {driver}: Helm keeps no records in the cluster, so nothing tells which hooks are left over"
        )));
    }
    Kubectl::default().check().map_err(|error| Failure(error.to_string()))?;
    // Else each kind would fail by itself.
    Kubectl::default().server_version().map(drop).ok_or_else(|| {
        Failure("kubectl reaches no cluster: nothing was looked at; `kubectl version` says why".to_owned())
    })
}

/// The hooks that live, as far as they could be listed.
#[derive(Default)]
struct Live {
    hooks: Vec<Hook>,
    /// How many more something else than Helm deploys.
    tracked: usize,
    is_complete: bool,
}

fn live_hooks(scope: Scope<'_>) -> Live {
    let template = live::template();
    let is_looked_at = |kind: &Kind| kind.is_in_namespaces || scope == Scope::AllNamespaces;
    let kinds: Vec<_> = KINDS.into_iter().filter(is_looked_at).collect();
    let mut live = Live { is_complete: true, ..Live::default() };
    side_by_side(
        kinds,
        |kind| (kind, Kubectl::default().written(kind.resource, scope, &template)),
        |_, (kind, listing)| {
            for line in String::from_utf8_lossy(&listing.printed).lines() {
                match read(line, kind) {
                    Some(Found::Hook(hook)) => live.hooks.push(hook),
                    Some(Found::Tracked) => live.tracked += 1,
                    Some(Found::Other) | None => {}
                }
            }
            if let Some(reason) = listing.failure {
                complain(&format!("{reason}; hooks of that kind can be missing"));
                live.is_complete = false;
            }
        },
    );
    live
}

/// What can be said of each hook that no record names.
fn judge(hooks: Vec<Hook>, records: &Records) -> Vec<Left> {
    let context = kubectl::context();
    let unknown = |hook: Hook, reason: &str| Left { hook, state: State::Unknown { reason: reason.to_owned() } };
    if let Some(doubt) = records.doubt {
        return hooks.into_iter().map(|hook| unknown(hook, doubt)).collect();
    }
    let of_pods = hooks.iter().filter(|hook| OF_PODS.contains(&&*hook.name.kind));
    let namespaces: BTreeSet<_> = of_pods.map(|hook| hook.name.namespace.clone()).collect();
    let mut by_namespace = BTreeMap::new();
    side_by_side(
        namespaces.into_iter().collect(),
        |namespace| (uses_in(&namespace), namespace),
        |_, (used, namespace)| {
            by_namespace.insert(namespace, used);
        },
    );
    let judge = |hook: Hook| {
        if !hook.has_managers {
            return unknown(hook, "the API server does not say who has written it");
        }
        if hook.is_running {
            return Left { hook, state: State::InUse { reason: "it is running".to_owned() } };
        }
        let of_pods = OF_PODS.contains(&&*hook.name.kind);
        match by_namespace.get(&hook.name.namespace).filter(|_| of_pods) {
            Some(Ok(used)) => match used.get(&(hook.name.kind.clone(), hook.name.name.clone())) {
                Some(pod) => {
                    let reason = format!("Pod {} uses it", Shown(pod));
                    Left { hook, state: State::InUse { reason } }
                }
                None => Left::orphan(hook, context.as_deref()),
            },
            Some(Err(reason)) => {
                let reason = format!("the Pods of its namespace could not be listed, and one can use it ({reason})");
                unknown(hook, &reason)
            }
            None => Left::orphan(hook, context.as_deref()),
        }
    };
    hooks.into_iter().map(judge).collect()
}

/// What the Pods of a namespace use: kind and name, and one Pod that does.
type Uses = BTreeMap<(String, String), String>;

fn uses_in(namespace: &str) -> Result<Uses, String> {
    let printed = Kubectl::default().pods(namespace).map_err(|error| error.to_string())?;
    let pods: Value = serde_json::from_slice(&printed).map_err(|_| "kubectl printed no JSON".to_owned())?;
    let mut uses = Uses::new();
    for pod in pods.get("items").and_then(Value::as_array).into_iter().flatten() {
        let text = |pointer| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if ["Succeeded", "Failed"].contains(&text("/status/phase")) {
            continue;
        }
        for used in references_and_optional(pod) {
            uses.insert((used.kind.as_str().to_owned(), used.name.to_owned()), text("/metadata/name").to_owned());
        }
    }
    Ok(uses)
}
