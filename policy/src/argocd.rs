//! Argo CD's grammar of hooks, and what Helm's annotations mean in it
//! (gitops-engine `pkg/sync/hook`, `pkg/sync/syncwaves`; Argo CD `controller/hook.go`).

pub const HOOK: &str = "argocd.argoproj.io/hook";
pub const HOOK_DELETE_POLICY: &str = "argocd.argoproj.io/hook-delete-policy";
pub const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";
pub const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";
pub const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";

/// The sync option with which Argo CD deletes an object that it cannot change, and makes it anew.
pub const FORCE: &str = "Force=true";

/// The sync option that forbids that.
pub const SERVER_SIDE_APPLY: &str = "ServerSideApply=true";

/// The sync option with which an object stays when git has it no more.
pub const NO_PRUNE: &str = "Prune=false";

/// The value of [`HOOK`] that leaves an object out of every sync.
pub const SKIP: &str = "Skip";

/// Argo CD's name of Helm's hook-failed.
pub const HOOK_FAILED: &str = "HookFailed";

/// The types that make an object a hook; `Skip` is a value of the annotation too, but makes none.
const HOOK_TYPES: [&str; 6] = ["PreSync", "Sync", "PostSync", "SyncFail", "PreDelete", "PostDelete"];

/// A phase of a sync that goes well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    PreSync,
    Sync,
    PostSync,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::PreSync, Self::Sync, Self::PostSync];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreSync => "PreSync",
            Self::Sync => "Sync",
            Self::PostSync => "PostSync",
        }
    }
}

/// The items of an annotation, as Argo CD reads them: trimmed, case kept.
pub fn items(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// The hook types in a value of [`HOOK`]; empty when nothing in it makes a hook.
pub fn hook_types(value: &str) -> Vec<&'static str> {
    HOOK_TYPES.into_iter().filter(|known| items(value).any(|item| item == *known)).collect()
}

/// Types that run only when the application is deleted.
pub fn is_delete_type(hook_type: &str) -> bool {
    matches!(hook_type, "PreDelete" | "PostDelete")
}

/// Argo CD's hook type for an event of Helm: `None` for one that it never runs.
fn hook_type(event: helm::Event) -> Option<&'static str> {
    use helm::Event::{
        PostDelete, PostInstall, PostRollback, PostUpgrade, PreDelete, PreInstall, PreRollback, PreUpgrade, Test,
    };
    match event {
        PreInstall | PreUpgrade => Some("PreSync"),
        PostInstall | PostUpgrade => Some("PostSync"),
        PreDelete => Some("PreDelete"),
        PostDelete => Some("PostDelete"),
        PreRollback | PostRollback | Test => None,
    }
}

/// Argo CD's hook types for a Helm hook.
pub fn hook_types_of(events: helm::Events) -> Vec<&'static str> {
    let runs_at = |known: &&str| events.iter().any(|event| hook_type(event) == Some(*known));
    HOOK_TYPES.into_iter().filter(runs_at).collect()
}

/// Argo CD's name for a delete policy of Helm.
pub fn delete_policy(policy: helm::DeletePolicy) -> &'static str {
    match policy {
        helm::DeletePolicy::BeforeHookCreation => "BeforeHookCreation",
        helm::DeletePolicy::HookSucceeded => "HookSucceeded",
        helm::DeletePolicy::HookFailed => HOOK_FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::{HOOK_TYPES, delete_policy, hook_type, hook_types, hook_types_of, is_delete_type};
    use crate::testing::test;
    use helm::{DeletePolicy, Event, Events};

    #[test]
    fn only_known_types_in_the_right_case_make_a_hook() {
        assert_eq!(hook_types(" PreSync ,PostSync,PreSync"), ["PreSync", "PostSync"]);
        for none in ["", "presync", "Skip", "pre-install", ","] {
            assert!(hook_types(none).is_empty(), "{none:?}");
        }
    }

    #[test]
    fn only_what_argocd_runs_at_a_deletion_is_of_a_deletion() {
        let of_a_deletion: Vec<_> = HOOK_TYPES.into_iter().filter(|known| is_delete_type(known)).collect();
        assert_eq!(of_a_deletion, ["PreDelete", "PostDelete"]);
    }

    #[test]
    fn events_of_one_type_are_that_type_once() {
        let events = Events::parse("pre-install,pre-upgrade,post-delete,test").unwrap();
        assert_eq!(hook_types_of(events), ["PreSync", "PostDelete"]);
    }

    #[test]
    fn every_helm_event_and_policy_is_mapped() {
        let mapped: Vec<_> = Event::ALL.iter().map(|event| hook_type(*event).unwrap_or("-")).collect();
        assert_eq!(mapped, ["PreSync", "PostSync", "PreDelete", "PostDelete", "PreSync", "PostSync", "-", "-", "-"]);
        let policies: Vec<_> = DeletePolicy::ALL.iter().map(|policy| delete_policy(*policy)).collect();
        assert_eq!(policies, ["BeforeHookCreation", "HookSucceeded", "HookFailed"]);
    }
}
