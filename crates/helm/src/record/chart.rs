//! A chart as far as it is looked at: which of its templates ask whether this is an install or an upgrade, and which
//! write a hook that Helm drops.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use memchr::memmem;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::base64::BASE64;
use super::lenient::or_empty;
use super::revision::DroppedHook;
use crate::annotation::HOOK;
use crate::hook::Events;

#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct Chart {
    #[serde(deserialize_with = "or_empty")]
    metadata: Metadata,
    #[serde(deserialize_with = "or_empty")]
    templates: HookTemplates,
}

impl Chart {
    /// Those that ask, and of those that write a hook which Helm drops its events.
    pub(super) fn hook_templates(self) -> (BTreeSet<String>, Vec<DroppedHook>) {
        let HookTemplates { conditional, mut dropped } = self.templates;
        let path = |name: &str| format!("{}/{name}", self.metadata.name);
        for hook in &mut dropped {
            hook.template = path(&hook.template);
        }
        (conditional.iter().map(|name| path(name)).collect(), dropped)
    }
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Metadata {
    #[serde(deserialize_with = "or_empty")]
    name: String,
}

/// The names of such templates. Their sources are looked through one at a time and not kept.
#[derive(Default)]
struct HookTemplates {
    conditional: BTreeSet<String>,
    dropped: Vec<DroppedHook>,
}

#[derive(serde::Deserialize)]
struct Template<'a> {
    #[serde(default, deserialize_with = "or_empty")]
    name: String,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl<'de> Deserialize<'de> for HookTemplates {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Templates;

        impl<'de> Visitor<'de> for Templates {
            type Value = HookTemplates;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of templates")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
                let (mut found, mut source) = (HookTemplates::default(), Vec::new());
                while let Some(template) = from.next_element::<Option<Template<'de>>>()? {
                    if let Some(Template { name, data: Some(data) }) = template {
                        source.clear();
                        // Base64 holds nothing that JSON would escape. What is none is no template that Helm wrote.
                        let data = data.get().trim_matches('"');
                        if BASE64.decode_vec(data, &mut source).is_ok() {
                            found.look_at(name, &source);
                        }
                    }
                }
                Ok(found)
            }
        }

        from.deserialize_seq(Templates)
    }
}

impl HookTemplates {
    fn look_at(&mut self, name: String, source: &[u8]) {
        let mentions = |word: &str| memmem::find(source, word.as_bytes()).is_some();
        if !mentions(HOOK) {
            return;
        }
        if let Some(events) = dropped_hook(source) {
            self.dropped.push(DroppedHook { template: name.clone(), events, is_told: false });
        }
        if [".Release.IsInstall", ".Release.IsUpgrade"].into_iter().any(mentions) {
            self.conditional.insert(name);
        }
    }
}

/// The first `helm.sh/hook: events` in a template that Helm would drop, where the events stand there as they are.
fn dropped_hook(source: &[u8]) -> Option<String> {
    memmem::find_iter(source, HOOK.as_bytes()).find_map(|at| {
        let (before, key) = source.split_at_checked(at)?;
        let events = scalar(indent_of_last_line(before), key.get(HOOK.len()..)?)?;
        Events::parse(events).is_err().then(|| events.to_owned())
    })
}

fn indent_of_last_line(text: &[u8]) -> usize {
    let line = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    line.iter().take_while(|byte| **byte == b' ').count()
}

/// The value of a key at that indentation, if it is written without an action of a template.
fn scalar(indent: usize, behind_key: &[u8]) -> Option<&str> {
    let mut lines = behind_key.split(|byte| *byte == b'\n').map(str::from_utf8);
    let value = lines.next()?.ok()?;
    let value = value.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim();
    if !matches!(value, "" | "|" | "|-" | "|+" | ">" | ">-" | ">+") {
        return plain_scalar(value);
    }
    // On the lines below, where they are deeper; else there is nothing, which is null.
    let mut below = lines.map_while(Result::ok).filter(|line| !line.trim().is_empty());
    let first = below.next().unwrap_or_default();
    let is_deeper = |line: &str| indent_of_last_line(line.as_bytes()) > indent;
    if first.trim_start().starts_with("{{") {
        None
    } else if !is_deeper(first) {
        Some("")
    } else if below.next().is_some_and(is_deeper) {
        None
    } else {
        plain_scalar(first.trim())
    }
}

/// The value of a scalar that is written on one line without an action of a template, an escape or an anchor.
fn plain_scalar(value: &str) -> Option<&str> {
    if value.contains(['{', '\\']) || value.starts_with(['|', '>', '&', '*', '!', '[', '#']) {
        return None;
    }
    match value.chars().next()? {
        quote @ ('"' | '\'') => value.split(quote).nth(1),
        // Behind it may stand a comment.
        _ => value.split('#').next().map(str::trim_end),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use serde_json::json;

    use super::{BASE64, Chart, dropped_hook};
    use crate::testing::test;

    #[test]
    fn only_hooks_that_ask_are_named() {
        let template = |name: &str, source: &str| json!({"name": name, "data": BASE64.encode(source)});
        let chart = json!({
            "templates": [
                template("templates/b.yaml", "{{ if .Release.IsUpgrade }}\nhelm.sh/hook: pre-upgrade\n{{ end }}"),
                template("templates/a.yaml", "helm.sh/hook: {{ ternary `a` `b` $.Release.IsInstall }}"),
                template("templates/hook.yaml", "helm.sh/hook: pre-upgrade"),
                template("templates/plain.yaml", "{{ if .Release.IsUpgrade }}{{ end }}"),
                template("templates/empty.yaml", ""),
                {"name": "templates/broken.yaml", "data": "?"},
                {"name": null, "data": null},
                {"modtime": "2026-01-01"},
                null,
            ],
            "files": null,
            "metadata": {"name": "shop", "version": 5},
        });
        let chart: Chart = serde_json::from_str(&chart.to_string()).unwrap();
        let (conditional, dropped) = chart.hook_templates();
        assert_eq!(conditional.into_iter().collect::<Vec<_>>(), ["shop/templates/a.yaml", "shop/templates/b.yaml"]);
        assert!(dropped.is_empty());
    }

    #[test]
    fn a_hook_that_helm_drops_is_found_where_it_stands_as_it_is() {
        for (line, events) in [
            ("helm.sh/hook: pre-install,pre-update", "pre-install,pre-update"),
            ("\"helm.sh/hook\": \"crd-install\" # why", "crd-install"),
            ("'helm.sh/hook' : ''", ""),
            ("helm.sh/hook: none # why\r", "none"),
            ("  helm.sh/hook:\n  team: orders\n", ""),
            ("  \"helm.sh/hook\": >-\n    pre-update\n  team: orders\n", "pre-update"),
            ("helm.sh/hook: pre-install\n helm.sh/hook: pre-update\n", "pre-update"),
        ] {
            assert_eq!(dropped_hook(line.as_bytes()).as_deref(), Some(events), "{line}");
        }
        for line in [
            "helm.sh/hook: {{ .Values.events }}",
            "helm.sh/hook: pre-{{ .Values.event }}",
            "helm.sh/hook: pre-install, PRE-upgrade",
            "helm.sh/hook:\n  {{ .Values.events }}",
            "helm.sh/hook: >-\n  pre-install,\n  pre-update",
            "helm.sh/hook-weight: x",
            "helm.sh/hook: *events",
            "\"helm.sh/hook\" (list `x`)",
            "",
        ] {
            assert_eq!(dropped_hook(line.as_bytes()), None, "{line}");
        }
        assert_eq!(dropped_hook(b"helm.sh/hook: \xff"), None);
    }
}
