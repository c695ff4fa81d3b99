use serde_json::{Value, json};

use super::{UNRECOGNIZED, outline};
use crate::input::{Content, Reason, documents, value};

fn job(name: &str) -> String {
    format!("apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n")
}

fn json_job(name: &str) -> String {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}}).to_string()
}

fn request(uid: &str) -> Value {
    json!({"uid": uid, "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "CREATE"})
}

fn review(uid: &str) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(uid)})
}

#[test]
fn takes_the_request_out_of_a_review() {
    let file = review("r1").to_string();
    let found: Vec<_> = documents(file.as_bytes()).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].as_ref().unwrap().content, Content::Request(request("r1")));
    assert_eq!(outline("kind: AdmissionReview\nrequest: {uid: r2}\n"), ["1@1 request r2"]);
}

#[test]
fn takes_a_bare_request() {
    assert_eq!(outline(request("r1").to_string()), ["1@1 request r1"]);
    assert_eq!(outline("uid: r1\nkind: {kind: Job}\noperation: DELETE\n"), ["1@1 request r1"]);
}

#[test]
fn refuses_what_is_neither_review_request_nor_object() {
    for file in [
        "replicas: 3\n",
        "text\n",
        "- 1\n",
        "{}",
        "kind: Job\n",
        "apiVersion: v1\n",
        "apiVersion: v1\nkind: ''\n",
        "kind: {kind: Job}\n",
        "[null]",
    ] {
        assert_eq!(outline(file), [format!("line 1: {UNRECOGNIZED}")], "{file}");
    }
}

#[test]
fn names_a_field_of_another_type_and_never_its_value() {
    for (file, told) in [
        ("apiVersion: 1\nkind: Job\n", "apiVersion is a number where Kubernetes wants a string; put it in quotes"),
        ("apiVersion: v1\nkind: [hunter2]\n", "kind is a list where Kubernetes wants a string"),
        ("apiVersion: v1\nkind: Job\nmetadata: hunter2\n", "metadata is a string where Kubernetes wants an object"),
        (
            "{apiVersion: v1, kind: Job, metadata: {name: {a: hunter2}}}",
            "metadata.name is an object where Kubernetes wants a string",
        ),
    ] {
        assert_eq!(outline(file), [format!("line 1: {told}")], "{file}");
    }
    let nulls = "apiVersion: v1\nkind: Job\nmetadata: {name: null, namespace: null, uid: null}\n";
    assert_eq!(outline(nulls), ["1@1 Job/?"]);
    assert_eq!(outline("apiVersion: v1\nkind: Job\nmetadata: null\n"), ["1@1 Job/"]);
}

#[test]
fn an_empty_list_is_a_list_and_an_empty_file_is_none() {
    for (file, is_list) in [("kind: List\nitems: []\n", true), ("[]", true), ("", false), ("# a\n---\n", false)] {
        let mut documents = documents(file.as_bytes());
        assert!(documents.next().is_none() && documents.met_a_list() == is_list, "{file}");
    }
}

