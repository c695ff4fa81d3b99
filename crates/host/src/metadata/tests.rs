use serde_json::json;

use super::*;

fn wasm(wat: &str) -> Vec<u8> {
    wat::parse_str(wat).unwrap()
}

fn complete() -> Value {
    json!({
        "protocolVersion": "v1",
        "rules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["CREATE"]}],
        "mutating": true,
        "backgroundAudit": true,
        "executionMode": "kubewarden-wapc",
        "policyType": "kubernetes",
        "contextAwareResources": [{"apiVersion": "v1", "kind": "Secret"}],
        "annotations": {"io.kubewarden.policy.title": "stable-hooks"},
    })
}

fn sections(wasm: &[u8]) -> Vec<String> {
    let names = Parser::new(0).parse_all(wasm).filter_map(|payload| match payload.unwrap() {
        Payload::CustomSection(section) => Some(section.name().to_owned()),
        _ => None,
    });
    names.collect()
}

#[test]
fn what_is_annotated_is_read_back() {
    let metadata = read(&annotate(&wasm("(module)"), &complete()).unwrap()).unwrap();
    let expected = Metadata {
        protocol_version: Some("v1".to_owned()),
        rules: vec![
            json!({"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["CREATE"]}),
        ],
        mutating: true,
        execution_mode: Some("kubewarden-wapc".to_owned()),
        context_aware_resources: vec![ContextAwareResource { api_version: "v1".to_owned(), kind: "Secret".to_owned() }],
        annotations: BTreeMap::from([("io.kubewarden.policy.title".to_owned(), "stable-hooks".to_owned())]),
    };
    assert_eq!(metadata, Some(expected));
}

#[test]
fn every_key_is_optional() {
    let annotated = annotate(&wasm("(module)"), &json!({})).unwrap();
    assert_eq!(read(&annotated).unwrap(), Some(Metadata::default()));
}

#[test]
fn a_module_may_have_no_metadata() {
    assert_eq!(read(&wasm("(module)")).unwrap(), None);
}

#[test]
fn annotating_again_replaces_the_section() {
    let once = annotate(&wasm("(module)"), &json!({"mutating": false})).unwrap();
    let twice = annotate(&once, &complete()).unwrap();
    assert_eq!(sections(&twice), [SECTION]);
    assert!(read(&twice).unwrap().unwrap().mutating);
}

#[test]
fn everything_else_stays_byte_for_byte() {
    let plain = wasm(
        r#"(module $named
             (memory 1) (data (i32.const 0) "kept")
             (func (export "f") (result i32) (i32.const 7))
             (@custom "other" "kept, too"))"#,
    );
    let annotated = annotate(&plain, &complete()).unwrap();
    assert_eq!(annotated.get(..plain.len()), Some(plain.as_slice()));
    assert_eq!(annotate(&annotated, &complete()).unwrap(), annotated);
}

#[test]
fn the_first_section_counts() {
    let twice = wasm(
        r#"(module
             (@custom "io.kubewarden.metadata" "{\"mutating\": true}")
             (@custom "io.kubewarden.metadata" "{\"mutating\": false}"))"#,
    );
    assert!(read(&twice).unwrap().unwrap().mutating);
    assert_eq!(sections(&annotate(&twice, &json!({})).unwrap()), [SECTION]);
}

