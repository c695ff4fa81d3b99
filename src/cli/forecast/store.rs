//! The reports of a forecast, stored in the cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::next::with_remedy;
use super::shard::Shard;
use crate::cli::outcome::complain;
use crate::forecast::Forecast;
use crate::helm::folder::Folder;
use crate::kubectl::{Kubectl, Scope};
use crate::output::forecast::reports::{LABELS, list, release_of};
use crate::output::policy_report::Api;
use crate::private::write;

/// So many reports are given to one `kubectl`.
const AT_ONCE: usize = 100;

/// Where reports go.
pub(super) struct Store<'a> {
    pub(super) kubectl: Kubectl,
    pub(super) api: Api,
    pub(super) scope: Scope<'a>,
    /// A report of a release that belongs to another one is left alone.
    pub(super) shard: Shard,
}

/// What was done.
#[derive(Default)]
pub(super) struct Done {
    /// Reports that are stored.
    pub(super) stored: usize,
    /// Reports that are gone now.
    pub(super) removed: usize,
    /// All that had to be.
    pub(super) is_complete: bool,
}

impl Store<'_> {
    /// Stores a report for each release; it replaces that of the run before.
    pub(super) fn store(&self, forecasts: &[Forecast], folder: &Folder) -> Done {
        let mut done = Done { is_complete: true, ..Done::default() };
        for (number, forecasts) in forecasts.chunks(AT_ONCE).enumerate() {
            match self.apply(number, forecasts, folder) {
                Ok(()) => done.stored += forecasts.len(),
                Err(reason) => {
                    complain(&format!("not all reports are stored: {reason}"));
                    done.is_complete = false;
                }
            }
        }
        done
    }

    fn apply(&self, number: usize, forecasts: &[Forecast], folder: &Folder) -> Result<(), String> {
        let json = list(self.api, forecasts).map_err(|error| error.to_string())?.to_string();
        let file = folder.change(|folder| {
            let file = folder.join(format!("reports-{number}.json"));
            write(&file, json.as_bytes()).map(|()| file)
        });
        let file = file.map_err(|error| format!("they cannot be written to a file: {error}"))?;
        self.kubectl.apply(&file).map_err(|error| with_remedy(&error))
    }

    /// Removes the reports of releases that are gone, and belong to this shard.
    pub(super) fn remove_others(&self, forecasts: &[Forecast], done: &mut Done) {
        let releases =
            forecasts.iter().map(|forecast| (forecast.storage, forecast.namespace.as_str(), forecast.name.as_str()));
        let present: BTreeSet<_> = releases.collect();
        let selector = LABELS.map(|(key, value)| format!("{key}={value}")).join(",");
        let listed = match self.kubectl.names(self.api.resource(), self.scope, &selector) {
            Ok(listed) => listed,
            Err(error) => {
                complain(&format!("reports of releases that are gone may stay: {}", with_remedy(&error)));
                done.is_complete = false;
                return;
            }
        };
        let mut gone = BTreeMap::<_, Vec<_>>::new();
        for (namespace, report) in listed {
            let Some((storage, release)) = release_of(&report) else { continue };
            if self.shard.holds(&namespace, release) && !present.contains(&(storage, namespace.as_str(), release)) {
                gone.entry(namespace).or_default().push(report);
            }
        }
        for (namespace, reports) in gone {
            for reports in reports.chunks(AT_ONCE) {
                match self.kubectl.delete(self.api.resource(), &namespace, reports) {
                    Ok(()) => done.removed += reports.len(),
                    Err(error) => {
                        complain(&format!(
                            "reports of releases that are gone stay in {namespace}: {}",
                            with_remedy(&error)
                        ));
                        done.is_complete = false;
                    }
                }
            }
        }
    }
}
