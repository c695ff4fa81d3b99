use super::hook_weight;
use crate::argocd;
use crate::finding::{Edit, FieldPath, Problem};
use crate::identity::HelmHook;
use crate::rule::RuleId;
use crate::rules::declare::declare_rule;
use crate::shown::Shown;
use crate::subject::change::Context;
use helm::DeletePolicy;

declare_rule! {
    /// ## What it does
    ///
    /// Looks at `argocd.argoproj.io/hook`, `argocd.argoproj.io/hook-delete-policy` and
    /// `argocd.argoproj.io/sync-wave` beside a `helm.sh/hook`. Where all of them say the same as the normalized
    /// Helm annotations, they are removed. Where one says something else, nothing is touched and a warning tells.
    /// Hooks that only Argo CD knows are never touched.
    ///
    /// ## Why is this bad?
    ///
    /// Argo CD takes the hook type from its own annotation, adds the delete policies of both families up, and
    /// prefers its sync wave to the weight: the same object behaves differently under Helm and under Argo CD, and
    /// whoever changes one family forgets the other.
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
    ///     helm.sh/hook-weight: "10"
    ///     argocd.argoproj.io/hook: PreSync
    ///     argocd.argoproj.io/sync-wave: "10"
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
    /// - Argo CD, "Helm": hooks
    /// - Argo CD issue 15613: Helm's delete policy still counts beside Argo CD's
    summary: "Argo CD's hook annotations beside a `helm.sh/hook`: removed where they say the same, a warning where they do not",
    check: Object(check),
}

const KEYS: [&str; 3] = [argocd::HOOK, argocd::HOOK_DELETE_POLICY, argocd::SYNC_WAVE];

fn check(context: &Context<'_>) -> Option<Problem> {
    let hook = context.helm_hook()?;
    let found: Vec<_> = KEYS.iter().filter_map(|key| Some((*key, context.object.annotation(key)?))).collect();
    let (first, _) = *found.first()?;
    let conflict = found.iter().find_map(|(key, value)| {
        let wanted = in_argocds_words(context, hook, key);
        (!says(key, value, &wanted)).then(|| (*key, *value, wanted.join(",")))
    });
    if let Some((key, value, wanted)) = conflict {
        return Some(conflicting(key, value, &wanted));
    }
    let keys: Vec<_> = found.iter().map(|(key, _)| *key).collect();
    let problem = Problem::new(
        FieldPath::annotation(first),
        format!("says the same twice: {} repeat what its Helm annotations mean in normal form.", keys.join(", ")),
        format!("In the chart, bring the Helm annotations to normal form and remove {}.", keys.join(", ")),
    );
    Some(keys.into_iter().fold(problem, |problem, key| problem.fixed_by(Edit::Remove { key })))
}

fn conflicting(key: &'static str, value: &str, wanted: &str) -> Problem {
    let value = Shown(value);
    let (what, help) = if is_ignored(key, value.0) {
        let what = format!(
            "{key} is \"{value}\", which Argo CD ignores: it takes what the Helm annotations say (\"{wanted}\")."
        );
        (what, format!("Remove {key} in the chart, or correct it."))
    } else if wanted.is_empty() {
        let what = format!(
            "{key} is \"{value}\", but Argo CD never runs the events in its {}: only {key} makes it run there.",
            helm::HOOK
        );
        (what, format!("If that is meant, switch the rule off for it; else remove {key} in the chart."))
    } else {
        let what = format!(
            "{key} is \"{value}\", but its Helm annotations mean \"{wanted}\": Argo CD and Helm treat it differently."
        );
        (
            what,
            format!(
                "In the chart, write {key}: \"{wanted}\", or change the Helm annotations, then remove it: they serve both."
            ),
        )
    };
    Problem::new(FieldPath::annotation(key), what, help)
}

/// Nothing in the value means anything to Argo CD, which then goes by the Helm annotation.
fn is_ignored(key: &str, value: &str) -> bool {
    match key {
        argocd::HOOK => !argocd::items(value).any(|item| item == "Skip") && argocd::hook_types(value).is_empty(),
        argocd::HOOK_DELETE_POLICY => {
            let known: Vec<_> = DeletePolicy::ALL.iter().map(|policy| argocd::delete_policy(*policy)).collect();
            !argocd::items(value).any(|item| known.contains(&item))
        }
        _ => helm::weight(value).is_none(),
    }
}

