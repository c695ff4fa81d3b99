//! The name of an object, across requests, records and the cluster. The version is no part of it.

use std::fmt;

use helm::yaml::Head;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::object::Kind;
use crate::references::Services;
use crate::shown::Shown;

/// The name of one object, as it was written; escaped where it is written again.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Name {
    pub group: String,
    pub kind: String,
    pub namespace: String,
    /// Or the generateName with a `*`.
    pub name: String,
}

impl Name {
    /// That of a document; one without a namespace goes to this one.
    pub(crate) fn of(head: &Head, namespace: &str) -> Self {
        let namespace = if head.namespace.is_empty() { namespace } else { &head.namespace };
        let [group, kind, namespace, name] = [head.group(), &head.kind, namespace, &head.name].map(str::to_owned);
        Self { group, kind, namespace, name }
    }

    pub(crate) fn core(kind: &str, namespace: &str, name: &str) -> Self {
        let [group, kind, namespace, name] = ["", kind, namespace, name].map(str::to_owned);
        Self { group, kind, namespace, name }
    }

    /// It as somebody in that namespace calls it.
    pub(crate) fn seen_from(&self, namespace: &str) -> String {
        if self.namespace != namespace {
            return self.to_string();
        }
        Self { namespace: String::new(), ..self.clone() }.to_string()
    }

    /// It as it is written, for where names that were written are compared.
    #[must_use]
    pub fn shown(&self) -> Self {
        let Self { group, kind, namespace, name } = self;
        let [group, kind, namespace, name] = [group, kind, namespace, name].map(|text| Shown(text).to_string());
        Self { group, kind, namespace, name }
    }

    /// A Job or a Pod, whose end Helm waits for where it is a hook, and Argo CD in every wave.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.judged_kind() == Some(Kind::Job) || (self.group.is_empty() && self.kind == "Pod")
    }

    /// The Services among these.
    pub fn services<'a>(names: impl IntoIterator<Item = &'a Self>) -> Services<'a> {
        let mut services = Services::default();
        for Self { group, kind, namespace, name } in names {
            if group.is_empty() && kind == "Service" {
                services.add(namespace, name);
            }
        }
        services
    }

    /// The kind that the policy judges, if it is one.
    pub(crate) fn judged_kind(&self) -> Option<Kind> {
        Kind::parse(&self.group, "v1", &self.kind)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", Shown(&self.kind))?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", Shown(&self.namespace))?;
        }
        if self.name.is_empty() { f.write_str("(no name)") } else { Shown(&self.name).fmt(f) }
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Name", 4)?;
        fields.serialize_field("group", &Shown(&self.group).to_string())?;
        fields.serialize_field("kind", &Shown(&self.kind).to_string())?;
        fields.serialize_field("namespace", &Shown(&self.namespace).to_string())?;
        fields.serialize_field("name", &Shown(&self.name).to_string())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::Name;
    use crate::testing::test;

    #[test]
    fn objects_without_a_name_are_still_shown() {
        assert_eq!(Name::core("Job", "n", "a").to_string(), "Job n/a");
        assert_eq!(Name::core("Job", "", "a-*").to_string(), "Job a-*");
        assert_eq!(Name::core("Job", "", "").to_string(), "Job (no name)");
        assert_eq!(Name::core("Job", "", "a\nDENIED").to_string(), "Job a\\nDENIED");
    }
}
