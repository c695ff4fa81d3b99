//! A timeline of what was judged: a revision beside the one before, or a sync beside the first.

use helm::record::Limits;
use stable_hooks_policy::shown::Shown;

use super::contents::Contents;
use super::model::{Side, Timeline};
use crate::judged::Judged;
use crate::records::StoredRecord;
use crate::syncs::Synced;

impl Timeline {
    /// `None` where the records cannot be read, which has been told already.
    pub(crate) fn of_records<'r>(
        before: Option<(&'r StoredRecord, Option<&Judged>)>,
        (record, judged): (&'r StoredRecord, &Judged),
        baseline: impl Fn(&'r StoredRecord) -> Option<&'r StoredRecord>,
        limits: Limits,
        runs_no_hooks: bool,
    ) -> Option<Self> {
        let contents = |record: &StoredRecord| Some(Contents::of(&record.decoded(limits)?, record.operation()?));
        let after = contents(record)?;
        let after = if runs_no_hooks { after.without_hooks() } else { after };
        let before = match before {
            Some((record, judged)) => Some((record, contents(record)?, judged)),
            None => None,
        };
        let side = Side::new(&after, before.as_ref().map(|(_, contents, _)| contents));
        let before = before.map(|(record, before, judged)| {
            let earlier = baseline(record).and_then(contents);
            let findings = judged.map(Judged::findings).unwrap_or_default();
            (Side::new(&before, earlier.as_ref()), findings.to_vec())
        });
        Some(Self::new(record.release().to_owned(), after.namespace, before, (side, judged.findings().to_vec())))
    }

    /// The syncs of an application.
    pub(crate) fn of_syncs(synced: &Synced) -> Self {
        let Synced { namespace, name, texts: [first, next], labels: [before, after], found, .. } = synced;
        let [of_first, of_next] = found.each_ref().map(|judged| judged.findings().to_vec());
        let before = (Side::of_sync(before, first, None), of_first);
        let after = (Side::of_sync(after, next, Some(first)), of_next);
        Self::new(Shown(name).to_string(), Shown(namespace).to_string(), Some(before), after)
    }
}
