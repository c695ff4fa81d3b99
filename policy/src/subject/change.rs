//! One object before and after a change.

use helm::{DeletePolicies, DeletePolicy};

use crate::argocd;
use crate::identity::{HelmHook, Hook, Identity, classify};
use crate::ignore::{IGNORE, Ignored};
use crate::name::Name;
use crate::object::Object;
use crate::request::{Change, Request};
use crate::rule::{Level, RuleId};
use crate::selector::selects;
use crate::settings::Settings;

/// The change that a rule looks at: the object before and after, what each state is, and the settings.
pub(crate) struct Context<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) object: &'a Object,
    pub(crate) identity: Identity<'a>,
    pub(crate) old: Option<&'a Object>,
    pub(crate) old_identity: Identity<'a>,
    pub(crate) occasion: Occasion,
    pub(crate) name: Name,
    pub(crate) is_selected: bool,
    /// The old state counts too: else relabelling would walk around the policy.
    pub(crate) was_selected: bool,
    /// The rules that the new object switches off for itself.
    pub(crate) ignored: Ignored,
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
        let is_selected = selects(settings, object, &identity);
        let was_selected = old.is_some_and(|old| selects(settings, old, &old_identity));
        // Most objects are no migrations, and nothing is asked of them.
        let annotation = if is_selected || was_selected { object.annotation(IGNORE) } else { None };
        Some(Self {
            settings,
            object,
            old,
            occasion,
            name: request.name_of(object),
            is_selected,
            was_selected,
            ignored: Ignored::of(annotation),
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

    /// A finding of this rule is going to be fixed, so other rules can look at the result.
    pub(crate) fn is_fixed(&self, rule: RuleId) -> bool {
        self.settings.mutate && self.settings.level(rule) == Level::Fix && !self.ignored.includes(rule)
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
}
