//! Who judges: a policy, its settings, and the cluster that it sees.

use std::sync::Arc;

use serde_json::Value;
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::metadata::Metadata;
use stable_hooks_policy::{RuleId, Settings};

use crate::engine::{Engine, EngineError, check_settings, judge};
use crate::judged::{Finding, Judged, Place, Subject};
use crate::records::StoredRecord;
use crate::settings::RunSettings;

/// Who judges, everything checked.
#[derive(Clone)]
pub(crate) struct Judge {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) settings: RunSettings,
    pub(crate) cluster: Arc<ClusterView>,
    /// There is a view of the cluster; without one it is not known to be empty.
    pub(crate) sees_cluster: bool,
    /// The policy's metadata, where it is a file that has some.
    pub(crate) metadata: Option<Metadata>,
}

/// One request, and where it comes from.
pub(crate) struct Asked {
    /// As the report names it.
    pub(crate) source: String,
    /// As an error names it.
    pub(crate) place: Place,
    pub(crate) request: Value,
}

impl Judge {
    /// The settings, for the rules that no policy is asked.
    pub(crate) fn native_settings(&self) -> Result<Settings, String> {
        Settings::parse(self.settings.handed()).map_err(|errors| errors.to_string())
    }

    /// The same judge with these settings.
    pub(crate) fn with_settings(self, settings: Value) -> Result<Self, EngineError> {
        check_settings(self.engine.as_ref(), &settings)?;
        Ok(Self { settings: RunSettings::new(settings), ..self })
    }

    /// Asks the release rules about a record that is created over its baseline, in that cluster.
    pub(crate) fn verdict(
        &self,
        record: &StoredRecord,
        baseline: Option<&StoredRecord>,
        cluster: &ClusterView,
        (source, place): (String, Place),
    ) -> Result<Judged, String> {
        let cluster = cluster.with_records(baseline.map(StoredRecord::as_baseline));
        let engine = self.engine.with_cluster(Arc::new(cluster));
        let settings = self.settings.for_record(baseline.map(|baseline| record.version() - baseline.version()));
        Asked { source, place, request: record.request() }.judged(engine.as_ref(), &settings)
    }

    /// Drops what is found between two renders of one revision as well: it changes with the time, or by chance, and not
    /// because of this release.
    pub(crate) fn without_chance(
        &self,
        judged: Judged,
        record: &StoredRecord,
        again: StoredRecord,
        place: &Place,
    ) -> Result<Judged, String> {
        let again = again.as_the_revision_before();
        let source = (judged.source.clone(), place.clone());
        let by_chance = self.verdict(record, Some(&again), &self.cluster, source)?;
        Ok(judged.retaining(|finding| !(is_of_values(finding) && by_chance.has(finding))))
    }
}

/// It says that values differ from those of the revision before.
pub(crate) fn is_of_values(finding: &Finding) -> bool {
    finding.is_of(RuleId::HookStaleDependency)
}

impl Asked {
    /// The result, before it is reported.
    pub(crate) fn judged(self, engine: &dyn Engine, settings: &Value) -> Result<Judged, String> {
        let Self { source, place, request } = self;
        let subject = Subject::of(&request);
        match judge(engine, request, settings) {
            Ok(answer) => Ok(Judged::new(source, place, subject, answer)),
            Err(error) => Err(format!("{place}: {error}")),
        }
    }
}
