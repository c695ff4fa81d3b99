//! Two renders of one chart, as Helm reads them: what is installed, and the upgrade over it.

use std::collections::{BTreeMap, BTreeSet};

use helm::write::{Document, Identity};
use helm::yaml::{self, Head};
use helm::{RESOURCE_POLICY, manifest};
use serde_json::Value;

use crate::ignore::{self, Ignored};
use crate::name::Name;
use crate::object::MIGRATION_LABEL;
use crate::rule::RuleId;

/// What the rules for charts look at where Helm deploys.
#[derive(Debug)]
pub struct Renders<'a> {
    pub installed: Vec<Rendered<'a>>,
    pub upgrade: Vec<Rendered<'a>>,
    /// The revision that is installed; none where the install is only rendered.
    pub revision: Option<u64>,
    /// A value of the chart that is another one in the upgrade; none where all are the same.
    pub change: Option<ValueChange<'a>>,
}

/// A value of a chart, before and after, in words that may be shown.
#[derive(Debug)]
pub struct ValueChange<'a> {
    /// Other values that it takes, in words; empty where it takes none.
    pub given: &'a str,
    pub path: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    /// The objects that flip.
    pub flips: BTreeMap<Name, Flip>,
}

/// The upgrades that flip an object, and what `release-identity-flip` says of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flip {
    /// The one that changes the value.
    There(String),
    /// The one that changes it back.
    Back(String),
    Both {
        there: String,
        back: String,
    },
}

/// One object of a render.
#[derive(Debug)]
pub struct Rendered<'a> {
    pub name: Name,
    /// From the chart's name on; empty where the text does not say it.
    pub template: &'a str,
    pub is_hook: bool,
    /// `helm.sh/resource-policy: keep`: Helm does not delete it.
    pub is_kept: bool,
    pub is_opted_out: bool,
    ignored: Ignored,
    text: &'a str,
    /// Where the text is a list that holds it.
    item: Option<Value>,
}

impl<'a> Renders<'a> {
    /// Documents without a namespace go to this one.
    pub fn of(installed: &'a [Document], upgrade: &'a [Document], namespace: &str, revision: Option<u64>) -> Self {
        let [installed, upgrade] = [installed, upgrade].map(|documents| {
            let created = documents.iter().filter(|document| document.identity != Identity::Dropped);
            created.flat_map(|document| Rendered::of(document, namespace)).collect()
        });
        Self { installed, upgrade, revision, change: None }
    }

    /// One value of the chart is another in the upgrade.
    #[must_use]
    pub fn after(self, change: ValueChange<'a>) -> Self {
        Self { change: Some(change), ..self }
    }

    /// The rules of renders are about what is installed: its own annotation counts.
    pub(crate) fn ignores(&self, name: &Name, rule: RuleId) -> bool {
        let documents = self.installed.iter().filter(|object| object.name == *name);
        ignore::all_include(documents.map(|object| &object.ignored), rule)
    }

    pub(crate) fn names_of_upgrade(&self) -> BTreeSet<&Name> {
        self.upgrade.iter().map(|object| &object.name).collect()
    }
}

impl<'a> Rendered<'a> {
    fn of(document: &'a Document, namespace: &str) -> Vec<Self> {
        let is_hook = matches!(document.identity, Identity::Hook(_));
        let rendered = |head: &Head, item| Self {
            name: Name::of(head, namespace),
            template: &document.template,
            is_hook,
            is_kept: head.annotations.get(RESOURCE_POLICY).is_some_and(|policy| helm::keeps(policy)),
            is_opted_out: head.labels.get(MIGRATION_LABEL).is_some_and(|label| label == "false"),
            ignored: Ignored::of_head(head),
            text: &document.text,
            item,
        };
        let is_list = document.head.kind.ends_with("List");
        let items = if is_list { manifest::items(&document.text, &yaml::Limits::default()) } else { Vec::new() };
        if items.is_empty() {
            return vec![rendered(&document.head, None)];
        }
        items.into_iter().map(|(head, item)| rendered(&head, Some(item))).collect()
    }

    /// The whole object, read now; null where it cannot be read.
    pub(crate) fn object(&self) -> Value {
        let read = || yaml::parse(self.text, &yaml::Limits::default()).ok().flatten().map(|(_, object)| object);
        self.item.clone().or_else(read).unwrap_or_default()
    }
}
