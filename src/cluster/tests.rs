use serde_json::{Value, json};
use stable_hooks_host::metadata::ContextAwareResource;

use super::{ClusterError, ClusterView};

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "shop"}, "type": "Opaque"})
}

fn read(objects: &Value) -> Result<ClusterView, ClusterError> {
    super::read(objects.to_string().as_bytes())
}

fn ask(view: &ClusterView, operation: &str, query: &Value) -> Value {
    let granted = [ContextAwareResource { api_version: "v1".to_owned(), kind: "Secret".to_owned() }];
    view.found(operation, query.to_string().as_bytes(), &granted).unwrap()
}

#[test]
fn an_object_an_array_and_nested_lists_are_read() {
    let (a, b) = (secret("a"), secret("b"));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [b]});
    let mut bare = b.clone();
    for field in ["apiVersion", "kind"] {
        bare.as_object_mut().unwrap().remove(field);
    }
    let typed = json!({"apiVersion": "v1", "kind": "SecretList", "items": [bare, a]});
    for value in [json!([a, b]), json!([a, list]), typed] {
        let all = ask(&read(&value).unwrap(), "list_resources_all", &json!({"api_version": "v1", "kind": "Secret"}));
        let items = all["items"].as_array().unwrap().iter();
        let places: Vec<_> = items.map(|item| (&item["metadata"]["namespace"], &item["metadata"]["name"])).collect();
        assert_eq!(places, [(&json!("shop"), &json!("a")), (&json!("shop"), &json!("b"))]);
    }
    let query = json!({"api_version": "v1", "kind": "Secret", "namespace": "shop", "name": "a", "disable_cache": true});
    assert_eq!(ask(&read(&a).unwrap(), "get_resource", &query), a);
}

#[test]
fn a_contradiction_is_told_by_the_line_of_the_list() {
    let known = secret("db");
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
    let unnamed = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}});
    for (objects, error) in [
        (json!([secret("db"), 7]), "line 1: neither an AdmissionReview"),
        (json!({"apiVersion": "v1"}), "line 1: neither an AdmissionReview"),
        (unnamed.clone(), "line 1: an object without `metadata.name`"),
        (json!({"kind": {"kind": "Job"}, "operation": "CREATE"}), "line 1: an AdmissionRequest, where objects"),
        // The first error counts, in the reading and in the view alike.
        (json!([7, unnamed]), "line 1: neither an AdmissionReview"),
        (json!([unnamed, 7]), "line 1: an object without `metadata.name`"),
    ] {
        let found = read(&objects).unwrap_err().to_string();
        assert!(found.starts_with(error), "{found}");
    }
}
