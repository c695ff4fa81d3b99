//! Changes one annotation in a document's text: the parser says where its value stands, and what comes out is read again.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};
use helm::yaml::{self, Limits};
use json_patch::jsonptr::Pointer;
use serde_json::Value;

pub(super) const ANNOTATIONS: &Pointer = Pointer::from_static("/metadata/annotations");

/// An annotation that is there, and the value that it should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) key: &'static str,
    pub(super) value: String,
}

/// Why a text is not changed.
type Obstacle = &'static str;

const UNSAFE: Obstacle = "it is written in a way that cannot be changed safely";

/// The text with the edit made, and proven to say just that.
pub(super) fn apply(text: &str, edit: &Edit) -> Result<String, Obstacle> {
    let place = locate(text, edit.key)?;
    let written = place.write(text, &edit.value).ok_or(UNSAFE)?;
    let (before, after) = (text.get(..place.range.start), text.get(place.range.end..));
    let changed = before.zip(after).map(|(before, after)| [before, &written, after].concat());
    changed
        .filter(|changed| reads_as_intended(text, changed, edit))
        .ok_or("changing it would change something else too")
}

/// As Helm reads both texts, the annotation is what was wanted and nothing else differs.
fn reads_as_intended(before: &str, after: &str, edit: &Edit) -> bool {
    let read = |text| yaml::parse(text, &Limits::default()).ok().flatten().map(|(_, value)| value);
    let (Some(mut intended), Some(found)) = (read(before), read(after)) else { return false };
    let pointer = ANNOTATIONS.with_trailing_token(edit.key);
    let Some(value) = found.pointer(pointer.as_str()).and_then(Value::as_str) else { return false };
    // A block scalar ends with a line break, which Helm trims.
    if value.trim_end_matches('\n') != edit.value {
        return false;
    }
    if let Some(annotation) = intended.pointer_mut(pointer.as_str()) {
        *annotation = value.into();
    }
    intended == found
}

/// Where a value stands, and how it is written.
struct Place {
    range: Range<usize>,
    style: ScalarStyle,
    /// In a flow mapping a comma ends a plain value.
    is_in_flow: bool,
}

impl Place {
    /// The value in the style of the one that it replaces.
    fn write(&self, text: &str, value: &str) -> Option<String> {
        let found = text.get(self.range.clone())?;
        let double_quoted = || Value::from(value).to_string();
        let is_plain = value.starts_with(|first: char| first.is_ascii_lowercase())
            && value.chars().all(|next| next.is_ascii_alphanumeric() || next == '-' || next == ',');
        match self.style {
            // Nothing stands there; the range is that behind the colon.
            ScalarStyle::Plain if found.is_empty() => Some(format!(" {}", double_quoted())),
            ScalarStyle::Plain if is_plain && !(self.is_in_flow && value.contains(',')) => Some(value.to_owned()),
            ScalarStyle::SingleQuoted if value.chars().all(|next| !next.is_control()) => {
                Some(format!("'{}'", value.replace('\'', "''")))
            }
            ScalarStyle::Plain | ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Some(double_quoted()),
            // Its header and the line breaks behind it stay.
            ScalarStyle::Literal | ScalarStyle::Folded => {
                Some(format!("{value}{}", found.get(found.trim_end().len()..)?))
            }
        }
    }
}

/// A collection that has begun and not ended.
enum Open {
    Sequence,
    /// The key is that of the value that comes next.
    Mapping {
        key: Option<String>,
        style: StructureStyle,
    },
}

/// Walks over the events of a document and keeps where it is.
#[derive(Default)]
struct Walk {
    open: Vec<Open>,
}

/// The one place of that annotation's value.
fn locate(text: &str, key: &str) -> Result<Place, Obstacle> {
    let path = ["metadata", "annotations", key];
    let mut seen = [0; 3];
    let mut walk = Walk::default();
    let mut found = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|_| UNSAFE)?;
        let depth = walk.depth_of_value(&path).filter(|_| event.is_node());
        if let Some(times) = depth.and_then(|depth| seen.get_mut(depth)) {
            *times += 1;
            if matches!(event, Event::Alias(_)) {
                return Err("it stands behind an alias, which others may use");
            }
            if *times > 1 {
                return Err("it is written more than once, and the last one wins");
            }
        }
        if let (Some(2), Event::Scalar(value, style, ..)) = (depth, &event) {
            let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
            if is_block && value.trim().is_empty() {
                // There is nothing but its header, with the comment behind it.
                return Err(UNSAFE);
            }
            let (start, end) = (span.start.byte_offset(), span.end.byte_offset());
            let is_in_flow = walk.is_in_flow();
            let range = start.zip(end).and_then(|(start, end)| value_range(text, start, end));
            found = range.map(|range| Place { range, style: *style, is_in_flow });
            if found.is_none() {
                return Err(UNSAFE);
            }
        }
        walk.step(event);
    }
    found.ok_or("it comes from a merge key (<<)")
}

/// The parser puts a value that is not there right behind its key; it belongs behind the colon.
fn value_range(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    if start < end {
        return Some(start..end);
    }
    let rest = text.get(start..)?;
    let behind = text.len() - rest.trim_start_matches([' ', '\t']).strip_prefix(':')?.len();
    Some(behind..behind)
}

impl Walk {
    /// How far along that path the next node is, if it is the value of one of its keys.
    fn depth_of_value(&self, path: &[&str]) -> Option<usize> {
        let depth = self.open.len().checked_sub(1)?;
        let is_key =
            |(open, wanted): (&Open, &&str)| matches!(open, Open::Mapping { key: Some(key), .. } if key == wanted);
        (depth < path.len() && self.open.iter().zip(path).all(is_key)).then_some(depth)
    }

