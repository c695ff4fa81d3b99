use crate::finding::{Edit, FieldPath, Problem};
use crate::object::Kind;
use crate::rules::declare::declare_rule;
use crate::settings::{Settings, WeightMode};
use crate::shown::Shown;
use crate::subject::change::Context;
use helm::weight;

declare_rule! {
    /// ## What it does
    ///
    /// Sets `helm.sh/hook-weight` where it is missing or not an integer: to the weight of the object's role
    /// (settings `weights.job`, default 10, and `weights.serviceAccount`, default 0). A weight that Helm can read
    /// is kept, for it orders siblings; with `weights.mode: enforce` it becomes the role's weight too.
    ///
    /// ## Why is this bad?
    ///
    /// Helm reads a missing or malformed weight as 0 and then orders by name: `app-migrate` runs before the
    /// ServiceAccount `app-migrate-sa` that it needs, and waits for it until the timeout.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-weight: "ten"
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-weight: "10"
    /// ```
    ///
    /// ## References
    ///
    /// - Helm, `pkg/release/v1/util/manifest_sorter.go`: `calculateHookWeight`
    /// - Helm issue 12414: a hook's ServiceAccount is created after the Job of the same weight
    summary: "`helm.sh/hook-weight` is missing or not an integer (Helm then takes 0)",
    check: Object(check),
}

/// The weight of the normal form.
pub(super) fn normal_form(found: Option<&str>, kind: Kind, settings: &Settings) -> i64 {
    let role = match kind {
        Kind::Job => settings.weights.job,
        Kind::ServiceAccount => settings.weights.service_account,
    };
    match (found.and_then(weight), settings.weights.mode) {
        (Some(valid), WeightMode::Keep) => valid,
        (Some(_) | None, _) => role,
    }
}

fn check(context: &Context<'_>) -> Option<Problem> {
    let hook = context.helm_hook()?;
    let wanted = normal_form(hook.weight, context.object.kind(), context.settings);
    let key = helm::HOOK_WEIGHT;
    let message = match (hook.weight, hook.weight.and_then(weight)) {
        (Some(_), Some(valid)) if valid == wanted => return None,
        (Some(_), Some(valid)) => format!("{key} is \"{valid}\", but weights.mode is enforce."),
        (Some(value), None) => format!(
            "{key} is \"{}\", which is no integer: Helm takes 0, and hooks of equal weight run in the order of their names.",
            Shown(value)
        ),
        (None, _) => {
            format!("{key} is missing: Helm takes 0, and hooks of equal weight run in the order of their names.")
        }
    };
    Some(
        Problem::new(
            FieldPath::annotation(key),
            message,
            format!("In the chart, write {key}: \"{wanted}\", in quotes."),
        )
        .fixed_by(Edit::Set { key, value: wanted.to_string() }),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::finding::Edit;
    use crate::object::{Kind, Object};
    use crate::request::Change;
    use crate::settings::Settings;
    use crate::subject::change::Context;
    use crate::testing::{asking, test};

    fn fixed(kind: Kind, weight: &Value, mode: &str) -> Option<Edit> {
        let annotations = json!({"helm.sh/hook": "pre-install", "helm.sh/hook-weight": weight});
        let object = Object::new(kind, json!({"metadata": {"annotations": annotations}}));
        let settings = Settings::parse(&json!({"weights": {"mode": mode}})).unwrap();
        check(&Context::new(&asking(Change::Create { object }), &settings).unwrap())
            .map(|mut problem| problem.edits.remove(0))
    }

    fn set(value: &str) -> Edit {
        Edit::Set { key: "helm.sh/hook-weight", value: value.to_owned() }
    }

    #[test]
    fn missing_and_malformed_weights_become_the_roles() {
        for weight in [json!(null), json!("ten"), json!(" 5"), json!("")] {
            assert_eq!(fixed(Kind::Job, &weight, "keep"), Some(set("10")), "{weight}");
            assert_eq!(fixed(Kind::ServiceAccount, &weight, "keep"), Some(set("0")), "{weight}");
        }
    }

    #[test]
    fn valid_weights_are_kept_unless_enforced() {
        for weight in ["5", "-5", "+05"] {
            assert_eq!(fixed(Kind::Job, &json!(weight), "keep"), None, "{weight}");
            assert_eq!(fixed(Kind::Job, &json!(weight), "enforce"), Some(set("10")), "{weight}");
        }
        assert_eq!(fixed(Kind::Job, &json!("010"), "enforce"), None);
    }
}
