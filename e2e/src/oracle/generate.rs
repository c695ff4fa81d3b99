//! Pairs from seeds.

use std::collections::BTreeSet;

use serde_json::json;

use super::pair::{Chart, Feature, Kind, Layout, Object, Operation, Pair, Setting, Step, Stored, Values, Via, Way};
use super::random::Random;

const EVENTS: [&str; 14] = [
    "pre-install,pre-upgrade",
    "pre-install,pre-upgrade",
    "post-install,post-upgrade",
    "post-install,pre-upgrade",
    "post-install,pre-upgrade",
    "pre-upgrade",
    "pre-upgrade",
    "post-upgrade",
    "pre-install",
    "post-install",
    "pre-install,post-install,pre-upgrade,post-upgrade",
    " Pre-Install , PRE-UPGRADE ",
    "",
    "pre-install,pre-update",
];

const CONDITIONS: [&str; 8] = [
    ".Release.IsInstall",
    ".Release.IsUpgrade",
    ".Release.IsUpgrade",
    ".Values.global.hook",
    ".Values.global.hook",
    "and .Values.global.hook .Release.IsUpgrade",
    "or .Values.global.hook .Release.IsInstall",
    "not .Values.global.hook",
];

const DELETE_POLICIES: [&str; 9] = [
    "before-hook-creation",
    "before-hook-creation",
    "hook-succeeded",
    "hook-failed",
    "before-hook-creation,hook-succeeded",
    "hook-succeeded,hook-failed",
    "before-hook-creation,hook-succeeded,hook-failed",
    "",
    "before-hook-created",
];

const WEIGHTS: [&str; 4] = ["-5", "0", "5", "ten"];

const NAMES: [&str; 3] = ["orders-migrations", "orders-seed", "accounts"];

/// The pair of that seed.
#[must_use]
pub fn pair(seed: u64) -> Pair {
    let mut random = Random::new(seed);
    let random = &mut random;
    let first = chart(random);
    let second = if random.percent(55) { first.clone() } else { changed(random, &first) };
    let charts = [first, second];
    let layout = random.pick(&[Layout::Chart, Layout::Chart, Layout::Chart, Layout::Subchart, Layout::Library]);
    Pair { layout, is_alone: random.percent(25), charts, steps: steps(random) }
}

fn chart(random: &mut Random) -> Chart {
    let count = random.pick(&[1, 1, 2, 2, 2, 3]);
    let mut objects: Vec<Object> = Vec::new();
    for number in 0..count {
        let kind = if random.percent(60) { Kind::Job } else { Kind::ServiceAccount };
        let taken = |name: &str| objects.iter().any(|other| (other.kind, other.name) == (kind, name));
        let wanted = if random.percent(40) { NAMES.first() } else { NAMES.get(number) };
        if let Some(name) = wanted.copied().filter(|name| !taken(name)) {
            let object = object(random, kind, name);
            objects.push(object);
        }
    }
    // What a Job runs as is there, as in a chart that somebody has tried.
    let accounts: Vec<_> =
        objects.iter().filter(|object| object.kind == Kind::ServiceAccount).map(|object| object.name).collect();
    if !accounts.is_empty() {
        for job in objects.iter_mut().filter(|object| object.kind == Kind::Job) {
            if random.percent(40) {
                job.features.insert(Feature::Account(random.pick(&accounts)));
            }
        }
    }
    Chart { objects, values: values(random) }
}

/// The defaults in `values.yaml`.
fn values(random: &mut Random) -> Values {
    let hook = random.percent(40);
    let annotations = if random.percent(40) { json!({"helm.sh/hook": random.pick(&EVENTS)}) } else { json!({}) };
    let block = random.pick(&[
        "{{ if .Release.IsUpgrade }}helm.sh/hook: pre-upgrade{{ end }}",
        "{{ if .Values.global.hook }}helm.sh/hook: pre-install,pre-upgrade{{ end }}",
        "helm.sh/hook: post-install,post-upgrade",
        "note: none",
    ]);
    let values = json!({
        "hook": hook, "present": random.percent(80), "image": "orders:1", "events": random.pick(&EVENTS),
        "annotations": annotations, "block": block,
    });
    values.as_object().cloned().unwrap_or_default()
}

