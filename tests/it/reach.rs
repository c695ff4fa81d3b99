//! The reader of templates against Helm itself: what it says does not reach an object never changes it.

mod generated;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};
use stable_hooks::reach::{Chart, Key, Pattern, Reach};

use crate::helms::{folder, helms};
use generated::{Chance, Generated};

const CHARTS: usize = 120;
const ROUNDS: u64 = 5;

/// A chart with many generated ones as its subcharts, some under an alias or a condition.
fn parent(seed: u64) -> (BTreeMap<String, String>, Value) {
    let chance = &mut Chance::new(seed);
    let mut files = BTreeMap::new();
    let mut metadata = "apiVersion: v2\nname: parent\nversion: 0.1.0\ndependencies:\n".to_owned();
    let mut values = json!({"global": {"g0": true, "g1": false, "g2": true, "g3": false}, "tags": {"t": true}});
    for number in 0..CHARTS {
        let name = format!("c{number}");
        let key = if number % 3 == 0 { format!("a{number}") } else { name.clone() };
        let Generated { values: own, job, other, helpers } = generated::chart(&name, chance);
        let mut insert = |path: &str, text: String| files.insert(format!("charts/{name}/{path}"), text);
        insert("Chart.yaml", format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n"));
        insert("values.yaml", own.to_string());
        insert("templates/_helpers.tpl", helpers);
        insert("templates/job.yaml", job);
        insert("templates/other.yaml", other);
        write!(metadata, "- {{name: {name}, version: 0.1.0").unwrap();
        if key != name {
            write!(metadata, ", alias: {key}").unwrap();
        }
        if number % 4 == 0 {
            write!(metadata, ", condition: {key}.enabled").unwrap();
        }
        metadata += "}\n";
        values[key] = if number % 2 == 0 { generated::values(chance) } else { json!({}) };
    }
    files.insert("Chart.yaml".to_owned(), metadata);
    files.insert("values.yaml".to_owned(), values.to_string());
    let chart = Chart::of(&files);
    let values = chart.values_with(json!({}));
    (files, values)
}

fn write_chart(folder: &Path, files: &BTreeMap<String, String>) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The documents of every template, each in the order of its text.
fn render(helm: &Path, chart: &Path, values: &Value) -> BTreeMap<String, Vec<String>> {
    let file = chart.join("given.json");
    fs::write(&file, values.to_string()).unwrap();
    let output = Command::new(helm).arg("template").arg("r").arg(chart).arg("-f").arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut templates = BTreeMap::<_, Vec<_>>::new();
    for document in text.split("---\n").filter_map(|document| document.strip_prefix("# Source: ")) {
        let (template, document) = document.split_once('\n').unwrap();
        templates.entry(template.to_owned()).or_default().push(document.to_owned());
    }
    templates.values_mut().for_each(|documents| documents.sort());
    templates
}

fn touches(patterns: &[&Pattern], path: &[String]) -> bool {
    patterns.iter().any(|pattern| {
        let meets = |(key, step): (&Key, &String)| *key == Key::Any || *key == Key::Named(step.clone());
        pattern.0.iter().zip(path).all(meets)
    })
}

/// The values with another one wherever no pattern is; counts how many.
fn changed(value: &Value, path: &mut Vec<String>, patterns: &[&Pattern], changes: &mut usize) -> Value {
    let is_kept = touches(patterns, path);
    let mut below = |key: &str, value: &Value| {
        path.push(key.to_owned());
        let changed = changed(value, path, patterns, changes);
        path.pop();
        changed
    };
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), below(key, value))).collect::<Map<_, _>>())
        }
        Value::Array(items) if !items.is_empty() && is_kept => {
            items.iter().enumerate().map(|(at, item)| below(&at.to_string(), item)).collect()
        }
        _ if is_kept => value.clone(),
        other => {
            *changes += 1;
            match other {
                Value::Bool(value) => json!(!value),
                Value::String(text) if text.contains("{{") => json!("{{ .Values.s1 }}{{ .Values.b1 }}"),
                Value::String(text) => json!(if text == "on" { "off" } else { "on" }),
                Value::Array(items) if items.len() > 1 => json!([]),
                Value::Array(_) => json!([{"on": true, "name": "n"}, {"on": false, "name": "on"}]),
                other => other.clone(),
            }
        }
    }
}

fn is_hook(document: &str) -> bool {
    document.contains("helm.sh/hook")
}

fn kind(document: &str) -> &str {
    document.lines().find_map(|line| line.strip_prefix("kind: ")).unwrap_or_default()
}

/// Which objects there are that are judged, and which of them are hooks.
fn roles(documents: &[String]) -> Vec<(&str, bool)> {
    let judged = documents.iter().filter(|one| is_hook(one) || ["Job", "ServiceAccount"].contains(&kind(one)));
    let mut roles: Vec<_> = judged.map(|document| (kind(document), is_hook(document))).collect();
    roles.sort_unstable();
    roles
}

#[test]
fn reach_what_is_outside_of_it_never_changes_an_object() {
    for (number, helm) in helms().iter().enumerate() {
        let (mut of_reach, mut of_deciders, mut objects) = (0, 0, 0);
        for seed in 1..=ROUNDS {
            let (files, values) = parent(seed * 100 + u64::try_from(number).unwrap());
            let folder = folder(&format!("reach-{number}"));
            write_chart(&folder, &files);
            let reach = Reach::of(&Chart::of(&files), &values).unwrap();
            assert!(reach.blind.is_empty(), "{:?}", reach.blind);
            let before = render(helm, &folder, &json!({}));
            let source =
                |template: &str| files[&template.replace("parent/", "").replace("charts/a", "charts/c")].clone();

            let patterns: Vec<_> = reach.reached.iter().collect();
            let other = changed(&values, &mut Vec::new(), &patterns, &mut of_reach);
            let after = render(helm, &folder, &other);
            for (template, documents) in before.iter().filter(|(template, _)| template.ends_with("job.yaml")) {
                let after = after.get(template).cloned().unwrap_or_default();
                assert_eq!(*documents, after, "{template}:\n{}", source(template));
            }

            let patterns: Vec<_> = reach.deciders.keys().collect();
            let other = changed(&values, &mut Vec::new(), &patterns, &mut of_deciders);
            let after = render(helm, &folder, &other);
            for (template, documents) in &before {
                let after = after.get(template).map_or(&[][..], Vec::as_slice);
                objects += documents.len();
                assert_eq!(roles(documents), roles(after), "{template}:\n{}", source(template));
            }
        }
        let least = CHARTS * usize::try_from(ROUNDS).unwrap();
        assert!(of_reach > least && of_deciders > of_reach && objects > least, "{of_reach} {of_deciders} {objects}");
    }
}
