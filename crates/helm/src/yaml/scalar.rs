//! The meaning of a YAML scalar to go-yaml v2, on which `sigs.k8s.io/yaml` stands: YAML 1.1 without base 60.

use std::borrow::Cow;

use granit_parser::Tag;
use serde_json::{Number, Value};

const MISFIT: &str = "a value that does not fit its tag";

/// Whether a key is the merge key `<<`; go-yaml takes it for one behind a bare `!` too.
pub(super) fn is_merge(text: &str, plain: bool, tag: Option<&Tag>) -> bool {
    text == "<<" && tag.map_or(plain, |tag| tag.original() == "!" || yaml_type(tag).as_deref() == Some("merge"))
}

pub(super) fn resolve(text: Cow<'_, str>, plain: bool, tag: Option<&Tag>) -> Result<Value, &'static str> {
    let Some(tag) = tag else {
        return if plain { untagged(text) } else { Ok(Value::String(text.into_owned())) };
    };
    let kind = yaml_type(tag);
    match kind.as_deref() {
        Some("binary") => Err("the tag !!binary"),
        Some(kind @ ("null" | "bool" | "int" | "float")) => {
            let value = untagged(text)?;
            let fits = match &value {
                Value::Null => kind == "null",
                Value::Bool(_) => kind == "bool",
                Value::Number(number) => kind == "float" || kind == "int" && !number.is_f64(),
                _ => false,
            };
            if fits { Ok(value) } else { Err(MISFIT) }
        }
        _ => Ok(Value::String(text.into_owned())),
    }
}

fn yaml_type(tag: &Tag) -> Option<Cow<'_, str>> {
    tag.suffix_in_namespace("tag:yaml.org,2002:")
}

fn untagged(text: Cow<'_, str>) -> Result<Value, &'static str> {
    Ok(match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf"
        | "-.INF" => return Err("a number that JSON does not have"),
        _ => match number(&text) {
            Some(number) => Value::Number(number),
            None => Value::String(text.into_owned()),
        },
    })
}

fn number(text: &str) -> Option<Number> {
    match text.bytes().next()? {
        b'.' => float(&separated(text)?),
        b'0'..=b'9' | b'+' | b'-' => {
            let plain = text.replace('_', "");
            integer(&plain).or_else(|| float(&plain)).or_else(|| signed_binary(&plain))
        }
        _ => None,
    }
}

/// Without the underscores that separate digits; `None` where one stands elsewhere.
fn separated(text: &str) -> Option<String> {
    let is_misplaced = |around: &[u8]| matches!(around, [a, b'_', b] if !(a.is_ascii_digit() && b.is_ascii_digit()));
    let is_wrong = text.ends_with('_') || text.as_bytes().windows(3).any(is_misplaced);
    (!is_wrong).then(|| text.replace('_', ""))
}

/// go-yaml takes a sign behind the prefix too.
fn signed_binary(text: &str) -> Option<Number> {
    i64::from_str_radix(text.strip_prefix("0b")?, 2).ok().map(Number::from)
}

/// As Go's `ParseInt` with base 0 reads it, then its `ParseUint`.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixes = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2), ("0", 8)];
    let (digits, radix) = prefixes
        .into_iter()
        .find_map(|(prefix, radix)| Some((digits.strip_prefix(prefix)?, radix)))
        .filter(|(digits, _)| !digits.is_empty())
        .unwrap_or((digits, 10));
    // `from_str_radix` takes a sign of its own.
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        0_i64.checked_sub_unsigned(magnitude).map(Number::from)
    } else if text.starts_with('+') {
        i64::try_from(magnitude).ok().map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

/// A whole number loses its point: kubectl and Helm write the float as JSON and read that.
fn float(text: &str) -> Option<Number> {
    // Rust also reads `inf` and `nan`.
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let float: f64 = text.parse().ok()?;
    let whole = float.to_string().parse::<i64>().ok();
    whole.map(Number::from).or_else(|| Number::from_f64(float))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::resolve;
    use crate::testing::test;

    fn plain(text: &str) -> Value {
        resolve(text.into(), true, None).unwrap()
    }

    #[test]
    fn plain_scalars_are_yaml_1_1() {
        for (text, value) in [("yes", json!(true)), ("N", json!(false)), ("~", json!(null)), ("010", json!(8))] {
            assert_eq!(plain(text), value, "{text}");
        }
        for (text, value) in [("0b11", json!(3)), ("1_0", json!(10)), ("1e3", json!(1000)), ("-.5", json!(-0.5))] {
            assert_eq!(plain(text), value, "{text}");
        }
        for (text, value) in [(".5_0", json!(0.5)), ("0b-1", json!(-1)), ("0b+1", json!(1))] {
            assert_eq!(plain(text), value, "{text}");
        }
        for text in [".5__0", "._5", ".5_", "-0b-1", "1:30", "08:00", "0x", "2001-01-01", "tRue", "-"] {
            assert_eq!(plain(text), json!(text), "{text}");
        }
        assert!(resolve(".nan".into(), true, None).is_err());
    }

    #[test]
    fn quoted_scalars_are_text() {
        assert_eq!(resolve("yes".into(), false, None), Ok(json!("yes")));
    }
}
