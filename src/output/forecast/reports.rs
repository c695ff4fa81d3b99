//! A report for each release, as one List: what stores them in the cluster takes it as it is.

use std::io::{self, Write};

use helm::storage::Storage;
use serde_json::{Value, json};
use stable_hooks_policy::name::Name;

use crate::forecast::Forecast;
use crate::output::policy_report::{Api, Counts, Item, Outcome};

const PROGRAM: &str = env!("CARGO_PKG_NAME");
/// The beginning of each report's name.
const PREFIX: &str = "stable-hooks-forecast-";

/// What selects the reports of forecasts, and no other object.
pub(crate) const LABELS: [(&str, &str); 2] =
    [("app.kubernetes.io/managed-by", PROGRAM), ("app.kubernetes.io/component", "forecast")];

pub(super) fn write(api: Api, out: &mut dyn Write, forecasts: &[Forecast]) -> io::Result<()> {
    writeln!(out, "{}", serde_json::to_string_pretty(&list(api, forecasts)?)?)
}

/// The reports of these releases.
pub(crate) fn list(api: Api, forecasts: &[Forecast]) -> serde_json::Result<Value> {
    let items = forecasts.iter().map(|forecast| report(api, forecast)).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}

/// The name of a release's report, the same in each run: the next one replaces it.
pub(crate) fn report_name(storage: Storage, release: &str) -> String {
    format!("{PREFIX}{}-{release}", storage.kind().to_lowercase())
}

/// The release of which a report tells.
pub(crate) fn release_of(report: &str) -> Option<(Storage, &str)> {
    let rest = report.strip_prefix(PREFIX)?;
    Storage::ALL.into_iter().find_map(|storage| {
        let release = rest.strip_prefix(&storage.kind().to_lowercase())?.strip_prefix('-')?;
        Some((storage, release))
    })
}

fn report(api: Api, forecast: &Forecast) -> serde_json::Result<Value> {
    let Forecast { namespace, name, storage, record, .. } = forecast;
    let of_release = Name {
        group: String::new(),
        kind: storage.kind().to_owned(),
        namespace: namespace.clone(),
        name: record.clone(),
    };
    let mut counts = Counts::default();
    let mut results = Vec::new();
    let mut push = |item: Item<'_>| {
        counts.add(item.outcome());
        serde_json::to_value(item).map(|item| results.push(item))
    };
    match &forecast.judged {
        Err(trouble) => push(Item::new(Outcome::Error, &of_release).saying(trouble.reason.clone()))?,
        Ok(judged) if judged.findings.is_empty() && judged.ignored.is_empty() => {
            let next = format!("the next upgrade, revision {} of {}, is stable", forecast.revision, forecast.chart);
            push(Item::new(Outcome::Pass, &of_release).saying(next))?;
        }
        Ok(judged) => {
            judged.findings.iter().try_for_each(|finding| push(Item::of(finding)))?;
            judged.ignored.iter().try_for_each(|finding| push(Item::ignored(finding)))?;
        }
    }
    let (api_version, kind) = api.kind();
    let labels: serde_json::Map<_, _> = LABELS.map(|(key, value)| (key.to_owned(), value.into())).into_iter().collect();
    Ok(json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": report_name(*storage, name), "namespace": namespace, "labels": labels},
        "scope": {"apiVersion": "v1", "kind": storage.kind(), "namespace": namespace, "name": record},
        "results": results,
        "summary": counts,
    }))
}

#[cfg(test)]
mod tests {
    use helm::storage::Storage;

    use super::{release_of, report_name};

    #[test]
    fn a_report_names_its_release() {
        for storage in Storage::ALL {
            for release in ["orders", "a.b", "secret-x", "configmap-x"] {
                assert_eq!(release_of(&report_name(storage, release)), Some((storage, release)));
            }
        }
        assert_eq!(report_name(Storage::ConfigMap, "orders"), "stable-hooks-forecast-configmap-orders");
        for other in ["orders", "stable-hooks-forecast-orders", "stable-hooks-forecast-secretorders"] {
            assert_eq!(release_of(other), None, "{other}");
        }
    }
}