/// The items that make Argo CD's annotation say what the Helm annotations say once they are fixed.
fn in_argocds_words(context: &Context<'_>, hook: &HelmHook<'_>, key: &str) -> Vec<String> {
    let settings = context.settings;
    match key {
        // The normal form adds events of the same side at most, which are one to Argo CD.
        argocd::HOOK => argocd::hook_types_of(hook.events).into_iter().map(str::to_owned).collect(),
        argocd::HOOK_DELETE_POLICY => {
            let current = hook.delete_policies();
            let policies = if context.is_fixed(RuleId::HookDeletePolicy) { settings.delete_policy } else { current };
            policies.iter().map(argocd::delete_policy).map(str::to_owned).collect()
        }
        _ => {
            let current = hook.weight.and_then(helm::weight).unwrap_or_default();
            let fixed = hook_weight::normal_form(hook.weight, context.object.kind(), settings);
            let weight = if context.is_fixed(RuleId::HookWeight) { fixed } else { current };
            vec![weight.to_string()]
        }
    }
}

fn says(key: &str, value: &str, wanted: &[String]) -> bool {
    if key == argocd::SYNC_WAVE {
        return helm::weight(value).is_some_and(|wave| wanted.contains(&wave.to_string()));
    }
    let said = |wanted: &String| argocd::items(value).any(|item| item == wanted);
    let mut items = argocd::items(value);
    !wanted.is_empty() && wanted.iter().all(said) && items.all(|item| wanted.iter().any(|wanted| wanted == item))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::object::{Kind, Object};
    use crate::request::Change;
    use crate::settings::Settings;
    use crate::subject::change::Context;
    use crate::testing::{asking, test};

    /// How many annotations would be removed; `None` where there is no finding.
    fn removed(annotations: Value, settings: &Value) -> Option<usize> {
        let object = Object::new(Kind::Job, json!({"metadata": {"annotations": annotations}}));
        let settings = Settings::parse(settings).unwrap();
        check(&Context::new(&asking(Change::Create { object }), &settings).unwrap()).map(|problem| problem.edits.len())
    }

    #[test]
    fn what_says_the_same_as_the_normal_form_is_removed() {
        let annotations = json!({
            "helm.sh/hook": "pre-upgrade", "helm.sh/hook-delete-policy": "hook-succeeded",
            "argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
            "argocd.argoproj.io/sync-wave": "10",
        });
        assert_eq!(removed(annotations.clone(), &json!({})), Some(3));
        let unfixed = json!({"rules": {"hook-delete-policy": "warn"}});
        assert_eq!(removed(annotations, &unfixed), Some(0), "the live delete policy stays hook-succeeded");
    }

    #[test]
    fn what_says_something_else_is_left_alone() {
        for (key, value) in [
            ("hook", "PostSync"),
            ("hook", "PreSync,PostSync"),
            ("hook", "presync"),
            ("hook", ""),
            ("hook-delete-policy", "HookSucceeded"),
            ("sync-wave", "3"),
            ("sync-wave", "ten"),
        ] {
            let key = format!("argocd.argoproj.io/{key}");
            assert_eq!(removed(json!({"helm.sh/hook": "pre-install", key: value}), &json!({})), Some(0), "{value}");
        }
    }

    #[test]
    fn each_way_to_differ_is_told_as_it_is() {
        for (hook, key, value, what) in [
            ("pre-install", "hook", "presync", "which Argo CD ignores"),
            ("pre-install", "hook-delete-policy", "never", "which Argo CD ignores"),
            ("pre-install", "sync-wave", "ten", "which Argo CD ignores"),
            ("pre-install", "hook-delete-policy", "HookFailed", "its Helm annotations mean \"BeforeHookCreation\""),
            ("pre-install", "hook", "Skip", "Argo CD and Helm treat it differently"),
            ("pre-install", "sync-wave", "3", "its Helm annotations mean \"10\""),
            ("pre-rollback", "hook", "PreSync", "Argo CD never runs the events in its helm.sh/hook"),
        ] {
            let annotations = json!({"helm.sh/hook": hook, format!("argocd.argoproj.io/{key}"): value});
            let object = Object::new(Kind::Job, json!({"metadata": {"annotations": annotations}}));
            let problem =
                check(&Context::new(&asking(Change::Create { object }), &Settings::default()).unwrap()).unwrap();
            assert!(problem.message.contains(what), "{value}: {}", problem.message);
        }
    }

    #[test]
    fn an_event_that_argocd_never_runs_is_not_said() {
        let annotations = json!({"helm.sh/hook": "pre-rollback", "argocd.argoproj.io/hook": "PreSync"});
        assert_eq!(removed(annotations, &json!({})), Some(0));
    }

    #[test]
    fn one_family_alone_is_no_problem() {
        assert_eq!(removed(json!({"argocd.argoproj.io/hook": "PreSync"}), &json!({})), None);
        assert_eq!(removed(json!({"argocd.argoproj.io/sync-wave": "1"}), &json!({})), None);
        assert_eq!(removed(json!({"helm.sh/hook": "pre-install"}), &json!({})), None);
    }
}