#[test]
fn other_files_are_refused() {
    for bytes in [b"".as_slice(), b"\0asm", b"(module)"] {
        assert!(matches!(read(bytes), Err(MetadataError::NotWasm)));
        assert!(matches!(annotate(bytes, &complete()), Err(MetadataError::NotWasm)));
    }
    let component = wasm(r#"(component (core module (@custom "io.kubewarden.metadata" "{}")))"#);
    assert!(matches!(read(&component), Err(MetadataError::Component)));
    assert!(matches!(annotate(&component, &complete()), Err(MetadataError::Component)));
}

#[test]
fn a_truncated_module_is_refused() {
    let whole = wasm(r#"(module (func (export "f") (nop)) (@custom "other" "text"))"#);
    for length in 9..whole.len() {
        let part = &whole[..length];
        // Between two sections the rest is a module of its own.
        if wasmparser_accepts(part) {
            continue;
        }
        assert!(matches!(read(part), Err(MetadataError::Malformed(_))), "{length}");
        assert!(matches!(annotate(part, &complete()), Err(MetadataError::Malformed(_))), "{length}");
    }
}

fn wasmparser_accepts(bytes: &[u8]) -> bool {
    Parser::new(0).parse_all(bytes).all(|payload| payload.is_ok())
}

#[test]
fn metadata_of_another_shape_is_refused() {
    let error = annotate(&wasm("(module)"), &json!({"mutating": "yes"})).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the section `io.kubewarden.metadata` does not hold policy metadata: "), "{text}");
}

fn rules(rules: Value) -> Metadata {
    serde_json::from_value(json!({"rules": rules})).unwrap()
}

const SECRETS: Target<'_> =
    Target { operation: "CREATE", group: "", version: "v1", resource: "secrets", subresource: "" };

#[test]
fn rules_cover_what_an_api_server_would_ask_about() {
    let rule = |operation: &str, group: &str, version: &str, resource: &str| {
        let rule =
            json!({"operations": [operation], "apiGroups": [group], "apiVersions": [version], "resources": [resource]});
        rules(json!([complete()["rules"][0], rule])).covers(&SECRETS)
    };
    for resource in ["secrets", "*", "*/*", "secrets/*"] {
        assert!(rule("CREATE", "", "v1", resource), "{resource}");
    }
    assert!(rule("*", "*", "*", "*"));
    for (operation, group, version, resource) in [
        ("UPDATE", "", "v1", "secrets"),
        ("CREATE", "batch", "v1", "secrets"),
        ("CREATE", "", "v2", "secrets"),
        ("CREATE", "", "v1", "configmaps"),
        ("CREATE", "", "v1", "secrets/status"),
        ("CREATE", "", "v1", "*/status"),
    ] {
        assert!(!rule(operation, group, version, resource), "{operation} {group} {version} {resource}");
    }
    let status = Target { subresource: "status", ..SECRETS };
    for (resource, is_covered) in
        [("secrets", false), ("*", false), ("*/*", true), ("*/status", true), ("secrets/scale", false)]
    {
        let all = json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource]});
        assert_eq!(rules(json!([all])).covers(&status), is_covered, "{resource}");
    }
    assert!(!rules(json!([])).covers(&SECRETS) && !rules(json!(["odd", {"resources": 7}])).covers(&SECRETS));
}

#[test]
fn a_policy_for_releases_is_asked_about_records_and_may_read_them() {
    let metadata = |resources: Value, kinds: &[&str]| {
        let mut metadata = rules(
            json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": resources}]),
        );
        let granted = |kind: &&str| ContextAwareResource { api_version: "v1".to_owned(), kind: (*kind).to_owned() };
        metadata.context_aware_resources = kinds.iter().map(granted).collect();
        metadata
    };
    let both = metadata(json!(["secrets", "configmaps"]), &["ConfigMap", "Secret"]);
    assert_eq!(check_for_releases(Some(&both)), Ok(()));
    assert_eq!(check_for_releases(None), Err(NotForReleases::NoMetadata));
    for (resources, kinds, reason) in [
        (json!(["configmaps"]), &["Secret", "ConfigMap"][..], NotForReleases::NotAsked { resource: "secrets" }),
        (json!(["secrets"]), &["Secret", "ConfigMap"], NotForReleases::NotAsked { resource: "configmaps" }),
        (json!(["*"]), &["ConfigMap"], NotForReleases::MayNotLook { kind: "Secret" }),
        (json!(["*"]), &["Secret"], NotForReleases::MayNotLook { kind: "ConfigMap" }),
    ] {
        assert_eq!(check_for_releases(Some(&metadata(resources, kinds))), Err(reason));
    }
}

#[test]
fn what_is_covered_is_said_in_words() {
    let two = json!([
        {"operations": ["CREATE", "UPDATE"], "resources": ["jobs"]}, {"operations": ["*"], "resources": ["a", "b"]}
    ]);
    assert_eq!(rules(two).covered(), "CREATE/UPDATE of jobs; * of a, b");
    assert_eq!(rules(json!([])).covered(), "none");
}
