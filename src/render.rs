//! A chart's rendered text, as `helm template` prints it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use helm::manifest;
use helm::write::{Document, Identity};
use helm::yaml::{self, Head};
use helm::{DeletePolicies, DeletePolicy, Event};
use serde_json::{Map, Value, json};
use stable_hooks_policy::name::Name;
use stable_hooks_policy::object::Kind;

use crate::input::{InputError, Reason};

/// The documents of a rendered text, in its order.
#[derive(Debug, Default, Clone)]
pub struct Render {
    pub documents: Vec<Document>,
    /// Errors of documents that are no objects; these do not hide the others.
    pub broken: Vec<InputError>,
    /// The places of the documents by name: a search for each finding would be quadratic.
    by_name: OnceLock<BTreeMap<String, Vec<usize>>>,
}

impl Render {
    /// Reads a render that was made elsewhere, all of it.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        Self::read_with(bytes, read)
    }

    /// Reads what Helm has just printed. It has read each document itself, so that most need no second look below their
    /// metadata.
    #[must_use]
    pub fn read_from_helm(bytes: &[u8]) -> Self {
        Self::read_with(bytes, read_from_helm)
    }

    fn read_with(bytes: &[u8], read: fn(&str) -> Result<Option<Document>, InputError>) -> Self {
        let mut render = Self::default();
        let text = match str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let readable = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let line = readable.split(|byte| *byte == b'\n').count();
                render.broken.push(InputError { line, reason: Reason::Encoding });
                return render;
            }
        };
        let text = text.trim_start_matches('\u{feff}');
        let mut line = 1;
        for piece in manifest::texts(text) {
            match read(piece) {
                Ok(Some(document)) => render.documents.push(document),
                Ok(None) => {}
                Err(error) => render.broken.push(InputError { line: line + error.line - 1, ..error }),
            }
            line += 1 + piece.matches('\n').count();
        }
        render
    }

    /// The documents whose object has that name, of any kind.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Document> {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name = BTreeMap::<String, Vec<usize>>::new();
            for (place, document) in self.documents.iter().enumerate() {
                by_name.entry(document.head.name.clone()).or_default().push(place);
            }
            by_name
        });
        by_name.get(name).into_iter().flatten().filter_map(|place| self.documents.get(*place))
    }

    /// It has that object, whose namespace is this one where it says none.
    pub(crate) fn has(&self, object: &Name, namespace: &str) -> bool {
        self.named(&object.name).any(|document| is_of(document, object, namespace))
    }

    /// The same with these documents alone.
    #[must_use]
    pub fn with_only(&self, keeps: impl Fn(&Document) -> bool) -> Self {
        let documents = self.documents.iter().filter(|document| keeps(document)).cloned().collect();
        Self { documents, ..Self::default() }
    }

    /// The same with no more than a head of what is neither a hook nor judged: all that tells who changes sides.
    #[must_use]
    pub fn reduced(mut self) -> Self {
        let documents = self.documents.iter_mut();
        for document in documents.filter(|one| one.identity == Identity::Resource && !is_looked_at(&one.head)) {
            let Head { api_version, kind, name, namespace, labels, annotations } = &document.head;
            let metadata = json!({"name": name, "namespace": namespace, "labels": labels, "annotations": annotations});
            document.text = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}).to_string();
        }
        self
    }

    /// The chart's name, with which every template's path begins.
    #[must_use]
    pub fn chart(&self) -> &str {
        let named = self.documents.iter().find_map(|document| document.template.split('/').next());
        named.filter(|name| !name.is_empty()).unwrap_or("chart")
    }

    /// The Jobs and `ServiceAccounts` that a finished installation leaves in the cluster: those of the manifest, and the
    /// hooks that it ran and did not delete.
    #[must_use]
    pub fn left_by_install(&self, name: &str, namespace: &str) -> Vec<Value> {
        self.left_by([Event::PreInstall, Event::PostInstall], name, namespace)
    }

    /// The same of a finished upgrade.
    #[must_use]
    pub fn left_by_upgrade(&self, name: &str, namespace: &str) -> Vec<Value> {
        self.left_by([Event::PreUpgrade, Event::PostUpgrade], name, namespace)
    }

    fn left_by(&self, events: [Event; 2], name: &str, namespace: &str) -> Vec<Value> {
        self.documents.iter().flat_map(|document| left_by(document, events, name, namespace)).collect()
    }
}