#[test]
fn refuses_a_review_without_a_request() {
    assert_eq!(
        outline(r#"{"kind": "AdmissionReview", "response": {"allowed": true}}"#),
        ["line 1: an AdmissionReview with a response and no request"]
    );
    for file in ["kind: AdmissionReview\n", "kind: AdmissionReview\nrequest: null\n"] {
        assert_eq!(outline(file), ["line 1: an AdmissionReview without a request"]);
    }
}

#[test]
fn reads_a_yaml_stream_and_skips_empty_documents() {
    let file = format!(
        "# head\n---\n---\n# Source: chart/templates/a.yaml\n{}--- # next\n{}...\n---\nnull\n---\n\n",
        job("a"),
        job("b"),
    );
    assert_eq!(outline(file), ["1@5 Job/a", "2@10 Job/b"]);
}

#[test]
fn reads_what_stands_on_the_marker_line() {
    let file = "--- {apiVersion: v1, kind: A}\n---\t{\"apiVersion\": \"v1\", \"kind\": \"B\"}\n";
    assert_eq!(outline(file), ["1@1 A/", "2@2 B/"]);
}

#[test]
fn takes_a_marker_at_column_0_for_one_and_no_other() {
    let file = format!("{}data: |\n  ---\n  x\n---x: 1\n---\n{}", job("a"), job("b"));
    let objects: Vec<_> = documents(file.as_bytes()).flatten().collect();
    let Content::Manifest(first) = &objects[0].content else { panic!() };
    assert_eq!(first["data"], "---\nx\n");
    assert_eq!(first["---x"], 1);
    assert_eq!(objects[1].line, 10);
}

#[test]
fn reads_windows_files() {
    let file = format!("\u{feff}---\n{}---\n{}", job("a"), job("b")).replace('\n', "\r\n");
    assert_eq!(outline(file), ["1@2 Job/a", "2@7 Job/b"]);
    // As `copy a.yaml+b.yaml` joins them.
    let file = format!("\u{feff}{}\u{feff}---\n{}", job("a"), job("b"));
    assert_eq!(outline(file), ["1@1 Job/a", "2@6 Job/b"]);
    assert_eq!(outline(format!("\u{feff}{}", json_job("a"))), ["1@1 Job/a"]);
}

#[test]
fn starts_a_document_after_a_document_end_and_skips_directives() {
    let file = format!("%YAML 1.2\n---\n{}...\n# c\n{}...\n", job("a"), job("b"));
    assert_eq!(outline(file), ["1@3 Job/a", "2@9 Job/b"]);
}

#[test]
fn reads_json_pretty_and_one_after_another() {
    let pretty = serde_json::to_string_pretty(&review("r")).unwrap();
    let lines = pretty.lines().count();
    let file = format!("\n{pretty}\n{}{}", json_job("a"), json_job("b"));
    let (a, b) = (lines + 2, lines + 2);
    assert_eq!(outline(file), ["1@2 request r".to_owned(), format!("2@{a} Job/a"), format!("3@{b} Job/b")]);
}

#[test]
fn reads_json_documents_of_a_yaml_stream() {
    let file = format!("---\n# c\n{}\n---\n{}---\n{}\n", json_job("a"), job("b"), json_job("c"));
    assert_eq!(outline(file), ["1@3 Job/a", "2@5 Job/b", "3@10 Job/c"]);
}

#[test]
fn reads_one_json_object_a_line() {
    let file = format!("{}\n\n{}\r\n{}", json_job("a"), review("r"), json_job("c"));
    assert_eq!(outline(file), ["1@1 Job/a", "2@3 request r", "3@4 Job/c"]);
}

#[test]
fn reads_flow_mappings_that_are_not_json() {
    let file = "{apiVersion: v1, kind: A}\n---\n{'apiVersion': 'v1', \"kind\": \"B\",} # c\n";
    assert_eq!(outline(file), ["1@1 A/", "2@3 B/"]);
}

#[test]
fn takes_lists_apart() {
    let inner = json!({"kind": "List", "items": [review("r"), request("s")]});
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "A"}, inner, [{"apiVersion": "v1", "kind": "B"}], {"kind": "C"},
    ]});
    let file = format!("{}---\n{list}\n---\n{}", job("a"), job("z"));
    assert_eq!(
        outline(file),
        [
            "1@1 Job/a".to_owned(),
            "2@6 A/".to_owned(),
            "3@6 request r".to_owned(),
            "4@6 request s".to_owned(),
            "5@6 B/".to_owned(),
            format!("line 6: {UNRECOGNIZED}"),
            "7@8 Job/z".to_owned(),
        ]
    );
    assert_eq!(outline("[]\n{\"kind\": \"List\", \"items\": []}"), [""; 0]);
    assert_eq!(outline("kind: JobList\nitems: null\n"), [""; 0]);
}

#[test]
fn completes_the_items_of_a_list_of_one_kind() {
    let list = json!({"apiVersion": "batch/v1", "kind": "JobList", "items": [{"metadata": {"name": "a"}}]});
    assert_eq!(outline(list.to_string()), ["1@1 Job/a"]);
}

#[test]
fn keeps_an_object_whose_kind_only_ends_like_a_list() {
    let file = "apiVersion: example.org/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {}\n";
    assert_eq!(outline(file), ["1@1 AllowList/a"]);
}

#[test]
fn goes_on_after_a_broken_yaml_document() {
    let file = format!("{}---\na: [1\n---\n{}---\nb: \"x\n---\n{}", job("a"), job("b"), job("c"));
    let found = outline(file);
    assert_eq!(found.len(), 5, "{found:?}");
    assert_eq!(found[0], "1@1 Job/a");
    assert!(found[1].starts_with("line 6: malformed YAML"), "{found:?}");
    assert_eq!(found[2], "3@8 Job/b");
    assert!(found[3].starts_with("line 13: malformed YAML"), "{found:?}");
    assert_eq!(found[4], "5@15 Job/c");
}

