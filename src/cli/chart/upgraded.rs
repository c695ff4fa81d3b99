//! The release whose upgrade is judged.

use crate::cli::outcome::Failure;
use crate::judge::Judge;
use crate::records::StoredRecord;
use crate::records::chart::StoredRelease;

/// The release whose upgrade is judged.
pub(super) struct Upgraded<'a> {
    /// The revision that the upgrade starts from.
    pub(super) current: &'a StoredRecord,
    pub(super) stored: StoredRelease,
    /// The revision that it makes.
    pub(super) next: u64,
    /// Where its records are.
    pub(super) namespace: String,
}

impl<'a> Upgraded<'a> {
    /// `None` where there are no records.
    pub(super) fn of(records: &'a [StoredRecord], namespace: &str, judge: &Judge) -> Result<Option<Self>, Failure> {
        let Some(last) = records.iter().max_by_key(|record| record.version()) else { return Ok(None) };
        let (release, version) = (last.release(), last.version());
        if last.is_uninstalled() {
            return Err(Failure(format!(
                "release `{release}` is uninstalled (its revision {version} is kept as history): there is nothing to \
                 upgrade, and `helm upgrade --install` installs it anew; judge that without --release"
            )));
        }
        let Some(current) = StoredRecord::current(records) else { return Ok(None) };
        let stored = current.stored_release(judge.settings.record_limits());
        let stored = stored.map_err(|error| Failure(format!("{release}, revision {}: {error}", current.version())))?;
        Ok(Some(Self { current, stored, next: version + 1, namespace: namespace.to_owned() }))
    }

    /// The namespace of the release's objects. Flux can keep the records in another one.
    pub(super) fn objects_namespace(&self) -> &str {
        if self.stored.namespace.is_empty() { &self.namespace } else { &self.stored.namespace }
    }
}