/// The document is that object's; where it says no namespace, it lies in this one.
pub(crate) fn is_of(document: &Document, object: &Name, namespace: &str) -> bool {
    let head = &document.head;
    let lies_in = if head.namespace.is_empty() { namespace } else { &head.namespace };
    (head.group(), &head.kind, lies_in, &head.name) == (&object.group, &object.kind, &object.namespace, &object.name)
}

/// About half of the charts name the namespace in their objects.
pub(crate) fn only_namespace(renders: [&Render; 2]) -> Option<String> {
    let documents = renders.into_iter().flat_map(|render| &render.documents);
    let named: BTreeSet<_> =
        documents.map(|document| &document.head.namespace).filter(|name| !name.is_empty()).collect();
    if named.len() == 1 { named.first().map(|name| (*name).clone()) } else { None }
}

fn read(text: &str) -> Result<Option<Document>, InputError> {
    let found = yaml::parse(text, &yaml::Limits::default()).map_err(|error| InputError::yaml(error, 1))?;
    let (line, object) = match found {
        None | Some((_, Value::Null)) => return Ok(None),
        Some(found) => found,
    };
    let head = Head::of(&object);
    if head.kind.is_empty() {
        return Err(InputError { line, reason: Reason::Unrecognized });
    }
    let object = if is_looked_at(&head) { object } else { Value::Null };
    Ok(Some(Document::new(text, head, object)))
}

fn read_from_helm(text: &str) -> Result<Option<Document>, InputError> {
    match yaml::head(text, &yaml::Limits::default()) {
        Ok(head) if !head.kind.is_empty() && !is_looked_at(&head) => Ok(Some(Document::new(text, head, Value::Null))),
        _ => read(text),
    }
}

fn left_by(document: &Document, [before, after]: [Event; 2], release: &str, namespace: &str) -> Vec<Value> {
    let is_left = match document.identity {
        Identity::Resource => true,
        Identity::Hook(events) => {
            let policies = document.head.annotations.get(helm::HOOK_DELETE_POLICY);
            let runs = events.contains(before) || events.contains(after);
            let is_deleted = |policies: &String| DeletePolicies::parse(policies).contains(DeletePolicy::HookSucceeded);
            runs && !policies.is_some_and(is_deleted)
        }
        Identity::Dropped => false,
    };
    // A list is its items.
    let objects = if document.head.kind.ends_with("List") {
        let items = manifest::items(&document.text, &yaml::Limits::default());
        items.into_iter().map(|(_, item)| item).collect()
    } else {
        vec![document.object.clone()]
    };
    let live = |object| live(object, release, namespace, document.identity == Identity::Resource);
    objects.into_iter().filter(|_| is_left).filter_map(live).collect()
}

/// Anybody looks below the head.
fn is_looked_at(head: &Head) -> bool {
    ["Job", "ServiceAccount"].contains(&head.kind.as_str()) || head.kind.ends_with("List")
}

