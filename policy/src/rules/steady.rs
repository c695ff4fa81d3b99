//! The events that a remedy tells a hook to have on every render: right under Helm, and under Argo CD, which runs hooks at
//! each sync and knows no installs and upgrades.

use helm::Events;

use crate::finding::Remedy;
use crate::name::Name;
use crate::object::Kind;
use crate::references::{RefKind, possible_services, references};
use crate::subject::release::{HookDocument, Release};

/// What a hook needs of the release that it is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Needs {
    Nothing,
    /// What can be an earlier hook, as far as anybody knows.
    Configuration,
    /// A Service leads to programs, and a claim that is a hook loses its data.
    Resources,
}

impl Needs {
    /// Only an account is known to need nothing where its release is not seen.
    pub(crate) fn of_kind(kind: Kind) -> Self {
        match kind {
            Kind::Job => Self::Configuration,
            Kind::ServiceAccount => Self::Nothing,
        }
    }

    pub(crate) fn of(release: &Release<'_>, hook: &HookDocument<'_>) -> Self {
        let Some(object) = &hook.object else { return Self::Nothing };
        let is_resource = |kind: RefKind, name: &str| {
            release.record.resource(&Name::core(kind.as_str(), &hook.key.namespace, name)).is_some()
        };
        if possible_services(object).iter().any(|name| is_resource(RefKind::Service, name)) {
            return Self::Resources;
        }
        let needed = references(object).into_iter().filter(|needed| is_resource(needed.kind, needed.name));
        let needs = needed.map(|needed| match needed.kind {
            RefKind::PersistentVolumeClaim | RefKind::Service => Self::Resources,
            RefKind::ServiceAccount | RefKind::Secret | RefKind::ConfigMap => Self::Configuration,
        });
        needs.max().unwrap_or(Self::Nothing)
    }
}

/// The value of `helm.sh/hook`, and what has to go with it.
pub(crate) fn steady(events: Events, needs: Needs) -> String {
    let (alike, late) = (events.alike(), events.after_resources());
    match needs {
        Needs::Resources => format!("\"{late}\""),
        Needs::Configuration if alike != late => format!(
            "\"{alike}\", with an account and configuration of its own as earlier hooks; or \"{late}\" if it needs more of \
             the release"
        ),
        Needs::Nothing | Needs::Configuration => format!("\"{alike}\""),
    }
}

/// The same for a hook whose release is seen.
pub(crate) fn steady_in(release: &Release<'_>, hook: &HookDocument<'_>) -> String {
    hook.events().map(|events| steady(events, Needs::of(release, hook))).unwrap_or_default()
}

/// The events and the weight with which a later hook runs before one that needs it.
pub(crate) fn in_time(later: &HookDocument<'_>, hook: &HookDocument<'_>) -> Remedy {
    let events = Events::of(later.events.iter().chain(&hook.events).copied());
    let events = events.map(|events| events.to_string()).unwrap_or_default();
    later.template.remedy(format!(
        "write {}: \"{events}\" and {}: \"{}\" for {}.",
        helm::HOOK,
        helm::HOOK_WEIGHT,
        hook.weight.saturating_sub(10),
        later.key.seen_from(&hook.key.namespace)
    ))
}
