//! The settings of the release rules.

use helm::operation::Operation;

use super::labels::{is_dns_label, is_dns_subdomain};
use super::reader::Node;
use super::words::{BaselineSource, Scope, Strictness};

/// How release records are judged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Releases {
    pub(crate) scope: Scope,
    pub(crate) rollback: Strictness,
    pub(crate) baseline: BaselineSource,
    pub(super) accept: Vec<Accepted>,
    pub(crate) undecodable: Strictness,
    pub(crate) on_lookup_failure: Strictness,
    pub(crate) limits: Limits,
}

/// One flip that may happen once: `namespace/name@revision`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Accepted {
    namespace: String,
    release: String,
    revision: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limits {
    /// Objects that are looked up for one record.
    pub(crate) lookups: u64,
    /// Older revisions that are looked at for the baseline.
    pub(crate) revisions: u64,
    /// Bytes of a record once it is inflated.
    pub(crate) inflated_bytes: u64,
    /// Documents in a manifest.
    pub(crate) documents: u64,
}

impl Default for Releases {
    fn default() -> Self {
        Self {
            scope: Scope::JobsAndServiceAccounts,
            rollback: Strictness::Warn,
            baseline: BaselineSource::Live,
            accept: Vec::new(),
            undecodable: Strictness::Warn,
            on_lookup_failure: Strictness::Warn,
            limits: Limits { lookups: 32, revisions: 10, inflated_bytes: 16 << 20, documents: 10_000 },
        }
    }
}

impl Releases {
    pub(crate) fn accepts(&self, namespace: &str, release: &str, revision: u64) -> bool {
        let wanted = Accepted { namespace: namespace.to_owned(), release: release.to_owned(), revision };
        self.accept.contains(&wanted)
    }

    /// The flips that may happen, as they are written.
    pub(super) fn accepted(&self) -> Vec<String> {
        let entry = |Accepted { namespace, release, revision }: &Accepted| format!("{namespace}/{release}@{revision}");
        self.accept.iter().map(entry).collect()
    }

    /// The operation is a rollback, and the settings only warn of those: it may be the only way out.
    pub(crate) fn is_lenient(&self, operation: Operation) -> bool {
        operation == Operation::Rollback && self.rollback == Strictness::Warn
    }

    pub(super) fn read(&mut self, node: &Node<'_>) {
        node.section(|section| {
            section.field("scope", |scope| {
                scope.word("jobs-and-serviceaccounts, selected or all", Scope::parse, |value| self.scope = value);
            });
            section.field("rollback", |node| strictness(node, &mut self.rollback));
            section.field("baseline", |baseline| {
                baseline.word("live or record", BaselineSource::parse, |value| self.baseline = value);
            });
            section.field("accept", |accept| {
                let expected = "namespace/name@revision";
                let entries = accept.strings(expected, |entry| Accepted::parse(entry).is_some());
                self.accept = entries.iter().filter_map(|entry| Accepted::parse(entry)).collect();
            });
            section.field("undecodable", |node| strictness(node, &mut self.undecodable));
            section.field("onLookupFailure", |node| strictness(node, &mut self.on_lookup_failure));
            section.field("limits", |node| limits(node, &mut self.limits));
        });
    }
}

fn limits(node: &Node<'_>, limits: &mut Limits) {
    node.section(|section| {
        section.field("lookups", |node| node.count(|value| limits.lookups = value));
        section.field("revisions", |node| node.count(|value| limits.revisions = value));
        section.field("inflatedBytes", |node| node.count(|value| limits.inflated_bytes = value));
        section.field("documents", |node| node.count(|value| limits.documents = value));
    });
}

fn strictness(node: &Node<'_>, strictness: &mut Strictness) {
    node.word("warn or deny", Strictness::parse, |value| *strictness = value);
}

impl Accepted {
    fn parse(entry: &str) -> Option<Self> {
        let (namespace, rest) = entry.split_once('/')?;
        let (release, revision) = rest.split_once('@')?;
        let is_valid = is_dns_label(namespace) && is_dns_subdomain(release);
        let (namespace, release) = (namespace.to_owned(), release.to_owned());
        is_valid.then_some(Self { namespace, release, revision: revision.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{BaselineSource, Scope, Strictness};
    use crate::settings::Settings;
    use crate::testing::test;

    fn parse(releases: Value) -> Result<Settings, String> {
        Settings::parse(&json!({ "releases": releases })).map_err(|errors| errors.to_string())
    }

    #[test]
    fn every_field_arrives() {
        let releases = parse(json!({
            "scope": "selected", "rollback": "deny", "baseline": "record", "accept": ["shop/orders@7"],
            "undecodable": "deny", "onLookupFailure": "deny",
            "limits": {"lookups": 1, "revisions": 2, "inflatedBytes": 3, "documents": 4},
        }))
        .unwrap()
        .releases;
        assert_eq!((releases.scope, releases.baseline), (Scope::Selected, BaselineSource::Record));
        let strict = [releases.rollback, releases.undecodable, releases.on_lookup_failure];
        assert_eq!(strict, [Strictness::Deny; 3]);
        let limits = &releases.limits;
        assert_eq!([limits.lookups, limits.revisions, limits.inflated_bytes, limits.documents], [1, 2, 3, 4]);
        assert!(releases.accepts("shop", "orders", 7));
        assert!(!releases.accepts("shop", "orders", 8) && !releases.accepts("other", "orders", 7));
    }

    #[test]
    fn problems_are_told_with_their_path() {
        let error =
            parse(json!({"scope": "some", "accept": ["orders@7", "a/b@x"], "limits": {"lookups": -1}})).unwrap_err();
        for part in [
            "releases.scope: expected jobs-and-serviceaccounts, selected or all, found \"some\"",
            "releases.accept[0]: expected namespace/name@revision, found \"orders@7\"",
            "releases.accept[1]: expected namespace/name@revision",
            "releases.limits.lookups: expected a whole number, 0 or more, found a number",
        ] {
            assert!(error.contains(part), "{part:?} is missing in:\n{error}");
        }
    }
}