fn object(random: &mut Random, kind: Kind, name: &'static str) -> Object {
    let mut features = BTreeSet::new();
    if random.percent(55) {
        features.insert(Feature::DeletePolicy(random.pick(&DELETE_POLICIES)));
    }
    if random.percent(30) {
        features.insert(Feature::Weight(random.pick(&WEIGHTS)));
    }
    let often: &[(usize, Feature)] = &[
        (8, Feature::Kept),
        (25, Feature::Namespace),
        (4, Feature::OnlyOnInstall),
        (4, Feature::OnlyOnUpgrade),
        (5, Feature::OnlyWithValue),
    ];
    for (percent, feature) in often {
        if random.percent(*percent) {
            features.insert(*feature);
        }
    }
    if kind == Kind::Job {
        for (percent, feature) in [(15, Feature::Ttl), (35, Feature::ImageOfValues)] {
            if random.percent(percent) {
                features.insert(feature);
            }
        }
    }
    match random.below(25) {
        0 => features.insert(Feature::InList),
        1 => features.insert(Feature::InHookList),
        2 if kind == Kind::Job => features.insert(Feature::GenerateName),
        _ => false,
    };
    Object { kind, name, way: way(random), events: events(random), features }
}

fn events(random: &mut Random) -> &'static str {
    random.pick(&EVENTS)
}

fn way(random: &mut Random) -> Way {
    match random.below(20) {
        0..=2 => Way::Plain,
        3..=7 => Way::Hook,
        8..=14 => Way::If(random.pick(&CONDITIONS)),
        15 => Way::Ternary(random.pick(&["pre-upgrade", "post-upgrade", "pre-install,pre-upgrade"])),
        16 | 17 => Way::Annotations,
        18 => Way::Tpl,
        _ => Way::Events,
    }
}

/// The next version of a chart.
fn changed(random: &mut Random, first: &Chart) -> Chart {
    let mut second = first.clone();
    let count = second.objects.len();
    if let Some(object) = second.objects.get_mut(random.below(count)) {
        match random.below(10) {
            0..=4 => object.way = way(random),
            5 => object.events = events(random),
            6 => {
                object.features.retain(|feature| !matches!(feature, Feature::DeletePolicy(_)));
                if random.percent(70) {
                    object.features.insert(Feature::DeletePolicy(random.pick(&DELETE_POLICIES)));
                }
            }
            7 if object.kind == Kind::Job => {
                object.features.insert(Feature::OtherImage);
            }
            8 => toggle(object, Feature::Kept),
            9 => toggle(object, Feature::Namespace),
            _ => object.way = Way::Plain,
        }
    }
    if random.percent(20) {
        second.values = values(random);
    }
    second
}

fn toggle(object: &mut Object, feature: Feature) {
    if !object.features.remove(&feature) {
        object.features.insert(feature);
    }
}

fn steps(random: &mut Random) -> Vec<Step> {
    use Operation::{FailingUpgrade, Install, Replace, Rollback, Uninstall, Upgrade};
    let operations: &[(Operation, usize)] = match random.below(20) {
        0..=12 => &[(Install, 0), (Upgrade, 1)],
        13 => &[(Install, 0), (Upgrade, 0), (Upgrade, 1)],
        14 => &[(Install, 0), (Upgrade, 1), (Upgrade, 1)],
        15 => &[(Install, 0), (Uninstall, 0), (Replace, 1)],
        16 | 17 => &[(Install, 0), (Upgrade, 1), (Rollback, 0)],
        18 => &[(Install, 0), (FailingUpgrade, 1), (Upgrade, 1)],
        _ => &[(Install, 0), (FailingUpgrade, 0), (Upgrade, 1)],
    };
    let mut steps = Vec::new();
    for (operation, chart) in operations {
        let is_upgrade = *operation == Upgrade;
        let settings = if matches!(operation, Rollback | Uninstall) { Vec::new() } else { settings(random) };
        let stored = match random.below(10) {
            0 if is_upgrade => Stored::Reuse,
            1 if is_upgrade => Stored::Reset,
            2 if is_upgrade => Stored::ResetThenReuse,
            _ => Stored::ByDefault,
        };
        steps.push(Step { operation: *operation, chart: *chart, settings, stored });
    }
    steps
}

fn settings(random: &mut Random) -> Vec<Setting> {
    let count = random.pick(&[0, 0, 1, 1, 2]);
    let mut settings: Vec<Setting> = Vec::new();
    for _ in 0..count {
        let (key, value) = match random.below(9) {
            0..=3 => ("hook", json!(random.percent(60))),
            4 => ("present", json!(random.percent(50))),
            5 | 6 => ("image", json!(random.pick(&["orders:1", "orders:2"]))),
            7 => ("events", json!(random.pick(&EVENTS))),
            _ => ("annotations", json!({"helm.sh/hook": random.pick(&EVENTS)})),
        };
        let via = match random.below(6) {
            // What has braces or blanks is not for --set.
            _ if key == "annotations" || key == "events" => random.pick(&[Via::File, Via::SetJson]),
            0 | 1 => Via::File,
            2 | 3 => Via::Set,
            4 => Via::SetString,
            _ => Via::SetJson,
        };
        if settings.iter().all(|setting| setting.key != key) {
            settings.push(Setting { key, value, via });
        }
    }
    settings
}