#[test]
fn goes_on_after_a_broken_json_line() {
    let (a, b) = (json_job("a"), json_job("b"));
    for broken in ["{\"a\": }", "{\"a\": \"\u{1}\"}", "{\"a\"", "{\"a\": [1, 2", "{\"a\": \"b", "{} x"] {
        let found = outline(format!("{a}\n{broken}\n{b}\n"));
        assert_eq!(found.first().unwrap(), "1@1 Job/a", "{broken}");
        assert!(found[1].starts_with("line "), "{broken}: {found:?}");
        assert!(found.last().unwrap().ends_with("@3 Job/b"), "{broken}: {found:?}");
    }
    let found = outline([a.as_bytes(), b"\n{\"a\": \"\xff\"}\n", b.as_bytes()].concat());
    assert_eq!(found.len(), 3);
    assert!(found[1].starts_with("line 2: malformed JSON at column 8"), "{found:?}");
}

#[test]
fn tells_one_error_of_a_broken_pretty_json_text() {
    let broken = "{\n  \"a\": {\n    \"b\": 1\n    \"c\": {}\n  }\n}\n";
    assert_eq!(
        outline(format!("{broken}{}", json_job("b"))),
        ["line 4: malformed JSON at column 5: expected `,` or `}`", "2@7 Job/b"]
    );
}

#[test]
fn names_the_line_of_bytes_that_are_not_utf_8() {
    let file = [job("a").as_bytes(), b"---\na: 1\nb: \xff\n---\n", job("b").as_bytes()].concat();
    assert_eq!(outline(file), ["1@1 Job/a", "line 7: not UTF-8 text", "3@9 Job/b"]);
    let utf16: Vec<u8> = "\u{feff}a: 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(outline(utf16), ["line 1: UTF-16 text, which has to be saved as UTF-8"]);
}

#[test]
fn never_quotes_the_file() {
    let secret = "hunter2";
    for file in [
        format!("password: '{secret}\n"),
        format!("{secret}: [\n"),
        format!("a: *{secret}\n"),
        format!("a: !{secret}!x y\n"),
        format!("a: !!int {secret}\n"),
        format!("a: !!binary {secret}\n"),
        format!("a: @{secret}\n"),
        format!("a: \"\\{secret}\"\n"),
        format!("a: {secret}: b\n"),
        format!("%{secret}\n---\na\n"),
        format!("? [{secret}]\n: a\n"),
        format!("<<: {secret}\n"),
        format!("{{\"{secret}\": {secret}}}"),
        format!("{{\"a\": \"{secret}"),
        format!("[\"{secret}\" \"{secret}\"]"),
        format!("{{\"a\": \"\\{secret}\"}}"),
        secret.to_owned(),
        format!("kind: {secret}\n"),
    ] {
        let found = outline(&file);
        assert!(!found.is_empty(), "{file}");
        for line in found {
            assert!(line.starts_with("line "), "{file}: {line}");
            assert!(!line.contains(secret) && !line.contains('@'), "{file}: {line}");
        }
    }
}

#[test]
fn reads_one_value() {
    assert_eq!(value(b""), Ok(Value::Null));
    assert_eq!(value(b"# only a comment\n---\n"), Ok(Value::Null));
    assert_eq!(value(b"{\"a\": 1}\n"), Ok(json!({"a": 1})));
    assert_eq!(value(b"---\na: [1, yes]\n...\n"), Ok(json!({"a": [1, true]})));
    assert_eq!(value(b"- 1\n"), Ok(json!([1])));
}

#[test]
fn refuses_a_second_value() {
    for file in ["a: 1\n---\nb: 2\n", "{}\n{}\n", "a: 1\n---\n{}\n"] {
        assert_eq!(value(file.as_bytes()).unwrap_err().reason, Reason::MoreThanOne);
    }
    assert_eq!(value(b"a: 1\n---\nb: 2\n").unwrap_err().line, 3);
    // Only `\n` ends a line here, so the parser meets the marker.
    assert_eq!(value(b"a: 1\r---\rb: 2\r").unwrap_err().reason, Reason::MoreThanOne);
}
