//! Lists in JSON: a long one is read item by item, and nobody shall notice.

use proptest::prelude::*;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

use serde::Serialize as _;

use super::{UNRECOGNIZED, outline};
use crate::input::documents;

/// Two items with that make a list so long that it is read item by item.
const FILLER: usize = 70_000;

fn job(name: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}})
}

fn long_job(name: &str) -> Value {
    let filler = "x".repeat(FILLER);
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "annotations": {"filler": filler}}})
}

/// As `kubectl` prints it.
fn indented(value: &Value) -> String {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b"    "))).unwrap();
    String::from_utf8(text).unwrap() + "\n"
}

/// Its items before its kind, as `kubectl` sorts the fields.
fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
}

/// In one line, with its items where the others have them.
fn with_items(before: &str, items: &[Value], after: &str) -> String {
    let items: Vec<_> = items.iter().map(Value::to_string).collect();
    format!("{{{before}\"items\": [{}]{after}}}\n", items.join(","))
}

#[test]
fn long_lists_are_read_as_short_ones() {
    let others = [list(&[job("c"), json!([job("d")])]), json!({"kind": "E"}), Value::Null];
    let items = |first: &[Value]| list(&[first, &others].concat());
    let (short, long) = (items(&[job("a"), job("b")]), items(&[long_job("a"), long_job("b")]));
    let expected = [
        "1@1 Job/a".to_owned(),
        "2@1 Job/b".to_owned(),
        "3@1 Job/c".to_owned(),
        "4@1 Job/d".to_owned(),
        format!("line 1: {UNRECOGNIZED}"),
        format!("line 1: {UNRECOGNIZED}"),
    ];
    for list in [short, long] {
        assert_eq!(outline(indented(&list)), expected);
        assert_eq!(outline(list.to_string()), expected);
        assert_eq!(outline(list["items"].to_string()), expected);
    }
}

#[test]
fn long_lists_say_of_their_items_what_they_are() {
    let nameless = |filler: usize| json!({"metadata": {"name": "a", "annotations": {"filler": "x".repeat(filler)}}});
    let kind = "\"kind\": \"JobList\", \"apiVersion\": \"batch/v1\"";
    for filler in [0, FILLER] {
        let items = [nameless(filler), job("b"), nameless(filler)];
        let jobs = ["1@1 Job/a", "2@1 Job/b", "3@1 Job/a"];
        assert_eq!(outline(with_items(&format!("{kind}, "), &items, "")), jobs);
        // What says it behind the items comes too late for one that is read item by item.
        assert_eq!(outline(with_items("", &items, &format!(", {kind}"))), jobs);
    }
}

#[test]
fn what_is_no_list_is_not_taken_apart() {
    let filler = "x".repeat(FILLER);
    let plain = [json!({"key": "a", "path": filler}), json!({"key": "b", "path": filler})];
    let kind = "\"apiVersion\": \"v1\", \"kind\": \"Volume\"";
    for text in [with_items(&format!("{kind}, "), &plain, ""), with_items("", &plain, &format!(", {kind}"))] {
        assert_eq!(outline(text), ["1@1 Volume/"]);
    }
    let inside = json!({"apiVersion": "v1", "kind": "Volume", "metadata": {"name": "v"}, "spec": {"items": [long_job("a"), long_job("b")]}});
    assert_eq!(outline(indented(&inside)), ["1@1 Volume/v"]);
}

#[test]
fn what_stands_behind_the_items_can_be_wrong() {
    let items = [long_job("a"), long_job("b")];
    let no_list = "line 1: its items were read one by one, but what stands behind them does not make it a list";
    for after in
        [", \"kind\": \"Volume\"", ", \"items\": []", " \"kind\": \"List\"", ", \"kind\" \"List\"", ", 1", "]", ""]
    {
        let found = outline(format!("{}{}\n", with_items("", &items, after), job("z")));
        assert_eq!(found, ["1@1 Job/a", "2@1 Job/b", no_list, "4@2 Job/z"], "{after}");
    }
    let found = outline(with_items("", &items, ", \"kind\": \"List\"").trim_end().trim_end_matches('}'));
    assert_eq!(found, ["1@1 Job/a", "2@1 Job/b", "line 1: malformed JSON at column 1: what begins here does not end"]);
}

