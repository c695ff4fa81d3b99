//! A pretty JSON document with a list `results` that is written item by item, the bytes being those of the whole at once.

use std::io::{self, Write};

use serde::Serialize;

const EMPTY: &str = "\"results\": []";

/// The list, as far as it is written.
#[derive(Default)]
pub(super) struct Results {
    /// What stands before the line in which the list begins.
    indent: String,
    has_items: bool,
}

impl Results {
    /// Writes what goes before the items of a document whose list is empty yet.
    pub(super) fn begin(out: &mut dyn Write, document: &impl Serialize) -> io::Result<Self> {
        let text = serde_json::to_string_pretty(document)?;
        let (before, _) = text.split_once(EMPTY).unwrap_or((&text, ""));
        let last_line = before.rsplit('\n').next().unwrap_or_default();
        write!(out, "{before}\"results\": [")?;
        Ok(Self { indent: format!("\n{last_line}"), has_items: false })
    }

    pub(super) fn push(&mut self, out: &mut dyn Write, item: &impl Serialize) -> io::Result<()> {
        let comma = if self.has_items { "," } else { "" };
        self.has_items = true;
        let indent = format!("{}  ", self.indent);
        let text = serde_json::to_string_pretty(item)?.replace('\n', &indent);
        write!(out, "{comma}{indent}{text}")
    }

    /// Writes what goes behind the items; what was said before them is not said again.
    pub(super) fn end(&self, out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(document)?;
        let (_, after) = text.split_once(EMPTY).unwrap_or_default();
        let indent = if self.has_items { &self.indent } else { "" };
        writeln!(out, "{indent}]{after}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Results;

    fn written(items: &[Value]) -> String {
        let empty = json!({"a": {"text": "\"results\": []", "results": [], "z": 1}});
        let mut out = Vec::new();
        let mut results = Results::begin(&mut out, &empty).unwrap();
        for item in items {
            results.push(&mut out, item).unwrap();
        }
        results.end(&mut out, &empty).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_bytes_are_those_of_the_whole() {
        for items in [vec![], vec![json!({})], vec![json!({"k": ["\n", {}]}), json!(1), json!([])]] {
            let whole = json!({"a": {"text": "\"results\": []", "results": items, "z": 1}});
            assert_eq!(written(&items), serde_json::to_string_pretty(&whole).unwrap() + "\n");
        }
    }
}
