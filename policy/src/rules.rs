//! The registry: every rule, one file each, and how its level turns what it reports into a finding.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::argocd;
use crate::finding::{Effect, Finding, ObjectRef, Problem};
use helm::{DeletePolicies, DeletePolicy};
use crate::identity::{HelmHook, Hook, Identity, classify};
use crate::object::Object;
use crate::release::Release;
use crate::request::{Change, Request};
use crate::selector::selects;
use crate::settings::Settings;

/// A rule: what it is called, what it does by default, its page, and its check.
pub struct Rule {
    pub id: &'static str,
    pub default: RuleLevel,
    /// What triggers it, for tables; empty inside the wasm.
    pub summary: &'static str,
    /// The page, in Markdown; empty inside the wasm, which never shows it.
    pub docs: &'static str,
    check: Check,
}

impl Rule {
    /// It judges release records, not Jobs and `ServiceAccounts`.
    pub fn is_for_releases(&self) -> bool {
        matches!(self.check, Check::Release(_))
    }
}

/// What a rule looks at.
enum Check {
    Object(fn(&Context<'_>) -> Option<Problem>),
    Release(fn(&Release<'_>) -> Vec<Problem>),
}

/// How strict a rule is that knows no safe fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Off,
    Warn,
    Deny,
}

/// How strict a rule is that knows a safe fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixLevel {
    Off,
    Warn,
    Deny,
    Fix,
}

/// The level of either kind of rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleLevel {
    Check(Level),
    Fixable(FixLevel),
}

impl RuleLevel {
    pub fn is_off(self) -> bool {
        matches!(self, Self::Check(Level::Off) | Self::Fixable(FixLevel::Off))
    }

    /// The names of the levels that a rule of this kind can have.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Check(_) => &["off", "warn", "deny"],
            Self::Fixable(_) => &["off", "warn", "deny", "fix"],
        }
    }

    /// The level of that name, for a rule of the same kind.
    pub fn parse(self, name: &str) -> Option<Self> {
        let either = |level, fix_level| {
            Some(match self {
                Self::Check(_) => Self::Check(level),
                Self::Fixable(_) => Self::Fixable(fix_level),
            })
        };
        match (self, name) {
            (_, "off") => either(Level::Off, FixLevel::Off),
            (_, "warn") => either(Level::Warn, FixLevel::Warn),
            (_, "deny") => either(Level::Deny, FixLevel::Deny),
            (Self::Fixable(_), "fix") => Some(Self::Fixable(FixLevel::Fix)),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Check(Level::Off) | Self::Fixable(FixLevel::Off) => "off",
            Self::Check(Level::Warn) | Self::Fixable(FixLevel::Warn) => "warn",
            Self::Check(Level::Deny) | Self::Fixable(FixLevel::Deny) => "deny",
            Self::Fixable(FixLevel::Fix) => "fix",
        }
    }
}

/// Declares a rule: its page is captured once, for rustdoc, the README and `explain`.
macro_rules! declare_rule {
    ($(#[doc = $doc:literal])+ $id:literal, default: $default:expr, summary: $summary:literal, check: $family:ident($check:path) $(,)?) => {
        $(#[doc = $doc])+
        pub(crate) static RULE: $crate::rules::Rule = $crate::rules::Rule {
            id: $id,
            default: $default,
            summary: if cfg!(target_arch = "wasm32") { "" } else { $summary },
            docs: if cfg!(target_arch = "wasm32") { "" } else { concat!($($doc, "\n"),+) },
            check: $crate::rules::Check::$family($check),
        };
    };
}

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
    pub(super) mod hook_never_deleted;
    pub(super) mod hook_order;
    pub(super) mod job_template_change;
    pub(super) mod one_sided_hook;
    pub(super) mod release_duplicate_identity;
    pub(super) mod release_identity_flip;
    pub(super) mod shared_hook_account;
}

/// Lists the rules, in the order in which findings are reported.
macro_rules! registry {
    ($($family:ident::$module:ident => $variant:ident),+ $(,)?) => {
        /// The name of a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum RuleId { $($variant),+ }

        impl RuleId {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub fn rule(self) -> &'static Rule {
                match self { $(Self::$variant => &$family::$module::RULE),+ }
            }
        }
    };
}

