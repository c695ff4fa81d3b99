//! `orphans`: hooks that live in the cluster, and that no stored record names any more.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use clap::Args;
use helm::record::Limits;
use helm::storage::{self, Storage, revision_of};
use serde_json::Value;
use stable_hooks_policy::references::{references, value_sources};
use stable_hooks_policy::shown::Shown;

use super::arguments::OutputArguments;
use super::outcome::{Failure, Outcome, complain, namespace_in_use, remark, written};
use super::progress::Progress;
use super::side_by_side::side_by_side;
use crate::kubectl::{self, Scope};
use crate::orphans::live::{self, Found, Hook, KINDS, Kind, read};
use crate::orphans::named::named;
use crate::orphans::{Left, State, Summary};
use crate::output::orphans::Format;
use crate::records::installed::{Row, rows};

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

/// So often records are listed again because some were gone.
const MOST_LOOKS: usize = 5;

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
    if summary.orphans > 0 && records.known.is_empty() && !arguments.output.quiet {
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
    kubectl::check().map_err(Failure)
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
        |kind| (kind, kubectl::written(kind.resource, scope, &template)),
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

/// One stored record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stored {
    namespace: String,
    name: String,
    storage: Storage,
}

/// The stored records that are known.
#[derive(Default)]
struct Records {
    known: BTreeSet<Stored>,
    /// Some were gone before they were read: others can have come.
    is_moving: bool,
    /// Why they are not all, or not all could be read.
    doubt: Option<&'static str>,
}

impl Records {
    /// The hooks that no record names: first those of the namespace are asked, which may be all that one may read.
    fn leave_out_named(&mut self, mut hooks: Vec<Hook>, scope: Scope<'_>) -> Vec<Hook> {
        let mut progress = Progress::new(false);
        let scopes = match scope {
            Scope::Namespace(_) => vec![scope, Scope::AllNamespaces],
            Scope::AllNamespaces => vec![scope],
        };
        for scope in scopes {
            self.look(scope, &mut hooks, &mut progress);
        }
        for _ in 0..MOST_LOOKS {
            if !std::mem::take(&mut self.is_moving) {
                break;
            }
            self.look(Scope::AllNamespaces, &mut hooks, &mut progress);
        }
        if self.is_moving {
            self.doubt = Some("records come and go faster than they are read");
        }
        progress.finish();
        hooks
    }

    /// Reads the records that are not known yet, until all hooks are named.
    fn look(&mut self, scope: Scope<'_>, hooks: &mut Vec<Hook>, progress: &mut Progress) {
        if hooks.is_empty() {
            return;
        }
        let rounds = self.list(scope);
        progress.records(rounds.iter().map(Vec::len).sum());
        let mut position = 0;
        for round in rounds {
            if hooks.is_empty() {
                break;
            }
            self.ask(round, hooks, progress, &mut position);
        }
    }

    /// The records that are not known yet, the newest of each release first: most hooks are named there.
    fn list(&mut self, scope: Scope<'_>) -> Vec<Vec<Stored>> {
        let namespace = match scope {
            Scope::Namespace(namespace) => Some(namespace),
            Scope::AllNamespaces => None,
        };
        let mut releases = BTreeMap::<_, Vec<(u64, Stored)>>::new();
        for storage in Storage::ALL {
            let listing = kubectl::table(storage, None, scope);
            if let Some(reason) = &listing.failure {
                complain(reason);
                self.doubt = Some(match scope {
                    Scope::Namespace(_) => "not all records of the namespace could be listed",
                    Scope::AllNamespaces => "not all records of all namespaces could be listed, and any can name it",
                });
            }
            for Row { namespace, name, .. } in rows(&String::from_utf8_lossy(&listing.printed), namespace) {
                // A ConfigMap may say `owner: helm` and be none of Helm's; a Secret's type says what it is.
                let revision = revision_of(name).or((storage == Storage::Secret).then_some((name, 0)));
                let Some((release, revision)) = revision else { continue };
                let [namespace, name, release] = [namespace, name, release].map(str::to_owned);
                let stored = Stored { namespace: namespace.clone(), name, storage };
                if self.known.insert(stored.clone()) {
                    releases.entry((namespace, release, storage)).or_default().push((revision, stored));
                }
            }
        }
        let mut rounds: Vec<Vec<Stored>> = Vec::new();
        for mut revisions in releases.into_values() {
            revisions.sort();
            for (round, (_, stored)) in revisions.into_iter().rev().enumerate() {
                if rounds.len() == round {
                    rounds.push(Vec::new());
                }
                rounds.get_mut(round).map(|records| records.push(stored));
            }
        }
        rounds
    }

    /// Leaves out the hooks that one of these records names.
    fn ask(&mut self, records: Vec<Stored>, hooks: &mut Vec<Hook>, progress: &mut Progress, position: &mut u64) {
        let mut found = BTreeSet::new();
        let asked = &*hooks;
        let work = |stored: Stored| {
            let names = names(&stored, asked);
            (stored, names)
        };
        side_by_side(records, work, |_, (stored, names)| {
            match names {
                Ok(Some(names)) => found.extend(names),
                Ok(None) => self.is_moving = true,
                Err(reason) => {
                    let Stored { namespace, name, .. } = stored;
                    let text = format!("{}/{}: {reason}", Shown(&namespace), Shown(&name));
                    progress.suspend(|| complain(&text));
                    self.doubt = Some("not all records could be read, and any can name it");
                }
            }
            *position += 1;
            progress.advance_to(*position);
        });
        let mut number = 0;
        hooks.retain(|_| {
            let is_named = found.contains(&number);
            number += 1;
            !is_named
        });
    }
}

/// The hooks that this record names, by their numbers; `None` where the record is gone.
fn names(stored: &Stored, hooks: &[Hook]) -> Result<Option<BTreeSet<usize>>, String> {
    let Stored { namespace, name, storage } = stored;
    let Some(printed) = kubectl::record_if_there(*storage, namespace, name)? else { return Ok(None) };
    let object: Value =
        serde_json::from_slice(&printed).map_err(|_| "what kubectl printed is no release record".to_owned())?;
    let data = storage::data(&object).ok_or_else(|| "there is no data.release".to_owned())?;
    let record = storage.decode(data, Limits::default()).map_err(|error| error.to_string())?;
    Ok(Some(named(&record, namespace, hooks)))
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
    let mut uses = BTreeMap::new();
    side_by_side(
        namespaces.into_iter().collect(),
        |namespace| (uses_in(&namespace), namespace),
        |_, (used, namespace)| {
            uses.insert(namespace, used);
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
        match uses.get(&hook.name.namespace).filter(|_| of_pods) {
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
    let pods: Value =
        serde_json::from_slice(&kubectl::pods(namespace)?).map_err(|_| "kubectl printed no JSON".to_owned())?;
    let mut uses = Uses::new();
    for pod in pods.get("items").and_then(Value::as_array).into_iter().flatten() {
        let text = |pointer| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if ["Succeeded", "Failed"].contains(&text("/status/phase")) {
            continue;
        }
        for used in references(pod).into_iter().chain(value_sources(pod)) {
            uses.insert((used.kind.as_str().to_owned(), used.name.to_owned()), text("/metadata/name").to_owned());
        }
    }
    Ok(uses)
}
