use serde_json::json;

use super::*;

fn object(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

fn secret(namespace: &str, name: &str) -> Value {
    let mut secret = object("v1", "Secret", Some(namespace), name);
    secret["data"] = json!({"password": "aHVudGVyMg=="});
    secret["type"] = json!("Opaque");
    secret
}

fn cluster() -> ClusterView {
    holding(&[
        secret("shop", "db"),
        secret("bank", "db"),
        secret("bank", "cache"),
        object("v1", "Namespace", None, "shop"),
    ])
    .unwrap()
}

/// A cluster of objects that stand one a line.
fn holding(objects: &[Value]) -> Result<ClusterView, EntryError> {
    ClusterView::from_entries((1..).zip(objects.iter().cloned()).map(Ok))
}

fn ask_as(view: &ClusterView, granted: &[(&str, &str)], operation: &str, query: &Value) -> Result<Value, String> {
    let granted: Vec<_> = granted
        .iter()
        .map(|(api_version, kind)| ContextAwareResource {
            api_version: (*api_version).to_owned(),
            kind: (*kind).to_owned(),
        })
        .collect();
    let answer = view.answer(operation, query.to_string().as_bytes(), &granted)?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

fn ask(view: &ClusterView, operation: &str, query: &Value) -> Result<Value, String> {
    let granted = [("v1", "Secret"), ("v1", "Namespace"), ("v1", "ServiceAccount")];
    ask_as(view, &granted, operation, query)
}

fn get(kind: &str, namespace: Option<&str>, name: &str) -> Value {
    json!({"api_version": "v1", "kind": kind, "namespace": namespace, "name": name, "disable_cache": true})
}

/// Namespace and name of every item.
fn names(list: &Value) -> Vec<(&str, &str)> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| {
            let text = |field| item["metadata"][field].as_str().unwrap_or_default();
            (text("namespace"), text("name"))
        })
        .collect()
}

/// An error that Kubewarden reports only after it has let the question through.
fn failure<T>(reason: &str) -> Result<T, String> {
    Err(format!("Callback evaluation failure: {reason}"))
}

mod get_resource {
    use super::*;

    #[test]
    fn an_object_is_found_whole() {
        let found = ask(&cluster(), "get_resource", &get("Secret", Some("shop"), "db"));
        assert_eq!(found, Ok(secret("shop", "db")));
    }

