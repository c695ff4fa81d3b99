//! The chart and the values that a record holds, as files that Helm can render again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use helm::record::{ApplyMethod, Limits, decode_base64, or_empty};
use helm::storage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use stable_hooks_policy::shown::Shown;
use thiserror::Error;

use super::stored::{RecordError, StoredRecord};
use crate::helm::values::{Reuse, Values};
use crate::private::write;

/// A release as Helm needs it to render it once more. It holds values: it is never shown, only written.
#[derive(Deserialize)]
pub struct StoredRelease {
    /// Where its objects are; with Flux its records lie elsewhere.
    #[serde(default, deserialize_with = "or_empty")]
    pub namespace: String,
    #[serde(default, deserialize_with = "or_empty")]
    apply_method: String,
    #[serde(default)]
    chart: Option<StoredChart>,
    /// The values that the user gave.
    #[serde(default)]
    config: Option<Box<RawValue>>,
}

/// The values that an upgrade is rendered with.
pub struct Taken {
    pub values: Values,
    /// The chart's own values, where they are not those of the new chart.
    pub chart_values: Option<Vec<u8>>,
}

#[derive(Deserialize)]
struct StoredChart {
    #[serde(default)]
    metadata: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "or_empty")]
    templates: Vec<Option<File>>,
    #[serde(default, deserialize_with = "or_empty")]
    files: Vec<Option<File>>,
    /// The chart's own values.
    #[serde(default)]
    values: Option<Box<RawValue>>,
    #[serde(default)]
    schema: Option<String>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default, deserialize_with = "or_empty")]
    name: String,
    #[serde(default, deserialize_with = "or_empty")]
    data: String,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default, deserialize_with = "or_empty")]
    name: String,
    #[serde(default, deserialize_with = "or_empty")]
    version: String,
    /// Those that were switched on.
    #[serde(default, deserialize_with = "or_empty")]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    #[serde(default, deserialize_with = "or_empty")]
    name: String,
}

/// Why a stored chart cannot be written down.
#[derive(Debug, Error)]
pub enum ChartError {
    #[error("the record holds no chart")]
    NoChart,
    #[error("the chart in the record has a file named `{}`, which would lie outside of the chart; nothing of it was written", Shown(.0))]
    Outside(String),
    #[error("the chart's file `{}` is not base64 in the record", Shown(.0))]
    NotBase64(String),
    #[error("the chart in the record has two files named `{}`", Shown(.0))]
    Twice(String),
    #[error("the chart's file `{}` cannot be written: {}", Shown(.name), .error)]
    Write { name: String, error: io::Error },
}

impl StoredRecord {
    /// All that Helm needs to render it.
    ///
    /// # Errors
    ///
    /// When its data is no release.
    pub fn stored_release(&self, limits: Limits) -> Result<StoredRelease, RecordError> {
        let data = storage::data(&self.object).ok_or(RecordError::NoData)?;
        let json = self.storage.unpack(data, limits)?;
        // The record itself was read already: only its chart can be wrong.
        serde_json::from_slice(&json).map_err(|_| RecordError::Chart)
    }
}

impl StoredRelease {
    /// How the next upgrade writes its objects, unless it is told otherwise.
    #[must_use]
    pub fn apply_method(&self) -> ApplyMethod {
        ApplyMethod::of(&self.apply_method)
    }

    /// The chart's name; empty where there is none.
    #[must_use]
    pub fn chart(&self) -> String {
        self.metadata().name
    }

    /// The chart's name and version, as Helm calls it; empty where there is none.
    #[must_use]
    pub fn chart_name(&self) -> String {
        let Metadata { name, version, .. } = self.metadata();
        if name.is_empty() { name } else { format!("{name}-{version}") }
    }

