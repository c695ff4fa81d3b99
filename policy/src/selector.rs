//! The choice of objects that are migrations.

use crate::identity::Identity;
use crate::object::{Kind, MIGRATION_LABEL, Object};
use crate::settings::{LabelSelector, LabelSelectorRequirement, Operator, Settings};

/// The standing of a release's object with the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Migration,
    Other,
    /// Its label says that it is none of the policy's business.
    OptedOut,
}

/// Whether this state of an object is a migration.
pub fn selects(settings: &Settings, object: &Object, identity: &Identity<'_>) -> bool {
    let is_spawned_job = object.kind() == Kind::Job && object.has_controller();
    let is_test = matches!(identity, Identity::Hook(hook) if hook.is_test_or_delete_only());
    !is_spawned_job && !is_test && is_labelled(settings, |key| object.label(key))
}

/// Whether labels say that an object is a migration.
pub(crate) fn is_labelled<'a>(settings: &Settings, label: impl Fn(&str) -> Option<&'a str>) -> bool {
    let opted_out = label(MIGRATION_LABEL) == Some("false");
    !opted_out
        && (settings.selectors.iter().any(|selector| matches(selector, &label)) || has_migration_word(settings, &label))
}

/// Kubernetes' semantics: all requirements hold; an empty selector matches everything.
fn matches<'a>(selector: &LabelSelector, label: &impl Fn(&str) -> Option<&'a str>) -> bool {
    selector.match_labels.iter().all(|(key, value)| label(key) == Some(value))
        && selector.match_expressions.iter().all(|requirement| holds(requirement, label(&requirement.key)))
}

fn holds(requirement: &LabelSelectorRequirement, label: Option<&str>) -> bool {
    let listed = |value: &str| requirement.values.iter().any(|wanted| wanted == value);
    match requirement.operator {
        Operator::In => label.is_some_and(listed),
        Operator::NotIn => !label.is_some_and(listed),
        Operator::Exists => label.is_some(),
        Operator::DoesNotExist => label.is_none(),
    }
}

fn has_migration_word<'a>(settings: &Settings, label: &impl Fn(&str) -> Option<&'a str>) -> bool {
    let values = settings.migration_labels.keys.iter().filter_map(|key| label(key));
    values.into_iter().any(|value| {
        value
            .split(|character: char| !character.is_ascii_alphanumeric())
            .any(|part| settings.migration_labels.words.iter().any(|word| part.eq_ignore_ascii_case(word)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::selects;
    use crate::identity::classify;
    use crate::object::{Kind, Object};
    use crate::settings::Settings;
    use crate::testing::test;

    fn selected(settings: Value, metadata: Value) -> bool {
        let settings = Settings::parse(&settings).unwrap();
        let object = Object::new(Kind::Job, json!({ "metadata": metadata }));
        selects(&settings, &object, &classify(&object))
    }

    fn labelled(value: &str) -> bool {
        selected(json!({}), json!({"labels": {"app.kubernetes.io/component": value}}))
    }

    #[test]
    fn words_match_whole_parts_of_a_label_value() {
        for value in ["migrations", "signoz-telemetrystore-migrator", "db-migrations", "DB_Migrate.2"] {
            assert!(labelled(value), "{value}");
        }
        for value in ["immigration-desk", "web", "", "migrational", "migratio-n"] {
            assert!(!labelled(value), "{value}");
        }
    }

    #[test]
    fn the_opt_out_label_wins_over_everything() {
        let labels = json!({"labels": {"app": "migrate", "stable-hooks/migration": "false"}});
        assert!(!selected(json!({"selectors": [{}]}), labels));
        assert!(selected(json!({}), json!({"labels": {"stable-hooks/migration": "true"}})));
    }

    #[test]
    fn tests_deletes_and_controlled_jobs_are_never_selected() {
        let all = json!({"selectors": [{}]});
        assert!(!selected(all.clone(), json!({"annotations": {"helm.sh/hook": "test,pre-delete"}})));
        assert!(!selected(all.clone(), json!({"annotations": {"argocd.argoproj.io/hook": "PostDelete"}})));
        assert!(!selected(all.clone(), json!({"ownerReferences": [{"controller": true}]})));
        assert!(selected(all.clone(), json!({"annotations": {"helm.sh/hook": "test,pre-upgrade"}})));
        assert!(selected(all, json!({"annotations": {"helm.sh/hook": "pre-rollback"}})));
    }

    #[test]
    fn selectors_are_kubernetes_label_selectors() {
        let expression = |operator: &str, values: Value| json!({"selectors": [{"matchExpressions": [{"key": "a", "operator": operator, "values": values}]}]});
        for (operator, values, with_x, with_z, without) in [
            ("In", json!(["x", "y"]), true, false, false),
            ("NotIn", json!(["x", "y"]), false, true, true),
            ("Exists", json!([]), true, true, false),
            ("DoesNotExist", json!(null), false, false, true),
        ] {
            let settings = expression(operator, values);
            assert_eq!(selected(settings.clone(), json!({"labels": {"a": "x"}})), with_x, "{operator}");
            assert_eq!(selected(settings.clone(), json!({"labels": {"a": "z"}})), with_z, "{operator}");
            assert_eq!(selected(settings, json!({})), without, "{operator}");
        }
        let and = json!({"selectors": [{"matchLabels": {"a": "x", "b": "y"}}]});
        assert!(!selected(and.clone(), json!({"labels": {"a": "x"}})));
        assert!(selected(and, json!({"labels": {"a": "x", "b": "y"}})));
    }
}