    #[test]
    fn a_missing_object_is_named_as_kubewarden_does() {
        for (namespace, kind, printed) in [
            (Some("shop"), "ServiceAccount", r#"Some("shop")"#),
            (Some("bank"), "Secret", r#"Some("bank")"#),
            (None, "Namespace", "None"),
        ] {
            assert_eq!(
                ask(&cluster(), "get_resource", &get(kind, namespace, "x")),
                failure(&format!("Cannot find v1/{kind} named 'x' inside of namespace '{printed}'")),
            );
        }
    }

    #[test]
    fn a_cluster_wide_object_is_found_with_and_without_namespace() {
        for namespace in [None, Some("bank")] {
            let found = ask(&cluster(), "get_resource", &get("Namespace", namespace, "shop"));
            assert_eq!(found, Ok(object("v1", "Namespace", None, "shop")));
        }
    }

    #[test]
    fn a_namespaced_object_needs_its_namespace() {
        assert_eq!(
            ask(&cluster(), "get_resource", &get("Secret", None, "db")),
            failure("Resource v1/Secret is namespaced, but no namespace was provided"),
        );
    }

    #[test]
    fn a_mask_keeps_type_metadata_and_the_named_fields() {
        let mut query = get("Secret", Some("shop"), "db");
        query["field_masks"] = json!(["metadata.name", "type"]);
        let mut expected = secret("shop", "db");
        expected.as_object_mut().unwrap().remove("data");
        assert_eq!(ask(&cluster(), "get_resource", &query), Ok(expected));
    }

    #[test]
    fn a_mask_that_names_only_metadata_leaves_only_metadata() {
        let mut query = get("Secret", Some("shop"), "db");
        query["field_masks"] = json!(["metadata.name"]);
        let found = ask(&cluster(), "get_resource", &query);
        assert_eq!(found, Ok(object("v1", "Secret", Some("shop"), "db")));
    }

    #[test]
    fn an_empty_mask_keeps_everything() {
        let mut query = get("Secret", Some("shop"), "db");
        query["field_masks"] = json!([]);
        assert_eq!(ask(&cluster(), "get_resource", &query), Ok(secret("shop", "db")));
    }

    #[test]
    fn disable_cache_is_required() {
        let query = json!({"api_version": "v1", "kind": "Secret", "name": "db"});
        let error = ask(&cluster(), "get_resource", &query).unwrap_err();
        assert!(error.starts_with("missing field `disable_cache`"), "{error}");
    }
}

mod lists {
    use super::*;

    #[test]
    fn all_are_listed_by_namespace_and_name() {
        let list = ask(&cluster(), "list_resources_all", &json!({"api_version": "v1", "kind": "Secret"})).unwrap();
        assert_eq!(names(&list), [("bank", "cache"), ("bank", "db"), ("shop", "db")]);
        assert_eq!(list["apiVersion"], "v1");
        assert_eq!(list["kind"], "SecretList");
        assert_eq!(list["metadata"], json!({}));
        assert_eq!(list["items"][0]["data"], secret("bank", "cache")["data"]);
    }

    #[test]
    fn one_namespace_can_be_listed() {
        let query = json!({"api_version": "v1", "kind": "Secret", "namespace": "bank"});
        let list = ask(&cluster(), "list_resources_by_namespace", &query).unwrap();
        assert_eq!(names(&list), [("bank", "cache"), ("bank", "db")]);
    }

    #[test]
    fn a_list_may_be_empty() {
        let nowhere = json!({"api_version": "v1", "kind": "Secret", "namespace": "nowhere"});
        let list = ask(&cluster(), "list_resources_by_namespace", &nowhere).unwrap();
        assert_eq!(list, json!({"apiVersion": "v1", "kind": "SecretList", "metadata": {}, "items": []}));
        let unknown = json!({"api_version": "v1", "kind": "ServiceAccount", "namespace": "shop"});
        let list = ask(&cluster(), "list_resources_by_namespace", &unknown).unwrap();
        assert_eq!(list["items"], json!([]));
    }

    #[test]
    fn a_cluster_wide_kind_is_not_listed_by_namespace() {
        let query = json!({"api_version": "v1", "kind": "Namespace", "namespace": "shop"});
        assert_eq!(
            ask(&cluster(), "list_resources_by_namespace", &query),
            failure("resource v1/Namespace is cluster wide. Cannot search for it inside of a namespace"),
        );
        let query = json!({"api_version": "v1", "kind": "Namespace"});
        assert_eq!(names(&ask(&cluster(), "list_resources_all", &query).unwrap()), [("", "shop")]);
    }

    #[test]
    fn managed_fields_and_last_applied_are_emptied() {
        let mut known = secret("shop", "db");
        known["metadata"]["managedFields"] = json!([{"manager": "helm"}]);
        known["metadata"]["annotations"] = json!({LAST_APPLIED: "{}", "kept": "yes"});
        let view = holding(&[known.clone()]).unwrap();

        let list = ask(&view, "list_resources_all", &json!({"api_version": "v1", "kind": "Secret"})).unwrap();
        let metadata = &list["items"][0]["metadata"];
        assert_eq!(metadata["managedFields"], json!([]));
        assert_eq!(metadata["annotations"], json!({"kept": "yes"}));
        assert_eq!(ask(&view, "get_resource", &get("Secret", Some("shop"), "db")), Ok(known));
    }

    #[test]
    fn a_mask_looks_through_arrays() {
        let mut account = object("v1", "ServiceAccount", Some("shop"), "x");
        account["secrets"] = json!([{"name": "a", "uid": "1"}, {"name": "b"}]);
        account["automount"] = json!(true);
        let view = holding(&[account]).unwrap();
        let query = json!({"api_version": "v1", "kind": "ServiceAccount", "field_masks": ["secrets.name"]});
        let list = ask(&view, "list_resources_all", &query).unwrap();
        let item = &list["items"][0];
        assert_eq!(item["secrets"], json!([{"name": "a"}, {"name": "b"}]));
        assert_eq!(item.get("automount"), None);
    }

    #[test]
    fn a_selector_cannot_be_answered() {
        for selector in ["label_selector", "field_selector"] {
            let mut query = json!({"api_version": "v1", "kind": "Secret"});
            query[selector] = json!("");
            assert!(ask(&cluster(), "list_resources_all", &query).is_ok());
            query[selector] = json!("a=b");
            assert_eq!(
                ask(&cluster(), "list_resources_all", &query),
                failure(&format!("a cluster file cannot answer a list with a `{selector}`; only a real cluster can")),
            );
        }
    }
}

mod refusals {
    use super::*;

    const REFUSAL: &str =
        "Policy has not been granted access to Kubernetes v1/Secret resources. The violation has been reported.";

    #[test]
    fn only_granted_kinds_are_answered() {
        for granted in [&[][..], &[("v1", "ServiceAccount")], &[("v2", "Secret")]] {
            let list = json!({"api_version": "v1", "kind": "Secret", "namespace": "shop"});
            for (operation, query) in [
                ("get_resource", &get("Secret", Some("shop"), "db")),
                ("list_resources_all", &list),
                ("list_resources_by_namespace", &list),
            ] {
                assert_eq!(ask_as(&cluster(), granted, operation, query), Err(REFUSAL.to_owned()));
                let nowhere = ClusterView::default();
                assert_eq!(ask_as(&nowhere, granted, operation, query), Err(REFUSAL.to_owned()));
            }
        }
    }

    #[test]
    fn no_cluster_is_not_an_empty_cluster() {
        let missing = failure("kube::Client was not initialized properly");
        let list = json!({"api_version": "v1", "kind": "Secret"});
        let nowhere = ClusterView::default();
        assert_eq!(ask(&nowhere, "get_resource", &get("Secret", Some("shop"), "db")), missing);
        assert_eq!(ask(&nowhere, "list_resources_all", &list), missing);
        assert_eq!(ask(&nowhere, "can_i", &json!({})), missing);

        let empty = holding(&[]).unwrap();
        assert_eq!(ask(&empty, "list_resources_all", &list).unwrap()["items"], json!([]));
    }

    #[test]
    fn permissions_cannot_be_answered() {
        assert_eq!(
            ask(&cluster(), "can_i", &json!({})),
            failure("a cluster file cannot answer `can_i`; only a real cluster can"),
        );
    }

    #[test]
    fn an_unknown_operation_is_named() {
        assert_eq!(ask(&cluster(), "delete", &json!({})), Err("unknown operation: delete".to_owned()));
    }

    #[test]
    fn a_malformed_query_is_refused() {
        let error = cluster().answer("get_resource", b"{", &[]).unwrap_err();
        assert!(error.starts_with("EOF while parsing"), "{error}");
        let error = ask(&cluster(), "list_resources_by_namespace", &json!({"api_version": "v1", "kind": "Secret"}));
        assert!(error.unwrap_err().starts_with("missing field `namespace`"));
    }
}

#[test]
fn records_are_known_beside_a_cluster_and_without_one() {
    let get = |view: &ClusterView, kind: &str, name: &str| {
        let api_version = if kind == "Job" { "batch/v1" } else { "v1" };
        let query = json!({
            "api_version": api_version, "kind": kind, "name": name, "namespace": "shop", "disable_cache": true,
        });
        ask_as(view, &[(api_version, kind)], "get_resource", &query)
    };
    let record = secret("shop", "sh.helm.release.v1.orders.v1");
    let name = "sh.helm.release.v1.orders.v1";

    let alone = ClusterView::default().with_records([record.clone()]);
    assert_eq!(get(&alone, "Secret", name), Ok(record.clone()));
    for kind in ["Secret", "ConfigMap"] {
        assert!(get(&alone, kind, "other").unwrap_err().contains(&format!("Cannot find v1/{kind} named 'other'")));
    }
    assert!(get(&alone, "Job", "a").unwrap_err().contains("not initialized"), "nothing is known about Jobs");

    let beside = cluster().with_records([record.clone()]);
    assert_eq!(get(&beside, "Secret", name), Ok(record));
    assert_eq!(get(&beside, "Secret", "db"), Ok(secret("shop", "db")));
    assert!(get(&beside, "Job", "a").unwrap_err().contains("Cannot find"));
    assert!(get(&cluster(), "Secret", name).unwrap_err().contains("Cannot find"));
}

#[test]
fn the_same_object_twice_is_fine_but_not_a_contradiction() {
    let known = secret("shop", "db");
    let mut changed = known.clone();
    changed["type"] = json!("other");
    assert!(holding(&[known.clone(), known.clone()]).is_ok());
    assert_eq!(
        holding(&[known, changed]).unwrap_err().to_string(),
        "line 2: v1/Secret `db` of namespace `shop` again, with other content",
    );
}

#[test]
fn an_object_without_a_name_is_refused_by_its_line() {
    let unnamed = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}});
    let error = holding(&[secret("shop", "db"), unnamed]).unwrap_err();
    assert_eq!(error.to_string(), "line 2: an object without `metadata.name`");
}
