use crate::finding::{Edit, FieldPath, Problem};
use crate::rules::declare::declare_rule;
use crate::rules::steady::{Needs, steady};
use crate::shown::Shown;
use crate::subject::change::Context;

declare_rule! {
    /// ## What it does
    ///
    /// Brings `helm.sh/hook` to its normal form: lower case, no spaces, no duplicates, in Helm's order, and with
    /// installs and upgrades both covered. A missing counterpart is added on the same side: `pre-upgrade` becomes
    /// `pre-install,pre-upgrade`; `post-install,pre-upgrade` covers both and stays. Other events are kept, and
    /// alone they are only spelled. With the setting `events.complete: false` the set of events stays as it is.
    ///
    /// ## Why is this bad?
    ///
    /// A hook of installs only does not run on upgrades, and the reverse; charts then often render the same Job
    /// plain on the other side, and the next release flips. Argo CD does not know events in other cases: it never
    /// applies a `Pre-Install` hook.
    ///
    /// The patch makes the live object read well; it does not change what Helm or Argo CD do. In the chart, choose one
    /// side for installs and upgrades: Argo CD runs `pre-install` and `pre-upgrade` alike before each sync, `post-install`
    /// and `post-upgrade` after it. Before it, the account and the configuration that the hook needs have to be earlier
    /// hooks. After it they are there; but with `helm --wait`, and under Argo CD, the hook then runs only when the
    /// application is ready without it. `post-install,pre-upgrade` is for Helm alone: Argo CD runs such a hook before and
    /// after each sync, and before the first one nothing is there yet.
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
    ///     helm.sh/hook: Pre-Upgrade
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
    /// ```
    ///
    /// ## References
    ///
    /// - Helm, "Chart Hooks": the available hooks
    /// - Argo CD issue 7637: `.Release.IsUpgrade` is never true under Argo CD
    summary: "`helm.sh/hook` is not in normal form: trimmed, lower-case, no duplicates, Helm's order, install and upgrade both covered",
    check: Object(check),
}

fn check(context: &Context<'_>) -> Option<Problem> {
    let hook = context.helm_hook()?;
    let events = if context.settings.events.complete { hook.events.completed() } else { hook.events };
    let normal = events.to_string();
    if hook.hook == normal {
        return None;
    }
    let (why, written) = if events != hook.events {
        let written = steady(events, Needs::of_kind(context.object.kind()));
        ("it covers only one of install and upgrade, and does not run on the other", written)
    } else if hook.hook.chars().any(char::is_uppercase) {
        ("Argo CD does not know events in upper case and never applies such a hook", format!("\"{normal}\""))
    } else {
        ("everybody who reads it should find one spelling", format!("\"{normal}\""))
    };
    Some(
        Problem::new(
            FieldPath::annotation(helm::HOOK),
            format!("{} is \"{}\", its normal form is \"{normal}\": {why}.", helm::HOOK, Shown(hook.hook)),
            format!("In the chart, write {}: {written}.", helm::HOOK),
        )
        .fixed_by(Edit::Set { key: helm::HOOK, value: normal }),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;
    use crate::finding::Edit;
    use crate::object::{Kind, Object};
    use crate::request::Change;
    use crate::settings::Settings;
    use crate::subject::change::Context;
    use crate::testing::{asking, test};

    fn fixed(hook: &str, complete: bool) -> Option<(String, String)> {
        let object = Object::new(Kind::Job, json!({"metadata": {"annotations": {"helm.sh/hook": hook}}}));
        let settings = Settings::parse(&json!({"events": {"complete": complete}})).unwrap();
        let mut problem = check(&Context::new(&asking(Change::Create { object }), &settings).unwrap())?;
        match problem.edits.remove(0) {
            Edit::Set { value, .. } => Some((value, problem.remedy.text)),
            Edit::Remove { .. } => None,
        }
    }

    #[test]
    fn the_help_is_on_one_side_for_installs_and_upgrades() {
        let (value, help) = fixed("pre-upgrade", true).unwrap();
        assert_eq!(value, "pre-install,pre-upgrade");
        assert!(help.contains("\"pre-install,pre-upgrade\", with an account"), "{help}");
        assert!(help.contains("or \"post-install,post-upgrade\" if"), "{help}");
        let (value, help) = fixed("post-upgrade", true).unwrap();
        assert_eq!(value, "post-install,post-upgrade");
        assert!(help.ends_with("\"post-install,post-upgrade\"."), "{help}");
    }

    #[test]
    fn without_completion_it_is_only_spelled() {
        assert_eq!(fixed("pre-upgrade", false), None);
        assert_eq!(fixed("post-upgrade, PRE-install", false).unwrap().0, "pre-install,post-upgrade");
    }

    #[test]
    fn the_normal_form_stays() {
        for hook in ["pre-install,pre-upgrade", "post-install,pre-upgrade", "pre-rollback", "test"] {
            assert_eq!(fixed(hook, true), None, "{hook}");
        }
    }
}
