use super::*;

#[test]
fn an_object_an_array_and_nested_lists_are_read() {
    let (a, b) = (secret("shop", "a"), secret("shop", "b"));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [b]});
    for value in [json!([a, b]), json!([a, list]), json!({"kind": "SecretList", "items": [b, a]})] {
        let view = ClusterView::from_value(value).unwrap();
        let all = ask(&view, "list_resources_all", &json!({"api_version": "v1", "kind": "Secret"})).unwrap();
        assert_eq!(names(&all), [("shop", "a"), ("shop", "b")]);
    }
    let one = ClusterView::from_value(a.clone()).unwrap();
    assert_eq!(ask(&one, "get_resource", &get("Secret", Some("shop"), "a")), Ok(a));
}

#[test]
fn the_same_object_twice_is_fine_but_not_a_contradiction() {
    let known = secret("shop", "db");
    let mut changed = known.clone();
    changed["type"] = json!("other");
    assert!(ClusterView::from_value(json!([known, known])).is_ok());
    assert_eq!(
        ClusterView::from_value(json!([known, changed])).unwrap_err().to_string(),
        "object 2 is v1/Secret `db` of namespace `shop` again, with other content",
    );
}

#[test]
fn what_is_no_object_is_refused_by_position() {
    let not_an_object = ClusterView::from_value(json!([secret("shop", "db"), 7])).unwrap_err();
    assert_eq!(not_an_object, ClusterError::NotAnObject { position: 2 });
    for (object, field) in [
        (json!({}), "apiVersion"),
        (json!({"apiVersion": "v1"}), "kind"),
        (json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}}), "metadata.name"),
    ] {
        let error = ClusterView::from_value(object).unwrap_err();
        assert_eq!(error, ClusterError::Missing { position: 1, field });
    }
}
