use std::fmt::Write;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::outline;
use crate::input::{documents, value};

#[test]
fn refuses_deep_nesting_in_every_notation() {
    let depth = 10_000;
    let block = (0..depth).fold(String::new(), |mut text, at| {
        let _ = writeln!(text, "{:at$}a:", "");
        text
    });
    for file in [
        format!("{}{}", "[".repeat(depth), "]".repeat(depth)),
        format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)),
        format!("a: {}", "[".repeat(depth)),
        format!("a: {}", "{a: ".repeat(depth)),
        "- ".repeat(depth),
        "? ".repeat(depth),
        format!("a: {}1{}", "[".repeat(depth), "]".repeat(depth)),
        block,
    ] {
        let error = value(file.as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("recursion limit exceeded"), "{error}");
    }
}

#[test]
fn reads_yaml_as_deep_as_json() {
    for depth in [127, 128] {
        let json = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let yaml = format!("!own {json}");
        assert_eq!(value(json.as_bytes()).is_ok(), depth == 127);
        assert_eq!(value(yaml.as_bytes()).is_ok(), depth == 127);
    }
}

#[test]
fn bounds_what_aliases_copy() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for at in 1..1000 {
        let before = at - 1;
        let _ = writeln!(bomb, "a{at}: &a{at} [{}]", vec![format!("*a{before}"); 9].join(", "));
        let _ = writeln!(chain, "a{at}: &a{at} [*a{before}]");
    }
    let long = format!("a: &a {}\nb:\n{}", "x".repeat(1 << 20), "- *a\n".repeat(100_000));
    let merges = format!("a: &a {{k: {}}}\n{}", "x".repeat(1 << 20), "b: {<<: *a}\n".repeat(1000));
    let anchors = format!("{}{}{}", "&a [".repeat(120), "x,".repeat(100_000), "]".repeat(120));
    for file in [bomb, long, merges, anchors] {
        let error = value(file.as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("anchors and aliases that copy too much"), "{error}");
    }
    let error = value(chain.as_bytes()).unwrap_err().to_string();
    assert!(error.ends_with("recursion limit exceeded"), "{error}");
}

#[test]
fn reads_long_texts() {
    let text = "x".repeat(2 << 20);
    for file in [
        format!("a: {text}\n"),
        format!("a: '{text}'\n"),
        format!("a: \"{text}\"\n"),
        format!("a: |-\n  {text}\n"),
        format!("{{\"a\": \"{text}\"}}"),
    ] {
        assert!(value(file.as_bytes()) == Ok(json!({ "a": text })));
    }
}

#[test]
fn gives_up_on_too_many_lines_to_indent() {
    let file = format!("a:\n  b: \"x\n{}\"\n", "y\n".repeat(1_000_000));
    let error = value(file.as_bytes()).unwrap_err().to_string();
    assert!(error.ends_with("invalid indentation in multiline quoted scalar"), "{error}");
}

#[test]
fn reads_one_document_at_a_time() {
    let file = "{\"apiVersion\": \"v1\", \"kind\": \"A\"}\n".repeat(100_000);
    let mut found = documents(file.as_bytes());
    assert_eq!(found.next().unwrap().unwrap().number, 1);
    assert_eq!(found.last().unwrap().unwrap().line, 100_000);
}

/// Pieces of which files are made, so that chance meets the interesting places.
fn files() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "---",
        "...",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "\u{feff}",
        " ",
        "  ",
        "\t",
        "- ",
        "? ",
        ": ",
        "a: ",
        "a",
        "kind: List",
        "items: ",
        "&a ",
        "*a",
        "<<: ",
        "!!int ",
        "!!",
        "! ",
        "!<",
        "|",
        ">-",
        "|2",
        "'",
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        "#",
        " #",
        "%YAML 1.2",
        "%",
        "@",
        "`",
        "0x",
        "-",
        "~",
        "null",
        "1e9",
        "\"a\":",
        "{\"a\":1}",
        "[{}]",
        "\u{85}",
        "é",
        "\u{0}",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ends_on_any_bytes(file in prop::collection::vec(any::<u8>(), 0..300)) {
        // Every item takes at least a byte of the file.
        prop_assert!(documents(&file).take(file.len() + 1).count() <= file.len());
        let _ = value(&file);
    }

    #[test]
    fn ends_on_any_pieces(file in files()) {
        // The YAML parser ends a line at a lone carriage return too.
        let lines = file.split(['\n', '\r']).count();
        let mut last = 0;
        for item in documents(file.as_bytes()).take(file.len() + 1) {
            let line = match item {
                Ok(document) => {
                    prop_assert!(document.number > last);
                    last = document.number;
                    document.line
                }
                Err(error) => error.line,
            };
            prop_assert!((1..=lines + 1).contains(&line), "line {line} of {lines}");
        }
        prop_assert!(outline(&file).len() <= file.len());
        if let Ok(found) = value(file.as_bytes()) {
            prop_assert!(depth(&found) <= 127);
        }
    }

    #[test]
    fn reads_written_json_back_as_json_and_as_yaml(text in any::<String>(), number in any::<i64>(), flag in any::<bool>()) {
        let expected = json!({"text": text, "list": [number, flag, null, {}]});
        prop_assert_eq!(&value(expected.to_string().as_bytes()).unwrap(), &expected);
        let yaml = format!("!own {expected}");
        // YAML takes some characters only escaped, JSON needs not escape them.
        if text.chars().all(|c| matches!(c, ' '..='~')) {
            prop_assert_eq!(&value(yaml.as_bytes()).unwrap(), &expected);
        }
    }
}
