use super::*;

#[test]
fn an_object_an_array_and_nested_lists_are_read() {
    let (a, b) = (secret("shop", "a"), secret("shop", "b"));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [b]});
    let mut bare = b.clone();
    for field in ["apiVersion", "kind"] {
        bare.as_object_mut().unwrap().remove(field);
    }
    let typed = json!({"apiVersion": "v1", "kind": "SecretList", "items": [bare, a]});
    for value in [json!([a, b]), json!([a, list]), typed] {
        let view = read(&value).unwrap();
        let all = ask(&view, "list_resources_all", &json!({"api_version": "v1", "kind": "Secret"})).unwrap();
        assert_eq!(names(&all), [("shop", "a"), ("shop", "b")]);
    }
    let one = read(&a).unwrap();
    assert_eq!(ask(&one, "get_resource", &get("Secret", Some("shop"), "a")), Ok(a));
}

#[test]
fn the_same_object_twice_is_fine_but_not_a_contradiction() {
    let known = secret("shop", "db");
    let mut changed = known.clone();
    changed["type"] = json!("other");
    assert!(read(&json!([known, known])).is_ok());
    assert_eq!(
        read(&json!([known, changed])).unwrap_err().to_string(),
        "line 1: v1/Secret `db` of namespace `shop` again, with other content",
    );
}

#[test]
fn what_is_no_object_is_refused_by_its_line() {
    for (objects, error) in [
        (json!([secret("shop", "db"), 7]), "line 1: neither an AdmissionReview"),
        (json!({"apiVersion": "v1"}), "line 1: neither an AdmissionReview"),
        (json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}}), "line 1: an object without `metadata.name`"),
        (json!({"kind": {"kind": "Job"}, "operation": "CREATE"}), "line 1: an AdmissionRequest, where objects"),
    ] {
        let found = read(&objects).unwrap_err().to_string();
        assert!(found.starts_with(error), "{found}");
    }
}
