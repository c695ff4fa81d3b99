//! A record once it is parsed: one revision of a release.

use std::collections::BTreeSet;

use crate::manifest::SOURCE;

/// One revision of a release. What its JSON leaves out is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    pub name: String,
    pub namespace: String,
    pub version: u64,
    pub status: String,
    pub description: String,
    /// When the release was installed, and when this revision of it began, as Helm writes it.
    pub first_deployed: String,
    pub last_deployed: String,
    /// The revision that a rollback goes back to, where Helm says it (4.3); else 0.
    pub rollback_revision: u64,
    pub manifest: String,
    pub hooks: Vec<RecordHook>,
    pub apply_method: ApplyMethod,
    /// The chart's own templates that make a hook and ask whether this is an install or an upgrade, written as in
    /// [`RecordHook::path`].
    pub conditional_templates: BTreeSet<String>,
    /// The hooks that Helm drops, up to a limit, their templates written as above. Where Helm has told of them when it
    /// rendered the chart, any template can be named; else only the chart's own that write such a hook out.
    pub dropped_hooks: Vec<DroppedHook>,
}

/// A template's `helm.sh/hook` with an event that Helm does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedHook {
    pub template: String,
    pub events: String,
    /// Helm has said so; else a template only writes it, and may not render it.
    pub is_told: bool,
}

impl Record {
    /// An install made it: `helm install --replace` counts on from the revisions of an uninstalled release.
    pub fn is_first(&self) -> bool {
        self.version == 1 || (!self.first_deployed.is_empty() && self.first_deployed == self.last_deployed)
    }

    /// The revision that a rollback went back to, where one made it. Helm 3 says so in its description alone, in which an
    /// upgrade can say the same: then only what the two hold tells.
    pub fn rolled_back_to(&self) -> Option<u64> {
        if self.rollback_revision > 0 {
            return Some(self.rollback_revision);
        }
        let target = self.description.strip_prefix("Rollback to ")?.parse().ok()?;
        (1..self.version).contains(&target).then_some(target)
    }

    /// nelm (werf) has written it, in Helm's layout. Helm always says in words what it is about to do, or did, and puts three
    /// dashes above each template's path.
    pub fn is_of_nelm(&self) -> bool {
        let manifest = Some(&self.manifest).filter(|manifest| !manifest.is_empty());
        let mut texts = self.hooks.iter().map(|hook| &hook.manifest).chain(manifest);
        self.description.is_empty() && !self.first_deployed.is_empty() && texts.all(|text| text.starts_with(SOURCE))
    }

    /// A rollback that failed says so in the place of the revision that it went back to.
    pub fn is_failed_rollback(&self) -> bool {
        self.status == "failed" && self.description.starts_with("Rollback \"")
    }

    /// The other has the same resources and hooks.
    pub fn holds_the_same(&self, other: &Self) -> bool {
        let manifests = |record: &Self| record.hooks.iter().map(|hook| hook.manifest.clone()).collect::<BTreeSet<_>>();
        self.manifest.trim() == other.manifest.trim() && manifests(self) == manifests(other)
    }

    /// It was deployed once, if its status is that of one that was superseded: what fails, or is uninstalled, can be
    /// superseded as well, and says so.
    pub fn was_deployed(&self) -> bool {
        let has_failed =
            ["Upgrade \"", "Rollback \"", "Release \""].iter().any(|word| self.description.starts_with(word))
                && self.description.contains("\" failed: ");
        !has_failed && self.description != "superseded by new release"
    }
}

/// How Helm writes the objects of this revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ApplyMethod {
    #[default]
    ClientSide,
    ServerSide,
}

impl ApplyMethod {
    /// As a record spells it; Helm 3 writes nothing.
    pub fn of(text: &str) -> Self {
        if text == Self::ServerSide.as_str() { Self::ServerSide } else { Self::ClientSide }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientSide => "",
            Self::ServerSide => "ssa",
        }
    }
}

/// A hook as Helm parsed it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordHook {
    pub kind: String,
    pub name: String,
    /// The template's path, from the chart's name on.
    pub path: String,
    pub manifest: String,
    pub events: Vec<String>,
    pub weight: i64,
    pub delete_policies: Vec<String>,
    /// When Helm prints its logs; empty also where a Helm before 3.18 has not read that annotation.
    pub output_log_policies: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::{Record, RecordHook};
    use crate::testing::test;

    #[test]
    fn a_record_of_nelm_says_nothing_and_has_no_dashes() {
        let text = || "# Source: a\nkind: Job\n".to_owned();
        let hook = RecordHook { manifest: text(), ..RecordHook::default() };
        let deployed = "2026-11-22T20:00:00Z".to_owned();
        let record = Record { first_deployed: deployed, manifest: text(), hooks: vec![hook], ..Record::default() };
        assert!(record.is_of_nelm());
        let without_resources = Record { manifest: String::new(), ..record.clone() };
        assert!(without_resources.is_of_nelm());
        let of_helm = [
            Record { description: "Preparing upgrade".to_owned(), ..record.clone() },
            Record { first_deployed: String::new(), ..record.clone() },
            Record { manifest: format!("---\n{}", text()), ..record.clone() },
            Record { hooks: vec![RecordHook::default()], ..record },
        ];
        assert_eq!(of_helm.map(|record| record.is_of_nelm()), [false; 4]);
    }
}