    fn is_in_flow(&self) -> bool {
        self.open.iter().any(|open| matches!(open, Open::Mapping { style: StructureStyle::Flow, .. }))
    }

    fn step(&mut self, event: Event<'_>) {
        match event {
            Event::Scalar(text, ..) => self.node(text.into_owned()),
            Event::Alias(_) => self.node(String::new()),
            Event::SequenceStart(..) => self.open.push(Open::Sequence),
            Event::MappingStart(style, ..) => self.open.push(Open::Mapping { key: None, style }),
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                self.node(String::new());
            }
            _ => {}
        }
    }

    /// A node is over: it was a key or the value of one.
    fn node(&mut self, text: String) {
        if let Some(Open::Mapping { key, .. }) = self.open.last_mut() {
            *key = if key.is_none() { Some(text) } else { None };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, apply};

    fn hook(text: &str) -> Result<String, &'static str> {
        apply(text, &Edit { key: "helm.sh/hook", value: "pre-install,pre-upgrade".to_owned() })
    }

    #[test]
    fn the_style_of_the_value_stays() {
        for (before, after) in [
            ("PRE-upgrade  # why", "pre-install,pre-upgrade  # why"),
            ("\"PRE-upgrade\"", "\"pre-install,pre-upgrade\""),
            ("'PRE-upgrade'\t", "'pre-install,pre-upgrade'\t"),
            ("# nothing", "\"pre-install,pre-upgrade\" # nothing"),
            ("~", "pre-install,pre-upgrade"),
            ("!!str PRE", "!!str pre-install,pre-upgrade"),
            ("&unused PRE", "&unused pre-install,pre-upgrade"),
            ("|- # kept\n      PRE-upgrade\n", "|- # kept\n      pre-install,pre-upgrade\n"),
            (">\n      PRE-upgrade,\n      pre-install\n\n", ">\n      pre-install,pre-upgrade\n\n"),
            ("PRE,\n      pre", "pre-install,pre-upgrade"),
        ] {
            let [before, after] = [before, after].map(|value| {
                format!(
                    "\u{feff}# ä\nmetadata:\r\n  annotations:\r\n    a: b\r\n    helm.sh/hook: {value}\r\n    c: d\r\n"
                )
            });
            assert_eq!(hook(&before).as_deref(), Ok(after.as_str()));
        }
    }

    #[test]
    fn flow_mappings_and_json_stay_what_they_are() {
        for (before, after) in [
            (
                "{metadata: {annotations: {helm.sh/hook: PRE}}}",
                "{metadata: {annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}}}",
            ),
            (
                "{metadata: {annotations: {helm.sh/hook: }}}",
                "{metadata: {annotations: {helm.sh/hook: \"pre-install,pre-upgrade\" }}}",
            ),
            (
                "{\"metadata\":{\"annotations\":{\"helm.sh/hook\":\"PRE\"}}}\n",
                "{\"metadata\":{\"annotations\":{\"helm.sh/hook\":\"pre-install,pre-upgrade\"}}}\n",
            ),
        ] {
            assert_eq!(hook(before).as_deref(), Ok(after));
        }
    }

    #[test]
    fn what_others_may_share_stays() {
        for (text, obstacle) in [
            ("a: &a {helm.sh/hook: PRE}\nmetadata:\n  annotations: *a\n", "alias"),
            ("a: &a PRE\nmetadata:\n  annotations:\n    helm.sh/hook: *a\n", "alias"),
            ("a: &a {helm.sh/hook: PRE}\nmetadata:\n  annotations:\n    <<: *a\n", "merge key"),
            ("metadata:\n  annotations:\n    helm.sh/hook: PRE\n    helm.sh/hook: PRE\n", "more than once"),
            ("metadata:\n  annotations: {helm.sh/hook: PRE}\n  annotations: {helm.sh/hook: PRE}\n", "more than once"),
            (
                "metadata: {annotations: {helm.sh/hook: PRE}}\nmetadata: {annotations: {helm.sh/hook: PRE}}\n",
                "more than once",
            ),
            ("{metadata: {annotations: {helm.sh/hook}}}", "cannot be changed safely"),
            ("metadata:\n  annotations:\n    helm.sh/hook: \"PRE\nx\"\n", "cannot be changed safely"),
            ("metadata:\n  annotations:\n    helm.sh/hook: |-  # a note\n      \n", "cannot be changed safely"),
        ] {
            assert!(hook(text).is_err_and(|reason| reason.contains(obstacle)), "{text}: {:?}", hook(text));
        }
    }

    #[test]
    fn an_edit_that_would_change_something_else_is_not_made() {
        for text in [
            "metadata:\n  annotations:\n    helm.sh/hook: &hook PRE\n    other: *hook\n",
            "a: &a {helm.sh/hook: PRE}\nmetadata:\n  annotations: {helm.sh/hook: PRE, <<: *a}\n",
        ] {
            assert_eq!(hook(text), Err("changing it would change something else too"), "{text}");
        }
    }

    #[test]
    fn keys_of_the_same_name_elsewhere_are_not_meant() {
        let text =
            "spec: {metadata: {annotations: {helm.sh/hook: no}}}\n? [metadata]\n: {annotations: {helm.sh/hook: no}}\n";
        assert!(hook(text).is_err());
        let text = "x: [metadata, annotations]\nmetadata:\n  labels: {helm.sh/hook: no}\n  annotations:\n    helm.sh/hook: PRE\n";
        assert_eq!(hook(text), Ok(text.replace("PRE", "pre-install,pre-upgrade")));
    }
}
