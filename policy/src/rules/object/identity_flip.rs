use crate::argocd;
use crate::finding::{FieldPath, ObjectRef, Problem};
use crate::helm::{self, DeletePolicies, DeletePolicy};
use crate::identity::{Flip, Hook, Identity, flip};
use crate::object::{Kind, Object};
use crate::rules::{Context, Level, RuleLevel};

declare_rule! {
    /// ## What it does
    ///
    /// Denies an UPDATE that turns a release resource into a hook, or a hook into a release resource.
    /// Other events, weights or delete policies are no flip.
    ///
    /// It only warns where a denial would do harm or comes too late:
    ///
    /// - Argo CD tracks the object, it turns into a hook, and its delete policy has hook-failed:
    ///   after a denial Argo CD would delete the object;
    /// - Helm adopts the object in the middle of an operation: that was judged when Helm wrote its release record.
    ///
    /// ## Why is this bad?
    ///
    /// Helm decides hook or resource from the rendered chart alone. When a release resource becomes a hook, Helm
    /// deletes the live object, runs the hook, then deletes what the hook has just created, and reports success:
    /// the Job, its logs and its ServiceAccount are gone. When a hook becomes a resource, Helm stops with
    /// "invalid ownership metadata" or adopts an object whose pod template can never change again.
    /// Argo CD takes a live hook out of its comparison: it is neither healed nor pruned.
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
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation
    /// ```
    ///
    /// ## Use instead
    ///
    /// The same annotations on install and on upgrade:
    ///
    /// ```yaml
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: post-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: post-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation
    /// ```
    ///
    /// ## References
    ///
    /// - Helm issue 11608: a ServiceAccount that became a hook is deleted
    /// - Helm issue 12799: adding a hook annotation deletes the object on the first upgrade
    "identity-flip",
    default: RuleLevel::Check(Level::Deny),
    summary: "an UPDATE turns a release resource into a hook, or a hook into a release resource",
    check: check,
}

fn check(context: &Context<'_>) -> Option<Problem> {
    let flip = flip(&context.old_identity, &context.identity)?;
    let tracked = [Some(context.object), context.old].into_iter().flatten().any(is_tracked_by_argocd);
    let (path, was, is, harm, remedy) = match flip {
        Flip::ResourceToHook { owner, hook } => (
            annotation_of(hook),
            owner.to_string(),
            hook.to_string(),
            harm_of_a_new_hook(context.object.kind(), tracked),
            remedy_for_a_new_hook(hook),
        ),
        Flip::HookToResource { hook, owner } => (
            annotation_of(hook),
            hook.to_string(),
            owner.to_string(),
            harm_of_a_lost_hook(context.object.kind(), tracked),
            format!("Keep {} on every render: take the condition around it out of the chart.", annotation_of(hook)),
        ),
    };
    let problem = Problem::new(
        FieldPath::annotation(path),
        format!("was {was} and would become {is}. {harm}"),
        format!("{remedy} {}", on_purpose(context.object)),
    );
    Some(if is_better_let_through(context, tracked) { problem.warn_at_most() } else { problem })
}

/// Denied, Argo CD would delete the object; adopted by Helm, it is too late to stop.
fn is_better_let_through(context: &Context<'_>, tracked: bool) -> bool {
    let becomes_hook = matches!(context.identity, Identity::Hook(_));
    context.helm_adopts() || (tracked && becomes_hook && is_deleted_on_failure(context.object))
}

fn is_tracked_by_argocd(object: &Object) -> bool {
    object.annotation(argocd::TRACKING_ID).is_some()
}

/// Argo CD adds up the delete policies of both families.
fn is_deleted_on_failure(object: &Object) -> bool {
    let helm = object.annotation(helm::HOOK_DELETE_POLICY).map(DeletePolicies::parse);
    let argocd = object.annotation(argocd::HOOK_DELETE_POLICY).map(argocd::items);
    helm.is_some_and(|policies| policies.contains(DeletePolicy::HookFailed))
        || argocd.is_some_and(|policies| policies.contains(argocd::HOOK_FAILED))
}

fn annotation_of(hook: &Hook<'_>) -> &'static str {
    match hook {
        Hook::Helm(_) => helm::HOOK,
        Hook::ArgoCd { .. } => argocd::HOOK,
    }
}

fn harm_of_a_new_hook(kind: Kind, tracked: bool) -> &'static str {
    match (tracked, kind) {
        (true, _) => "Argo CD takes a live hook out of its comparison: it would no longer be healed or pruned.",
        (false, Kind::Job) => {
            "On the upgrade that renders this, Helm deletes the Job, runs the hook, then deletes what the hook \
             created, and reports success: the Job and the migration's logs are gone."
        }
        (false, Kind::ServiceAccount) => {
            "On the upgrade that renders this, Helm deletes the ServiceAccount under its running pods, creates it \
             again, then deletes that too, and reports success."
        }
    }
}

