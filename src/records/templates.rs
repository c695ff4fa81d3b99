//! Where in its chart an object of a release is written.
use std::collections::BTreeMap;

use helm::manifest::{self, documents};
use helm::record::{Limits, Record};
use helm::yaml::{self, Head};
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Shown;

use super::stored::StoredRecord;

impl StoredRecord {
    /// The template of each object, from the chart's name on.
    pub(crate) fn templates(&self, limits: Limits) -> BTreeMap<Name, String> {
        let Some(record) = self.decoded(limits) else { return BTreeMap::new() };
        let hooks = record.hooks.iter().map(|hook| {
            let head = yaml::head(&hook.manifest, &yaml::Limits::default()).unwrap_or_default();
            let head = Head { kind: hook.kind.clone(), name: hook.name.clone(), ..head };
            (object_ref(&head, &record), hook.path.clone())
        });
        let everything = manifest::Wanted::everything();
        let resources = documents(&record.manifest, &everything, &manifest::Limits::default());
        let resources = resources.map(|found| (object_ref(&found.head, &record), found.path.to_owned()));
        resources.chain(hooks).filter(|(_, template)| !template.is_empty()).collect()
    }
}

/// As findings name it.
pub(crate) fn object_ref(head: &Head, record: &Record) -> Name {
    let shown = |text: &str| Shown(text).to_string();
    let namespace = if head.namespace.is_empty() { &record.namespace } else { &head.namespace };
    Name { group: shown(head.group()), kind: shown(&head.kind), namespace: shown(namespace), name: shown(&head.name) }
}
