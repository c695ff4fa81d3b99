//! What a render makes of each object: a hook or a resource.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use helm::write::Document;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::renders::Renders;

use crate::render::Render;

/// What an object is for Helm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Hook,
    Resource,
    /// A render has it twice, which is another matter.
    Both,
}

/// The objects of a render, each with its side and all else that decides what becomes of it when it changes sides.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Outline(BTreeMap<Name, (Side, BTreeSet<String>)>);

impl Side {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Resource => "resource",
            Self::Both => "hook and resource",
        }
    }

    /// It is one of the two, and the other one afterwards.
    fn flips_to(self, after: Self) -> bool {
        matches!((self, after), (Self::Hook, Self::Resource) | (Self::Resource, Self::Hook))
    }
}

impl Outline {
    /// Objects without a namespace are in this one.
    pub(super) fn of(render: &Render, namespace: &str) -> Self {
        let mut outline = Self::default();
        for document in &render.documents {
            let objects = Renders::of(slice::from_ref(document), &[], namespace, None).installed;
            for object in objects {
                let side = if object.is_hook { Side::Hook } else { Side::Resource };
                let (known, traits) = outline.0.entry(object.name.shown()).or_insert((side, BTreeSet::new()));
                if *known != side {
                    *known = Side::Both;
                }
                traits.extend(traits_of(document));
            }
        }
        outline
    }

    pub(super) fn side(&self, object: &Name) -> Option<Side> {
        self.0.get(object).map(|(side, _)| *side)
    }

    /// The objects that change sides from this render to that one.
    pub(super) fn flips_to<'o>(&'o self, after: &'o Self) -> impl Iterator<Item = (&'o Name, Side, Side)> {
        self.0.iter().filter_map(|(object, (was, _))| {
            let becomes = after.side(object)?;
            was.flips_to(becomes).then_some((object, *was, becomes))
        })
    }

    /// The same with these objects alone.
    pub(super) fn of_objects(&self, objects: &BTreeSet<Name>) -> Self {
        let kept = self.0.iter().filter(|(object, _)| objects.contains(*object));
        Self(kept.map(|(object, known)| (object.clone(), known.clone())).collect())
    }
}

/// The objects that are a hook in one of these renders and a resource in another.
pub(super) fn on_both_sides<'o>(outlines: impl IntoIterator<Item = &'o Outline>) -> BTreeSet<Name> {
    let (mut hooks, mut resources) = (BTreeSet::new(), BTreeSet::new());
    for (object, (side, _)) in outlines.into_iter().flat_map(|outline| &outline.0) {
        match side {
            Side::Hook => hooks.insert(object.clone()),
            Side::Resource => resources.insert(object.clone()),
            Side::Both => false,
        };
    }
    hooks.intersection(&resources).cloned().collect()
}

/// Labels of each version's own, which no setting selects migrations by.
const OF_VERSIONS: [&str; 3] = ["helm.sh/chart", "app.kubernetes.io/version", "chart"];

/// What the rule about a change of sides, and Helm, read of an object beside its side: annotations of Helm and of this policy,
/// labels, which can select it as a migration, its TTL, and its template, which a remedy names.
fn traits_of(document: &Document) -> Vec<String> {
    let head = &document.head;
    // What is below the head of a list's items is read nowhere else.
    if head.kind.ends_with("List") {
        return vec![document.text.clone()];
    }
    let is_read = |key: &str| key.starts_with("helm.sh/") || key.starts_with("stable-hooks/");
    let annotations = head.annotations.iter().filter(|(key, _)| is_read(key));
    let labels = head.labels.iter().filter(|(key, _)| !OF_VERSIONS.contains(&key.as_str()));
    let mut traits: Vec<_> = annotations.chain(labels).map(|(key, value)| format!("{key}: {value}")).collect();
    traits.extend(document.object.pointer("/spec/ttlSecondsAfterFinished").map(|ttl| format!("ttl {ttl}")));
    traits.push(format!("template {}", document.template));
    traits
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Outline, Render, on_both_sides};

    fn outline(objects: &[(&str, &str)]) -> Outline {
        let text = objects.iter().map(|(name, annotations)| {
            format!("---\nkind: A\nmetadata: {{name: {name}, labels: {{helm.sh/chart: {name}}}, annotations: {{{annotations}}}}}\n")
        });
        Outline::of(&Render::read(text.collect::<String>().as_bytes()), "shop")
    }

    #[test]
    fn only_a_change_between_hook_and_resource_is_a_flip() {
        let before = outline(&[("a", ""), ("b", "helm.sh/hook: pre-upgrade"), ("c", ""), ("d", ""), ("gone", "")]);
        let hook = "helm.sh/hook: post-install";
        let after = outline(&[("a", hook), ("b", ""), ("c", ""), ("d", ""), ("d", hook), ("new", hook)]);
        let flips: Vec<_> = before
            .flips_to(&after)
            .map(|(object, was, becomes)| format!("{} {} {}", object.name, was.as_str(), becomes.as_str()))
            .collect();
        assert_eq!(flips, ["a resource hook", "b hook resource"]);
        let both = on_both_sides([&before, &after]);
        assert_eq!(both.iter().map(|object| object.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn what_no_rule_reads_tells_no_renders_apart() {
        let one = outline(&[("a", "helm.sh/hook: pre-upgrade, checksum: one")]);
        assert_eq!(one, outline(&[("a", "helm.sh/hook: pre-upgrade, checksum: two")]));
        let other = outline(&[("a", "helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: hook-succeeded")]);
        assert_ne!(one, other);
        assert_eq!(one.of_objects(&BTreeSet::new()), Outline::default());
    }
}
