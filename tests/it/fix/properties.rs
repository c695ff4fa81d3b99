//! What holds for every stream, asked of generated ones.

use helm::yaml::{Limits, parse};
use helm::{DeletePolicies, DeletePolicy, Events};
use proptest::prelude::*;
use serde_json::Value;
use stable_hooks::fix::{Fixed, Options, fix};
use stable_hooks_policy::Settings;

const HOOK: &str = "helm.sh/hook";
const POLICY: &str = "helm.sh/hook-delete-policy";

const EVENTS: [&str; 5] = ["pre-install", "post-install", "pre-upgrade", "POST-upgrade", " pre-rollback "];
const POLICIES: [&str; 4] = ["hook-failed", "Hook-Succeeded", "hook-failed ", "before-hook-creation"];
const ODD: [&str; 5] = ["test", "", "nonsense", "it's", "ä"];

/// Words of a grammar, and now and then one that is odd there.
fn value(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    let word = prop_oneof![9 => prop::sample::select(words), 1 => prop::sample::select(&ODD[..])];
    prop::collection::vec(word, 1..4).prop_map(|words| words.join(","))
}

/// A line that gives an annotation that value in one of YAML's styles.
fn annotation(key: &'static str, words: &'static [&'static str]) -> impl Strategy<Value = String> {
    let single = |value: &str| format!("'{}'", value.replace('\'', "''"));
    (value(words), 0..6).prop_map(move |(value, style)| match style {
        0 => format!("    {key}: {}  # kept\n", value.trim().trim_end_matches(',')),
        1 => format!("    {key}:   {} # kept\n", single(&value)),
        2 => format!("    \"{key}\": {}\n", Value::from(value)),
        3 => format!("    {key}: |-  # kept\n      {}\n", value.trim_start()),
        4 => format!("    ? {key}\n    : !!str {}\n", single(&value)),
        _ => format!("    {key}: &same {}\n    same: *same\n", single(&value)),
    })
}

fn document() -> impl Strategy<Value = String> {
    let kinds = vec![
        "batch/v1\nkind: Job",
        "batch/v1\nkind: Job",
        "v1\nkind: ServiceAccount",
        "v1\nkind: Secret",
        "v1\nkind: [\n",
        "apps/v1\nkind: Deployment",
    ];
    let parts = (
        prop::sample::select(kinds),
        "[a-f]",
        prop::option::of(annotation(HOOK, &EVENTS)),
        prop::option::of(annotation(POLICY, &POLICIES)),
    );
    (parts, prop::sample::select(vec!["migrate", "migrator", "migrations", "web"]), ".{0,8}", "[a-f]", any::<bool>()).prop_map(
        |((kind, name, hook, policy), app, noise, account, after)| {
            let annotations = [hook, policy].into_iter().flatten().collect::<String>();
            let annotations = if annotations.is_empty() { "    a: b\n".to_owned() } else { annotations };
            let noise = noise.replace(|character: char| character.is_control(), " ");
            let spec = format!("spec:\n  template: {{spec: {{serviceAccountName: {account}}}}}\n# {noise}\n");
            let (first, last) = if after { ("", spec) } else { (spec.as_str(), String::new()) };
            format!("apiVersion: {kind}\n{first}metadata:\n  name: {name}\n  labels: {{app: {app}}}\n  annotations:\n{annotations}{last}")
        },
    )
}

/// Documents, separators and line breaks of several kinds.
fn stream() -> impl Strategy<Value = String> {
    let separators = prop::sample::select(vec!["---\n", "--- # b\n", "---\t\n\n", "\n\n---\n# Source: a/b.yaml\n"]);
    let starts = prop::sample::select(vec!["", "\u{feff}", "---\n"]);
    (starts, prop::collection::vec((document(), separators), 1..5), any::<bool>()).prop_map(
        |(start, documents, crlf)| {
            let text = documents
                .into_iter()
                .fold(start.to_owned(), |text, (document, separator)| text + &document + separator);
            if crlf { text.replace('\n', "\r\n") } else { text }
        },
    )
}

fn mended(stream: &str, complete_events: bool) -> Fixed {
    let settings = Settings::parse(&serde_json::json!({})).unwrap();
    fix(stream.as_bytes(), Options { settings: &settings, complete_events })
}

fn documents(stream: &str) -> Vec<Option<Value>> {
    let cut = stream.split_inclusive('\n').fold(vec![String::new()], |mut texts, line| {
        if line.starts_with("---") {
            texts.push(line.replacen("---", "", 1));
        } else {
            texts.last_mut().unwrap().push_str(line);
        }
        texts
    });
    cut.iter().map(|text| parse(text, &Limits::default()).ok().flatten().map(|(_, value)| value)).collect()
}

/// Takes an annotation out, as Helm reads it.
fn take(document: &mut Value, key: &str) -> Option<String> {
    let value = document.pointer_mut("/metadata/annotations")?.as_object_mut()?.remove(key)?;
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

proptest! {
    #[test]
    fn fix_property_a_mended_stream_stays(stream in stream(), complete in any::<bool>()) {
        let once = mended(&stream, complete);
        let twice = mended(str::from_utf8(&once.stream).unwrap(), complete);
        prop_assert_eq!(&once.stream, &twice.stream);
    }

    #[test]
    fn fix_property_only_the_values_of_two_annotations_change(stream in stream(), complete in any::<bool>()) {
        let after = String::from_utf8(mended(&stream, complete).stream).unwrap();
        prop_assert_eq!(stream.lines().count(), after.lines().count());
        let mut last = "";
        for (before, after) in stream.split_inclusive('\n').zip(after.split_inclusive('\n')) {
            if before != after {
                let is_hook = |line: &str| line.contains(HOOK) && !line.contains("hook-weight");
                prop_assert!(is_hook(before) || is_hook(last), "{before:?} became {after:?}");
                let indent = |line: &str| line.chars().take_while(|character| *character == ' ').count();
                prop_assert_eq!(indent(before), indent(after));
                let tail = |line: &str| line.split_once(" # kept").map(|(_, tail)| tail.to_owned());
                prop_assert_eq!(tail(before), tail(after));
            }
            last = before;
        }
    }

    #[test]
    fn fix_property_helm_reads_what_was_intended(stream in stream(), complete in any::<bool>()) {
        let after = String::from_utf8(mended(&stream, complete).stream).unwrap();
        for (before, after) in documents(&stream).into_iter().zip(documents(&after)) {
            prop_assert_eq!(before.is_some(), after.is_some());
            let (Some(mut before), Some(mut after)) = (before, after) else { continue };
            let hooks = [take(&mut before, HOOK), take(&mut after, HOOK)];
            let policies = [take(&mut before, POLICY), take(&mut after, POLICY)];
            prop_assert_eq!(before, after);
            let [Some(before), Some(after)] = &hooks else {
                prop_assert_eq!(&hooks[0], &hooks[1]);
                prop_assert_eq!(&policies[0], &policies[1]);
                continue;
            };
            if let (Ok(before), Ok(after)) = (Events::parse(before), Events::parse(after)) {
                prop_assert!(after == before || complete && after == before.completed());
            } else {
                prop_assert_eq!(before, after);
            }
            let [Some(before), Some(after)] = &policies else {
                prop_assert_eq!(&policies[0], &policies[1]);
                continue;
            };
            let known = |value: &str, more: Option<DeletePolicy>| {
                let mut known: Vec<_> = DeletePolicies::parse(value).iter().chain(more).collect();
                known.sort_unstable();
                known.dedup();
                known
            };
            if before != after {
                prop_assert_eq!(known(before, Some(DeletePolicy::BeforeHookCreation)), known(after, None));
            }
        }
    }
}
