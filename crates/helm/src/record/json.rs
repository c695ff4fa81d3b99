//! The record's JSON: what Helm declares in `pkg/release/v1/release.go`, as far as we need it.

use std::fmt;
use std::marker::PhantomData;

use memchr::memchr;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::chart::Chart;
use super::lenient::or_empty;
use super::revision::{ApplyMethod, DroppedHook, Record, RecordHook};

/// More than any chart has; three bytes of JSON make a hook, and that takes a hundred times as much memory.
const MAX_HOOKS: usize = 10_000;

/// More templates than any chart has; each is looked at for each object that is missing.
const MAX_DROPPED: usize = 1_000;

/// Events or policies of one hook.
const MAX_WORDS: usize = 100;

#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct Raw {
    #[serde(deserialize_with = "or_empty")]
    name: String,
    #[serde(deserialize_with = "or_empty")]
    namespace: String,
    #[serde(deserialize_with = "or_empty")]
    version: u64,
    #[serde(deserialize_with = "or_empty")]
    info: Info,
    #[serde(deserialize_with = "or_empty")]
    chart: Chart,
    #[serde(deserialize_with = "or_empty")]
    manifest: Text,
    #[serde(deserialize_with = "or_empty")]
    hooks: UpTo<MAX_HOOKS, Option<Hook>>,
    #[serde(deserialize_with = "or_empty")]
    apply_method: String,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Info {
    #[serde(deserialize_with = "or_empty")]
    status: String,
    #[serde(deserialize_with = "or_empty")]
    description: String,
    #[serde(deserialize_with = "or_empty")]
    first_deployed: String,
    #[serde(deserialize_with = "or_empty")]
    last_deployed: String,
    #[serde(deserialize_with = "or_empty")]
    rollback_revision: u64,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Hook {
    #[serde(deserialize_with = "or_empty")]
    kind: String,
    #[serde(deserialize_with = "or_empty")]
    name: String,
    #[serde(deserialize_with = "or_empty")]
    path: String,
    #[serde(deserialize_with = "or_empty")]
    manifest: Text,
    #[serde(deserialize_with = "or_empty")]
    events: UpTo<MAX_WORDS, String>,
    #[serde(deserialize_with = "or_empty")]
    weight: i64,
    #[serde(deserialize_with = "or_empty")]
    delete_policies: UpTo<MAX_WORDS, String>,
    #[serde(deserialize_with = "or_empty")]
    output_log_policies: UpTo<MAX_WORDS, String>,
}

impl From<Raw> for Record {
    fn from(raw: Raw) -> Self {
        let (conditional_templates, written) = raw.chart.hook_templates();
        let mut hooks = Vec::with_capacity(raw.hooks.0.len());
        let mut told = None;
        for hook in raw.hooks.0.into_iter().flatten() {
            // Helm writes no such hook: a program that has rendered the chart does, for each one that Helm has dropped.
            // One without a path says that these are all.
            if hook.events.0.is_empty() && hook.kind.is_empty() {
                let told = told.get_or_insert_with(Vec::new);
                if !hook.path.is_empty() {
                    told.push(DroppedHook { template: hook.path, events: hook.name, is_told: true });
                }
            } else {
                hooks.push(hook.into());
            }
        }
        let mut dropped_hooks = told.unwrap_or(written);
        dropped_hooks.truncate(MAX_DROPPED);
        Self {
            name: raw.name,
            namespace: raw.namespace,
            version: raw.version,
            status: raw.info.status,
            description: raw.info.description,
            first_deployed: raw.info.first_deployed,
            last_deployed: raw.info.last_deployed,
            rollback_revision: raw.info.rollback_revision,
            manifest: raw.manifest.0,
            hooks,
            apply_method: ApplyMethod::of(&raw.apply_method),
            conditional_templates,
            dropped_hooks,
        }
    }
}

impl From<Hook> for RecordHook {
    fn from(hook: Hook) -> Self {
        Self {
            kind: hook.kind,
            name: hook.name,
            path: hook.path,
            manifest: hook.manifest.0,
            events: hook.events.0,
            weight: hook.weight,
            delete_policies: hook.delete_policies.0,
            output_log_policies: hook.output_log_policies.0,
        }
    }
}

/// A list of at most that many items.
struct UpTo<const MOST: usize, T>(Vec<T>);

impl<const MOST: usize, T> Default for UpTo<MOST, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, const MOST: usize, T: Deserialize<'de>> Deserialize<'de> for UpTo<MOST, T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Items<const MOST: usize, T>(PhantomData<T>);

        impl<'de, const MOST: usize, T: Deserialize<'de>> Visitor<'de> for Items<MOST, T> {
            type Value = UpTo<MOST, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of at most {MOST}")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = from.next_element()? {
                    if items.len() == MOST {
                        return Err(A::Error::custom("too long a list"));
                    }
                    items.push(item);
                }
                Ok(UpTo(items))
            }
        }

        from.deserialize_seq(Items(PhantomData))
    }
}

