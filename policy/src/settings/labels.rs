//! Label selectors in the settings, checked as the API server would check them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::reader::Node;

/// Kubernetes' `LabelSelector`: all of it holds, and an empty one matches everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LabelSelector {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) match_labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) match_expressions: Vec<LabelSelectorRequirement>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LabelSelectorRequirement {
    pub(crate) key: String,
    pub(crate) operator: Operator,
    /// None for `Exists` and `DoesNotExist`.
    pub(crate) values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

pub(super) const KEY: &str =
    "a label key (an optional DNS prefix and `/`, then up to 63 letters, digits, `-`, `_`, `.`)";

const VALUE: &str = "a label value (empty, or up to 63 letters, digits, `-`, `_`, `.`)";

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
                let label = |text: &str| is_value(text).then(|| text.to_owned());
                value.word(VALUE, label, |text| _ = wanted.insert(key.to_owned(), text));
            }
            selector.match_labels = wanted;
        });
        section.field("matchExpressions", |expressions| {
            selector.match_expressions = expressions.list().iter().filter_map(requirement).collect();
        });
    });
    Some(selector)
}

/// `None` where it has no operator that is known, which has been told.
fn requirement(node: &Node<'_>) -> Option<LabelSelectorRequirement> {
    let (mut label, mut operator, mut values) = (String::new(), None, Vec::new());
    node.section(|section| {
        section.required("key", |key| {
            key.word(KEY, |text| is_key(text).then(|| text.to_owned()), |text| label = text);
        });
        section.required("operator", |word| {
            let known = |name: &str| match name {
                "In" => Some(Operator::In),
                "NotIn" => Some(Operator::NotIn),
                "Exists" => Some(Operator::Exists),
                "DoesNotExist" => Some(Operator::DoesNotExist),
                _ => None,
            };
            word.word("In, NotIn, Exists or DoesNotExist", known, |found| operator = Some(found));
        });
        section.field("values", |listed| values = listed.strings(VALUE, is_value));
    });
    let operator = operator?;
    let wants_values = matches!(operator, Operator::In | Operator::NotIn);
    if wants_values == values.is_empty() {
        node.expected("an object with `values` for In and NotIn, and without them for Exists and DoesNotExist");
    }
    Some(LabelSelectorRequirement { key: label, operator, values })
}

/// A qualified name as Kubernetes defines it.
pub(super) fn is_key(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    !name.is_empty() && is_value(name) && prefix.is_none_or(is_dns_subdomain)
}

/// The text may be the value of a label.
fn is_value(value: &str) -> bool {
    let is_edge = |character: char| character.is_ascii_alphanumeric();
    value.len() <= 63
        && value.chars().all(|character| is_edge(character) || matches!(character, '-' | '_' | '.'))
        && (value.is_empty() || (value.starts_with(is_edge) && value.ends_with(is_edge)))
}

/// An RFC 1123 subdomain, which is what a release is called.
pub(super) fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_dns_label)
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
    fn a_key_cannot_forge_a_line_of_the_message() {
        let error = Settings::parse(&json!({"selectors": [{"matchLabels": {"a\nb\u{1b}": "c"}}]})).unwrap_err();
        assert_eq!(error.iter().next().unwrap().path, "selectors[0].matchLabels.a\\nb\\u{1b}");
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
            json!({"matchExpressions": [{"key": null, "operator": "Exists"}]}),
            json!({"matchExpressions": [{"key": "a", "operator": null}]}),
            json!({"matchExpressions": [{"key": false, "operator": "Exists"}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x y"]}]}),
            json!({"matchLabels": {"team": "data base!"}}),
        ] {
            assert!(Settings::parse(&json!({ "selectors": [selector] })).is_err(), "{selector}");
        }
    }
}
