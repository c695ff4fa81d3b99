use crate::argocd;
use crate::finding::{FieldPath, Problem};
use crate::identity::{Flip, Hook, flip};
use crate::name::Name;
use crate::object::{Kind, MIGRATION_LABEL};
use crate::rules::declare::declare_rule;
use crate::rules::steady::{Needs, steady};
use crate::shown::Shown;
use crate::subject::change::Context;
use helm::Event;

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
    /// When a hook becomes a resource under Argo CD, the application shows Synced, so that no automated sync starts. A
    /// sync that somebody starts patches the hook: it succeeds where the Job's pod template is the same, does not run the
    /// migration, and every later change of that template fails a sync halfway. Denied, the object stays the hook that it
    /// was, and the result of the sync has the reason of this rule.
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
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: before-hook-creation
    /// ---
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
    /// - Helm issue 11608: a ServiceAccount that became a hook is deleted
    /// - Helm issue 12799: adding a hook annotation deletes the object on the first upgrade
    summary: "an UPDATE turns a release resource into a hook, or a hook into a release resource",
    check: Object(check),
}

fn check(context: &Context<'_>) -> Option<Problem> {
    let flip = flip(&context.old_identity, &context.identity)?;
    let (Flip::ResourceToHook { hook, .. } | Flip::HookToResource { hook, .. }) = flip;
    let is_argocds = context.is_tracked_by_argocd() || matches!(hook, Hook::ArgoCd { .. });
    let kind = context.object.kind();
    let becomes_hook = matches!(flip, Flip::ResourceToHook { .. });
    let (was, is, harm, remedy) = match flip {
        Flip::ResourceToHook { owner, hook } => (
            owner.to_string(),
            hook.to_string(),
            harm_of_a_new_hook(hook, kind, is_argocds),
            leave_plain(hook, kind, is_argocds),
        ),
        Flip::HookToResource { hook, owner } => {
            (hook.to_string(), owner.to_string(), harm_of_a_lost_hook(kind, is_argocds), keep_hook(hook, is_argocds))
        }
    };
    let denied = if is_argocds && !becomes_hook { DENIED_UNDER_ARGOCD } else { "" };
    let message = format!("was {was} and would become {is}. {harm}{denied}");
    let path = FieldPath::annotation(annotation_of(hook));
    // Denied, Argo CD would delete the object; adopted by Helm, it is too late to stop.
    if context.helm_adopts() || (becomes_hook && context.argocd_would_delete()) {
        return Some(Problem::new(path, message, remedy).warn_at_most());
    }
    Some(Problem::new(path, message, format!("{remedy} {}", on_purpose(context))))
}

