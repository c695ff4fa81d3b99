//! Release records: those that a real API server recorded, and those of minimal charts after real ones.

pub(crate) mod render;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use stable_hooks::engine::{Answer, Native, judge};
use stable_hooks_host::cluster::ClusterView;

use crate::engines::{annotated, ask_with, cluster, files, relative, root};
use render::{Revision, creation};

const CHARTS: &str = "tests/corpus/charts";
const RECORDINGS: &str = "tests/corpus/admission";

/// Cases that do not get what their `expected.json` says, and why.
const DIFFERENT: &[(&str, &str)] = &[];

/// "<rule> <level> <Kind>/<name>" of every finding, in order.
pub(crate) fn reported(answer: &Answer) -> Vec<String> {
    listed(answer, "findings")
}

/// The same of the findings in one of the audit annotations.
pub(crate) fn listed(answer: &Answer, annotation: &str) -> Vec<String> {
    let findings = annotated(answer, annotation);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings
        .iter()
        .map(|finding| {
            let object = &finding["object"];
            let [rule, level, kind, name] =
                [&finding["rule"], &finding["level"], &object["kind"], &object["name"]].map(text);
            format!("{rule} {level} {kind}/{name}")
        })
        .collect()
}

/// Warnings that are no findings: what could not be known.
pub(crate) fn notes(answer: &Answer) -> Vec<String> {
    annotated(answer, "notes").iter().map(|note| note["message"].as_str().unwrap().to_owned()).collect()
}

fn line(answer: &Answer) -> String {
    let verdict = if answer.response.accepted { "allow" } else { "deny" };
    let notes = notes(answer).len();
    let notes = (notes > 0).then(|| format!("{notes} notes"));
    [verdict.to_owned()].into_iter().chain(reported(answer)).chain(notes).collect::<Vec<_>>().join(", ")
}

/// The install and then the upgrade of one case.
fn judge_chart(case: &str) -> [Answer; 2] {
    let read = |operation| fs::read_to_string(root().join(CHARTS).join(case).join(operation)).unwrap();
    let [install, upgrade] = [read("install.yaml"), read("upgrade.yaml")];
    let installed = render::read(&install);
    let named = installed.documents.iter().find_map(|document| document.object["metadata"]["namespace"].as_str());
    let namespace = named.unwrap_or("apps");
    let revision = |version, status, rendered| Revision::new("r", namespace, version, status, rendered);
    let settings = json!({"releases": {"baseline": "record", "scope": "all"}});
    let ask = |revision: Revision<'_>, cluster: ClusterView| {
        judge(&Native::new(cluster.into()), creation(&revision.secret()), &settings).unwrap()
    };
    let first = ask(revision(1, "pending-install", &install), cluster([]));
    let mut live = installed.left_by_install("r", namespace);
    live.push(revision(1, "deployed", &install).secret());
    [first, ask(revision(2, "pending-upgrade", &upgrade), cluster(&live))]
}

fn difference(decision: &str, answers: &[Answer]) -> Option<String> {
    let denied = answers.iter().any(|answer| !answer.response.accepted);
    let warned = answers.iter().any(|answer| answer.response.warnings.is_some());
    let fits = match decision {
        "reject" => denied,
        "allow+warn" | "warn" => !denied && warned,
        "allow" | "skip" => !denied,
        other => panic!("unknown decision {other}"),
    };
    let texts = answers.iter().map(|answer| {
        let warnings = answer.response.warnings.iter().flatten().map(String::as_str);
        answer.response.message.as_deref().into_iter().chain(warnings).collect::<Vec<_>>().join("\n  ")
    });
    let texts = texts.collect::<Vec<_>>().join("\n  ");
    (!fits).then(|| format!("expected {decision}, found {}\n  {texts}", if denied { "a denial" } else { "none" }))
}

