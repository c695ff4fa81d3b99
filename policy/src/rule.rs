//! The registry of rules: what each is called, what it judges, how strict it is by default; and what a level leads to.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Every rule, in the order in which findings are reported: its file in `rules/`, its name, its family, its default.
macro_rules! each_rule {
    ($with:ident) => {
        $with! {
            object::identity_flip => IdentityFlip("identity-flip", Identity, Deny),
            object::contradictory_identity => ContradictoryIdentity("contradictory-identity", Identity, Deny),
            object::unknown_hook_event => UnknownHookEvent("unknown-hook-event", Identity, Warn),
            object::hook_events => HookEvents("hook-events", Form, Fix),
            object::hook_delete_policy => HookDeletePolicy("hook-delete-policy", Form, Fix),
            object::hook_weight => HookWeight("hook-weight", Form, Fix),
            object::argocd_annotations => ArgocdAnnotations("argocd-annotations", Form, Fix),
            object::job_ttl_too_short => JobTtlTooShort("job-ttl-too-short", Identity, Warn),
            object::plain_migration => PlainMigration("plain-migration", Identity, Warn),
            release::release_identity_flip => ReleaseIdentityFlip("release-identity-flip", Release, Deny),
            release::dropped_hook => DroppedHook("dropped-hook", Release, Deny),
            release::release_duplicate_identity => ReleaseDuplicateIdentity("release-duplicate-identity", Release, Deny),
            release::hook_missing_dependency => HookMissingDependency("hook-missing-dependency", Release, Deny),
            release::hook_order => HookOrder("hook-order", Release, Deny),
            release::hook_missing_rbac => HookMissingRbac("hook-missing-rbac", Release, Warn),
            release::hook_wait_deadlock => HookWaitDeadlock("hook-wait-deadlock", Release, Deny),
            release::hook_stale_dependency => HookStaleDependency("hook-stale-dependency", Release, Warn),
            release::hook_never_deleted => HookNeverDeleted("hook-never-deleted", Release, Deny),
            release::foreign_takeover => ForeignTakeover("foreign-takeover", Release, Deny),
            release::job_template_change => JobTemplateChange("job-template-change", Release, Deny),
            release::one_sided_hook => OneSidedHook("one-sided-hook", Release, Warn),
            release::hook_log_retention => HookLogRetention("hook-log-retention", Release, Warn),
            release::shared_hook_object => SharedHookObject("shared-hook-object", Release, Warn),
            release::conditional_hook_template => ConditionalHookTemplate("conditional-hook-template", Release, Warn),
            chart::install_only_resource => InstallOnlyResource("install-only-resource", Chart, Warn),
            chart::value_flips_identity => ValueFlipsIdentity("value-flips-identity", Chart, Warn),
            chart::argocd_first_sync => ArgocdFirstSync("argocd-first-sync", Chart, Deny),
            chart::argocd_flip => ArgocdFlip("argocd-flip", Chart, Deny),
            chart::argocd_immutable_job => ArgocdImmutableJob("argocd-immutable-job", Chart, Deny),
            chart::argocd_runs_twice => ArgocdRunsTwice("argocd-runs-twice", Chart, Warn),
            chart::argocd_drift => ArgocdDrift("argocd-drift", Chart, Warn),
        }
    };
}
pub(crate) use each_rule;

macro_rules! names {
    ($($folder:ident::$file:ident => $variant:ident($id:literal, $family:ident, $default:ident)),+ $(,)?) => {
        /// The name of a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum RuleId { $($variant),+ }

        impl RuleId {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $id),+ }
            }

            pub fn family(self) -> Family {
                match self { $(Self::$variant => Family::$family),+ }
            }

            /// The level where no setting says another.
            pub fn default_level(self) -> Level {
                match self { $(Self::$variant => Level::$default),+ }
            }
        }
    };
}
each_rule!(names);

/// The family of a rule, by what it judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The identity of an object, before and after a change.
    Identity,
    /// How the new object is written; such a rule knows a safe fix.
    Form,
    /// The effects of a Helm operation, by the record that Helm stores of it.
    Release,
    /// A chart: the command line alone has one. The policy takes the settings of such a rule, and does nothing with them.
    Chart,
}

impl RuleId {
    /// The levels that it can have.
    pub fn levels(self) -> &'static [Level] {
        match self.family() {
            Family::Form => &[Level::Off, Level::Warn, Level::Deny, Level::Fix],
            Family::Identity | Family::Release | Family::Chart => &[Level::Off, Level::Warn, Level::Deny],
        }
    }

    /// The address of its page.
    pub fn page(self) -> String {
        format!(concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/rules/{}.md"), self)
    }

    /// The label of a release record that accepts this rule's findings in the revision that is its value; none where only
    /// an administrator may: the object of another release is at stake.
    pub fn accept_label(self) -> Option<String> {
        let is_acceptable = self.family() == Family::Release && self.is_its_owners_matter();
        is_acceptable.then(|| format!("stable-hooks/accept-{self}"))
    }

    /// The author of an object may switch the rule off for it: what is at stake is not somebody else's.
    pub fn is_its_owners_matter(self) -> bool {
        self != Self::ForeignTakeover
    }

    /// The level of that name, if it can have it.
    pub(crate) fn level(self, name: &str) -> Option<Level> {
        self.levels().iter().copied().find(|level| level.as_str() == name)
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

/// How strict a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Off,
    Warn,
    Deny,
    /// Mended with a patch.
    Fix,
}

/// The consequence of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Deny,
    Warn,
    /// The patch mends it.
    Fix,
}

/// Whether what a rule has found can be mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mending {
    Possible,
    /// No safe fix is known, or the settings want no patch.
    Impossible,
    /// The audit scanner asks: it counts "allowed with a patch" as a pass, and drift would never show.
    OnlyReported,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Deny => "deny",
            Self::Fix => "fix",
        }
    }

    /// The effect of a problem at this level, if any; level deny only warns where a denial would do harm.
    pub(crate) fn effect(self, may_deny: bool, mending: Mending) -> Option<Effect> {
        match (self, mending) {
            (Self::Off, _) => None,
            (Self::Deny, _) if may_deny => Some(Effect::Deny),
            (Self::Warn | Self::Deny, _) | (Self::Fix, Mending::Impossible) => Some(Effect::Warn),
            (Self::Fix, Mending::OnlyReported) => Some(Effect::Deny),
            (Self::Fix, Mending::Possible) => Some(Effect::Fix),
        }
    }
}