fn harm_of_a_lost_hook(kind: Kind, tracked: bool) -> &'static str {
    match (kind, tracked) {
        (Kind::Job, true) => {
            "Argo CD would not run the migration again (the old run counts), and the next change of its image would \
             fail the sync halfway: a Job's pod template cannot be changed."
        }
        (Kind::Job, false) => {
            "Helm would not run the migration again, and the next change of its image would fail the upgrade \
             halfway: a Job's pod template cannot be changed."
        }
        (Kind::ServiceAccount, _) => {
            "The next render that makes it a hook again would delete it under its running pods."
        }
    }
}

/// Never an event at which what the hook needs may not exist yet: post-install is safe where pre-install may not be.
fn remedy_for_a_new_hook(hook: &Hook<'_>) -> String {
    let Hook::Helm(hook) = hook else {
        return format!("In Git, set {} on every revision or on none.", argocd::HOOK);
    };
    format!(
        "Render it alike on install and on upgrade, with no condition on .Release.IsInstall, .Release.IsUpgrade or a \
         value around it: always {}: \"{}\", or never.",
        helm::HOOK,
        hook.events.safely_completed()
    )
}

fn on_purpose(object: &Object) -> String {
    let object = ObjectRef::new(object);
    let namespace = if object.namespace.is_empty() { String::new() } else { format!("-n {} ", object.namespace) };
    format!(
        "If the change is meant, first: kubectl {namespace}label {} {} stable-hooks/migration=false --overwrite",
        object.kind.to_lowercase(),
        object.name
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::finding::Problem;
    use crate::object::{Kind, Object};
    use crate::request::Change;
    use crate::rules::Context;
    use crate::settings::Settings;
    use crate::testing::test;

    fn flip(old: &Value, new: &Value) -> Option<Problem> {
        let object = |annotations: &Value| {
            let metadata = json!({"name": "a", "namespace": "n", "annotations": annotations});
            Object::new(Kind::Job, json!({ "metadata": metadata }))
        };
        let change = Change::Update { object: object(new), old: Some(object(old)) };
        check(&Context::new(&change, &Settings::default()).unwrap())
    }

    #[test]
    fn the_message_names_both_sides_and_the_remedy_is_safe_on_install() {
        let problem = flip(
            &json!({"meta.helm.sh/release-name": "orders", "meta.helm.sh/release-namespace": "shop"}),
            &json!({"helm.sh/hook": "pre-upgrade"}),
        )
        .unwrap();
        assert!(problem.message.starts_with(
            "was a resource of Helm release shop/orders and would become a Helm hook (helm.sh/hook: \"pre-upgrade\")"
        ));
        assert!(problem.help.contains("always helm.sh/hook: \"post-install,pre-upgrade\""), "{}", problem.help);
        assert!(problem.help.ends_with("kubectl -n n label job a stable-hooks/migration=false --overwrite"));
        assert!(!problem.warn_at_most);
    }

    #[test]
    fn argocd_with_hook_failed_is_only_warned_when_it_makes_a_hook() {
        let plain = json!({"argocd.argoproj.io/tracking-id": "app:batch/Job:n/a"});
        let hook = |policy: &str, argocd: &str| {
            json!({
                "argocd.argoproj.io/tracking-id": "app:batch/Job:n/a", "helm.sh/hook": "pre-install",
                "helm.sh/hook-delete-policy": policy, "argocd.argoproj.io/hook-delete-policy": argocd,
            })
        };
        assert!(flip(&plain, &hook("hook-failed", "")).unwrap().warn_at_most);
        assert!(flip(&plain, &hook("", "HookFailed")).unwrap().warn_at_most);
        assert!(!flip(&plain, &hook("hook-succeeded", "")).unwrap().warn_at_most);
        assert!(!flip(&hook("hook-failed", ""), &plain).unwrap().warn_at_most);
        let untracked = json!({"helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": "hook-failed"});
        assert!(!flip(&json!({}), &untracked).unwrap().warn_at_most);
    }

    #[test]
    fn an_adoption_by_helm_is_only_warned() {
        let adopted = json!({"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n"});
        assert!(flip(&json!({"helm.sh/hook": "pre-install"}), &adopted).unwrap().warn_at_most);
    }

    #[test]
    fn other_changes_are_no_flip() {
        let hook = |events: &str| json!({"helm.sh/hook": events});
        assert_eq!(flip(&hook("pre-install"), &hook("post-upgrade")), None);
        assert_eq!(flip(&hook("pre-install"), &json!({"argocd.argoproj.io/hook": "PreSync"})), None);
        assert_eq!(flip(&json!({}), &hook("")), None);
    }
}
