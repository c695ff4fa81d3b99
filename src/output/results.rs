//! A pretty JSON document that is written piece by piece, its bytes being those of the whole at once.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter as _, PrettyFormatter};

/// The document, as far as it is written.
#[derive(Default)]
pub(super) struct Pretty {
    /// The objects and lists that are not closed yet, the innermost last.
    open: Vec<Open>,
}

struct Open {
    end: char,
    is_empty: bool,
}

impl Pretty {
    /// The document itself, or the next item of a list.
    pub(super) fn open_object(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.separate(out)?;
        self.open(out, '{', '}')
    }

    /// A field whose items come one by one.
    pub(super) fn open_list(&mut self, out: &mut dyn Write, name: &str) -> io::Result<()> {
        self.name(out, name)?;
        self.open(out, '[', ']')
    }

    pub(super) fn field(&mut self, out: &mut dyn Write, name: &str, value: &impl Serialize) -> io::Result<()> {
        self.name(out, name)?;
        self.value(out, value)
    }

    pub(super) fn item(&mut self, out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
        self.separate(out)?;
        self.value(out, value)
    }

    /// Ends the innermost object or list; the document ends with a line break.
    pub(super) fn close(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some(Open { end, is_empty }) = self.open.pop() else { return Ok(()) };
        if !is_empty {
            write!(out, "{}", self.line_break())?;
        }
        let after = if self.open.is_empty() { "\n" } else { "" };
        write!(out, "{end}{after}")
    }

    fn open(&mut self, out: &mut dyn Write, start: char, end: char) -> io::Result<()> {
        self.open.push(Open { end, is_empty: true });
        write!(out, "{start}")
    }

    fn name(&mut self, out: &mut dyn Write, name: &str) -> io::Result<()> {
        self.separate(out)?;
        write!(out, "{}: ", serde_json::to_string(name)?)
    }

    fn value(&self, out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
        let mut text = Vec::new();
        let mut deep = PrettyFormatter::new();
        for _ in &self.open {
            // It counts what is open, and indents by that.
            deep.begin_object(&mut io::sink())?;
        }
        value.serialize(&mut Serializer::with_formatter(&mut text, deep))?;
        out.write_all(&text)
    }

    fn separate(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let line_break = self.line_break();
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        let comma = if open.is_empty { "" } else { "," };
        open.is_empty = false;
        write!(out, "{comma}{line_break}")
    }

    fn line_break(&self) -> String {
        format!("\n{}", "  ".repeat(self.open.len()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Pretty;

    fn written(items: &[Value]) -> String {
        let (mut out, mut pretty) = (Vec::new(), Pretty::default());
        pretty.open_object(&mut out).unwrap();
        pretty.open_list(&mut out, "a \"quoted\"\n").unwrap();
        pretty.open_object(&mut out).unwrap();
        pretty.field(&mut out, "before", &json!({"text": "\"results\": []"})).unwrap();
        pretty.open_list(&mut out, "results").unwrap();
        for item in items {
            pretty.item(&mut out, item).unwrap();
        }
        pretty.close(&mut out).unwrap();
        pretty.field(&mut out, "summary", &json!({"count": 1})).unwrap();
        pretty.close(&mut out).unwrap();
        pretty.close(&mut out).unwrap();
        pretty.field(&mut out, "z", &json!([])).unwrap();
        pretty.close(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_bytes_are_those_of_the_whole() {
        for items in [vec![], vec![json!({})], vec![json!({"k": ["\n", {}]}), json!(1), json!([])]] {
            let run = json!({"before": {"text": "\"results\": []"}, "results": items, "summary": {"count": 1}});
            let whole = json!({"a \"quoted\"\n": [run], "z": []});
            assert_eq!(written(&items), serde_json::to_string_pretty(&whole).unwrap() + "\n");
        }
    }
}
