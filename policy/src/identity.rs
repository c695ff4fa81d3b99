//! The identity of an object for the tools that deploy it: a release resource or a hook.

use crate::argocd;
use crate::object::Object;
use crate::shown::Shown;
use helm::{DeletePolicies, Events, NotAHook};

const KUSTOMIZE_NAME: &str = "kustomize.toolkit.fluxcd.io/name";
const KUSTOMIZE_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";

/// The identity of one state of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity<'a> {
    /// There is no such object.
    Absent,
    Resource(Owner<'a>),
    Hook(Hook<'a>),
    /// `helm.sh/hook` says nothing that Helm knows: Helm renders the document to nothing.
    Dropped(NotAHook),
    /// `helm.sh/hook` together with the mark of a release's own object.
    Both,
}

/// Who deploys a resource, as far as there is evidence; labels that charts render anywhere are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner<'a> {
    Helm { release: &'a str, namespace: &'a str },
    ArgoCd { tracking_id: &'a str },
    FluxKustomize { name: &'a str, namespace: &'a str },
    Unknown,
}

/// A hook, in the grammar of the tool that its annotations speak to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hook<'a> {
    Helm(HelmHook<'a>),
    ArgoCd { types: Vec<&'static str> },
}

/// A Helm hook; each annotation as it was written, `None` where it is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelmHook<'a> {
    pub events: Events,
    pub hook: &'a str,
    pub weight: Option<&'a str>,
    pub delete_policy: Option<&'a str>,
}

impl HelmHook<'_> {
    /// The delete policies as Helm acts on them.
    pub fn delete_policies(&self) -> DeletePolicies {
        self.delete_policy.map_or_else(DeletePolicies::default, DeletePolicies::parse)
    }
}

impl Hook<'_> {
    /// Whether it runs only for `helm test` or around a deletion: then it is no migration.
    pub fn is_test_or_delete_only(&self) -> bool {
        match self {
            Self::Helm(hook) => hook.events.iter().all(helm::Event::is_test_or_delete),
            Self::ArgoCd { types } => types.iter().all(|hook_type| argocd::is_delete_type(hook_type)),
        }
    }
}

/// The identity of an object; total, and never a guess.
pub fn classify(object: &Object) -> Identity<'_> {
    let Some(hook) = object.annotation(helm::HOOK) else {
        let types = object.annotation(argocd::HOOK).map(argocd::hook_types).unwrap_or_default();
        if types.is_empty() {
            return Identity::Resource(owner(object));
        }
        return Identity::Hook(Hook::ArgoCd { types });
    };
    if object.annotation(helm::RELEASE_NAME).is_some() {
        return Identity::Both;
    }
    match Events::parse(hook) {
        Ok(events) => Identity::Hook(Hook::Helm(HelmHook {
            events,
            hook,
            weight: object.annotation(helm::HOOK_WEIGHT),
            delete_policy: object.annotation(helm::HOOK_DELETE_POLICY),
        })),
        Err(reason) => Identity::Dropped(reason),
    }
}

fn owner(object: &Object) -> Owner<'_> {
    let pair = |first, second| Some((object.annotation(first)?, object.annotation(second)?));
    if let Some((release, namespace)) = pair(helm::RELEASE_NAME, helm::RELEASE_NAMESPACE) {
        return Owner::Helm { release, namespace };
    }
    if let Some(tracking_id) = object.annotation(argocd::TRACKING_ID) {
        return Owner::ArgoCd { tracking_id };
    }
    match (object.label(KUSTOMIZE_NAME), object.label(KUSTOMIZE_NAMESPACE)) {
        (Some(name), Some(namespace)) => Owner::FluxKustomize { name, namespace },
        _ => Owner::Unknown,
    }
}

impl std::fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Helm { release, namespace } => {
                write!(f, "a resource of Helm release {}/{}", Shown(namespace), Shown(release))
            }
            Self::ArgoCd { tracking_id } => {
                let application = tracking_id.split(':').next().unwrap_or_default();
                write!(f, "a resource of Argo CD application {}", Shown(application))
            }
            Self::FluxKustomize { name, namespace } => {
                write!(f, "a resource of Flux Kustomization {}/{}", Shown(namespace), Shown(name))
            }
            Self::Unknown => f.write_str("a plain resource"),
        }
    }
}

impl std::fmt::Display for Hook<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Helm(hook) => write!(f, "a Helm hook ({}: \"{}\")", helm::HOOK, Shown(hook.hook)),
            Self::ArgoCd { types } => {
                write!(f, "an Argo CD hook ({}: \"{}\")", argocd::HOOK, Shown(&types.join(",")))
            }
        }
    }
}

