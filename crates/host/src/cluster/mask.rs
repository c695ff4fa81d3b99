//! Field masks: dotted paths of what to keep of an object; arrays are transparent.

use std::collections::BTreeMap;

use serde_json::Value;

/// A tree of field names; a node without children keeps everything below it.
#[derive(Default)]
pub(super) struct Mask(BTreeMap<String, Mask>);

impl Mask {
    pub(super) fn new<'a>(paths: impl IntoIterator<Item = &'a String>) -> Self {
        let mut root = Self::default();
        for path in paths {
            let mut node = &mut root;
            for field in path.split('.') {
                node = node.0.entry(field.to_owned()).or_default();
            }
        }
        root
    }

    /// Prunes an object; Kubewarden never masks its type and its metadata.
    pub(super) fn prune_object(&self, object: &mut Value) {
        let Value::Object(fields) = object else {
            return;
        };
        if self.0.is_empty() {
            return;
        }
        fields.retain(|field, value| {
            matches!(field.as_str(), "apiVersion" | "kind" | "metadata") || self.keep(field, value)
        });
    }

    fn prune(&self, value: &mut Value) {
        if self.0.is_empty() {
            return;
        }
        match value {
            Value::Object(fields) => fields.retain(|field, value| self.keep(field, value)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.prune(item)),
            _ => {}
        }
    }

    fn keep(&self, field: &str, value: &mut Value) -> bool {
        self.0.get(field).map(|below| below.prune(value)).is_some()
    }
}