#[test]
fn releases_of_every_chart_get_what_its_author_expected() {
    let (mut verdicts, mut failures) = (String::new(), Vec::new());
    for expected in files(CHARTS, "json") {
        let case = expected.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let wanted: Value = serde_json::from_slice(&fs::read(&expected).unwrap()).unwrap();
        let answers = judge_chart(case);
        for (operation, answer) in ["install", "upgrade"].iter().zip(&answers) {
            writeln!(verdicts, "{case} {operation}: {}", line(answer)).unwrap();
        }
        let difference = difference(wanted["decision"].as_str().unwrap(), &answers);
        let known = DIFFERENT.iter().find(|(name, _)| *name == case);
        match (difference, known) {
            (Some(difference), None) => failures.push(format!("{case}: {difference}")),
            (None, Some(_)) => failures.push(format!("{case} differs no longer: take it out of DIFFERENT")),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    insta::assert_snapshot!("charts", verdicts);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The cluster as the requests of a recording have made it so far.
#[derive(Default)]
struct Replay(BTreeMap<[String; 3], Value>);

impl Replay {
    fn cluster(&self) -> ClusterView {
        cluster(self.0.values())
    }

    fn apply(&mut self, request: &Value) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let key = [&request["kind"]["kind"], &request["namespace"], &request["name"]].map(text);
        if request["operation"] == "DELETE" {
            self.0.remove(&key);
        } else {
            self.0.insert(key, request["object"].clone());
        }
    }
}

/// Every request of a recording with the cluster as it was at that moment.
fn replay(mut at: impl FnMut(&str, &Value, &Replay)) {
    for helm in ["helm3", "helm4"] {
        for scenario in ["hook-to-resource", "never-deleted-hook", "resource-to-hook"] {
            let mut replay = Replay::default();
            for path in files(&format!("{RECORDINGS}/{helm}/{scenario}"), "json") {
                let request: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
                at(relative(&path).strip_prefix(&format!("{RECORDINGS}/")).unwrap(), &request, &replay);
                replay.apply(&request);
            }
        }
    }
}

fn baseline(source: &str) -> Value {
    json!({"releases": {"baseline": source}})
}

fn is_record(request: &Value) -> bool {
    request["kind"]["kind"] == "Secret"
}

#[test]
fn releases_recorded_get_their_verdicts_natively_and_inside_the_wasm() {
    let mut verdicts = String::new();
    replay(|path, request, replay| {
        if is_record(request) {
            for source in ["live", "record"] {
                let answer = ask_with(request, &baseline(source), replay.cluster());
                writeln!(verdicts, "{path} ({source}): {}", line(&answer)).unwrap();
            }
        }
    });
    insta::assert_snapshot!("recorded", verdicts);
}

/// `corpus/admission/README.md`, sentence by sentence.
#[test]
fn releases_recorded_get_what_the_corpus_says_in_words() {
    let mut judged = 0;
    replay(|path, request, replay| {
        if !is_record(request) {
            return;
        }
        for source in ["live", "record"] {
            let answer = judge(&Native::new(replay.cluster().into()), request.clone(), &baseline(source)).unwrap();
            let (accepted, found) = (answer.response.accepted, reported(&answer));
            let has = |start: &str| found.iter().any(|finding| finding.starts_with(start));
            let what = format!("{path} ({source}): {}", line(&answer));
            if request["operation"] != "CREATE" {
                assert!(accepted && found.is_empty() && notes(&answer).is_empty(), "{what}");
                continue;
            }
            judged += 1;
            let [_, scenario, step] = path.splitn(4, '/').take(3).collect::<Vec<_>>()[..] else { panic!("{path}") };
            match (scenario, step) {
                ("resource-to-hook", "1-install") => {
                    assert!(accepted && has("conditional-hook-template warn"), "{what}");
                }
                ("resource-to-hook", "2-upgrade") | ("hook-to-resource", "2-upgrade-take-ownership") => {
                    assert!(!accepted, "{what}");
                    for kind in ["Job", "ServiceAccount"] {
                        assert!(has(&format!("release-identity-flip deny {kind}/")), "{what}");
                    }
                }
                ("resource-to-hook", "3-upgrade") => assert!(accepted && !has("release-identity-flip"), "{what}"),
                ("resource-to-hook", "4-rollback") => {
                    assert!(accepted, "{what}");
                    assert!(has("release-identity-flip warn"), "{what}");
                }
                ("hook-to-resource", "1-install") => assert!(accepted, "{what}"),
                ("never-deleted-hook", "1-install") => assert!(accepted && has("hook-never-deleted warn"), "{what}"),
                ("never-deleted-hook", "2-upgrade-fails") => {
                    assert!(!accepted && has("hook-never-deleted deny Job/"), "{what}");
                    let is_harmless = path.starts_with("helm4/");
                    assert_eq!(has("hook-never-deleted deny ServiceAccount/"), !is_harmless, "{what}");
                }
                _ => panic!("{what}: the corpus says nothing about it"),
            }
        }
    });
    assert_eq!(judged, 32);
}

#[test]
fn releases_recorded_are_allowed_with_a_warning_where_nobody_knows_the_cluster() {
    replay(|path, request, _| {
        let is_upgrade = request["object"]["metadata"]["labels"]["status"] == "pending-upgrade";
        if is_record(request) && request["operation"] == "CREATE" && is_upgrade {
            for source in ["live", "record"] {
                let answer = ask_with(request, &baseline(source), ClusterView::default());
                assert!(answer.response.accepted && !notes(&answer).is_empty(), "{path} ({source})");
            }
        }
    });
}
