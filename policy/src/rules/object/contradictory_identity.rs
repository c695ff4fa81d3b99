use crate::finding::{FieldPath, Problem};
use crate::identity::Identity;
use crate::rules::declare::declare_rule;
use crate::shown::Shown;
use crate::subject::change::{Context, Occasion};

declare_rule! {
    /// ## What it does
    ///
    /// Denies an object that carries `helm.sh/hook` and `meta.helm.sh/release-name` at once, when the change makes
    /// it so. It only warns when it was so before, when it is Helm itself that adopts a hook (`--take-ownership`,
    /// Flux's default), and when Argo CD would delete the object after a denial (hook-failed in its delete policy).
    /// An audit reports it as a failure.
    ///
    /// ## Why is this bad?
    ///
    /// Helm never marks a hook as a release's own, and never treats a release's own object as a hook. Whoever reads
    /// such an object is misled: Argo CD neither heals nor prunes it, for to Argo CD it is a hook; Helm updates and
    /// deletes it with its release, for to Helm's record it is a resource.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation
    ///     helm.sh/hook-weight: "0"
    ///     meta.helm.sh/release-name: orders
    ///     meta.helm.sh/release-namespace: shop
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation
    ///     helm.sh/hook-weight: "0"
    /// ```
    ///
    /// ## References
    ///
    /// - Helm, `pkg/action/validate.go`: ownership is marked on release resources only
    summary: "`helm.sh/hook` and `meta.helm.sh/release-name` on one object; only a warning when it was so before, or when Helm adopts a hook",
    check: Object(check),
}

fn check(context: &Context<'_>) -> Option<Problem> {
    if context.identity != Identity::Both {
        return None;
    }
    let value = |key| Shown(context.object.annotation(key).unwrap_or_default()).to_string();
    let problem = Problem::new(
        FieldPath::annotation(helm::HOOK),
        format!(
            "is a hook ({}: \"{}\") and a release's own object ({}: \"{}\") at once. Helm's record decides which of \
             the two it is; Argo CD and people who read the object take it for a hook, and do not heal or prune it.",
            helm::HOOK,
            value(helm::HOOK),
            helm::RELEASE_NAME,
            value(helm::RELEASE_NAME)
        ),
        format!(
            "If the release owns it, remove the annotations that begin with {}; if it is a hook, remove {} and {}.",
            helm::HOOK,
            helm::RELEASE_NAME,
            helm::RELEASE_NAMESPACE
        ),
    );
    let adopts_a_hook = context.helm_adopts() && context.old.is_some_and(|old| old.annotation(helm::HOOK).is_some());
    let was_so_before = context.old_identity == Identity::Both;
    // Denied, Argo CD would delete the object.
    let would_be_deleted = context.occasion == Occasion::Update && context.argocd_would_delete();
    let tolerated = context.occasion != Occasion::Audit && (adopts_a_hook || was_so_before || would_be_deleted);
    Some(if tolerated { problem.warn_at_most() } else { problem })
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

    fn object(annotations: Value) -> Object {
        Object::new(Kind::ServiceAccount, json!({"metadata": {"annotations": annotations}}))
    }

    fn both() -> Object {
        object(json!({"helm.sh/hook": "pre-install", "meta.helm.sh/release-name": "r"}))
    }

    fn warns(change: &Change) -> Option<bool> {
        check(&Context::new(&asking(change.clone()), &Settings::default()).unwrap()).map(|problem| problem.warn_at_most)
    }

    #[test]
    fn newly_so_is_denied_and_so_before_is_warned() {
        let update = |old| Change::Update { object: both(), old };
        assert_eq!(warns(&Change::Create { object: both() }), Some(false));
        assert_eq!(warns(&update(None)), Some(false));
        assert_eq!(warns(&update(Some(object(json!({"meta.helm.sh/release-name": "r"}))))), Some(false));
        assert_eq!(warns(&update(Some(object(json!({}))))), Some(false));
        assert_eq!(warns(&update(Some(both()))), Some(true));
    }

    #[test]
    fn helm_adopting_a_hook_is_warned() {
        for hook in ["pre-install", "pre-install,nonsense"] {
            let old = object(json!({"helm.sh/hook": hook}));
            assert_eq!(warns(&Change::Update { object: both(), old: Some(old) }), Some(true));
        }
    }

    #[test]
    fn what_argocd_would_delete_after_a_denial_is_warned() {
        let mut annotations = json!({
            "meta.helm.sh/release-name": "r", "argocd.argoproj.io/tracking-id": "app:batch/Job:n/a",
            "helm.sh/hook-delete-policy": "hook-failed",
        });
        let old = object(annotations.clone());
        annotations["helm.sh/hook"] = json!("pre-install");
        assert_eq!(warns(&Change::Update { object: object(annotations), old: Some(old) }), Some(true));
    }

    #[test]
    fn an_audit_always_fails() {
        assert_eq!(warns(&Change::Audit { object: both() }), Some(false));
    }

    #[test]
    fn one_of_the_two_is_no_contradiction() {
        for annotations in [json!({"helm.sh/hook": "pre-install"}), json!({"meta.helm.sh/release-name": "r"})] {
            assert_eq!(warns(&Change::Create { object: object(annotations) }), None);
        }
    }
}
