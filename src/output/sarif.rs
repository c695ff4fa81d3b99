//! SARIF 2.1.0, for code scanning: one result a finding, with the rule's own page as its help.

use std::io::{self, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use stable_hooks_policy::{RuleId, docs, rule, rules};

use super::results::Pretty;
use super::writer::Writer;
use crate::judged::{Finding, Judged, Level, Place, Summary};

#[derive(Default)]
pub(super) struct Sarif(Pretty);

impl Writer for Sarif {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.0.open_object(out)?;
        self.0.field(out, "$schema", &"https://json.schemastore.org/sarif-2.1.0.json")?;
        self.0.open_list(out, "runs")?;
        self.0.open_object(out)?;
        self.0.open_list(out, "results")
    }

    fn result(&mut self, out: &mut dyn Write, judged: &Judged) -> io::Result<()> {
        judged.findings.iter().try_for_each(|finding| self.0.item(out, &result(judged, finding)))
    }

    fn end(&mut self, out: &mut dyn Write, _: &Summary) -> io::Result<()> {
        self.0.close(out)?;
        self.0.field(out, "tool", &json!({"driver": driver()}))?;
        self.0.close(out)?;
        self.0.close(out)?;
        self.0.field(out, "version", &"2.1.0")?;
        self.0.close(out)
    }
}

fn driver() -> Value {
    let rules: Vec<_> = RuleId::ALL.iter().map(|id| descriptor(*id)).collect();
    json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": rules,
    })
}

fn descriptor(id: RuleId) -> Value {
    let body = docs::body(id);
    let level = match id.default_level() {
        rule::Level::Off => "none",
        rule::Level::Warn => "warning",
        rule::Level::Deny => "error",
        rule::Level::Fix => "note",
    };
    json!({
        "id": id.as_str(),
        "shortDescription": {"text": rules::summary(id)},
        "help": {"text": body, "markdown": body},
        "helpUri": id.page(),
        "defaultConfiguration": {"level": level},
    })
}

fn result(judged: &Judged, finding: &Finding) -> Value {
    let level = match finding.level {
        Level::Deny => "error",
        Level::Warn => "warning",
        Level::Fix => "note",
    };
    let mut result = json!({
        "level": level,
        "message": {"text": finding.text()},
        "locations": [{
            "physicalLocation": physical_location(judged.place_of(finding)),
            "logicalLocations": [{"fullyQualifiedName": finding.object.to_string(), "kind": "object"}],
        }],
    });
    let index = RuleId::ALL.iter().position(|id| finding.is_of(*id));
    if let (Some(index), Some(fields)) = (index, result.as_object_mut()) {
        fields.insert("ruleId".to_owned(), finding.rule_text().into());
        fields.insert("ruleIndex".to_owned(), index.into());
    }
    result
}

fn physical_location(place: &Place) -> Value {
    let mut location = json!({"artifactLocation": {"uri": uri(&place.file)}});
    if let (Some(line), Some(fields)) = (place.line, location.as_object_mut()) {
        fields.insert("region".to_owned(), json!({"startLine": line}));
    }
    location
}

/// RFC 3986 lets these four marks stand, and the slash separates the segments of a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A path as a relative URI, or with a scheme if it is absolute.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", utf8_percent_encode(path, ESCAPED))
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("charts/a b/ü:1.yaml"), "charts/a%20b/%C3%BC%3A1.yaml");
        assert_eq!(uri("/srv/x"), "file:///srv/x");
        assert_eq!(uri("../a_b~c-1.d"), "../a_b~c-1.d");
        assert_eq!(uri("100%#?&=+,;@!$'()*[]"), "100%25%23%3F%26%3D%2B%2C%3B%40%21%24%27%28%29%2A%5B%5D");
        assert_eq!(uri("\"<>\\^`{|}\t\u{7f}"), "%22%3C%3E%5C%5E%60%7B%7C%7D%09%7F");
        assert_eq!(uri("日本/\u{1f600}"), "%E6%97%A5%E6%9C%AC/%F0%9F%98%80");
    }
}
