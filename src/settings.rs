//! The settings of a run: handed to a policy as they are written, and read once for what is read here.

use helm::record::Limits;
use serde_json::{Map, Value, json};

/// As far back as a baseline is looked for where the settings do not say; a version can be any number.
const MOST_REVISIONS: u64 = 10_000;

/// The user's settings. A policy file may know some that this program does not.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSettings {
    handed: Value,
    record_limits: Limits,
}

impl RunSettings {
    /// Takes the settings as they are written.
    #[must_use]
    pub fn new(handed: Value) -> Self {
        let set = handed.pointer("/releases/limits/inflatedBytes").and_then(Value::as_u64);
        let bytes = set.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let record_limits = bytes.map_or_else(Limits::default, |inflated_bytes| Limits { inflated_bytes });
        Self { handed, record_limits }
    }

    /// The settings that a policy is handed.
    #[must_use]
    pub fn handed(&self) -> &Value {
        &self.handed
    }

    /// The limits of one record.
    #[must_use]
    pub fn record_limits(&self) -> Limits {
        self.record_limits
    }

    /// Those for a chart, with what the user has set over them: it is judged whole, since no API server waits.
    #[must_use]
    pub fn for_charts(&self) -> Self {
        let limits = json!({"lookups": u32::MAX, "documents": u32::MAX, "inflatedBytes": u32::MAX});
        let mut merged = json!({"releases": {"scope": "all", "limits": limits}});
        json_patch::merge(&mut merged, &self.handed);
        Self::new(merged)
    }

    /// The settings that a policy is handed with a record: it is compared with its baseline, that many revisions back,
    /// unless the user has set something else.
    #[must_use]
    pub fn for_record(&self, revisions_back: Option<u64>) -> Value {
        let mut settings = self.handed.clone();
        if let Some(releases) = section(&mut settings, "releases") {
            releases.entry("baseline").or_insert("record".into());
        }
        let releases = settings.get_mut("releases");
        if let Some(back) = revisions_back
            && let Some(limits) = releases.and_then(|releases| section(releases, "limits"))
        {
            limits.entry("revisions").or_insert(back.min(MOST_REVISIONS).into());
        }
        settings
    }
}

/// A section of the settings, made where there is none.
fn section<'a>(settings: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    let section = settings.as_object_mut()?.entry(name).or_insert(Value::Null);
    if section.is_null() {
        *section = json!({});
    }
    section.as_object_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RunSettings;

    #[test]
    fn a_record_is_compared_with_its_baseline_unless_the_user_says_otherwise() {
        let of = |settings| RunSettings::new(settings).for_record(Some(12))["releases"].clone();
        assert_eq!(of(json!({})), json!({"baseline": "record", "limits": {"revisions": 12}}));
        let set = json!({"baseline": "live", "limits": {"revisions": 3}});
        assert_eq!(of(json!({"releases": set})), set);
        assert_eq!(
            RunSettings::new(json!({})).for_record(Some(u64::MAX))["releases"]["limits"]["revisions"],
            json!(10_000)
        );
    }

    #[test]
    fn a_chart_is_judged_whole_unless_the_user_says_otherwise() {
        let settings = RunSettings::new(json!({"releases": {"limits": {"inflatedBytes": 5}}})).for_charts();
        assert_eq!(settings.record_limits().inflated_bytes, 5);
        assert_eq!(settings.handed()["releases"]["scope"], json!("all"));
    }
}