    /// The subcharts that this release was rendered with: no record holds them. `templates` are those of its objects.
    #[must_use]
    pub fn subcharts<'a>(&self, templates: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
        let rendered =
            templates.into_iter().filter_map(|path| path.split_once('/')?.1.strip_prefix("charts/")?.split('/').next());
        let declared = self.metadata().dependencies.into_iter().map(|dependency| dependency.name);
        rendered.map(str::to_owned).chain(declared).collect()
    }

    /// The chart's words about itself, its metadata and its schema; no values.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let Some(chart) = &self.chart else { return Vec::new() };
        let metadata = chart.metadata.as_ref().map(|metadata| metadata.get().to_owned());
        let schema = chart.schema.as_ref().and_then(|schema| String::from_utf8(decode_base64(schema.as_bytes())?).ok());
        metadata.into_iter().chain(schema).collect()
    }

    /// The user's values as JSON, if there are any.
    #[must_use]
    pub fn values(&self) -> Option<&str> {
        self.config.as_ref().map(|config| config.get())
    }

    /// The values with which Helm renders the next upgrade, where these are given.
    ///
    /// # Errors
    ///
    /// When they cannot be told, or a file not be written, in words.
    pub fn taken_by_upgrade(&self, given: Values, reuse: Reuse, folder: &Path) -> Result<Taken, String> {
        let has_some = |values: &&str| !matches!(values.trim(), "null" | "{}");
        let stored = match self.values().filter(has_some) {
            Some(stored) => stored,
            None if reuse != Reuse::ReuseValues => return Ok(Taken { values: given, chart_values: None }),
            None => "{}",
        };
        let below = |given: Values| {
            // Helm treats a null over a stored value in another way than one over another file.
            if given.may_hold_null() {
                return Err("null is not known to set here what Helm would: with --reuse-values and \
                            --reset-then-reuse-values, a value of null cannot be judged"
                    .to_owned());
            }
            let path = folder.join("values-of-the-release.json");
            write(&path, stored.as_bytes()).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(given.over(path))
        };
        match reuse {
            Reuse::ResetValues => Ok(Taken { values: given, chart_values: None }),
            Reuse::UnlessGiven if !given.set_nothing() => Ok(Taken { values: given, chart_values: None }),
            Reuse::UnlessGiven | Reuse::ResetThenReuseValues => Ok(Taken { values: below(given)?, chart_values: None }),
            Reuse::ReuseValues => {
                let chart_values = coalesced(self.values(), self.chart_values());
                Ok(Taken { values: below(given)?, chart_values: Some(chart_values) })
            }
        }
    }

    fn chart_values(&self) -> Option<&str> {
        self.chart.as_ref()?.values.as_ref().map(|values| values.get())
    }

    /// Writes the chart into a folder that does not exist yet.
    ///
    /// # Errors
    ///
    /// When the record holds no chart, one that would be written elsewhere, or the disk is full.
    pub fn write_chart(&self, folder: &Path) -> Result<(), ChartError> {
        let chart = self.chart.as_ref().ok_or(ChartError::NoChart)?;
        let metadata = chart.metadata.as_ref().ok_or(ChartError::NoChart)?;
        let mut files = vec![(PathBuf::from("Chart.yaml"), metadata.get().as_bytes().to_vec())];
        // JSON is YAML.
        files.extend(chart.values.iter().map(|values| ("values.yaml".into(), values.get().as_bytes().to_vec())));
        if let Some(schema) = &chart.schema {
            let bytes = decode_base64(schema.as_bytes());
            let bytes = bytes.ok_or_else(|| ChartError::NotBase64("values.schema.json".to_owned()))?;
            files.push(("values.schema.json".into(), bytes));
        }
        for file in chart.templates.iter().chain(&chart.files).flatten() {
            let path = inside(&file.name).ok_or_else(|| ChartError::Outside(file.name.clone()))?;
            let bytes = decode_base64(file.data.as_bytes()).ok_or_else(|| ChartError::NotBase64(file.name.clone()))?;
            // The files that a `.helmignore` names are not in the record, and must not be looked for in the copy.
            if file.name != ".helmignore" {
                files.push((path, bytes));
            }
        }
        let mut names = BTreeSet::new();
        if let Some((path, _)) = files.iter().find(|(path, _)| !names.insert(path)) {
            return Err(ChartError::Twice(path.display().to_string()));
        }
        for (path, bytes) in files {
            let failed = |error| ChartError::Write { name: path.display().to_string(), error };
            write(&folder.join(&path), &bytes).map_err(failed)?;
        }
        Ok(())
    }

    fn metadata(&self) -> Metadata {
        let metadata = self.chart.as_ref().and_then(|chart| chart.metadata.as_ref());
        metadata.and_then(|metadata| serde_json::from_str(metadata.get()).ok()).unwrap_or_default()
    }
}

/// The values of a release over those of its chart, as Helm joins them; both are JSON objects, or nothing.
fn coalesced(over: Option<&str>, below: Option<&str>) -> Vec<u8> {
    let read = |json: Option<&str>| json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or(Value::Null);
    let mut joined = read(over);
    if joined.is_null() {
        joined = Value::Object(serde_json::Map::new());
    }
    coalesce(&mut joined, read(below));
    joined.to_string().into_bytes()
}

fn coalesce(over: &mut Value, below: Value) {
    let (Value::Object(over), Value::Object(below)) = (over, below) else { return };
    for (key, value) in below {
        match over.get_mut(&key) {
            None => {
                over.insert(key, value);
            }
            // Null takes away what the chart sets.
            Some(Value::Null) => {
                over.remove(&key);
            }
            Some(above) => coalesce(above, value),
        }
    }
}

