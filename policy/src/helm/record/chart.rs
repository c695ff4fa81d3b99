//! What of a chart is looked at: which of its templates ask whether this is an install or an upgrade.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use memchr::memmem;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::BASE64;
use super::json::or_empty;
use crate::helm;

#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct Chart {
    #[serde(deserialize_with = "or_empty")]
    metadata: Metadata,
    #[serde(deserialize_with = "or_empty")]
    templates: Conditional,
}

impl Chart {
    pub(super) fn conditional_templates(self) -> BTreeSet<String> {
        self.templates.0.into_iter().map(|name| format!("{}/{name}", self.metadata.name)).collect()
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
struct Conditional(BTreeSet<String>);

#[derive(serde::Deserialize)]
struct Template<'a> {
    #[serde(default, deserialize_with = "or_empty")]
    name: String,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

impl<'de> Deserialize<'de> for Conditional {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Templates;

        impl<'de> Visitor<'de> for Templates {
            type Value = Conditional;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of templates")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
                let (mut found, mut source) = (BTreeSet::new(), Vec::new());
                while let Some(template) = from.next_element::<Option<Template<'de>>>()? {
                    if let Some(Template { name, data: Some(data) }) = template {
                        source.clear();
                        // Base64 holds nothing that JSON would escape. What is none is no template that Helm wrote.
                        let data = data.get().trim_matches('"');
                        if BASE64.decode_vec(data, &mut source).is_ok() && is_conditional_hook(&source) {
                            found.insert(name);
                        }
                    }
                }
                Ok(Conditional(found))
            }
        }

        from.deserialize_seq(Templates)
    }
}

fn is_conditional_hook(source: &[u8]) -> bool {
    let mentions = |word: &str| memmem::find(source, word.as_bytes()).is_some();
    mentions(helm::HOOK) && [".Release.IsInstall", ".Release.IsUpgrade"].into_iter().any(mentions)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use serde_json::json;

    use super::{BASE64, Chart};
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
        assert_eq!(
            chart.conditional_templates().into_iter().collect::<Vec<_>>(),
            ["shop/templates/a.yaml", "shop/templates/b.yaml"]
        );
    }
}
