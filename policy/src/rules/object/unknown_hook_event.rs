use crate::finding::{FieldPath, Problem};
use crate::rules::declare::declare_rule;
use crate::shown::Shown;
use crate::subject::change::Context;
use helm::{Event, Events, NotAHook};

declare_rule! {
    /// ## What it does
    ///
    /// Warns about an empty or unknown item in `helm.sh/hook`. It is never corrected: only the author knows which
    /// event was meant.
    ///
    /// ## Why is this bad?
    ///
    /// One bad item makes Helm drop the whole document, without an error: it is neither created nor recorded, and
    /// an object that was there before is pruned. Argo CD never applies it. The migration does not run.
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
    ///     helm.sh/hook: pre-install,pre-update
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
    /// - Helm, `pkg/release/v1/util/manifest_sorter.go`: "skipping unknown hooks"
    summary: "an empty or unknown item in `helm.sh/hook`: Helm drops the document, Argo CD never applies it",
    check: Object(check),
}

fn check(context: &Context<'_>) -> Option<Problem> {
    let value = context.object.annotation(helm::HOOK)?;
    let what = match Events::parse(value).err()? {
        NotAHook::EmptyItem => "an item of it is empty".to_owned(),
        NotAHook::UnknownEvent(item) => format!("\"{}\" is no event that Helm knows", Shown(&item)),
    };
    let known: Vec<_> = Event::ALL.iter().map(|event| event.as_str()).collect();
    Some(Problem::new(
        FieldPath::annotation(helm::HOOK),
        format!(
            "{} is \"{}\": {what}. Helm drops such a document without an error and Argo CD never applies it: it does \
             not run, and what was there before is deleted.",
            helm::HOOK,
            Shown(value)
        ),
        format!("Use only {}, separated by commas, or remove the annotation.", known.join(", ")),
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

    fn message(annotations: Value) -> Option<String> {
        let object = Object::new(Kind::Job, json!({"metadata": {"annotations": annotations}}));
        check(&Context::new(&asking(Change::Create { object }), &Settings::default()).unwrap())
            .map(|problem| problem.message)
    }

    #[test]
    fn the_bad_item_is_named() {
        assert!(message(json!({"helm.sh/hook": "pre-install, Foo"})).unwrap().contains("\"foo\" is no event"));
        assert!(message(json!({"helm.sh/hook": ""})).unwrap().contains("an item of it is empty"));
    }

    #[test]
    fn a_release_mark_beside_it_does_not_hide_it() {
        assert!(message(json!({"helm.sh/hook": "x", "meta.helm.sh/release-name": "r"})).is_some());
    }

    #[test]
    fn good_or_absent_hooks_are_no_problem() {
        assert_eq!(message(json!({"helm.sh/hook": "Pre-Install , test-success"})), None);
        assert_eq!(message(json!({})), None);
    }
}
