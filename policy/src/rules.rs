//! The rules, one file each, and which one a name stands for.

pub(crate) mod declare;
mod earlier;
mod steady;

use crate::rule::{RuleId, each_rule};
use declare::{Check, Rule};

mod object {
    pub(super) mod argocd_annotations;
    pub(super) mod contradictory_identity;
    pub(super) mod hook_delete_policy;
    pub(super) mod hook_events;
    pub(super) mod hook_weight;
    pub(super) mod identity_flip;
    pub(super) mod job_ttl_too_short;
    pub(super) mod plain_migration;
    pub(super) mod unknown_hook_event;
}

mod release {
    pub(super) mod conditional_hook_template;
    pub(super) mod dropped_hook;
    pub(super) mod foreign_takeover;
    pub(super) mod hook_log_retention;
    pub(super) mod hook_missing_dependency;
    pub(super) mod hook_missing_rbac;
    pub(super) mod hook_never_deleted;
    pub(super) mod hook_order;
    pub(super) mod hook_stale_dependency;
    pub(super) mod hook_wait_deadlock;
    pub(super) mod job_template_change;
    pub(super) mod one_sided_hook;
    pub(super) mod release_duplicate_identity;
    pub(super) mod release_identity_flip;
    pub(super) mod shared_hook_object;
}

mod chart {
    pub(super) mod argocd_drift;
    pub(super) mod argocd_first_sync;
    pub(super) mod argocd_flip;
    pub(super) mod argocd_immutable_job;
    pub(super) mod argocd_runs_twice;
    pub(super) mod install_only_resource;
    pub(super) mod value_flips_identity;
}

macro_rules! dispatch {
    ($($folder:ident::$file:ident => $variant:ident($id:literal, $family:ident, $default:ident)),+ $(,)?) => {
        fn rule(id: RuleId) -> &'static Rule {
            match id { $(RuleId::$variant => &$folder::$file::RULE),+ }
        }
    };
}
each_rule!(dispatch);

pub(crate) fn check(id: RuleId) -> Check {
    rule(id).check
}

/// The trigger of a rule, in one line.
pub fn summary(id: RuleId) -> &'static str {
    rule(id).summary
}

/// A rule's page as its file has it, in Markdown.
pub fn page(id: RuleId) -> &'static str {
    rule(id).docs
}