/// The path of a chart's file, if it stays in the chart.
fn inside(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let stays = !name.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_)));
    stays.then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::{ChartError, StoredRelease, coalesced};

    fn file(name: &str, data: &[u8]) -> Value {
        json!({"name": name, "data": STANDARD.encode(data)})
    }

    fn release(templates: Value, files: Value) -> StoredRelease {
        let metadata = json!({"apiVersion": "v2", "name": "shop", "version": "1.0.0"});
        let chart = json!({
            "metadata": metadata, "lock": null, "templates": templates, "files": files,
            "values": {"a": 1.0}, "schema": STANDARD.encode("{}"),
        });
        let release = json!({"namespace": "shop", "apply_method": null, "chart": chart, "config": {"b": 1e3}});
        serde_json::from_str(&release.to_string()).unwrap()
    }

    #[test]
    fn all_of_a_chart_is_written_back_for_its_owner_alone() {
        let templates = json!([file("templates/a.yaml", b"{{ 1 }}"), null]);
        let files = json!([file("crds/c.yaml", b"crd"), file("logo.png", b"\xff\xfe"), file(".helmignore", b"logo*")]);
        let release = release(templates, files);
        let folder = tempfile::tempdir().unwrap();
        let chart = folder.path().join("chart");
        release.write_chart(&chart).unwrap();
        let read = |name: &str| fs::read(chart.join(name)).unwrap();
        assert_eq!(read("values.yaml"), b"{\"a\":1.0}");
        assert_eq!(read("values.schema.json"), b"{}");
        assert_eq!(read("templates/a.yaml"), b"{{ 1 }}");
        assert_eq!((read("crds/c.yaml"), read("logo.png")), (b"crd".to_vec(), b"\xff\xfe".to_vec()));
        assert!(!chart.join(".helmignore").exists());
        assert_eq!((release.chart_name().as_str(), release.values()), ("shop-1.0.0", Some("{\"b\":1000.0}")));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(chart.join("values.yaml")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(matches!(release.write_chart(&chart), Err(ChartError::Write { .. })), "nothing is written over");
    }

    #[test]
    fn two_files_of_one_name_are_no_chart() {
        let twice = release(json!([file("templates/a.yaml", b"1"), file("templates/a.yaml", b"2")]), json!([]));
        let folder = tempfile::tempdir().unwrap();
        let error = twice.write_chart(&folder.path().join("chart")).unwrap_err();
        assert_eq!(error.to_string(), "the chart in the record has two files named `templates/a.yaml`");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_written_outside_of_the_chart() {
        for name in ["../x", "templates/../../x", "/tmp/x", "", ".", "templates/./../../x"] {
            let folder = tempfile::tempdir().unwrap();
            let first = file("templates/a.yaml", b"");
            for release in
                [release(json!([first, file(name, b"x")]), json!([])), release(json!([]), json!([file(name, b"x")]))]
            {
                let error = release.write_chart(&folder.path().join("chart")).unwrap_err();
                assert!(matches!(error, ChartError::Outside(_)), "{name}: {error}");
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{name}");
            }
        }
    }

    #[test]
    fn the_values_of_a_release_lie_over_those_of_its_chart() {
        let joined = |over, below| String::from_utf8(coalesced(over, below)).unwrap();
        let over = r#"{"a": null, "b": {"c": null, "d": 1, "e": null}, "f": 2, "g": {"h": 3}}"#;
        let below = r#"{"a": 1, "b": {"c": 2, "i": 4}, "f": {"j": 5}, "g": 6, "k": 7}"#;
        assert_eq!(joined(Some(over), Some(below)), r#"{"b":{"d":1,"e":null,"i":4},"f":2,"g":{"h":3},"k":7}"#);
        assert_eq!(joined(None, Some(below)), joined(Some("null"), Some(below)));
        assert_eq!((joined(Some("{}"), None), joined(None, None)), ("{}".to_owned(), "{}".to_owned()));
    }

    #[test]
    fn subcharts_are_those_declared_and_those_rendered() {
        let mut release = release(json!([]), json!([]));
        let chart = release.chart.as_mut().unwrap();
        let metadata = json!({"name": "shop", "dependencies": [{"name": "postgresql"}, {"name": null}]});
        chart.metadata = Some(serde_json::from_value(metadata).unwrap());
        let templates = ["shop/templates/charts/a.yaml", "shop/charts/redis/charts/common/templates/a.yaml"];
        let found = release.subcharts(&templates.map(str::to_owned));
        assert_eq!(found, BTreeSet::from([String::new(), "postgresql".to_owned(), "redis".to_owned()]));
    }
}
