//! The releases that there are, and the record of each that an upgrade would start from.

use std::collections::BTreeMap;

use helm::history;
use helm::operation::Operation;
use helm::storage::{Storage, record_name, revision_of};

/// A release that can be upgraded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Installed {
    /// Where its records are.
    pub namespace: String,
    pub name: String,
    pub storage: Storage,
    /// The last revision that was deployed, else the last one.
    pub revision: u64,
    /// That of the next upgrade.
    pub next: u64,
}

impl Installed {
    /// The object that holds the record from which an upgrade starts.
    #[must_use]
    pub fn record(&self) -> String {
        record_name(&self.name, self.revision)
    }
}

/// A row of a table of `kubectl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'t> {
    pub namespace: &'t str,
    /// That of the object.
    pub name: &'t str,
    pub status: &'t str,
}

/// Reads a table of `kubectl`: the namespace, if it is not given, then the object's name, at the end its status.
pub fn rows<'t>(table: &'t str, namespace: Option<&'t str>) -> impl Iterator<Item = Row<'t>> {
    table.lines().filter_map(move |line| {
        let mut columns = line.split_whitespace();
        let namespace = namespace.or_else(|| columns.next())?;
        Some(Row { namespace, name: columns.next()?, status: columns.last().unwrap_or_default() })
    })
}

/// Reads the releases in such a table.
#[must_use]
pub fn installed(table: &str, storage: Storage, namespace: Option<&str>) -> Vec<Installed> {
    let mut histories = BTreeMap::<(String, String), Vec<(u64, &str)>>::new();
    for Row { namespace, name, status } in rows(table, namespace) {
        let Some((name, revision)) = revision_of(name) else { continue };
        histories.entry((namespace.to_owned(), name.to_owned())).or_default().push((revision, status));
    }
    let releases = histories.into_iter().filter_map(|((namespace, name), history)| {
        let (last, status) = *history.iter().max()?;
        let start = history::start_among(
            Operation::Upgrade,
            history,
            |(revision, _)| *revision,
            |(_, status)| *status == "deployed",
        );
        let (revision, _) = start?;
        // After the last number there is no next revision.
        let next = last.checked_add(1)?;
        // An uninstalled release has left only its history: there is nothing to upgrade.
        let is_there = !status.starts_with("uninstall");
        is_there.then_some(Installed { namespace, name, storage, revision, next })
    });
    releases.collect()
}

#[cfg(test)]
mod tests {
    use helm::storage::Storage;

    use super::{Installed, installed};

    fn release(namespace: &str, name: &str, revision: u64, next: u64) -> Installed {
        Installed { namespace: namespace.to_owned(), name: name.to_owned(), storage: Storage::Secret, revision, next }
    }

    #[test]
    fn after_the_last_number_there_is_no_next_revision() {
        let table =
            format!("shop sh.helm.release.v1.big.v{} deployed\nshop sh.helm.release.v1.a.v1 deployed\n", u64::MAX);
        assert_eq!(installed(&table, Storage::Secret, None), [release("shop", "a", 1, 2)]);
    }

    #[test]
    fn an_upgrade_starts_from_the_last_deployed_revision() {
        let table = "\
shop   sh.helm.release.v1.orders.v9    helm.sh/release.v1   1     3d    superseded
shop   sh.helm.release.v1.orders.v10   helm.sh/release.v1   1     2d    deployed
shop   sh.helm.release.v1.orders.v11   helm.sh/release.v1   1     1d    failed
data   sh.helm.release.v1.a.v1.v1      helm.sh/release.v1   1     1d    failed
data   sh.helm.release.v1.a.v1.v2      helm.sh/release.v1   1     1d    pending-upgrade
data   sh.helm.release.v1.gone.v1      helm.sh/release.v1   1     1d    superseded
data   sh.helm.release.v1.gone.v2      helm.sh/release.v1   1     1d    uninstalled
data   other                           helm.sh/release.v1   1     1d    deployed
";
        let releases = installed(table, Storage::Secret, None);
        assert_eq!(releases, [release("data", "a.v1", 2, 3), release("shop", "orders", 10, 12)]);
        assert_eq!(releases[1].record(), "sh.helm.release.v1.orders.v10");
    }

    #[test]
    fn a_table_of_one_namespace_does_not_name_it() {
        let table = "sh.helm.release.v1.orders.v1   1     5s    deployed\n\n";
        assert_eq!(installed(table, Storage::Secret, Some("shop")), [release("shop", "orders", 1, 2)]);
    }
}
