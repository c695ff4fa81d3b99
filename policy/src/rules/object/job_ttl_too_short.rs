use crate::finding::{FieldPath, Problem};
use crate::rules::declare::declare_rule;
use crate::subject::change::Context;

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a hook Job whose `spec.ttlSecondsAfterFinished` is below the setting `jobTtlSeconds`
    /// (in seconds, default 60).
    ///
    /// ## Why is this bad?
    ///
    /// Helm waits for a hook Job by watching it. When the cluster deletes the Job a moment after it has ended, Helm
    /// can miss the completion and then wait until its timeout; and the migration's logs are gone.
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
    /// spec:
    ///   ttlSecondsAfterFinished: 0
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
    /// spec:
    ///   ttlSecondsAfterFinished: 3600
    /// ```
    ///
    /// ## References
    ///
    /// - Helm pull request 32586: a hook Job deleted by its TTL hangs Helm 4
    summary: "a hook Job whose `ttlSecondsAfterFinished` is below `jobTtlSeconds`: a waiting Helm can miss its end",
    check: Object(check),
}

fn check(context: &Context<'_>) -> Option<Problem> {
    context.helm_hook()?;
    let least = context.settings.job_ttl_seconds;
    let seconds = context.object.ttl_seconds_after_finished().filter(|seconds| *seconds < least)?;
    Some(Problem::new(
        FieldPath::spec("ttlSecondsAfterFinished"),
        format!(
            "spec.ttlSecondsAfterFinished is {seconds} s: the cluster deletes the Job and its logs that soon after it \
             has ended, and a waiting Helm that misses the end hangs until its timeout."
        ),
        format!("Set at least {least} s, or leave it out: before-hook-creation removes the old Job at the next run."),
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

    fn is_found(hook: &str, seconds: &Value) -> bool {
        let object = Object::new(
            Kind::Job,
            json!({"metadata": {"annotations": {hook: "pre-install"}}, "spec": {"ttlSecondsAfterFinished": seconds}}),
        );
        check(&Context::new(&asking(Change::Create { object }), &Settings::default()).unwrap()).is_some()
    }

    #[test]
    fn only_short_times_of_hooks_are_found() {
        assert!(is_found("helm.sh/hook", &json!(0)));
        assert!(is_found("helm.sh/hook", &json!(59)));
        assert!(!is_found("helm.sh/hook", &json!(60)));
        assert!(!is_found("helm.sh/hook", &json!(null)));
        assert!(!is_found("helm.sh/hook", &json!("5")));
        assert!(!is_found("other", &json!(0)));
    }
}
