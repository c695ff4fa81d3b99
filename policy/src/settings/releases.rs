//! The settings of the release rules.

use helm::operation::Operation;

use super::labels::{is_dns_label, is_dns_subdomain};
use super::reader::Node;
use super::words::{BaselineSource, Scope, Strictness};
use crate::rule::{Family, RuleId};

/// How release records are judged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Releases {
    pub(crate) scope: Scope,
    pub(crate) rollback: Strictness,
    pub(crate) baseline: BaselineSource,
    /// Revisions that may be recorded as they are: `namespace/name@revision`, and behind a colon for which rules.
    pub(super) accept: Vec<String>,
    /// Labels on a record accept too.
    pub(crate) accept_label: bool,
    pub(crate) undecodable: Strictness,
    pub(crate) on_lookup_failure: Strictness,
    pub(crate) limits: Limits,
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
            accept_label: true,
            undecodable: Strictness::Warn,
            on_lookup_failure: Strictness::Warn,
            limits: Limits { lookups: 32, revisions: 10, inflated_bytes: 16 << 20, documents: 10_000 },
        }
    }
}

impl Releases {
    /// An entry names the revision and, where it names rules, this one; of a record that no rule could judge, none.
    pub(crate) fn accepts(&self, namespace: &str, release: &str, revision: u64, rule: Option<RuleId>) -> bool {
        let named = format!("{namespace}/{release}@{revision}");
        self.accept.iter().filter_map(|entry| entry.strip_prefix(&named)).any(|rest| {
            let rules = rest.strip_prefix(':');
            rest.is_empty()
                || rules.zip(rule).is_some_and(|(rules, rule)| rules_of(rules).any(|name| name == rule.as_str()))
        })
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
                let expected =
                    "namespace/name@revision, or with rules for releases behind it: namespace/name@revision:rule,rule";
                self.accept = accept.strings(expected, is_revision);
            });
            section.field("acceptLabel", |node| node.boolean(|value| self.accept_label = value));
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

/// The entry names a revision, and behind it rules for releases or nothing.
fn is_revision(entry: &str) -> bool {
    let (named, rules) = entry.split_once(':').map_or((entry, None), |(named, rules)| (named, Some(rules)));
    let parts = named.split_once('/').and_then(|(namespace, rest)| Some((namespace, rest.split_once('@')?)));
    let Some((namespace, (release, revision))) = parts else { return false };
    let is_number = revision.parse::<u64>().is_ok() && !revision.starts_with(['0', '+']);
    let is_named = is_dns_label(namespace) && is_dns_subdomain(release) && is_number;
    is_named && rules.is_none_or(|rules| rules_of(rules).all(judges_releases))
}

fn rules_of(rules: &str) -> impl Iterator<Item = &str> {
    rules.split(',').map(str::trim)
}

fn judges_releases(rule: &str) -> bool {
    rule.parse().is_ok_and(|rule: RuleId| rule.family() == Family::Release)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{BaselineSource, RuleId, Scope, Strictness};
    use crate::settings::Settings;
    use crate::testing::test;

    fn parse(releases: Value) -> Result<Settings, String> {
        Settings::parse(&json!({ "releases": releases })).map_err(|errors| errors.to_string())
    }

    #[test]
    fn every_field_arrives() {
        let releases = parse(json!({
            "scope": "selected", "rollback": "deny", "baseline": "record", "accept": ["shop/orders@7"],
            "acceptLabel": false, "undecodable": "deny", "onLookupFailure": "deny",
            "limits": {"lookups": 1, "revisions": 2, "inflatedBytes": 3, "documents": 4},
        }))
        .unwrap()
        .releases;
        assert_eq!((releases.scope, releases.baseline), (Scope::Selected, BaselineSource::Record));
        let strict = [releases.rollback, releases.undecodable, releases.on_lookup_failure];
        assert_eq!(strict, [Strictness::Deny; 3]);
        let limits = &releases.limits;
        assert_eq!([limits.lookups, limits.revisions, limits.inflated_bytes, limits.documents], [1, 2, 3, 4]);
        assert!(!releases.accept_label);
    }

    #[test]
    fn an_entry_accepts_one_revision_whole_or_for_the_rules_that_it_names() {
        let written = json!({"accept": ["shop/orders@7", "shop/a.b@8:hook-order, dropped-hook"]});
        let releases = parse(written).unwrap().releases;
        let order = Some(RuleId::HookOrder);
        assert!(releases.accepts("shop", "orders", 7, order) && releases.accepts("shop", "orders", 7, None));
        assert!(!releases.accepts("shop", "orders", 8, order) && !releases.accepts("other", "orders", 7, order));
        assert!(
            releases.accepts("shop", "a.b", 8, order) && releases.accepts("shop", "a.b", 8, Some(RuleId::DroppedHook))
        );
        assert!(!releases.accepts("shop", "a.b", 8, Some(RuleId::HookNeverDeleted)));
        assert!(!releases.accepts("shop", "a.b", 8, None));
        assert!(!releases.accepts("shop", "orders", 77, None) && !releases.accepts("shop", "a.b", 81, order));
    }

    #[test]
    fn problems_are_told_with_their_path() {
        let error =
            parse(json!({"scope": "some", "accept": ["orders@7", "a/b@x", "a/b@1:", "a/b@1:hook-weight"], "limits": {"lookups": -1}})).unwrap_err();
        for part in [
            "releases.scope: expected jobs-and-serviceaccounts, selected or all, found \"some\"",
            "releases.accept[0]: expected namespace/name@revision, or with rules",
            "namespace/name@revision:rule,rule, found \"orders@7\"",
            "releases.accept[1]: expected namespace/name@revision",
            "releases.accept[2]: expected namespace/name@revision",
            "releases.accept[3]: expected namespace/name@revision",
            "releases.limits.lookups: expected a whole number, 0 or more, found a number",
        ] {
            assert!(error.contains(part), "{part:?} is missing in:\n{error}");
        }
    }
}
