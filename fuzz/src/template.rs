//! A chart's templates as `chart --sweep` reads them: whatever they are, there is an end and an answer, always the same.

use std::collections::BTreeMap;

use serde_json::json;
use stable_hooks::reach::{Blind, Chart, Reach};

/// What stands between two files.
const BETWEEN: &str = "\n====\n";
const PATHS: [&str; 4] =
    ["templates/job.yaml", "templates/_helpers.tpl", "charts/sub/templates/job.yaml", "values.yaml"];
const AROUND: [(&str, &str); 2] = [
    (
        "Chart.yaml",
        "apiVersion: v2\nname: orders\nversion: 1.0.0\ndependencies: [{name: sub, alias: below, condition: below.enabled}]\n",
    ),
    ("charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n"),
];

/// Reads one chart.
pub fn template(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let given = PATHS.into_iter().zip(text.splitn(PATHS.len(), BETWEEN));
    let files: BTreeMap<_, _> =
        AROUND.into_iter().chain(given).map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
    let chart = Chart::of(&files);
    let values = chart.values_with(json!({}));
    let read = || Reach::of(&chart, &values).expect("there is a thread");
    let Reach { deciders, reached, blind } = read();
    for file in deciders.values().flat_map(|decider| &decider.files) {
        assert!(files.contains_key(file), "{file} is no file of the chart");
    }
    for one in &blind {
        if let Blind::Lookup { file }
        | Blind::Capabilities { file }
        | Blind::ComputedName { file }
        | Blind::Unparsed { file, .. } = one
        {
            assert!(files.contains_key(file), "{file} is no file of the chart");
        }
    }
    if input.len().is_multiple_of(16) {
        let again = read();
        assert_eq!((again.deciders, again.reached, again.blind), (deciders, reached, blind));
    }
}
