//! The stored records, read until each hook is named.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use helm::record::Limits;
use helm::storage::{self, Storage, revision_of};
use serde_json::Value;
use stable_hooks_policy::shown::Shown;

use crate::cli::outcome::complain;
use crate::cli::progress::Progress;
use crate::cli::side_by_side::side_by_side;
use crate::kubectl::{Kubectl, Scope};
use crate::orphans::live::Hook;
use crate::orphans::named::named;
use crate::records::installed::{Row, rows};

/// So often records are listed again because some were gone.
const MOST_LOOKS: usize = 5;

/// One stored record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stored {
    namespace: String,
    name: String,
    storage: Storage,
}

/// The stored records that are known.
#[derive(Default)]
pub(super) struct Records {
    known: BTreeSet<Stored>,
    /// Some were gone before they were read: others can have come.
    is_moving: bool,
    /// Why they are not all, or not all could be read.
    pub(super) doubt: Option<&'static str>,
}

impl Records {
    /// There is none.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The hooks that no record names: first those of the namespace are asked, which may be all that one may read.
    pub(super) fn leave_out_named(&mut self, mut hooks: Vec<Hook>, scope: Scope<'_>) -> Vec<Hook> {
        let mut progress = Progress::new(false);
        let scopes = match scope {
            Scope::Namespace(_) => vec![scope, Scope::AllNamespaces],
            Scope::AllNamespaces => vec![scope],
        };
        for scope in scopes {
            self.look(scope, &mut hooks, &mut progress);
        }
        for _ in 0..MOST_LOOKS {
            if !mem::take(&mut self.is_moving) {
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
            let listing = Kubectl::default().table(storage, None, scope);
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
                if let Some(records) = rounds.get_mut(round) {
                    records.push(stored);
                }
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
    let Some(printed) =
        Kubectl::default().record_if_there(*storage, namespace, name).map_err(|error| error.to_string())?
    else {
        return Ok(None);
    };
    let object: Value =
        serde_json::from_slice(&printed).map_err(|_| "what kubectl printed is no release record".to_owned())?;
    let data = storage::data(&object).ok_or_else(|| "there is no data.release".to_owned())?;
    let record = storage.decode(data, Limits::default()).map_err(|error| error.to_string())?;
    Ok(Some(named(&record, namespace, hooks)))
}
