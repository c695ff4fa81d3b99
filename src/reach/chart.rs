//! What a chart says of itself and its subcharts, for a reader of its templates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::input;
use crate::value::merge;

/// No chart of Helm's is deeper; one that holds itself would be.
const MOST_CHARTS: usize = 16;

/// A chart, and its subcharts below it.
#[derive(Debug, Default)]
pub struct Chart {
    pub name: String,
    /// Where it lies in the outermost chart: nothing for that one, else with a slash at its end.
    pub folder: String,
    pub values: Value,
    /// Null where there is none.
    pub schema: Value,
    /// The sources of its own templates, by their paths from its folder on.
    pub templates: BTreeMap<String, String>,
    /// Only its named templates are used.
    pub is_library: bool,
    subcharts: Vec<Subchart>,
}

/// A chart that another one depends on.
#[derive(Debug)]
pub struct Subchart {
    pub chart: Chart,
    /// Where its values are among those of the other: its alias, or its name.
    pub key: String,
    /// Values of the other chart that switch it on.
    pub conditions: Vec<Vec<String>>,
    pub tags: Vec<String>,
    pub imports: Vec<Import>,
}

/// Values of a subchart that its parent takes: a key of each, or nothing for all.
#[derive(Debug)]
pub struct Import {
    pub child: Vec<String>,
    pub parent: Vec<String>,
}

impl Chart {
    /// The chart that these files make, by their paths from its folder on.
    #[must_use]
    pub fn of(files: &BTreeMap<String, String>) -> Self {
        Self::at(files, String::new(), "", 0)
    }

    fn at(files: &BTreeMap<String, String>, folder: String, called: &str, depth: usize) -> Self {
        let text = |name: &str| files.get(&format!("{folder}{name}")).map_or("", String::as_str);
        let read = |name: &str| input::value(text(name).as_bytes()).unwrap_or_default();
        let mut metadata = read("Chart.yaml");
        if metadata.get("dependencies").is_none()
            && let (Some(fields), Value::Object(old)) = (metadata.as_object_mut(), read("requirements.yaml"))
        {
            // Where charts of apiVersion v1 declare them.
            fields.extend(old);
        }
        let inside = |path: &String| path.strip_prefix(&folder).map(str::to_owned);
        let paths: Vec<_> = files.keys().filter_map(inside).collect();
        let templates = paths.iter().filter(|path| path.starts_with("templates/"));
        let templates = templates.map(|path| (path.clone(), text(path).to_owned())).collect();
        let below = paths.iter().filter_map(|path| path.strip_prefix("charts/")?.split_once('/'));
        let below: BTreeSet<_> = below.map(|(name, _)| name.to_owned()).collect();
        let below = if depth < MOST_CHARTS { below } else { BTreeSet::new() };
        let charts = below.iter().map(|name| Self::at(files, format!("{folder}charts/{name}/"), name, depth + 1));
        let subcharts = with_dependencies(charts.collect(), list(&metadata, "dependencies"), files);
        Self {
            name: word(&metadata, "name").unwrap_or(called).to_owned(),
            values: read("values.yaml"),
            schema: read("values.schema.json"),
            templates,
            is_library: word(&metadata, "type") == Some("library"),
            subcharts,
            folder,
        }
    }

    #[must_use]
    pub fn subcharts(&self) -> &[Subchart] {
        &self.subcharts
    }

    /// All values, as Helm lays them over one another: those of the subcharts, of the chart, and the given ones.
    #[must_use]
    pub fn values_with(&self, given: Value) -> Value {
        let mut values = self.defaults();
        if given.is_object() {
            merge(&mut values, given);
        }
        values
    }

    /// The texts and numbers, as JSON, that the chart and its subcharts have as values of their own.
    #[must_use]
    pub fn own_scalars(&self) -> BTreeSet<String> {
        let mut scalars: BTreeSet<_> = self.subcharts.iter().flat_map(|below| below.chart.own_scalars()).collect();
        collect_scalars(&self.values, &mut scalars);
        scalars
    }

    fn defaults(&self) -> Value {
        let mut values = if self.values.is_object() { self.values.clone() } else { Value::Object(Map::new()) };
        for Subchart { chart, key, .. } in &self.subcharts {
            let mut below = chart.defaults();
            let global = below.as_object_mut().and_then(|fields| fields.remove("global"));
            let Some(fields) = values.as_object_mut() else { continue };
            lay_below(fields, key, below);
            if let Some(global) = global {
                lay_below(fields, "global", global);
            }
        }
        values
    }
}

