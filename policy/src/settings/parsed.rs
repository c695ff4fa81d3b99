//! All settings as the policy uses them, their defaults, and how they are read.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::object::MIGRATION_LABEL;
use crate::rule::{Level, RuleId};
use helm::{DeletePolicies, DeletePolicy, spelled};

use super::labels::{self, LabelSelector};
use super::reader::{Node, Reader, SettingsErrors};
use super::releases::Releases;
use super::words::WeightMode;

/// The policy's settings; only [`Settings::parse`] and `default` make them.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    levels: Vec<(RuleId, Level)>,
    pub(crate) selectors: Vec<LabelSelector>,
    pub(crate) migration_labels: MigrationLabels,
    pub(crate) events: Events,
    pub(crate) delete_policy: DeletePolicies,
    pub(crate) weights: Weights,
    pub(crate) job_ttl_seconds: u64,
    pub(crate) mutate: bool,
    pub(super) namespaces: Namespaces,
    pub(crate) releases: Releases,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MigrationLabels {
    pub(crate) keys: Vec<String>,
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Events {
    pub(crate) complete: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights {
    pub(crate) job: i64,
    pub(crate) service_account: i64,
    pub(crate) mode: WeightMode,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Namespaces {
    pub(super) ignore: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let strings = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        Self {
            levels: RuleId::ALL.iter().map(|id| (*id, id.default_level())).collect(),
            selectors: vec![LabelSelector {
                match_labels: BTreeMap::from([(MIGRATION_LABEL.to_owned(), "true".to_owned())]),
                match_expressions: Vec::new(),
            }],
            migration_labels: MigrationLabels {
                keys: strings(&["app.kubernetes.io/component", "component", "app"]),
                words: strings(&["migrate", "migration", "migrations", "migrator", "migrators"]),
            },
            events: Events { complete: true },
            delete_policy: DeletePolicies::default(),
            weights: Weights { job: 10, service_account: 0, mode: WeightMode::Keep },
            job_ttl_seconds: 60,
            mutate: true,
            namespaces: Namespaces { ignore: Vec::new() },
            releases: Releases::default(),
        }
    }
}

impl Settings {
    /// Reads settings; `null` and `{}` are the defaults.
    pub fn parse(settings: &Value) -> Result<Self, SettingsErrors> {
        let reader = Reader::default();
        let mut parsed = Self::default();
        reader.root(settings).section(|root| {
            root.field("rules", |node| levels(node, &mut parsed.levels));
            root.field("selectors", |node| {
                parsed.selectors = node.list().iter().filter_map(labels::selector).collect();
            });
            root.field("migrationLabels", |node| migration_labels(node, &mut parsed.migration_labels));
            root.field("events", |node| events(node, &mut parsed.events));
            root.field("deletePolicy", |node| delete_policy(node, &mut parsed.delete_policy));
            root.field("weights", |node| weights(node, &mut parsed.weights));
            root.field("jobTtlSeconds", |node| node.seconds(|value| parsed.job_ttl_seconds = value));
            root.field("mutate", |node| node.boolean(|value| parsed.mutate = value));
            root.field("namespaces", |node| namespaces(node, &mut parsed.namespaces));
            root.field("releases", |node| parsed.releases.read(node));
        });
        reader.finish().map(|()| parsed)
    }

    pub(crate) fn level(&self, id: RuleId) -> Level {
        self.levels.iter().find(|(rule, _)| *rule == id).map_or(id.default_level(), |(_, level)| *level)
    }

    pub fn ignores_namespace(&self, namespace: &str) -> bool {
        self.namespaces.ignore.iter().any(|ignored| ignored == namespace)
    }
}

fn levels(node: &Node<'_>, levels: &mut [(RuleId, Level)]) {
    node.section(|section| {
        for (id, level) in levels {
            section.field(id.as_str(), |node| {
                let names: Vec<_> = id.levels().iter().map(|level| level.as_str()).collect();
                node.level(&any_of(&names), |name| id.level(name), |parsed| *level = parsed);
            });
        }
    });
}

fn migration_labels(node: &Node<'_>, labels: &mut MigrationLabels) {
    node.section(|section| {
        section.field("keys", |keys| labels.keys = keys.strings(labels::KEY, labels::is_key));
        section.field("words", |words| {
            labels.words = words.strings("a word of lower-case letters and digits", is_word);
        });
    });
}

fn events(node: &Node<'_>, events: &mut Events) {
    node.section(|section| {
        section.field("complete", |complete| complete.boolean(|value| events.complete = value));
    });
}

fn delete_policy(node: &Node<'_>, policies: &mut DeletePolicies) {
    let names: Vec<_> = DeletePolicy::ALL.iter().map(|policy| policy.as_str()).collect();
    let parse = |value: &str| {
        let policies = DeletePolicies::parse(value);
        spelled(value, policies).then_some(policies)
    };
    let expected = format!("{}, or several of them separated by commas", any_of(&names));
    node.word(&expected, parse, |value| *policies = value);
}

fn weights(node: &Node<'_>, weights: &mut Weights) {
    node.section(|section| {
        section.field("job", |weight| weight.integer(|value| weights.job = value));
        section.field("serviceAccount", |weight| weight.integer(|value| weights.service_account = value));
        section.field("mode", |mode| mode.word("keep or enforce", WeightMode::parse, |value| weights.mode = value));
    });
}

fn namespaces(node: &Node<'_>, namespaces: &mut Namespaces) {
    node.section(|section| {
        section.field("ignore", |names| {
            namespaces.ignore = names.strings("a namespace's name", labels::is_dns_label);
        });
    });
}

/// "a, b or c"
fn any_of(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|character| character.is_ascii_lowercase() || character.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Settings;
    use crate::rule::{Level, RuleId};
    use crate::testing::test;

    #[test]
    fn nothing_is_a_good_configuration() {
        for nothing in [json!(null), json!({}), json!({"rules": null, "selectors": null, "weights": {}})] {
            assert_eq!(Settings::parse(&nothing).unwrap(), Settings::default(), "{nothing}");
        }
    }

    #[test]
    fn every_rule_takes_every_level_it_knows() {
        for id in RuleId::ALL {
            for level in ["off", "warn", "deny", "fix"] {
                let parsed = Settings::parse(&json!({"rules": {id.as_str(): level}}));
                assert_eq!(parsed.is_ok(), id.levels().iter().any(|known| known.as_str() == level), "{id}: {level}");
                if let Ok(settings) = parsed {
                    assert_eq!(settings.level(*id).as_str(), level);
                }
            }
        }
    }

    #[test]
    fn an_unquoted_off_of_yaml_is_off() {
        let settings = Settings::parse(&json!({"rules": {"hook-weight": false}})).unwrap();
        assert!(settings.level(RuleId::HookWeight) == Level::Off);
        assert!(Settings::parse(&json!({"rules": {"hook-weight": true}})).is_err());
    }

    #[test]
    fn all_problems_come_at_once_each_with_path_and_expectation() {
        let errors = Settings::parse(&json!({
            "rules": {"identity-flip": "fix", "identity-flop": "warn"},
            "selectors": [{"matchLabels": {"a": 1}, "matchLabel": {}}, {"matchExpressions": [{"key": "a", "operator": "Is"}]}],
            "migrationLabels": {"keys": ["-a"], "words": ["Migrate"]},
            "events": true,
            "deletePolicy": "never",
            "weights": {"job": "10", "serviceAccount": 1.5, "mode": "force"},
            "jobTtlSeconds": -1,
            "mutate": "yes",
            "namespaces": {"ignore": ["kube-*"]},
            "release": {},
        }))
        .unwrap_err();
        let text = errors.to_string();
        for line in [
            "rules.identity-flip: expected off, warn or deny, found \"fix\"",
            "rules.identity-flop: unknown field, expected one of identity-flip, ",
            "selectors[0].matchLabels.a: expected a label value (empty, or up to 63 letters, digits, `-`, `_`, `.`), found a number",
            "selectors[0].matchLabel: unknown field, expected one of matchLabels, matchExpressions",
            "selectors[1].matchExpressions[0].operator: expected In, NotIn, Exists or DoesNotExist, found \"Is\"",
            "migrationLabels.keys[0]: expected a label key",
            "migrationLabels.words[0]: expected a word of lower-case letters and digits, found \"Migrate\"",
            "events: expected an object, found a boolean",
            "deletePolicy: expected before-hook-creation, hook-succeeded or hook-failed",
            "weights.job: expected an integer, found a string",
            "weights.serviceAccount: expected an integer, found a number",
            "weights.mode: expected keep or enforce, found \"force\"",
            "jobTtlSeconds: expected a number of seconds, 0 or more, found a number",
            "mutate: expected true or false, found a string",
            "namespaces.ignore[0]: expected a namespace's name, found \"kube-*\"",
            "release: unknown field",
        ] {
            assert!(text.contains(line), "{line:?} is missing in:\n{text}");
        }
        assert_eq!(errors.iter().count(), 16, "{text}");
    }

    #[test]
    fn settings_that_are_no_object_are_refused() {
        for other in [json!([]), json!("x"), json!(1)] {
            assert!(Settings::parse(&other).is_err(), "{other}");
        }
    }

    #[test]
    fn every_field_arrives() {
        let settings = Settings::parse(&json!({
            "selectors": [], "migrationLabels": {"keys": ["a/b"], "words": ["x1"]}, "events": {"complete": false},
            "deletePolicy": "hook-failed,before-hook-creation",
            "weights": {"job": -5, "serviceAccount": 7, "mode": "enforce"},
            "jobTtlSeconds": 0, "mutate": false, "namespaces": {"ignore": ["kube-system"]},
        }))
        .unwrap();
        assert!(settings.selectors.is_empty());
        assert_eq!(settings.migration_labels.keys, ["a/b"]);
        assert_eq!(settings.migration_labels.words, ["x1"]);
        assert!(!settings.events.complete);
        assert_eq!(settings.delete_policy.to_string(), "before-hook-creation,hook-failed");
        assert_eq!((settings.weights.job, settings.weights.service_account), (-5, 7));
        assert_eq!(settings.weights.mode, super::WeightMode::Enforce);
        assert_eq!(settings.job_ttl_seconds, 0);
        assert!(!settings.mutate);
        assert!(settings.ignores_namespace("kube-system") && !settings.ignores_namespace("kube"));
    }
}