fn annotation_of(hook: &Hook<'_>) -> &'static str {
    match hook {
        Hook::Helm(_) => helm::HOOK,
        Hook::ArgoCd { .. } => argocd::HOOK,
    }
}

fn value_of(hook: &Hook<'_>) -> String {
    match hook {
        Hook::Helm(hook) => Shown(hook.hook).to_string(),
        Hook::ArgoCd { types } => types.join(","),
    }
}

fn harm_of_a_new_hook(hook: &Hook<'_>, kind: Kind, is_argocds: bool) -> &'static str {
    let runs_at = |event| matches!(hook, Hook::Helm(hook) if hook.events.contains(event));
    let is_job = kind == Kind::Job;
    if is_argocds {
        "Argo CD takes a live hook out of its comparison: it would no longer be healed or pruned."
    } else if runs_at(Event::PreUpgrade) && is_job {
        "On the upgrade that renders this, Helm deletes the Job, runs the hook, then deletes what the hook created, \
         and reports success: the Job and the migration's logs are gone."
    } else if runs_at(Event::PreUpgrade) {
        "On the upgrade that renders this, Helm deletes the ServiceAccount under its running pods, creates it again, \
         then deletes that too, and reports success."
    } else if runs_at(Event::PostUpgrade) && is_job {
        "On the upgrade that renders this, Helm deletes the Job, and the migration's logs with it, before it runs the hook."
    } else if runs_at(Event::PostUpgrade) {
        "On the upgrade that renders this, Helm deletes the ServiceAccount under its running pods and creates it anew: \
         their tokens stop working."
    } else {
        "On the upgrade that renders this, Helm deletes the object, for it has left the manifest, and no hook brings it back."
    }
}

fn harm_of_a_lost_hook(kind: Kind, is_argocds: bool) -> &'static str {
    match (kind, is_argocds) {
        (Kind::Job, true) => {
            "Left alone, the sync would succeed while the Job's pod template is the same, but Argo CD would not run the \
             migration again (the old run counts); with another image it would fail halfway, for a pod template cannot be \
             changed."
        }
        (Kind::Job, false) => {
            "Helm would not run the migration again, and the next change of its image would fail the upgrade \
             halfway: a Job's pod template cannot be changed."
        }
        (Kind::ServiceAccount, true) => {
            "Left alone, the sync would succeed, and one that makes it a hook again would delete it under its running \
             pods."
        }
        (Kind::ServiceAccount, false) => {
            "The next render that makes it a hook again would delete it under its running pods."
        }
    }
}

/// As seen: the sync fails, or on the way to server-side apply only warns; before and after it shows Synced.
const DENIED_UNDER_ARGOCD: &str = " Denied, it stays the hook that it was, with this reason in the sync's result; Argo CD \
                                   compares no live hook and may show Synced.";

fn leave_plain(hook: &Hook<'_>, kind: Kind, is_argocds: bool) -> String {
    let key = annotation_of(hook);
    match hook {
        Hook::Helm(hook) if !is_argocds => format!(
            "Render it alike on install and on upgrade, with no condition on .Release.IsInstall, .Release.IsUpgrade or a \
             value around it: never {key}, or always {key}: {}.",
            steady(hook.events, Needs::of_kind(kind))
        ),
        Hook::Helm(_) | Hook::ArgoCd { .. } => {
            format!("In Git, take {key} off it again, or give the hook a new name: under the old one it flips.")
        }
    }
}

fn keep_hook(hook: &Hook<'_>, is_argocds: bool) -> String {
    let (key, value) = (annotation_of(hook), value_of(hook));
    if is_argocds {
        format!("In Git, put {key}: \"{value}\" back, or give the plain object a new name.")
    } else {
        format!("Keep {key}: \"{value}\" on every render: take the condition around it out of the chart.")
    }
}

/// The way past the policy: both states must say that it is none of its business.
fn on_purpose(context: &Context<'_>) -> String {
    let Name { kind, namespace, name, .. } = &context.name;
    let namespace = if namespace.is_empty() { String::new() } else { format!("-n {} ", Shown(namespace)) };
    let label = format!("{MIGRATION_LABEL}=false");
    let also = match context.object.label(MIGRATION_LABEL) {
        Some("true") => " (and set that label to \"false\" in what you apply)",
        _ => "",
    };
    format!(
        "If the change is meant: `kubectl {namespace}label {} {} {label} --overwrite`{also}, repeat it, then take the \
         label off again.",
        kind.to_lowercase(),
        Shown(name)
    )
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

    fn flip(old: &Value, new: &Value) -> Option<Problem> {
        let object = |annotations: &Value| {
            let metadata = json!({"name": "a", "namespace": "n", "annotations": annotations});
            Object::new(Kind::Job, json!({ "metadata": metadata }))
        };
        let change = Change::Update { object: object(new), old: Some(object(old)) };
        check(&Context::new(&asking(change), &Settings::default()).unwrap())
    }

    #[test]
    fn the_message_names_both_sides_and_the_remedy_is_right_under_argocd_too() {
        let problem = flip(
            &json!({"meta.helm.sh/release-name": "orders", "meta.helm.sh/release-namespace": "shop"}),
            &json!({"helm.sh/hook": "pre-upgrade"}),
        )
        .unwrap();
        assert!(problem.message.starts_with(
            "was a resource of Helm release shop/orders and would become a Helm hook (helm.sh/hook: \"pre-upgrade\")"
        ));
        assert!(
            problem.remedy.text.contains(
                "always helm.sh/hook: \"pre-install,pre-upgrade\", with an account and configuration of its own as earlier \
                 hooks; or \"post-install,post-upgrade\" if"
            ),
            "{}",
            problem.remedy.text
        );
        assert!(problem.remedy.text.contains("`kubectl -n n label job a stable-hooks/migration=false --overwrite`"));
        assert!(!problem.warn_at_most);
    }

    #[test]
    fn events_of_both_sides_are_not_recommended() {
        let problem = flip(&json!({}), &json!({"helm.sh/hook": "post-install,pre-upgrade"})).unwrap();
        let text = &problem.remedy.text;
        assert!(text.contains("always helm.sh/hook: \"pre-install,pre-upgrade\", with"), "{text}");
    }

    #[test]
    fn the_harm_is_that_of_the_tool_and_the_event() {
        let tracked = json!({"argocd.argoproj.io/tracking-id": "app:batch/Job:n/a"});
        let mut tracked_hook = tracked.clone();
        tracked_hook["helm.sh/hook"] = json!("pre-upgrade");
        for (old, new, harm) in [
            (json!({}), json!({"helm.sh/hook": "pre-upgrade"}), "then deletes what the hook created"),
            (json!({}), json!({"helm.sh/hook": "post-upgrade"}), "before it runs the hook"),
            (json!({}), json!({"helm.sh/hook": "pre-install"}), "no hook brings it back"),
            (json!({}), json!({"argocd.argoproj.io/hook": "PreSync"}), "Argo CD takes a live hook out"),
            (json!({"argocd.argoproj.io/hook": "PreSync"}), json!({}), "but Argo CD would not run the migration again"),
            (tracked.clone(), tracked_hook.clone(), "Argo CD takes a live hook out"),
            (tracked_hook, tracked, "but Argo CD would not run the migration again"),
            (json!({"helm.sh/hook": "pre-install"}), json!({}), "Helm would not run the migration again"),
        ] {
            let problem = flip(&old, &new).unwrap();
            assert!(problem.message.contains(harm), "{harm}: {}", problem.message);
            let argocd = harm.contains("Argo CD");
            assert_eq!(problem.remedy.text.starts_with("In Git"), argocd, "{}", problem.remedy.text);
        }
    }

    #[test]
    fn the_annotation_to_put_back_is_said_with_its_value() {
        for (old, remedy) in [
            (json!({"helm.sh/hook": "pre-install"}), "Keep helm.sh/hook: \"pre-install\" on every render"),
            (json!({"argocd.argoproj.io/hook": "Sync,PreSync"}), "put argocd.argoproj.io/hook: \"PreSync,Sync\" back"),
        ] {
            let problem = flip(&old, &json!({})).unwrap();
            assert!(problem.remedy.text.contains(remedy), "{}", problem.remedy.text);
        }
    }

    #[test]
    fn who_applies_the_opt_in_label_is_told_to_change_it_there_too() {
        let object = |annotations: Value| {
            let labels = json!({"stable-hooks/migration": "true"});
            Object::new(Kind::Job, json!({"metadata": {"name": "a", "labels": labels, "annotations": annotations}}))
        };
        let (old, new) = (object(json!({})), object(json!({"helm.sh/hook": "pre-upgrade"})));
        let change = Change::Update { object: new, old: Some(old) };
        let problem = check(&Context::new(&asking(change), &Settings::default()).unwrap()).unwrap();
        assert!(
            problem.remedy.text.contains("--overwrite` (and set that label to \"false\" in what you apply), repeat it")
        );
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
        assert!(flip(&plain, &untracked).unwrap().warn_at_most, "it was tracked");
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
