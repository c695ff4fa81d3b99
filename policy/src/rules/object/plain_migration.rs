use crate::finding::{FieldPath, Problem};
use crate::identity::Identity;
use crate::object::Kind;
use crate::rules::declare::declare_rule;
use crate::subject::change::{Context, Occasion};

declare_rule! {
    /// ## What it does
    ///
    /// Warns at the CREATE of a migration Job that is no hook, has a fixed name and is controlled by nobody.
    ///
    /// ## Why is this bad?
    ///
    /// A Job's pod template cannot be changed once the Job exists. The next release has another image, so its
    /// upgrade fails at this Job, after other objects have been changed already.
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
    /// - Kubernetes, "Jobs": the pod template of a Job
    /// - Argo CD issue 7430: "spec.template: Invalid value"
    summary: "CREATE of a migration Job that is no hook: its next change of image cannot be applied",
    check: Object(check),
}

fn check(context: &Context<'_>) -> Option<Problem> {
    let object = context.object;
    let is_plain = object.kind() == Kind::Job && matches!(context.identity, Identity::Resource(_));
    let has_fixed_name = object.name().is_some() && object.generate_name().is_none();
    if !is_plain || !has_fixed_name || context.occasion == Occasion::Update {
        return None;
    }
    Some(Problem::new(
        FieldPath::annotation(helm::HOOK),
        "is a migration, but a plain Job: a Job's pod template cannot be changed, so the next release with another \
         image fails halfway."
            .to_owned(),
        "Make it a hook on every render (helm.sh/hook-delete-policy: \"before-hook-creation\" and helm.sh/hook: \
         \"pre-install,pre-upgrade\", with an account and configuration of its own as earlier hooks; or \
         \"post-install,post-upgrade\" if it needs more of the release, but not with --wait or Argo CD if the application \
         needs the migration first), or give it a new name in every release. For a release that is installed already, \
         give the hook a new name too: under its old name it would flip."
            .to_owned(),
    ))
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

    fn is_found(kind: Kind, metadata: Value, change: fn(Object) -> Change) -> bool {
        let change = change(Object::new(kind, json!({ "metadata": metadata })));
        check(&Context::new(&asking(change), &Settings::default()).unwrap()).is_some()
    }

    fn create(object: Object) -> Change {
        Change::Create { object }
    }

    #[test]
    fn only_named_plain_jobs_are_found() {
        assert!(is_found(Kind::Job, json!({"name": "a"}), create));
        assert!(is_found(Kind::Job, json!({"name": "a"}), |object| Change::Audit { object }));
        assert!(!is_found(Kind::Job, json!({"name": "a"}), |object| Change::Update { object, old: None }));
        assert!(!is_found(Kind::ServiceAccount, json!({"name": "a"}), create));
        assert!(!is_found(Kind::Job, json!({"name": "a-x1", "generateName": "a-"}), create));
        assert!(!is_found(Kind::Job, json!({"name": "a", "annotations": {"argocd.argoproj.io/hook": "Sync"}}), create));
        assert!(!is_found(Kind::Job, json!({"name": "a", "annotations": {"helm.sh/hook": "nonsense"}}), create));
    }
}