/// An object as it lies in the cluster, if the policy looks up its kind; a generated name cannot be looked up.
fn live(mut object: Value, release: &str, namespace: &str, is_resource: bool) -> Option<Value> {
    let head = Head::of(&object);
    Kind::parse(head.group(), "v1", &head.kind)?;
    if head.name.is_empty() {
        return None;
    }
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    if head.namespace.is_empty() {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    if is_resource {
        let annotations = metadata.entry("annotations").or_insert(Value::Null);
        if !annotations.is_object() {
            *annotations = json!({});
        }
        let owner = [(helm::RELEASE_NAME, release), (helm::RELEASE_NAMESPACE, namespace)];
        let owner = owner.map(|(key, value)| (key.to_owned(), Value::from(value)));
        annotations.as_object_mut()?.extend(Map::from_iter(owner));
    }
    Some(object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Identity, Render};

    #[test]
    fn documents_are_taken_apart_as_helm_does() {
        let text = "---\n# Source: shop/templates/a.yaml\nkind: A\nmetadata: {name: a}\n--- # note\nkind: B\n---kind: C\n\
                    ---\n# Source: shop/templates/none.yaml\n# nothing\n---\n# Source: shop/templates/d.yaml\n\n# why\nkind: D\n";
        let render = Render::read(text.as_bytes());
        let outline: Vec<_> =
            render.documents.iter().map(|found| format!("{}:{}", found.template, found.head.kind)).collect();
        assert_eq!(outline, ["shop/templates/a.yaml:A", ":B", ":C", "shop/templates/d.yaml:D"]);
        assert_eq!(render.documents[0].text, "kind: A\nmetadata: {name: a}");
        assert!(render.broken.is_empty());
    }

    #[test]
    fn broken_documents_are_told_with_their_lines_and_hide_no_other() {
        let render = Render::read(b"kind: A\n---\na: [\n---\n- x\n---\nkind: B\nkind: C\n");
        let kinds: Vec<_> = render.documents.iter().map(|document| document.head.kind.as_str()).collect();
        assert_eq!(kinds, ["A", "C"], "the last of duplicate keys counts");
        let lines: Vec<_> = render.broken.iter().map(|error| error.line).collect();
        assert_eq!(lines, [3, 5]);
        assert_eq!(Render::read(b"kind: A\n\xff").broken[0].line, 2);
        assert!(Render::read(b"").documents.is_empty());
    }

    #[test]
    fn a_hook_a_resource_and_what_helm_drops_are_told_apart() {
        let with = |value: &str| {
            let text = format!("kind: A\nmetadata: {{annotations: {{helm.sh/hook: {value}}}}}\n");
            Render::read(text.as_bytes()).documents.remove(0).identity
        };
        assert!(matches!(with("'Pre-Install , test-success'"), Identity::Hook(events) if events.iter().count() == 2));
        assert_eq!(with("crd-install"), Identity::Dropped);
        assert_eq!(with("null"), Identity::Dropped);
        assert_eq!(Render::read(b"kind: A\nmetadata: {annotations: null}").documents[0].identity, Identity::Resource);
    }

    #[test]
    fn an_installation_leaves_its_resources_and_the_hooks_that_it_does_not_delete() {
        let job = |name: &str, annotations: &str| {
            format!("---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, annotations: {annotations}}}\n")
        };
        let text = [
            job("plain", "null"),
            job("hook", "{helm.sh/hook: pre-install}"),
            job("gone", "{helm.sh/hook: post-install, helm.sh/hook-delete-policy: 'hook-failed, Hook-Succeeded'}"),
            job("later", "{helm.sh/hook: pre-upgrade}"),
            job("dropped", "{helm.sh/hook: never}"),
            "---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ServiceAccount, metadata: {name: listed}}]\n"
                .to_owned(),
            "---\napiVersion: v1\nkind: Secret\nmetadata: {name: unasked}\n".to_owned(),
            "---\napiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a-}\n".to_owned(),
        ];
        let left = Render::read(text.concat().as_bytes()).left_by_install("orders", "shop");
        let names: Vec<_> = left.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["plain", "hook", "listed"]);
        let owner = json!({"meta.helm.sh/release-name": "orders", "meta.helm.sh/release-namespace": "shop"});
        assert_eq!([&left[0]["metadata"]["annotations"], &left[2]["metadata"]["annotations"]], [&owner, &owner]);
        assert_eq!(left[1]["metadata"]["annotations"], json!({"helm.sh/hook": "pre-install"}));
        assert!(left.iter().all(|object| object["metadata"]["namespace"] == "shop"));
    }
}
