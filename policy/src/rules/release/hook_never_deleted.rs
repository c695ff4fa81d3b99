use crate::finding::{FieldPath, Outcome, ReleaseProblem};
use crate::identity::Identity;
use crate::rules::declare::{Reach, declare_rule};
use crate::subject::release::{HookDocument, Live, Release};
use helm::record::ApplyMethod;
use helm::{DeletePolicies, DeletePolicy};

declare_rule! {
    /// ## What it does
    ///
    /// Denies a record with a hook whose explicit delete policy leaves it where it is, when the hook is already there:
    /// in the last revision, live, or from an earlier run in the same operation (two events, or one that is written
    /// twice). It warns on an install, for a Job whose TTL may have removed it by then, and for hook-succeeded alone,
    /// which leaves the hook only after a failure. hook-succeeded and hook-failed together always delete it. A hook
    /// with `generateName` and no name gets a new one each time, and is left alone: with before-hook-creation Helm
    /// would fail.
    ///
    /// ## Why is this bad?
    ///
    /// The second run finds the first one's object: Helm 3 fails with "already exists", Helm 4 says
    /// "Upgrade complete" and does not run the migration. A ServiceAccount that Helm applies server-side is harmless, as is every kind that Helm does not wait for.
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
    ///     helm.sh/hook-delete-policy: hook-failed
    /// # upgrade
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-delete-policy: hook-failed
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
    /// # upgrade
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
    /// - Helm issue 8101: a hook with hook-succeeded only "already exists"
    summary: "a hook is already there and its delete policy leaves it there: it fails with \"already exists\" or does not run",
    check: Release(check, Reach::WarnsOfOthers),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    release.hooks_now().filter(|hook| has_a_name(hook)).filter_map(|hook| find(release, hook)).collect()
}

/// Each object made with generateName has another name, and meets no earlier one.
fn has_a_name(hook: &HookDocument<'_>) -> bool {
    !hook.key.name.is_empty()
}

fn find(release: &Release<'_>, hook: &HookDocument<'_>) -> Option<ReleaseProblem> {
    let policies = hook.policies.as_ref().filter(|policies| !policies.contains(DeletePolicy::BeforeHookCreation))?;
    // What runs nothing is applied over.
    if !hook.is_waited_for() && release.apply_method == ApplyMethod::ServerSide {
        return None;
    }
    let is_live =
        matches!(release.live_identity(&hook.key), Some(Identity::Hook(_) | Identity::Dropped(_) | Identity::Both));
    let [succeeded, failed] =
        [DeletePolicy::HookSucceeded, DeletePolicy::HookFailed].map(|policy| policies.contains(policy));
    // What runs nothing does not fail: Helm deletes it also where a later hook of the event does.
    if !is_live && succeeded && (failed || !hook.is_waited_for()) {
        return None;
    }
    let before = release.baseline.as_ref().and_then(|baseline| baseline.hook(&hook.key));
    let was_there = before.is_some_and(|before| !release.has_never_run(before) && !before.is_deleted_after_success());
    // An object that was removed by hand since is not in the way this time.
    let is_gone = *release.live(&hook.key) == Live::Absent;
    // When it runs again in one operation, the object of the first run is there.
    let is_there = is_live || ((release.runs_twice(hook) || (was_there && !is_gone)) && !succeeded);
    let may_be_gone = release.ttl_may_have_removed(&hook.key, before.unwrap_or(hook).object.as_ref());
    let is_certain = is_there && !may_be_gone;
    let stay = match (is_live, may_be_gone) {
        (_, true) => Stay::UntilItsTtl,
        (true, false) => Stay::SeenToLive,
        (false, false) => Stay::Expected,
    };
    let problem = describe(release, hook, *policies, stay);
    Some(if is_certain { problem } else { problem.warn_at_most() })
}

/// The evidence that the object of the last run stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stay {
    SeenToLive,
    Expected,
    UntilItsTtl,
}

fn describe(release: &Release<'_>, hook: &HookDocument<'_>, policies: DeletePolicies, stay: Stay) -> ReleaseProblem {
    let written =
        if policies.iter().next().is_some() { policies.to_string() } else { "nothing that Helm knows".to_owned() };
    let run = match [DeletePolicy::HookSucceeded, DeletePolicy::HookFailed].map(|policy| policies.contains(policy)) {
        [true, _] => "a run that has failed",
        [false, true] => "a run that has succeeded",
        [false, false] => "a run",
    };
    let when = match stay {
        Stay::SeenToLive => "The object of its last run is still there:".to_owned(),
        Stay::Expected => format!("Its object stays after {run}:"),
        Stay::UntilItsTtl => {
            format!(
                "Its object stays after {run} until its TTL (spec.ttlSecondsAfterFinished) has removed it; before that"
            )
        }
    };
    let (harm, outcome) = match release.apply_method {
        ApplyMethod::ServerSide => (
            "the next run reports success and does not run, or stops where the pod template has changed",
            Outcome::DoesNotRun,
        ),
        ApplyMethod::ClientSide => ("the next run fails with \"already exists\"", Outcome::Fails),
    };
    let problem = hook
        .problem(
            FieldPath::annotation(helm::HOOK_DELETE_POLICY),
            format!(
                "has the delete policy \"{written}\", which does not remove it before its next run. {when} {harm}."
            ),
            hook.template.remedy(format!("write {}: \"before-hook-creation\".", helm::HOOK_DELETE_POLICY)),
        )
        .ending_in(outcome);
    if stay == Stay::SeenToLive { problem.in_the_way() } else { problem }
}
