//! The records from which the upgrades start, read by pages while those that are there already are rendered.

use std::collections::BTreeMap;

use helm::storage::Storage;
use serde_json::Value;

use crate::input::Content;
use crate::kubectl::{Kubectl, KubectlError, Scope};
use crate::records::installed::Installed;
use crate::records::page::{Page, Place, object};
use crate::records::record_object;

/// So few are asked for one by one.
const FEW: usize = 4;
/// Pages hold the records of all releases. Where less than such a part of them is wanted, each is asked for by itself.
const PART: usize = 8;

/// Where the records are.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) kubectl: Kubectl,
    /// One release alone.
    pub(super) name: Option<&'a str>,
    pub(super) scope: Scope<'a>,
    /// How many releases the pages hold.
    pub(super) listed: usize,
}

/// What is known of a release's record.
pub(super) enum Record {
    Read(Value),
    /// No page has it.
    Unread,
    /// `kubectl` was waited for in vain, and is not called once for each release that is left.
    GivenUp(KubectlError),
}

type Wanted<'r> = BTreeMap<Place, &'r Installed>;

impl Reading<'_> {
    /// Gives each release once.
    pub(super) fn hand_out<'r>(self, releases: &[&'r Installed], mut give: impl FnMut(&'r Installed, Record)) {
        for storage in Storage::ALL {
            let of_storage = releases.iter().filter(|release| release.storage == storage);
            let mut wanted: Wanted<'_> = of_storage.map(|release| (place(release), *release)).collect();
            let is_worth_it = wanted.len() > FEW && wanted.len().saturating_mul(PART) >= self.listed;
            let read = if is_worth_it { self.pages(storage, &mut wanted, &mut give) } else { Ok(()) };
            for release in wanted.into_values() {
                let record = match read {
                    Err(TooSlow(limit)) => Record::GivenUp(KubectlError::TooSlow { limit }),
                    Ok(()) => Record::Unread,
                };
                give(release, record);
            }
        }
    }

    /// Gives what the pages hold. Where one cannot be read, they are begun again as long as that finds more: after some
    /// minutes the API server has forgotten a list, and says so.
    fn pages<'r>(
        self,
        storage: Storage,
        wanted: &mut Wanted<'r>,
        give: &mut impl FnMut(&'r Installed, Record),
    ) -> Result<(), TooSlow> {
        let mut continued = String::new();
        let mut left_at_begin = wanted.len();
        while !wanted.is_empty() {
            let printed = match self.kubectl.page(storage, self.name, self.scope, &continued) {
                Ok(printed) => printed,
                Err(KubectlError::TooSlow { limit }) => return Err(TooSlow(limit)),
                Err(_) if wanted.len() < left_at_begin => {
                    left_at_begin = wanted.len();
                    continued.clear();
                    continue;
                }
                // Each is asked for by itself then, and says why it cannot be read.
                Err(_) => return Ok(()),
            };
            let Some(page) = Page::read(&printed) else { return Ok(()) };
            for (place, item) in page.items() {
                let Some(release) = wanted.remove(&place) else { continue };
                let record = object(item, storage).and_then(|object| record_object(Content::Manifest(object)));
                give(release, record.map_or(Record::Unread, Record::Read));
            }
            if page.continued().is_empty() {
                return Ok(());
            }
            page.continued().clone_into(&mut continued);
        }
        Ok(())
    }
}

/// A page was waited for so long in vain.
struct TooSlow(std::time::Duration);

fn place(release: &Installed) -> Place {
    Place { namespace: release.namespace.clone(), name: release.record() }
}
