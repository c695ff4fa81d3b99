use crate::finding::{Edit, FieldPath, Problem};
use crate::object::Kind;
use crate::rules::declare::declare_rule;
use crate::shown::Shown;
use crate::subject::change::Context;
use helm::{DeletePolicies, DeletePolicy, spelled};

declare_rule! {
    /// ## What it does
    ///
    /// Brings `helm.sh/hook-delete-policy` to the configured set (setting `deletePolicy`, default
    /// `before-hook-creation`): spelled exactly, each policy once; their order is free. It leaves an object with
    /// `generateName` alone: it gets a new name each time, and before-hook-creation makes Helm fail ("resource name may
    /// not be empty").
    ///
    /// ## Why is this bad?
    ///
    /// hook-succeeded and hook-failed delete the Job, and with it the migration's logs, before somebody can look.
    /// A misspelt or empty value switches Helm's default off: nothing deletes the hook any more, and the next
    /// upgrade fails with "already exists" (Helm 3) or silently does not run the migration (Helm 4).
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
    ///     helm.sh/hook-delete-policy: hook-succeeded
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
    ///     helm.sh/hook-delete-policy: before-hook-creation
    /// ```
    ///
    /// ## References
    ///
    /// - Helm, "Chart Hooks": hook deletion policies
    /// - Helm issue 8101: a hook with hook-succeeded only "already exists"
    summary: "`helm.sh/hook-delete-policy` is missing or not exactly the configured set",
    check: Object(check),
}

fn check(context: &Context<'_>) -> Option<Problem> {
    let hook = context.helm_hook()?;
    // The API server may have filled in a name since; without one in the chart Helm fails at before-hook-creation.
    if context.object.generate_name().is_some() {
        return None;
    }
    let wanted = context.settings.delete_policy;
    if hook.delete_policy.is_some_and(|value| spelled(value, wanted)) {
        return None;
    }
    let message = match hook.delete_policy {
        None => format!("{} is missing (Helm then takes before-hook-creation).", helm::HOOK_DELETE_POLICY),
        Some(value) => {
            let harm = harm(DeletePolicies::parse(value), wanted, context.object.kind());
            format!("{} is \"{}\", its normal form is \"{wanted}\"{harm}.", helm::HOOK_DELETE_POLICY, Shown(value))
        }
    };
    Some(
        Problem::new(
            FieldPath::annotation(helm::HOOK_DELETE_POLICY),
            message,
            format!("In the chart, write {}: \"{wanted}\".", helm::HOOK_DELETE_POLICY),
        )
        .fixed_by(Edit::Set { key: helm::HOOK_DELETE_POLICY, value: wanted.to_string() }),
    )
}

fn harm(found: DeletePolicies, wanted: DeletePolicies, kind: Kind) -> String {
    let unwanted = |policy| found.contains(policy) && !wanted.contains(policy);
    let (what, pronoun) = match kind {
        Kind::Job => ("the Job and the migration's logs", "them"),
        Kind::ServiceAccount => ("the ServiceAccount", "it"),
    };
    let [before, succeeded] =
        [DeletePolicy::BeforeHookCreation, DeletePolicy::HookSucceeded].map(|policy| found.contains(policy));
    let stays = "nothing deletes it after a success, and the next run fails with \"already exists\" (Helm 3) or does not \
                 happen (Helm 4)";
    if !before && !succeeded && found.has_unknown() {
        format!(": an item that Helm does not know switches Helm's default off; {stays}")
    } else if !before && !succeeded {
        format!(": {stays}")
    } else if unwanted(DeletePolicy::HookSucceeded) {
        format!(": hook-succeeded deletes {what} as soon as the hook is done")
    } else if unwanted(DeletePolicy::HookFailed) {
        format!(": hook-failed deletes {what} just when somebody needs {pronoun}")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::finding::Problem;
    use crate::object::{Kind, Object};
    use crate::request::Change;
    use crate::settings::Settings;
    use crate::subject::change::Context;
    use crate::testing::{asking, test};

    fn problem(policy: &Value, settings: &Value) -> Option<Problem> {
        let annotations = json!({"helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": policy});
        let object = Object::new(Kind::Job, json!({"metadata": {"annotations": annotations}}));
        check(&Context::new(&asking(Change::Create { object }), &Settings::parse(settings).unwrap()).unwrap())
    }

    #[test]
    fn each_harm_is_told() {
        for (value, harm) in [
            (json!(null), "is missing"),
            (json!("hook-succeeded"), "hook-succeeded deletes the Job and the migration's logs"),
            (json!("before-hook-creation,hook-failed"), "hook-failed deletes"),
            (json!("hook-failed"), "\"already exists\" (Helm 3) or does not happen (Helm 4)"),
            (json!("hook-succeded"), "switches Helm's default off"),
            (json!("hook-succeeded,never"), "\"before-hook-creation\": hook-succeeded deletes"),
            (json!("before-hook-creation,never"), "its normal form is \"before-hook-creation\"."),
            (json!(""), "switches Helm's default off"),
            (json!("Before-Hook-Creation"), "its normal form is \"before-hook-creation\"."),
        ] {
            let problem = problem(&value, &json!({})).unwrap();
            assert!(problem.message.contains(harm), "{value}: {}", problem.message);
        }
    }

    #[test]
    fn an_object_with_a_generated_name_is_left_alone() {
        let annotations = json!({"helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": "hook-failed"});
        let metadata = json!({"name": "m-x7k2p", "generateName": "m-", "annotations": annotations});
        let object = Object::new(Kind::Job, json!({ "metadata": metadata }));
        let settings = Settings::parse(&json!({})).unwrap();
        assert_eq!(check(&Context::new(&asking(Change::Create { object }), &settings).unwrap()), None);
    }

    #[test]
    fn the_configured_set_in_any_order_stays() {
        let settings = json!({"deletePolicy": "before-hook-creation,hook-succeeded"});
        assert_eq!(problem(&json!("hook-succeeded,before-hook-creation"), &settings), None);
        assert!(problem(&json!("before-hook-creation"), &settings).is_some());
        assert_eq!(problem(&json!("before-hook-creation"), &json!({})), None);
    }
}