#[test]
fn long_lists_are_judged_up_to_what_is_broken() {
    let whole = indented(&list(&[long_job("a"), long_job("b"), job("c")]));
    let after = job("z").to_string();
    let line_of = |text: &str| whole.lines().position(|line| line.contains(text)).unwrap() + 1;
    let b = line_of("\"b\"");
    let broken = whole.replacen("\"name\": \"b\"", "\"name\": b", 1);
    let found = outline(format!("{broken}{after}\n"));
    let expected = format!("line {b}: malformed JSON at column 25: expected value");
    assert_eq!(found, ["1@1 Job/a".to_owned(), expected, format!("3@{} Job/z", whole.lines().count() + 1)]);

    let unseparated = whole.replacen("\n        },\n", "\n        }\n", 1);
    let second = 2 + whole.lines().position(|line| line == "        },").unwrap();
    let expected = format!("line {second}: malformed JSON at column 9: expected `,` or `]`");
    assert_eq!(outline(&unseparated), ["1@1 Job/a".to_owned(), expected]);

    let (cut, _) = whole.split_at(whole.find("\"c\"").unwrap());
    let unended = "line 1: malformed JSON at column 1: what begins here does not end";
    assert_eq!(outline(cut), ["1@1 Job/a", "2@1 Job/b", unended]);

    let repeated = format!("{whole}{whole}---\n{after}\n");
    let found = outline(repeated);
    let lines = whole.lines().count();
    assert_eq!(found.len(), 7);
    assert_eq!((&*found[3], &*found[6]), (&*format!("4@{} Job/a", lines + 1), &*format!("7@{} Job/z", 2 * lines + 2)));
}

#[test]
fn long_lines_are_read_in_parts_and_counted_once() {
    let comment = format!("# {} --- {{\n", "x".repeat(2 * FILLER));
    let marked = format!("{}---{{", "y".repeat(64 * 1024 - 6));
    let yaml = format!("{comment}kind: A\napiVersion: v1\nfiller: {marked}\nmetadata: {{name: a}}\n");
    assert_eq!(outline(&yaml), ["1@2 A/a"]);
    // A brace at the beginning of a part does not begin a text.
    let text = format!("{{\"apiVersion\": \"v1\", \"kind\": \"A\", \"x\": \"{}\"{}\n", "{".repeat(3 * FILLER), "}");
    let broken = text.replacen("\"kind\":", "\"kind\"", 1);
    let found = outline(format!("{text}{broken}{text}"));
    assert_eq!((found.len(), &*found[0], &*found[2]), (3, "1@1 A/", "3@3 A/"), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn long_lists_hold_their_items(
        sizes in prop::collection::vec(0usize..30_000, 1..12),
        indent in 0usize..5,
        kind_first in any::<bool>(),
    ) {
        let items: Vec<_> = sizes.iter().enumerate().map(|(number, size)| {
            let text = "é\"\\{}[],\n".repeat(size / 9);
            json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": number.to_string()}, "x": [text, {"items": []}]})
        }).collect();
        let mut text = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(&b"     "[..indent]));
        items.serialize(&mut serializer).unwrap();
        let items_text = String::from_utf8(text).unwrap();
        let file = if kind_first {
            format!("{{\"kind\": \"List\", \"items\": {items_text}}}")
        } else {
            format!("{{\n\"items\": {items_text},\n\"kind\": \"List\"\n}}\n")
        };
        let found: Vec<_> = documents(file.as_bytes()).map(|found| match found.unwrap().content {
            crate::input::Content::Manifest(object) | crate::input::Content::Request(object) => object,
        }).collect();
        prop_assert_eq!(found, items);
    }
}