registry! {
    object::identity_flip => IdentityFlip,
    object::contradictory_identity => ContradictoryIdentity,
    object::unknown_hook_event => UnknownHookEvent,
    object::hook_events => HookEvents,
    object::hook_delete_policy => HookDeletePolicy,
    object::hook_weight => HookWeight,
    object::argocd_annotations => ArgocdAnnotations,
    object::job_ttl_too_short => JobTtlTooShort,
    object::plain_migration => PlainMigration,
    release::release_identity_flip => ReleaseIdentityFlip,
    release::dropped_hook => DroppedHook,
    release::release_duplicate_identity => ReleaseDuplicateIdentity,
    release::hook_missing_dependency => HookMissingDependency,
    release::hook_order => HookOrder,
    release::hook_never_deleted => HookNeverDeleted,
    release::foreign_takeover => ForeignTakeover,
    release::job_template_change => JobTemplateChange,
    release::one_sided_hook => OneSidedHook,
    release::hook_log_retention => HookLogRetention,
    release::shared_hook_account => SharedHookAccount,
    release::conditional_hook_template => ConditionalHookTemplate,
}

impl RuleId {
    pub fn as_str(self) -> &'static str {
        self.rule().id
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for RuleId {
    type Err = ();

    fn from_str(id: &str) -> Result<Self, ()> {
        Self::ALL.iter().copied().find(|rule| rule.as_str() == id).ok_or(())
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What a rule may look at: the object before and after, what each state is, and the settings.
pub(crate) struct Context<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) object: &'a Object,
    pub(crate) identity: Identity<'a>,
    pub(crate) old: Option<&'a Object>,
    pub(crate) old_identity: Identity<'a>,
    pub(crate) occasion: Occasion,
    pub(crate) object_ref: ObjectRef,
    pub(crate) is_selected: bool,
    /// The old state counts too: else relabelling would walk around the policy.
    pub(crate) was_selected: bool,
}

/// Why we are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    Create,
    Update,
    Audit,
}

impl<'a> Context<'a> {
    /// `None` for a change that is not ours.
    pub(crate) fn new(request: &'a Request, settings: &'a Settings) -> Option<Self> {
        let (object, old, occasion) = match &request.change {
            Change::Create { object } => (object, None, Occasion::Create),
            Change::Update { object, old } => (object, old.as_ref(), Occasion::Update),
            Change::Audit { object } => (object, None, Occasion::Audit),
            Change::Release(_) | Change::Other => return None,
        };
        let identity = classify(object);
        let old_identity = old.map_or(Identity::Absent, classify);
        Some(Self {
            settings,
            object,
            old,
            occasion,
            object_ref: ObjectRef::new(object, request),
            is_selected: selects(settings, object, &identity),
            was_selected: old.is_some_and(|old| selects(settings, old, &old_identity)),
            identity,
            old_identity,
        })
    }

