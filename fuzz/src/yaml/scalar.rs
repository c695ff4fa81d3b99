//! What go-yaml v2 makes of a scalar (`resolve.go`), written a second time.

use serde_json::Value;

pub(super) enum Scalar {
    Value(Value),
    Float(f64),
}

const TRUE: [&str; 11] = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"];
const FALSE: [&str; 11] = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"];
const NULL: [&str; 5] = ["", "~", "null", "Null", "NULL"];
/// JSON has none of them.
const NOT_FINITE: [&str; 12] =
    [".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"];

/// `None` where go-yaml, or writing JSON, fails.
pub(super) fn resolve(text: &str, tag: Option<&str>, is_implicit: bool) -> Option<Scalar> {
    let string = || Some(Scalar::Value(Value::from(text)));
    let tag = match tag {
        None if is_implicit => return untagged(text),
        None => return string(),
        Some(tag) => tag.strip_prefix("tag:yaml.org,2002:").unwrap_or_default(),
    };
    match (tag, untagged(text)) {
        ("null", Some(found @ Scalar::Value(Value::Null)))
        | ("bool", Some(found @ Scalar::Value(Value::Bool(_))))
        | ("int" | "float", Some(found @ Scalar::Value(Value::Number(_))))
        | ("float", Some(found @ Scalar::Float(_))) => Some(found),
        // Text in base64 we refuse, and nobody writes an annotation so.
        ("null" | "bool" | "int" | "float" | "timestamp" | "binary", _) => None,
        _ => string(),
    }
}

fn untagged(text: &str) -> Option<Scalar> {
    if NOT_FINITE.contains(&text) {
        return None;
    }
    let value = |value: Value| Some(Scalar::Value(value));
    if NULL.contains(&text) {
        return value(Value::Null);
    }
    if TRUE.contains(&text) || FALSE.contains(&text) {
        return value(Value::from(TRUE.contains(&text)));
    }
    let first = text.chars().next()?;
    if first == '.' {
        let float = between_digits(text).and_then(|text| text.parse::<f64>().ok()).filter(|float| float.is_finite());
        return float.map_or_else(|| value(Value::from(text)), |float| Some(Scalar::Float(float)));
    }
    if !(first.is_ascii_digit() || matches!(first, '+' | '-')) {
        return value(Value::from(text));
    }
    let plain = text.replace('_', "");
    if let Some(integer) = integer(&plain) {
        return value(integer);
    }
    if is_float(&plain)
        && let Ok(float) = plain.parse::<f64>()
        && float.is_finite()
    {
        return Some(Scalar::Float(float));
    }
    let binary = plain.strip_prefix("0b").map(str::to_owned);
    let binary = binary.or_else(|| plain.strip_prefix("-0b").map(|digits| format!("-{digits}")));
    match binary.and_then(|binary| i64::from_str_radix(&binary, 2).ok()) {
        Some(integer) => value(Value::from(integer)),
        None => value(Value::from(text)),
    }
}

/// `strconv.ParseInt` with base 0, then `strconv.ParseUint`, which takes no sign.
fn integer(plain: &str) -> Option<Value> {
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let lower = unsigned.to_ascii_lowercase();
    let (digits, radix) = match lower.as_bytes() {
        [b'0', b'x', ..] => (&lower[2..], 16),
        [b'0', b'b', ..] => (&lower[2..], 2),
        [b'0', b'o', ..] => (&lower[2..], 8),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (lower.as_str(), 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if plain.starts_with('-') {
        return i64::try_from(-i128::from(magnitude)).ok().map(Value::from);
    }
    let signed = i64::try_from(magnitude).ok().map(Value::from);
    if plain.starts_with('+') { signed } else { Some(Value::from(magnitude)) }
}

/// A sign, digits with at most one point, and an exponent.
fn is_float(plain: &str) -> bool {
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let (number, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(number, exponent)| (number, Some(exponent)));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = |text: &str| !text.is_empty() && are_digits(text);
    let has_number = are_digits(whole) && are_digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    has_number && exponent.is_none_or(|exponent| has_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

/// Without the underscores that Go allows between digits, `None` where one stands elsewhere.
fn between_digits(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let is_right = |at: usize| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    text.match_indices('_').all(|(at, _)| is_right(at)).then(|| text.replace('_', ""))
}