/// A change of sides: the same object, once a resource and once a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flip<'a> {
    ResourceToHook { owner: Owner<'a>, hook: &'a Hook<'a> },
    HookToResource { hook: &'a Hook<'a>, owner: Owner<'a> },
}

/// The flip between two states; other events, weights or policies are none.
pub fn flip<'a>(old: &'a Identity<'a>, new: &'a Identity<'a>) -> Option<Flip<'a>> {
    match (old, new) {
        (Identity::Resource(owner), Identity::Hook(hook)) => Some(Flip::ResourceToHook { owner: *owner, hook }),
        (Identity::Hook(hook), Identity::Resource(owner)) => Some(Flip::HookToResource { hook, owner: *owner }),
        (Identity::Absent | Identity::Resource(_) | Identity::Hook(_) | Identity::Dropped(_) | Identity::Both, _) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Hook, Identity, Owner, classify, flip};
    use crate::object::{Kind, Object};
    use crate::testing::test;
    use helm::NotAHook;

    fn object(annotations: &Value, labels: &Value) -> Object {
        Object::new(Kind::Job, json!({"metadata": {"annotations": annotations, "labels": labels}}))
    }

    fn annotated(annotations: &Value) -> Object {
        object(annotations, &json!(null))
    }

    #[test]
    fn owners_need_evidence() {
        let helm = annotated(&json!({"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n"}));
        assert_eq!(classify(&helm), Identity::Resource(Owner::Helm { release: "r", namespace: "n" }));
        let argo = annotated(&json!({"argocd.argoproj.io/tracking-id": "app:batch/Job:n/j"}));
        assert_eq!(classify(&argo), Identity::Resource(Owner::ArgoCd { tracking_id: "app:batch/Job:n/j" }));
        let flux = object(
            &json!({}),
            &json!({"kustomize.toolkit.fluxcd.io/name": "k", "kustomize.toolkit.fluxcd.io/namespace": "f"}),
        );
        assert_eq!(classify(&flux), Identity::Resource(Owner::FluxKustomize { name: "k", namespace: "f" }));
        let rendered = object(
            &json!({}),
            &json!({"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "r", "helm.sh/chart": "c"}),
        );
        assert_eq!(classify(&rendered), Identity::Resource(Owner::Unknown));
    }

    #[test]
    fn hooks_are_told_by_their_annotation_alone() {
        let helm = annotated(&json!({"helm.sh/hook": "pre-install", "argocd.argoproj.io/hook": "PostSync"}));
        assert!(matches!(classify(&helm), Identity::Hook(Hook::Helm(_))));
        let argo = annotated(&json!({"argocd.argoproj.io/hook": "PreSync, Skip"}));
        assert_eq!(classify(&argo), Identity::Hook(Hook::ArgoCd { types: vec!["PreSync"] }));
        let skip = annotated(&json!({"argocd.argoproj.io/hook": "Skip"}));
        assert!(matches!(classify(&skip), Identity::Resource(_)));
        let weight_only = annotated(&json!({"helm.sh/hook-weight": "5"}));
        assert!(matches!(classify(&weight_only), Identity::Resource(_)));
    }

    #[test]
    fn a_broken_hook_annotation_is_dropped_and_an_owned_hook_is_both() {
        let dropped = annotated(&json!({"helm.sh/hook": "pre-install,"}));
        assert_eq!(classify(&dropped), Identity::Dropped(NotAHook::EmptyItem));
        let both = annotated(&json!({"helm.sh/hook": "pre-install", "meta.helm.sh/release-name": "r"}));
        assert_eq!(classify(&both), Identity::Both);
    }

    #[test]
    fn only_resource_and_hook_flip() {
        let resource = annotated(&json!({}));
        let hook = annotated(&json!({"helm.sh/hook": "pre-install"}));
        let argo = annotated(&json!({"argocd.argoproj.io/hook": "Sync"}));
        let dropped = annotated(&json!({"helm.sh/hook": ""}));
        let both = annotated(&json!({"helm.sh/hook": "pre-install", "meta.helm.sh/release-name": "r"}));
        let states = [
            Identity::Absent,
            classify(&resource),
            classify(&hook),
            classify(&argo),
            classify(&dropped),
            classify(&both),
        ];
        for (i, old) in states.iter().enumerate() {
            for (j, new) in states.iter().enumerate() {
                let expected = matches!((i, j), (1, 2 | 3) | (2 | 3, 1));
                assert_eq!(flip(old, new).is_some(), expected, "{old:?} -> {new:?}");
            }
        }
    }
}