    /// The Helm hook that the object is, if it is one: only such an object has a normal form.
    pub(crate) fn helm_hook(&self) -> Option<&HelmHook<'a>> {
        match &self.identity {
            Identity::Hook(Hook::Helm(hook)) => Some(hook),
            Identity::Hook(Hook::ArgoCd { .. })
            | Identity::Absent
            | Identity::Resource(_)
            | Identity::Dropped(_)
            | Identity::Both => None,
        }
    }

    /// Helm marks the object as its release's own with this very change.
    pub(crate) fn helm_adopts(&self) -> bool {
        let marked = |object: &Object| object.annotation(helm::RELEASE_NAME).is_some();
        self.old.is_some_and(|old| !marked(old)) && marked(self.object)
    }

    /// What is going to be fixed, so that other rules can look at the result.
    pub(crate) fn is_fixed(&self, rule: RuleId) -> bool {
        self.settings.mutate && self.settings.level(rule) == RuleLevel::Fixable(FixLevel::Fix)
    }

    /// Argo CD deploys it, deletes what failed, and would take a denial for a failure.
    pub(crate) fn argocd_would_delete(&self) -> bool {
        // Argo CD adds up the delete policies of both families.
        let helm = self.object.annotation(helm::HOOK_DELETE_POLICY).map(DeletePolicies::parse);
        let argocd = self.object.annotation(argocd::HOOK_DELETE_POLICY);
        let on_failure = helm.is_some_and(|policies| policies.contains(DeletePolicy::HookFailed))
            || argocd.is_some_and(|value| argocd::items(value).any(|item| item == argocd::HOOK_FAILED));
        self.is_tracked_by_argocd() && on_failure
    }

    pub(crate) fn is_tracked_by_argocd(&self) -> bool {
        let is_tracked = |object: &Object| object.annotation(argocd::TRACKING_ID).is_some();
        is_tracked(self.object) || self.old.is_some_and(is_tracked)
    }

    fn effect(&self, level: RuleLevel, problem: &Problem) -> Option<Effect> {
        match level {
            RuleLevel::Check(Level::Off) | RuleLevel::Fixable(FixLevel::Off) => None,
            RuleLevel::Check(Level::Warn) | RuleLevel::Fixable(FixLevel::Warn) => Some(Effect::Warn),
            RuleLevel::Check(Level::Deny) | RuleLevel::Fixable(FixLevel::Deny) => {
                Some(if problem.warn_at_most { Effect::Warn } else { Effect::Deny })
            }
            RuleLevel::Fixable(FixLevel::Fix) if problem.edits.is_empty() || !self.settings.mutate => {
                Some(Effect::Warn)
            }
            // The audit scanner counts "allowed with a patch" as a pass: drift would never show.
            RuleLevel::Fixable(FixLevel::Fix) if self.occasion == Occasion::Audit => Some(Effect::Deny),
            RuleLevel::Fixable(FixLevel::Fix) => Some(Effect::Fix),
        }
    }
}

/// Every finding about a release, in the order of the registry.
pub(crate) fn check_release(release: &Release<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in RuleId::ALL {
        let Check::Release(check) = id.rule().check else { continue };
        let denies = match release.settings.level(*id) {
            RuleLevel::Check(Level::Off) | RuleLevel::Fixable(FixLevel::Off) => continue,
            RuleLevel::Check(Level::Warn) | RuleLevel::Fixable(FixLevel::Warn | FixLevel::Fix) => false,
            RuleLevel::Check(Level::Deny) | RuleLevel::Fixable(FixLevel::Deny) => !release.is_lenient(),
        };
        for Problem { path, message, help, warn_at_most, object, .. } in check(release) {
            let Some(object) = object else { continue };
            let effect = if denies && !warn_at_most { Effect::Deny } else { Effect::Warn };
            findings.push(Finding { rule: *id, effect, object, path, message, help, edits: Vec::new() });
        }
    }
    findings
}

/// Every finding about an object, in the order of the registry.
pub(crate) fn check_all(context: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in RuleId::ALL {
        let level = context.settings.level(*id);
        let is_about_form = matches!(level, RuleLevel::Fixable(_));
        // A form is that of the new state; only identities reach back.
        if level.is_off() || (is_about_form && !context.is_selected) {
            continue;
        }
        let Check::Object(check) = id.rule().check else { continue };
        let Some(problem) = check(context) else { continue };
        let Some(effect) = context.effect(level, &problem) else { continue };
        let Problem { path, message, help, edits, .. } = problem;
        let object = context.object_ref.clone();
        findings.push(Finding { rule: *id, effect, object, path, message, help, edits });
    }
    findings
}