fn collect_scalars(value: &Value, scalars: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|value| collect_scalars(value, scalars)),
        Value::Array(items) => items.iter().for_each(|value| collect_scalars(value, scalars)),
        Value::String(_) | Value::Number(_) => {
            scalars.insert(value.to_string());
        }
        Value::Bool(_) | Value::Null => {}
    }
}

/// Lays values below those that a key has.
fn lay_below(fields: &mut Map<String, Value>, key: &str, mut below: Value) {
    match fields.remove(key) {
        Some(own @ Value::Object(_)) => merge(&mut below, own),
        // A condition of its own, or switched off as a whole.
        Some(own) if !own.is_null() => below = own,
        Some(_) | None => {}
    }
    fields.insert(key.to_owned(), below);
}

/// The charts as they are declared, one of them perhaps twice; what lies there undeclared is a subchart, too.
fn with_dependencies(charts: Vec<Chart>, declared: &[Value], files: &BTreeMap<String, String>) -> Vec<Subchart> {
    let mut subcharts = Vec::new();
    for chart in charts {
        let of_it: Vec<_> = declared.iter().filter(|one| word(one, "name") == Some(&chart.name)).collect();
        let Some((last, others)) = of_it.split_last() else {
            subcharts.push(Subchart::plain(chart));
            continue;
        };
        for one in others {
            let depth = chart.folder.matches("charts/").count();
            subcharts.push(Subchart::declared(Chart::at(files, chart.folder.clone(), &chart.name, depth), one));
        }
        subcharts.push(Subchart::declared(chart, last));
    }
    subcharts
}

impl Subchart {
    fn plain(chart: Chart) -> Self {
        let key = chart.name.clone();
        Self { chart, key, conditions: Vec::new(), tags: Vec::new(), imports: Vec::new() }
    }

    fn declared(chart: Chart, dependency: &Value) -> Self {
        let conditions = word(dependency, "condition").unwrap_or_default().split(',');
        let texts = list(dependency, "tags").iter().filter_map(Value::as_str);
        Self {
            key: word(dependency, "alias").unwrap_or(&chart.name).to_owned(),
            conditions: conditions.map(str::trim).filter(|path| !path.is_empty()).map(keys).collect(),
            tags: texts.map(str::to_owned).collect(),
            imports: list(dependency, "import-values").iter().filter_map(Import::of).collect(),
            chart,
        }
    }
}

impl Import {
    fn of(declared: &Value) -> Option<Self> {
        if let Some(export) = declared.as_str() {
            let child = ["exports".to_owned()].into_iter().chain(keys(export)).collect();
            return Some(Self { child, parent: Vec::new() });
        }
        Some(Self { child: keys(word(declared, "child")?), parent: keys(word(declared, "parent")?) })
    }
}

/// A dotted path; a single dot is the top.
fn keys(path: &str) -> Vec<String> {
    path.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect()
}

fn word<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::Chart;

    #[test]
    fn subcharts_stand_under_their_aliases_with_their_values() {
        let files = [
            (
                "Chart.yaml",
                "name: shop\ndependencies:\n- {name: db, alias: one, condition: 'one.on, db.on', tags: [data]}\n\
                 - {name: db, import-values: [data, {child: a.b, parent: c}]}",
            ),
            ("values.yaml", "global: {a: 1}\none: {size: 2}\n"),
            ("templates/a.yaml", "a"),
            ("charts/db/Chart.yaml", "name: db"),
            ("charts/db/values.yaml", "size: 1\nkept: 1\nglobal: {a: 0, b: 2}"),
            ("charts/db/templates/b.yaml", "b"),
            ("charts/other/Chart.yaml", "name: other\ntype: library"),
        ];
        let files: BTreeMap<_, _> = files.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let chart = Chart::of(&files);
        let keys: Vec<_> = chart.subcharts().iter().map(|subchart| subchart.key.as_str()).collect();
        assert_eq!(keys, ["one", "db", "other"]);
        let [one, db, other] = chart.subcharts() else { panic!("{chart:?}") };
        assert_eq!((one.conditions.len(), one.tags.len(), one.chart.templates.len()), (2, 1, 1));
        assert_eq!(
            [&db.imports[0].child[..], &db.imports[1].child, &db.imports[1].parent],
            [&["exports".to_owned(), "data".to_owned()][..], &["a".to_owned(), "b".to_owned()], &["c".to_owned()]]
        );
        assert!(other.chart.is_library && !db.chart.is_library);
        assert_eq!(
            chart.values_with(json!({"db": {"kept": null}})),
            json!({"global": {"a": 1, "b": 2}, "one": {"size": 2, "kept": 1}, "db": {"size": 1}, "other": {}})
        );
    }
}
