//! Our reading of manifests against Helm's own code, which `e2e/tools/oracle` calls.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use helm::DeletePolicy;
use helm::order::install_rank;
use helm::record::ApplyMethod;
use helm::write::{Identity, Revision};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde::Deserialize;
use serde_json::{Value, json};
use stable_hooks::fix::{Options, fix};
use stable_hooks::render::Render;
use stable_hooks_policy::Settings;

use crate::engines::{files, root};

const STREAMS: usize = 10_000;

#[derive(Debug, Deserialize)]
struct Answers {
    helm3: Reading,
    helm4: Reading,
}

#[derive(Debug, Deserialize)]
struct Reading {
    error: Option<String>,
    hooks: Option<Vec<Value>>,
    manifests: Vec<Manifest>,
}

#[derive(Debug, Deserialize)]
struct Manifest {
    kind: String,
    content: String,
}

/// What Helm makes of each text; `None`, said aloud, where the program that asks it is not there.
fn ask(texts: &[String]) -> Option<Vec<Answers>> {
    let Some(oracle) = env::var_os("ORACLE") else {
        assert!(env::var_os("CI").is_none(), "ORACLE names no program, which CI does not accept");
        let skipped = "SKIPPED: ORACLE does not name the program that `e2e/tools/build oracle` builds\n";
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return None;
    };
    let mut child = Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(move || texts.iter().for_each(|text| writeln!(stdin, "{}", json!({"a.yaml": text})).unwrap()));
        child.wait_with_output().unwrap()
    });
    let answers: Vec<_> = output
        .stdout
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(answers.len(), texts.len());
    Some(answers)
}

/// What is read of a stream, hooks and resources in the order in which Helm sorts them.
#[derive(Debug, PartialEq)]
enum Read {
    /// Helm refuses the whole template, we only what is broken.
    Broken,
    Objects {
        hooks: Vec<Value>,
        resources: Vec<(String, String)>,
    },
}

/// Of a hook what decides when it runs and when it is deleted.
fn hook(found: &Value) -> Value {
    let texts = |field: &str| -> Option<BTreeSet<&str>> {
        found[field].as_array().map(|items| items.iter().filter_map(Value::as_str).collect())
    };
    json!({
        "kind": found["kind"], "name": found["name"].as_str().unwrap_or_default(),
        "manifest": found["manifest"].as_str().map(bare), "events": texts("events"),
        "weight": found["weight"].as_i64().unwrap_or_default(), "delete_policies": texts("delete_policies"),
    })
}

