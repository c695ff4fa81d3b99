//! Which objects are migrations.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::identity::Identity;
use crate::object::{Kind, Object};
use crate::settings::Settings;

/// The label that selects an object ("true") or switches the policy off for it ("false").
pub(crate) const MIGRATION_LABEL: &str = "stable-hooks/migration";

/// Whether this state of an object is a migration.
pub(crate) fn selects(settings: &Settings, object: &Object, identity: &Identity<'_>) -> bool {
    let is_spawned_job = object.kind() == Kind::Job && object.has_controller();
    if object.label(MIGRATION_LABEL) == Some("false") || is_spawned_job {
        return false;
    }
    if matches!(identity, Identity::Hook(hook) if hook.is_test_or_delete_only()) {
        return false;
    }
    settings.selectors.iter().any(|selector| matches(selector, object)) || has_migration_word(settings, object)
}

/// Kubernetes' semantics: all requirements hold; an empty selector matches everything.
fn matches(selector: &LabelSelector, object: &Object) -> bool {
    let labels = selector.match_labels.iter().flatten();
    let expressions = selector.match_expressions.iter().flatten();
    labels.into_iter().all(|(key, value)| object.label(key) == Some(value))
        && expressions.into_iter().all(|requirement| holds(requirement, object))
}

fn holds(requirement: &LabelSelectorRequirement, object: &Object) -> bool {
    let label = object.label(&requirement.key);
    let listed = |value: &str| requirement.values.iter().flatten().any(|wanted| wanted == value);
    match requirement.operator.as_str() {
        "In" => label.is_some_and(listed),
        "NotIn" => !label.is_some_and(listed),
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        _ => false,
    }
}

fn has_migration_word(settings: &Settings, object: &Object) -> bool {
    let values = settings.migration_labels.keys.iter().filter_map(|key| object.label(key));
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
