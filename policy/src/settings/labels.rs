//! Label selectors in the settings, checked as the API server would check them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::reader::Node;

pub(super) const KEY: &str =
    "a label key (an optional DNS prefix and `/`, then up to 63 letters, digits, `-`, `_`, `.`)";

/// One Kubernetes `LabelSelector`.
pub(super) fn selector(node: &Node<'_>) -> Option<LabelSelector> {
    if node.value.is_null() {
        node.expected("an object");
        return None;
    }
    let mut selector = LabelSelector::default();
    node.section(|section| {
        section.field("matchLabels", |labels| {
            let mut wanted = BTreeMap::new();
            for (key, value) in labels.entries() {
                if !is_key(key) {
                    value.expected(&format!("{KEY} before a value"));
                }
                if let Some(text) = value.string() {
                    wanted.insert(key.to_owned(), text.to_owned());
                }
            }
            selector.match_labels = Some(wanted);
        });
        section.field("matchExpressions", |expressions| {
            selector.match_expressions = Some(expressions.list().iter().map(requirement).collect());
        });
    });
    Some(selector)
}

fn requirement(node: &Node<'_>) -> LabelSelectorRequirement {
    let mut requirement = LabelSelectorRequirement::default();
    node.section(|section| {
        section.field("key", |key| {
            key.one_of(KEY, |text| is_key(text).then(|| text.to_owned()), |text| requirement.key = text);
        });
        section.field("operator", |operator| {
            let known =
                |name: &str| matches!(name, "In" | "NotIn" | "Exists" | "DoesNotExist").then(|| name.to_owned());
            operator.one_of("In, NotIn, Exists or DoesNotExist", known, |name| requirement.operator = name);
        });
        section.field("values", |values| requirement.values = Some(values.strings("a string", |_| true)));
    });
    let wants_values = matches!(requirement.operator.as_str(), "In" | "NotIn");
    let has_values = requirement.values.iter().flatten().next().is_some();
    if node.value.get("key").is_none() || node.value.get("operator").is_none() {
        node.expected("an object with `key` and `operator`");
    } else if wants_values != has_values && !requirement.operator.is_empty() {
        node.expected("an object with `values` for In and NotIn, and without them for Exists and DoesNotExist");
    }
    requirement
}

/// A qualified name as Kubernetes defines it.
pub(super) fn is_key(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_name = !name.is_empty()
        && name.len() <= 63
        && name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.'))
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.ends_with(|last: char| last.is_ascii_alphanumeric());
    is_name && prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_dns_label))
}

/// An RFC 1123 label, which is what a namespace is called.
pub(super) fn is_dns_label(label: &str) -> bool {
    !label.is_empty()
        && label.len() <= 63
        && label
            .chars()
            .all(|character| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_key;
    use crate::settings::Settings;
    use crate::testing::test;

    #[test]
    fn keys_are_qualified_names() {
        for key in ["a", "app.kubernetes.io/component", "A_b.c-1"] {
            assert!(is_key(key), "{key}");
        }
        for key in ["", "/a", "a/", "-a", "a-", "A.io/b", "a b", "a//b", &"a".repeat(64)] {
            assert!(!is_key(key), "{key}");
        }
    }

    #[test]
    fn selectors_that_kubernetes_refuses_are_refused() {
        for selector in [
            json!(null),
            json!([]),
            json!({"matchLabels": {"-a": "b"}}),
            json!({"matchExpressions": [{"key": "a"}]}),
            json!({"matchExpressions": [{"operator": "Exists"}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "exists"}]}),
            json!({"matchExpressions": [7]}),
        ] {
            assert!(Settings::parse(&json!({ "selectors": [selector] })).is_err(), "{selector}");
        }
    }
}