/// Without what no reader of YAML minds: Helm 3 leaves a second separator, both leave a byte order mark.
fn bare(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').trim();
    let lines = text.strip_prefix("---").unwrap_or(text).lines().filter(|line| !line.starts_with("# Source: "));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn is_comment(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

fn helm(reading: &Reading) -> Read {
    if reading.error.is_some() {
        return Read::Broken;
    }
    let resources = reading.manifests.iter().map(|found| (found.kind.clone(), bare(&found.content)));
    Read::Objects {
        hooks: reading.hooks.iter().flatten().map(hook).collect(),
        resources: resources.filter(|(_, content)| !is_comment(content)).collect(),
    }
}

fn ours(text: &str, version: Version) -> Read {
    let render = Render::read(text.as_bytes());
    if !render.broken.is_empty() {
        return Read::Broken;
    }
    // Kinds that Helm does not know come last, by their names.
    let order = |kind: &str| {
        let is_known =
            install_rank(kind) < install_rank("") && !(version == Version::Helm3 && NEW_IN_HELM_4.contains(&kind));
        (!is_known, if is_known { install_rank(kind) } else { 0 }, if is_known { "" } else { kind }.to_owned())
    };
    let templates = BTreeMap::new();
    let revision = Revision {
        name: "",
        namespace: "",
        version: 1,
        status: "",
        chart: render.chart(),
        documents: &render.documents,
        templates: &templates,
        apply_method: ApplyMethod::ClientSide,
        dropped_hooks: None,
    };
    let mut hooks: Vec<_> = revision.record()["hooks"].as_array().unwrap().iter().map(hook).collect();
    hooks.sort_by_key(|hook| order(hook["kind"].as_str().unwrap()));
    let resources = render.documents.iter().filter(|document| document.identity == Identity::Resource);
    let mut resources: Vec<_> = resources.map(|document| (document.head.kind.clone(), bare(&document.text))).collect();
    resources.sort_by_key(|(kind, _)| order(kind));
    Read::Objects { hooks, resources }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Version {
    Helm3,
    Helm4,
}

const NEW_IN_HELM_4: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Where we read something else than Helm, on purpose.
fn is_listed(version: Version, text: &str, reading: &Reading) -> bool {
    // An annotation that is no scalar: Helm renders nothing of such a chart, so that there is no release to judge, and
    // of a manifest that was made otherwise we judge the rest.
    let is_refused = reading.error.as_ref().is_some_and(|error| error.contains("of type string"));
    // Helm 3 cuts the blanks off that end a document, and with them those of a block scalar. We read as Helm 4.
    let ends_blank = |document: &str| document.trim_end_matches(['\r', '\n']).ends_with([' ', '\t']);
    is_refused || (version == Version::Helm3 && text.split("\n---").any(ends_blank))
}

/// How many readings are the same and how many are listed differences; panics at any other.
fn compare(texts: &[String]) -> Option<(usize, usize)> {
    let (mut same, mut listed) = (0, 0);
    for (text, answers) in texts.iter().zip(ask(texts)?) {
        for (version, reading) in [(Version::Helm3, &answers.helm3), (Version::Helm4, &answers.helm4)] {
            let (theirs, ours) = (helm(reading), ours(text, version));
            if theirs == ours {
                same += 1;
                continue;
            }
            let what = format!("{version:?} reads {text:?}\nas {theirs:?}\nwe as {ours:?}\n{:?}", reading.error);
            assert!(is_listed(version, text, reading), "{what}");
            listed += 1;
        }
    }
    Some((same, listed))
}

#[test]
fn oracle_asks_the_versions_that_everything_else_is_tested_with() {
    let pins = |tool: &str, module: &str| {
        let pinned = fs::read_to_string(root().join(format!("e2e/tools/{tool}/go.mod"))).unwrap();
        let version = pinned.lines().find_map(|line| line.trim().strip_prefix(module).map(str::to_owned));
        version.unwrap().trim_end_matches("// indirect").trim().to_owned()
    };
    for (tool, module) in [("helm3", "helm.sh/helm/v3 v"), ("helm4", "helm.sh/helm/v4 v")] {
        assert_eq!(pins("oracle", module), pins(tool, module));
    }
}

#[test]
fn oracle_helm_reads_rendered_charts_as_we_do() {
    let field = "../shared/corpus/field";
    let folders = ["tests/corpus/charts", field].into_iter().filter(|folder| root().join(folder).is_dir());
    let rendered = folders.flat_map(|folder| files(folder, "yaml"));
    let texts: Vec<_> = rendered.map(|file| fs::read_to_string(file).unwrap()).collect();
    if let Some(counts) = compare(&texts) {
        assert_eq!(counts, (texts.len() * 2, 0));
    }
}

#[test]
fn oracle_helm_reads_generated_streams_as_we_do() {
    let texts = streams();
    if let Some((same, listed)) = compare(&texts) {
        assert!(same > STREAMS && listed > 0, "{same} readings are the same, {listed} are listed differences");
    }
}

#[test]
fn oracle_helm_reads_of_a_mended_stream_the_same_hooks() {
    if let Some(changed) = mended(&streams()) {
        assert!(changed > 0, "no policy was mended");
    }
}

#[test]
fn oracle_helm_reads_of_what_fuzzing_found_the_same_hooks_when_it_is_mended() {
    let found = ["fuzz/corpus/fix", "fuzz/corpus/yaml"].into_iter().flat_map(|folder| {
        let paths = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        paths.filter_map(|path| fs::read_to_string(path).ok())
    });
    if let Some(changed) = mended(&found.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()) {
        assert!(changed > 0, "no policy was mended");
    }
}

/// In how many readings of these texts `fix` adds a policy; panics where it changes anything else.
fn mended(texts: &[String]) -> Option<usize> {
    let settings = Settings::parse(&json!({"selectors": [{}]})).unwrap();
    let options = Options { settings: &settings, complete_events: false };
    let mend = |text: &String| String::from_utf8(fix(text.as_bytes(), options).stream).unwrap();
    let mended: Vec<_> = texts.iter().map(mend).collect();
    let (before, after) = (ask(texts)?, ask(&mended)?);
    let mut changed = 0;
    for ((text, before), after) in texts.iter().zip(before).zip(after) {
        for (before, after) in [(before.helm3, after.helm3), (before.helm4, after.helm4)] {
            let (before, after) = (meaning(&before), meaning(&after));
            changed += usize::from(before != after);
            assert_eq!(before.len(), after.len(), "{text:?}");
            for (before, mut after) in before.into_iter().zip(after) {
                if after != before {
                    let policies = after["delete_policies"].as_array_mut().unwrap();
                    policies.retain(|policy| policy != "before-hook-creation");
                }
                assert_eq!(before, after, "{text:?}");
            }
        }
    }
    Some(changed)
}

/// Of what Helm reads all that `fix` must keep, but that it may add before-hook-creation.
fn meaning(reading: &Reading) -> Vec<Value> {
    match helm(reading) {
        Read::Broken => vec![json!("broken")],
        Read::Objects { hooks, resources } => {
            let hooks = hooks.into_iter().map(|mut hook| {
                hook.as_object_mut().unwrap().remove("manifest");
                if let Some(policies) = hook["delete_policies"].as_array_mut() {
                    // Others it remembers, and never acts on them.
                    policies.retain(|policy| DeletePolicy::ALL.iter().any(|known| policy == known.as_str()));
                }
                hook
            });
            hooks.chain(resources.into_iter().map(|resource| json!(resource))).collect()
        }
    }
}

fn streams() -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    (0..STREAMS).map(|_| stream().new_tree(&mut runner).unwrap().current()).collect()
}

fn hook_value() -> impl Strategy<Value = String> {
    let event = select(vec![
        "pre-install",
        "post-install",
        "pre-upgrade",
        "post-upgrade",
        "pre-rollback",
        "post-delete",
        "test",
        "test-success",
        "Pre-Install",
        " post-upgrade ",
        "crd-install",
        "",
        " ",
        "test-failure",
        "pre-install\t",
        "PRE-DELETE",
    ]);
    prop::collection::vec(event, 1..4).prop_map(|events| events.join(","))
}

fn annotation() -> impl Strategy<Value = (String, String)> {
    let weight = select(vec![
        "0",
        "5",
        "-5",
        "+3",
        "1.5",
        "abc",
        "",
        " 7",
        "7 ",
        "0x10",
        "1_000",
        "007",
        "99999999999999999999",
        "2147483648",
        "-0",
        "1e3",
    ]);
    let policy = select(vec![
        "before-hook-creation",
        "hook-succeeded",
        "hook-failed",
        "Hook-Failed, before-hook-creation",
        "",
        "never",
        "hook-succeeded,,",
    ]);
    prop_oneof![
        4 => hook_value().prop_map(|value| ("helm.sh/hook".to_owned(), value)),
        2 => weight.prop_map(|value| ("helm.sh/hook-weight".to_owned(), value.to_owned())),
        2 => policy.prop_map(|value| ("helm.sh/hook-delete-policy".to_owned(), value.to_owned())),
        1 => Just(("other".to_owned(), "a: b # c".to_owned())),
    ]
}

/// A scalar in one of YAML's styles, right or not.
fn scalar(value: String) -> impl Strategy<Value = String> {
    (0..5).prop_map(move |style| match style {
        0 => value.clone(),
        1 => format!("'{}'", value.replace('\'', "''")),
        2 | 3 => Value::from(value.as_str()).to_string(),
        _ => format!("|-\n      {value}"),
    })
}

fn document() -> impl Strategy<Value = String> {
    let kind = select(vec![
        "Job",
        "ServiceAccount",
        "Secret",
        "ConfigMap",
        "Service",
        "Deployment",
        "Pod",
        "CronJob",
        "Widget",
        "Gadget",
        "Namespace",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ConfigMapList",
        "Ingress",
    ]);
    let annotations = prop::collection::vec(
        annotation().prop_flat_map(|(key, value)| scalar(value).prop_map(move |value| format!("    {key}: {value}\n"))),
        0..4,
    );
    let name = select(vec!["a", "b", "orders-migrate", "'1'", "1", "true", "~", "\"a\\u0062\""]);
    let shape = prop_oneof![8 => Just(0), 1 => Just(1), 1 => Just(2), 1 => Just(3), 1 => Just(4)];
    (kind, annotations, name, shape).prop_map(|(kind, annotations, name, shape)| {
        let annotations = if annotations.is_empty() {
            String::new()
        } else {
            format!("  annotations:\n{}", annotations.concat())
        };
        match shape {
            0 => format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n{annotations}"),
            1 => format!("metadata:\n{annotations}  name: {name}\nkind: {kind}\napiVersion: v1\nspec: {{a: [1, 2]}}\n"),
            2 => format!("# comment\n\nkind: {kind}\nmetadata: {{name: {name}, annotations: {{helm.sh/hook: pre-install}}}}\n"),
            3 => format!("kind: {kind}\ndata:\n  a: |\n    text\n     --- no separator\n    more\nmetadata:\n  name: {name}\n{annotations}"),
            _ => format!("kind: {kind}\nmetadata:\n  name: {name}\n  annotations: {{\"helm.sh/hook\": [pre-install]}}\n"),
        }
    })
}

fn stream() -> impl Strategy<Value = String> {
    let separator = select(vec![
        "---\n",
        "---\n",
        "--- # note\n",
        "---   \n",
        "---\r\n",
        "\n---\n\n",
        "---\n# only a comment\n---\n",
        "---\n---\n",
    ]);
    let part = (separator, document()).prop_map(|(separator, document)| format!("{separator}{document}"));
    (prop::collection::vec(part, 0..5), select(vec!["", "\n", "  \n", "\u{feff}"]), any::<bool>()).prop_map(
        |(parts, before, is_windows)| {
            let text = before.to_owned() + &parts.concat();
            if is_windows && text.len() % 7 == 0 { text.replace('\n', "\r\n") } else { text }
        },
    )
}
