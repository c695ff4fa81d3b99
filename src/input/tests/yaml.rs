//! The expected values are those of `sigs.k8s.io/yaml` 1.6.0.

use serde_json::{Value, json};

use crate::input::value;

fn read(file: &str) -> Value {
    value(file.as_bytes()).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn problem(file: &str) -> String {
    value(file.as_bytes()).expect_err(file).to_string()
}

/// Each word of `words` as a plain scalar.
fn scalars(words: &str, expected: &Value) {
    for word in words.split(' ') {
        assert_eq!(&read(&format!("a: {word}\n"))["a"], expected, "{word}");
    }
}

#[test]
fn reads_yaml_1_1_booleans_and_nulls() {
    scalars("true True TRUE yes Yes YES on On ON y Y", &json!(true));
    scalars("false False FALSE no No NO off Off OFF n N", &json!(false));
    scalars("~ null Null NULL", &Value::Null);
    for word in ["tRUE", "yEs", "oN", "nULL", "'yes'", "\"off\"", "!!str yes"] {
        assert!(read(&format!("a: {word}\n"))["a"].is_string(), "{word}");
    }
    assert_eq!(read("a:\nb: ''\n"), json!({"a": null, "b": ""}));
}

#[test]
fn reads_integers_of_every_base() {
    scalars("511 0777 0o777 0O777 0x1ff 0X1FF 0b111111111 5_1_1 +511 511.0 5.11e2", &json!(511));
    scalars("-8 -010 -0o10 -0x8 -0b1000", &json!(-8));
    scalars("0 00 -0 +0 0.0 -0.0", &json!(0));
    scalars("9223372036854775807", &json!(i64::MAX));
    scalars("-9223372036854775808", &json!(i64::MIN));
    scalars("18446744073709551615", &json!(u64::MAX));
    // Not octal, so the float pattern takes them.
    scalars("08", &json!(8));
    scalars("09.5", &json!(9.5));
}

#[test]
fn reads_floats() {
    scalars("1000 1e3 1E3 1e+3 1000.", &json!(1000));
    scalars(".5 0.5 5e-1 +.5", &json!(0.5));
    scalars("18446744073709551616", &json!(18_446_744_073_709_551_616.0));
    for word in [".inf", "-.Inf", "+.INF", ".nan"] {
        let expected = "line 1: malformed YAML at column 4: a number that JSON does not have";
        assert_eq!(problem(&format!("a: {word}\n")), expected);
    }
}

#[test]
fn reads_all_else_as_text() {
    for word in [
        "1.2.3",
        "1e",
        "0x",
        "0b12",
        "0xg",
        "+",
        ".",
        "1:30",
        "190:20:30",
        "2020-01-01",
        "2001-12-14t21:59:43.10-05:00",
        "_1",
        "inf",
        "nan",
        "-inf",
        "--5",
        "+-5",
        "0x-1",
        "1e400",
        "12h",
        "1Mi",
        "a#b",
        "a:b",
        "<<",
        "=",
    ] {
        scalars(word, &json!(word));
    }
}

#[test]
fn follows_tags() {
    assert_eq!(read("a: !!str 5\nb: !!int '5'\nc: !!float 5\n"), json!({"a": "5", "b": 5, "c": 5}));
    assert_eq!(read("a: !own 5\nb: !own {c: 1}\nd: !!null ''\n"), json!({"a": "5", "b": {"c": 1}, "d": null}));
    assert_eq!(problem("a: !!int x\n"), "line 1: malformed YAML at column 10: a value that does not fit its tag");
    assert_eq!(problem("a: !!binary aGk=\n"), "line 1: malformed YAML at column 13: the tag !!binary");
}

#[test]
fn makes_keys_text() {
    assert_eq!(
        read("1: a\n0x10: b\nyes: c\n1.5: d\n2020-01-01: e\n'2': f\n"),
        json!({"1": "a", "16": "b", "true": "c", "1.5": "d", "2020-01-01": "e", "2": "f"})
    );
    assert_eq!(problem("a: 1\n~: x\n"), "line 2: malformed YAML at column 1: null as a key");
    assert_eq!(problem("? [1]\n: x\n"), "line 1: malformed YAML at column 5: a collection as a key");
}

#[test]
fn lets_the_last_of_duplicate_keys_win() {
    assert_eq!(read("a: 1\na: 2\n"), json!({"a": 2}));
    assert_eq!(read("{\"a\": 1, \"a\": 2}"), json!({"a": 2}));
}

#[test]
fn copies_aliases() {
    assert_eq!(read("a: &x {b: [1]}\nc: *x\n"), json!({"a": {"b": [1]}, "c": {"b": [1]}}));
    assert_eq!(read("a: &x 1\nb: *x\nc: &x 2\nd: *x\n"), json!({"a": 1, "b": 1, "c": 2, "d": 2}));
    assert_eq!(read("&k a: 1\nb: {*k : 2}\n"), json!({"a": 1, "b": {"a": 2}}));
    assert_eq!(problem("a: *x\n"), "line 1: malformed YAML at column 4: while parsing node, found unknown anchor");
    assert_eq!(problem("a: &x [*x]\n"), "line 1: malformed YAML at column 8: alias inside of what it stands for");
}

#[test]
fn merges_in_the_order_of_writing() {
    let base = "a: &x {p: 1, q: 2}\nb: &y {p: 3, r: 4}\n";
    let merged = |rest: &str| read(&format!("{base}c:\n{rest}"))["c"].clone();
    assert_eq!(merged("  <<: *x\n  q: 9\n"), json!({"p": 1, "q": 9}));
    assert_eq!(merged("  q: 9\n  <<: *x\n"), json!({"p": 1, "q": 2}));
    assert_eq!(merged("  <<: [*x, *y]\n"), json!({"p": 1, "q": 2, "r": 4}));
    assert_eq!(merged("  '<<': 1\n"), json!({"<<": 1}));
    for source in ["1", "", "[1]"] {
        assert!(problem(&format!("<<: {source}\n")).contains("a merge key without a mapping"));
    }
}

#[test]
fn reads_block_texts() {
    assert_eq!(read("a: |\n  b\n\n   c\nd: >-\n  e\n  f\n"), json!({"a": "b\n\n c\n", "d": "e f"}));
    assert_eq!(read("a: |+\n  b\n\nc: |-\n  d\n"), json!({"a": "b\n\n", "c": "d"}));
    assert_eq!(read("a: |\r\n  b\r\n  c\r\n"), json!({"a": "b\nc\n"}));
}

#[test]
fn reads_quoted_texts_that_are_not_indented() {
    let file = "a:\n  b: 'x\n  y\n\n  z'\n  c: \"-----BEGIN\nabc\n-----END\"\n";
    assert_eq!(read(file), json!({"a": {"b": "x y\nz", "c": "-----BEGIN abc -----END"}}));
    assert_eq!(read("é: \"é\né\"\n"), json!({"é": "é é"}));
}

#[test]
fn refuses_tabs_as_indentation() {
    assert!(problem("a:\n\tb: 1\n").starts_with("line 2: malformed YAML at column 2: tabs"));
    assert_eq!(read("a:\tb\nc: d\t\n"), json!({"a": "b", "c": "d"}));
}

#[test]
fn refuses_what_follows_the_document() {
    assert!(problem("- a\nb: c\n").starts_with("line 2: malformed YAML"));
    assert!(problem("a: {{ .Values.x }}\n").starts_with("line 1: malformed YAML"));
}
