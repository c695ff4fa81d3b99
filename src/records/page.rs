//! Pages of a list of records, as the API server writes them.

use helm::record::or_empty;
use helm::storage::Storage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One page. What it holds is read only when it is asked for: most of it is data of records.
#[derive(Deserialize)]
pub(crate) struct Page<'p> {
    #[serde(default, deserialize_with = "or_empty")]
    metadata: Metadata,
    #[serde(borrow, default, deserialize_with = "or_empty")]
    items: Vec<&'p RawValue>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(rename = "continue", default, deserialize_with = "or_empty")]
    continued: String,
}

/// The name of an object on a page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Place {
    #[serde(default)]
    pub(crate) namespace: String,
    pub(crate) name: String,
}

#[derive(Deserialize)]
struct Head {
    metadata: Place,
}

impl<'p> Page<'p> {
    /// `None` where that is no list.
    pub(crate) fn read(json: &'p [u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// What asks for the next page; empty where this is the last one.
    pub(crate) fn continued(&self) -> &str {
        &self.metadata.continued
    }

    /// The objects on it, each by its name; what has none is left out.
    pub(crate) fn items(&self) -> impl Iterator<Item = (Place, &'p RawValue)> {
        self.items.iter().filter_map(|item| Some((serde_json::from_str::<Head>(item.get()).ok()?.metadata, *item)))
    }
}

/// The object: in a list the API server leaves out what all of its items are.
pub(crate) fn object(item: &RawValue, storage: Storage) -> Option<Value> {
    let mut object: Value = serde_json::from_str(item.get()).ok()?;
    let fields = object.as_object_mut()?;
    fields.insert("apiVersion".to_owned(), "v1".into());
    fields.insert("kind".to_owned(), storage.kind().into());
    Some(object)
}

#[cfg(test)]
mod tests {
    use helm::storage::Storage;
    use serde_json::json;

    use super::{Page, object};

    #[test]
    fn a_page_is_read_as_the_api_server_writes_it() {
        let item = json!({"metadata": {"name": "a", "namespace": "shop"}, "type": "helm.sh/release.v1"});
        let list = json!({"kind": "SecretList", "metadata": {"continue": "abc"}, "items": [item, {"metadata": {}}, 3]});
        let list = list.to_string();
        let page = Page::read(list.as_bytes()).unwrap();
        assert_eq!(page.continued(), "abc");
        let items: Vec<_> = page.items().collect();
        let [(place, item)] = &items[..] else { panic!("{} items", items.len()) };
        assert_eq!((place.namespace.as_str(), place.name.as_str()), ("shop", "a"));
        let object = object(item, Storage::ConfigMap).unwrap();
        assert_eq!((&object["apiVersion"], &object["kind"]), (&json!("v1"), &json!("ConfigMap")));
    }

    #[test]
    fn a_list_of_nothing_has_no_next_page() {
        for list in
            ["{}", "{\"items\": null, \"metadata\": null}", "{\"metadata\": {\"continue\": \"\"}, \"items\": []}"]
        {
            let page = Page::read(list.as_bytes()).unwrap();
            assert_eq!((page.continued(), page.items().count()), ("", 0), "{list}");
        }
        for list in ["", "3", "Error from server", "{\"items\": 3}"] {
            assert!(Page::read(list.as_bytes()).is_none(), "{list}");
        }
    }
}