/// A string that may be megabytes long.
#[derive(Default)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(from)?;
        unescaped(raw.get()).map(Self).ok_or_else(|| D::Error::custom("not a string"))
    }
}

/// The text of a JSON string. Half a surrogate pair is a replacement character, as in Go.
fn unescaped(json: &str) -> Option<String> {
    let mut rest = json.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(rest.len());
    while let Some((before, escape)) = memchr(b'\\', rest.as_bytes()).and_then(|at| rest.split_at_checked(at)) {
        text.push_str(before);
        let mut after = escape.strip_prefix('\\')?.chars();
        text.push(match after.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let (character, after_it) = code_point(after.as_str())?;
                after = after_it.chars();
                character
            }
            itself => itself,
        });
        rest = after.as_str();
    }
    text.push_str(rest);
    Some(text)
}

/// The character of one `\u` escape, or of two that are a surrogate pair.
fn code_point(digits: &str) -> Option<(char, &str)> {
    let (first, rest) = code_unit(digits)?;
    if let Some((second, after)) = rest.strip_prefix("\\u").and_then(code_unit)
        && let Some(Ok(character)) = char::decode_utf16([first, second]).next()
        && character.len_utf16() == 2
    {
        return Some((character, after));
    }
    Some((char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER), rest))
}

fn code_unit(digits: &str) -> Option<(u16, &str)> {
    let (unit, rest) = digits.split_at_checked(4)?;
    Some((u16::from_str_radix(unit, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::{MAX_HOOKS, MAX_WORDS, Raw, Text, unescaped};
    use crate::testing::test;

    #[test]
    fn texts_are_what_serde_reads() {
        for json in [
            r#""""#,
            r#""plain \u00e4 ä""#,
            r#""\"\\\/\b\f\n\r\t""#,
            r#""\u003c\u003E\u0026""#,
            r#""\ud83d\ude00!""#,
            r#""\u0000\\u0041""#,
        ] {
            assert_eq!(unescaped(json), serde_json::from_str(json).ok(), "{json}");
        }
    }

    #[test]
    fn half_a_pair_is_replaced() {
        for (json, text) in [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ude00a""#, "\u{fffd}a"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
        ] {
            assert_eq!(unescaped(json).as_deref(), Some(text), "{json}");
        }
    }

    #[test]
    fn a_text_is_a_whole_string() {
        for json in ["5", "{}", r#""a"#, r#""\u12""#, r#""\x""#, "\"a\nb\""] {
            assert!(serde_json::from_str::<Text>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn lists_are_bounded() {
        for (hooks, words) in [(MAX_HOOKS, 0), (MAX_HOOKS + 1, 0), (1, MAX_WORDS), (1, MAX_WORDS + 1)] {
            let hook = format!("{{\"events\":[{}]}}", vec!["\"\""; words].join(","));
            let json = format!("{{\"hooks\":[{}]}}", vec![hook; hooks].join(","));
            let fits = hooks <= MAX_HOOKS && words <= MAX_WORDS;
            assert_eq!(serde_json::from_str::<Raw>(&json).is_ok(), fits, "{hooks} {words}");
        }
    }
}
