//! The settings: parsed once, all problems at once, and correct from then on.

mod labels;
mod reader;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use crate::helm::{DeletePolicies, spelled};
use crate::rules::{RuleId, RuleLevel};
use crate::selector::MIGRATION_LABEL;
use reader::{Node, Reader};
pub use reader::{SettingsError, SettingsErrors};
pub use table::{SETTINGS, Setting};

/// The policy's settings; only [`Settings::parse`] and `default` make them.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    levels: BTreeMap<RuleId, RuleLevel>,
    pub(crate) selectors: Vec<LabelSelector>,
    pub(crate) migration_labels: MigrationLabels,
    pub(crate) events: Events,
    pub(crate) delete_policy: DeletePolicies,
    pub(crate) weights: Weights,
    pub(crate) job_ttl_seconds: u64,
    pub(crate) mutate: bool,
    namespaces: Namespaces,
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

/// What happens to a weight that Helm can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WeightMode {
    /// It orders siblings, so it stays.
    Keep,
    /// It becomes the role's weight.
    Enforce,
}

#[derive(Debug, Clone, PartialEq)]
struct Namespaces {
    ignore: BTreeSet<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let strings = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        Self {
            levels: RuleId::ALL.iter().map(|id| (*id, id.rule().default)).collect(),
            selectors: vec![LabelSelector {
                match_labels: Some(BTreeMap::from([(MIGRATION_LABEL.to_owned(), "true".to_owned())])),
                match_expressions: None,
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
            namespaces: Namespaces { ignore: BTreeSet::new() },
        }
    }
}

impl Settings {
    /// Reads settings; `null` and `{}` are the defaults.
    pub fn parse(settings: &Value) -> Result<Self, SettingsErrors> {
        let reader = Reader::default();
        let mut parsed = Self::default();
        reader.root(settings).section(|root| {
            root.field("rules", |rules| {
                rules.section(|rules| {
                    for id in RuleId::ALL {
                        rules.field(id.as_str(), |level| {
                            let fixable = id.rule().default.is_fixable();
                            level.one_of(
                                RuleLevel::names(fixable),
                                |name| RuleLevel::parse(name, fixable),
                                |level| {
                                    parsed.levels.insert(*id, level);
                                },
                            );
                        });
                    }
                });
            });
            root.field("selectors", |selectors| {
                parsed.selectors = selectors.list().iter().filter_map(labels::selector).collect();
            });
            root.field("migrationLabels", |node| {
                node.section(|node| {
                    node.field("keys", |keys| parsed.migration_labels.keys = keys.strings(labels::KEY, labels::is_key));
                    node.field("words", |words| {
                        parsed.migration_labels.words =
                            words.strings("a word of lower-case letters and digits", is_word);
                    });
                });
            });
            root.field("events", |node| {
                node.section(|node| {
                    node.field("complete", |complete| complete.boolean(|value| parsed.events.complete = value));
                });
            });
            root.field("deletePolicy", |node| delete_policy(node, |policy| parsed.delete_policy = policy));
            root.field("weights", |node| {
                node.section(|node| {
                    node.field("job", |weight| weight.integer(|value| parsed.weights.job = value));
                    node.field("serviceAccount", |weight| {
                        weight.integer(|value| parsed.weights.service_account = value);
                    });
                    node.field("mode", |mode| {
                        mode.one_of("keep or enforce", WeightMode::parse, |value| parsed.weights.mode = value);
                    });
                });
            });
            root.field("jobTtlSeconds", |ttl| ttl.seconds(|value| parsed.job_ttl_seconds = value));
            root.field("mutate", |mutate| mutate.boolean(|value| parsed.mutate = value));
            root.field("namespaces", |node| {
                node.section(|node| {
                    node.field("ignore", |names| {
                        parsed.namespaces.ignore =
                            names.strings("a namespace's name", labels::is_dns_label).into_iter().collect();
                    });
                });
            });
        });
        reader.finish().map(|()| parsed)
    }

    pub(crate) fn level(&self, id: RuleId) -> RuleLevel {
        self.levels.get(&id).copied().unwrap_or(id.rule().default)
    }

    pub(crate) fn ignores_namespace(&self, namespace: &str) -> bool {
        self.namespaces.ignore.contains(namespace)
    }
}

impl WeightMode {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "keep" => Some(Self::Keep),
            "enforce" => Some(Self::Enforce),
            _ => None,
        }
    }
}

fn delete_policy(node: &Node<'_>, set: impl FnOnce(DeletePolicies)) {
    let parse = |value: &str| {
        let policies = DeletePolicies::parse(value);
        spelled(value, &policies).then_some(policies)
    };
    node.one_of(
        "before-hook-creation, hook-succeeded or hook-failed, or several of them separated by commas",
        parse,
        set,
    );
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|character| character.is_ascii_lowercase() || character.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Settings;
    use crate::rules::{RuleId, RuleLevel};
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
                let fixable = id.rule().default.is_fixable();
                let parsed = Settings::parse(&json!({"rules": {id.as_str(): level}}));
                assert_eq!(parsed.is_ok(), fixable || level != "fix", "{id}: {level}");
                if let Ok(settings) = parsed {
                    assert_eq!(settings.level(*id), RuleLevel::parse(level, fixable).unwrap());
                }
            }
        }
    }

    #[test]
    fn an_unquoted_off_of_yaml_is_off() {
        let settings = Settings::parse(&json!({"rules": {"hook-weight": false}})).unwrap();
        assert!(settings.level(RuleId::HookWeight).is_off());
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
            "releases": {},
        }))
        .unwrap_err();
        let text = errors.to_string();
        for line in [
            "rules.identity-flip: expected off, warn or deny, found \"fix\"",
            "rules.identity-flop: unknown field, expected one of identity-flip, ",
            "selectors[0].matchLabels.a: expected a string, found a number",
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
            "releases: unknown field",
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
