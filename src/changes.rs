//! What changed between two objects, field by field, for people who review it where many can read it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::{Map, Value, json};
use stable_hooks_policy::shown::{Shown, Visible};

/// The lists whose items have an image.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The fields of a Secret whose keys can be secret as well.
const OF_SECRETS: [&str; 2] = ["data", "stringData"];

/// One field that is not what it was.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// As people write it: `spec.template.spec.containers[0].image`. Of an item that went, its old place.
    pub(crate) path: String,
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
    secrecy: Secrecy,
}

/// Who may read the values of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Secrecy {
    /// A container's image.
    Open,
    /// Any other value may be a password, wherever it stands.
    Asked,
    /// Of a Secret, where below its data not even a key is named.
    Never,
}

/// How much is told of what changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    Fields,
    /// What they hold as well.
    Values,
}

/// A change as it is told: without its values where they are not wanted or may not be read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShownChange {
    path: String,
    kind: ChangeKind,
    values: Option<Values>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ChangeKind {
    Added,
    Removed,
    Changed,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Values {
    old: Option<Value>,
    new: Option<Value>,
}

/// The fields of an object of that kind that changed, in the order of the new one. Items of lists are matched by their names,
/// as Kubernetes does, and where they have none by their places.
pub(crate) fn changes(kind: &str, old: &Value, new: &Value) -> Vec<Change> {
    let mut walk = Walk { path: String::new(), found: Vec::new() };
    // An item of a list need not say its kind.
    let secrecy = if is_kind_of_secret(kind) { Secrecy::Never } else { Secrecy::Asked };
    walk.compare(At { secrecy, within: Within::Other, depth: Depth::Below }, Some(old), Some(new));
    walk.found
}

impl Change {
    /// What may be a secret is shown only where values are asked for, and what a Secret holds not even then.
    pub(crate) fn shown(self, detail: Detail) -> ShownChange {
        let Self { path, old, new, secrecy } = self;
        let kind = match (&old, &new) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            (Some(_), Some(_)) => ChangeKind::Changed,
        };
        let shows = match secrecy {
            Secrecy::Open => true,
            Secrecy::Asked => detail == Detail::Values,
            Secrecy::Never => false,
        };
        ShownChange { path, kind, values: shows.then_some(Values { old, new }) }
    }
}

impl fmt::Display for ShownChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Visible(&self.path))?;
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let values = self.values.as_ref().map(|Values { old, new }| (old.as_ref().map(text), new.as_ref().map(text)));
        match (values, self.kind) {
            (Some((Some(old), Some(new))), _) => write!(f, "{} -> {}", Shown(&old), Shown(&new)),
            (Some((None, Some(new))), _) => write!(f, "added {}", Shown(&new)),
            (Some((Some(old), None)), _) => write!(f, "removed {}", Shown(&old)),
            (_, ChangeKind::Added) => f.write_str("added"),
            (_, ChangeKind::Removed) => f.write_str("removed"),
            (_, ChangeKind::Changed) => f.write_str("changed"),
        }
    }
}

impl Serialize for ShownChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ShownChange", 3)?;
        fields.serialize_field("path", &Visible(&self.path).to_string())?;
        fields.serialize_field("change", &self.kind)?;
        fields.serialize_field("values", &self.values)?;
        fields.end()
    }
}

/// What is known of a value by the way to it.
#[derive(Clone, Copy)]
struct At {
    secrecy: Secrecy,
    within: Within,
    depth: Depth,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Containers,
    Container,
    Other,
}

/// Whether what a value holds is told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Whole,
    Below,
}

struct Walk {
    path: String,
    found: Vec<Change>,
}

impl Walk {
    fn compare(&mut self, at: At, old: Option<&Value>, new: Option<&Value>) {
        if old == new {
            return;
        }
        let at =
            if [old, new].into_iter().flatten().any(is_secret) { At { secrecy: Secrecy::Never, ..at } } else { at };
        match (old, new) {
            _ if at.depth == Depth::Whole => self.push(at, old, new),
            (Some(Value::Object(old)), Some(Value::Object(new))) => self.compare_fields(at, old, new),
            (Some(Value::Array(old)), Some(Value::Array(new))) => self.compare_items(at, old, new),
            _ => self.push(at, old, new),
        }
    }

    fn push(&mut self, at: At, old: Option<&Value>, new: Option<&Value>) {
        let values = || [old, new].into_iter().flatten();
        let secrecy = match at.secrecy {
            _ if values().any(holds_a_secret) => Secrecy::Never,
            // An image is a text: what is more may hold anything.
            Secrecy::Open if !values().all(Value::is_string) => Secrecy::Asked,
            secrecy => secrecy,
        };
        self.found.push(Change { path: self.path.clone(), old: old.cloned(), new: new.cloned(), secrecy });
    }

    fn compare_fields(&mut self, at: At, old: &Map<String, Value>, new: &Map<String, Value>) {
        let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        for key in keys {
            let is_image = at.within == Within::Container && key == "image";
            let secrecy = match at.secrecy {
                Secrecy::Asked if is_image => Secrecy::Open,
                secrecy => secrecy,
            };
            let is_containers = CONTAINERS.contains(&key.as_str());
            let within = if is_containers { Within::Containers } else { Within::Other };
            let is_word = key.chars().all(|character| character.is_alphanumeric() || "-_".contains(character));
            let step = match is_word && !key.is_empty() {
                true if self.path.is_empty() => key.clone(),
                true => format!(".{key}"),
                false => format!("[{key}]"),
            };
            let is_data = secrecy == Secrecy::Never && OF_SECRETS.iter().any(|data| key.eq_ignore_ascii_case(data));
            let depth = if is_data { Depth::Whole } else { Depth::Below };
            self.step(&step, At { secrecy, within, depth }, old.get(key), new.get(key));
        }
    }

    fn compare_items(&mut self, at: At, old: &[Value], new: &[Value]) {
        let is_container = at.within == Within::Containers;
        let item = At { within: if is_container { Within::Container } else { Within::Other }, ..at };
        match (names(old), names(new)) {
            (Some(old_names), Some(new_names)) => {
                self.compare_order(at, &old_names, &new_names);
                let olds: BTreeMap<_, _> = old_names.iter().zip(old).collect();
                let kept: BTreeSet<_> = new_names.iter().collect();
                for (place, (name, value)) in new_names.iter().zip(new).enumerate() {
                    self.step(&format!("[{place}]"), item, olds.get(name).copied(), Some(value));
                }
                let gone = old_names.iter().zip(old).enumerate().filter(|(_, (name, _))| !kept.contains(name));
                for (place, (_, value)) in gone {
                    self.step(&format!("[{place}]"), item, Some(value), None);
                }
            }
            _ => self.compare_places(item, old, new),
        }
    }

    /// The order in which containers start, or variables refer to each other, is a change of the list.
    fn compare_order(&mut self, at: At, old: &[&str], new: &[&str]) {
        let [olds, news] = [old, new].map(|names| names.iter().collect::<BTreeSet<_>>());
        let [before, after] = [(old, news), (new, olds)]
            .map(|(these, others)| these.iter().filter(|name| others.contains(name)).collect::<Vec<_>>());
        if before != after {
            self.push(at, Some(&json!(old)), Some(&json!(new)));
        }
    }

    /// Items without names: what both lists begin and end with has not changed.
    fn compare_places(&mut self, item: At, old: &[Value], new: &[Value]) {
        let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let rest = old.len().min(new.len()) - start;
        let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
        for place in start..old.len().max(new.len()) - end {
            let [old, new] = [old, new].map(|list| list.get(place).filter(|_| place < list.len() - end));
            self.step(&format!("[{place}]"), item, old, new);
        }
    }

    fn step(&mut self, step: &str, at: At, old: Option<&Value>, new: Option<&Value>) {
        let length = self.path.len();
        self.path.push_str(step);
        self.compare(at, old, new);
        self.path.truncate(length);
    }
}

/// The names of a list's items, where each has one of its own.
fn names(list: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<_> = list.iter().map(|item| item.get("name")?.as_str()).collect::<Option<_>>()?;
    let distinct: BTreeSet<_> = names.iter().collect();
    (distinct.len() == names.len()).then_some(names)
}

/// Go finds the field in any case.
fn is_secret(value: &Value) -> bool {
    let is_it = |(key, value): (&String, &Value)| {
        key.eq_ignore_ascii_case("kind") && value.as_str().is_some_and(is_kind_of_secret)
    };
    value.as_object().is_some_and(|fields| fields.iter().any(is_it))
}

fn is_kind_of_secret(kind: &str) -> bool {
    matches!(kind, "Secret" | "SecretList")
}

fn holds_a_secret(value: &Value) -> bool {
    match value {
        Value::Object(fields) => is_secret(value) || fields.values().any(holds_a_secret),
        Value::Array(items) => items.iter().any(holds_a_secret),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{Change, Detail};

    fn changes(old: &Value, new: &Value) -> Vec<Change> {
        super::changes("", old, new)
    }

    /// The changes in words, with and without values; where they are not in words, they are not in JSON either.
    fn shown(old: &Value, new: &Value) -> [Vec<String>; 2] {
        shown_of("", old, new)
    }

    fn shown_of(kind: &str, old: &Value, new: &Value) -> [Vec<String>; 2] {
        [Detail::Fields, Detail::Values].map(|detail| {
            let found = super::changes(kind, old, new).into_iter().map(|change| change.shown(detail));
            let told = found.map(|change| {
                let (text, json) = (change.to_string(), json!(change));
                let is_bare = [": added", ": removed", ": changed"].iter().any(|end| text.ends_with(end));
                assert_eq!(json["values"].is_null(), is_bare, "{text}: {json}");
                text
            });
            told.collect()
        })
    }

    fn job(containers: Value) -> Value {
        json!({"kind": "Job", "spec": {"template": {"spec": {"containers": containers}}}})
    }

    #[test]
    fn an_image_is_always_shown_and_nothing_else_is() {
        let old = job(json!([{"name": "m", "image": "orders:1", "args": ["--password=old"], "command": ["a"],
            "env": [{"name": "PASSWORD", "value": "old"}]}]));
        let new = job(json!([{"name": "m", "image": "orders:2", "args": ["--password=new"], "command": ["b"],
            "env": [{"name": "PASSWORD", "value": "new"}]}]));
        let [without, with] = shown(&old, &new);
        let at = "spec.template.spec.containers[0]";
        let expected = [
            format!("{at}.args[0]: changed"),
            format!("{at}.command[0]: changed"),
            format!("{at}.env[0].value: changed"),
            format!("{at}.image: orders:1 -> orders:2"),
        ];
        assert_eq!(without, expected);
        let expected = [
            format!("{at}.args[0]: --password=old -> --password=new"),
            format!("{at}.command[0]: a -> b"),
            format!("{at}.env[0].value: old -> new"),
            format!("{at}.image: orders:1 -> orders:2"),
        ];
        assert_eq!(with, expected);
    }

    #[test]
    fn an_image_that_is_no_text_or_no_container_s_is_a_value_as_any_other() {
        let image = |image: Value| job(json!([{"name": "m", "image": image}]));
        let [without, _] = shown(&image(json!("a")), &image(json!({"password": "x"})));
        assert_eq!(without, ["spec.template.spec.containers[0].image: changed"]);
        let [without, _] = shown(&json!({"data": {"image": "a"}}), &json!({"data": {"image": "b"}}));
        assert_eq!(without, ["data.image: changed"]);
    }

    #[test]
    fn what_a_secret_holds_is_never_shown() {
        let secret = |kind: &str, value: &str| {
            json!({"kind": kind, "metadata": {"annotations": {"last": value}}, "data": {"a": value},
                "stringData": {"b": value}, "containers": [{"name": "m", "image": value}]})
        };
        let list = |object: Value| json!({"kind": "List", "items": [object]});
        let pairs = [
            (secret("Secret", "hunter1"), secret("Secret", "hunter2")),
            (secret("ConfigMap", "hunter1"), secret("Secret", "hunter2")),
            (list(secret("Secret", "hunter1")), list(secret("Secret", "hunter2"))),
            (json!({"kind": "List", "items": []}), list(secret("Secret", "hunter2"))),
            (json!("none"), secret("Secret", "hunter2")),
            (secret("SecretList", "hunter1"), secret("SecretList", "hunter2")),
            (list(json!({"Kind": "Secret", "data": "hunter1"})), list(json!({"Kind": "Secret", "data": "hunter2"}))),
        ];
        for (old, new) in pairs {
            let texts = shown(&old, &new).concat();
            assert!(!texts.is_empty() && texts.iter().all(|text| !text.contains("hunter")), "{texts:?}");
        }
        let item = |value: &str| json!({"data": {"a": value}});
        assert_eq!(shown_of("Secret", &item("hunter1"), &item("hunter2"))[1], ["data: changed"]);
        let [without, with] = shown(&secret("ConfigMap", "hunter1"), &secret("ConfigMap", "hunter2"));
        assert!(with.contains(&"data.a: hunter1 -> hunter2".to_owned()), "{with:?}");
        assert!(without.contains(&"data.a: changed".to_owned()), "{without:?}");
    }

    #[test]
    fn below_a_secret_s_data_no_key_is_named() {
        let secret = |key: &str| {
            json!({"kind": "Secret", "metadata": {"name": key.len().to_string()}, "data": {key: "a"},
                "StringData": {"same": {key: "a"}}, "immutable": key.len() > 7})
        };
        let list = |object: Value| json!({"kind": "List", "items": [object]});
        let fields = ["StringData: changed", "data: changed", "immutable: changed", "metadata.name: changed"];
        assert_eq!(shown(&secret("hunter1"), &secret("hunter20")), [fields, fields]);
        let in_list = fields.map(|field| format!("items[0].{field}"));
        assert_eq!(shown(&list(secret("hunter1")), &list(secret("hunter20"))), [in_list.clone(), in_list]);
        let [bare, full] = [json!({}), json!({"data": {"hunter1": "a"}})];
        assert_eq!(shown_of("Secret", &bare, &full)[1], ["data: added"]);
        assert_eq!(shown_of("Secret", &full, &bare)[1], ["data: removed"]);
    }

    #[test]
    fn many_named_items_take_no_longer_than_their_number() {
        let list = |numbers: std::ops::Range<u32>| {
            json!(numbers.map(|number| json!({"name": format!("V{number}")})).collect::<Vec<_>>())
        };
        let found = changes(&list(0..20_000), &list(10_000..30_000));
        assert_eq!(found.len(), 20_000);
    }

    #[test]
    fn named_items_are_matched_by_name() {
        let container = |name: &str, image: &str| json!({"name": name, "image": image});
        let old = job(json!([container("a", "a:1"), container("b", "b:1"), container("gone", "c:1")]));
        let new = job(json!([container("first", "f:1"), container("a", "a:2"), container("b", "b:1")]));
        let at = "spec.template.spec.containers";
        let expected = [format!("{at}[0]: added"), format!("{at}[1].image: a:1 -> a:2"), format!("{at}[2]: removed")];
        assert_eq!(shown(&old, &new)[0], expected);
        let list = changes(&old, &new);
        assert_eq!((&list[0].old, list[0].new.as_ref().unwrap()["name"].as_str()), (&None, Some("first")));
    }

    #[test]
    fn another_order_of_named_items_is_a_change() {
        let init = |names: [&str; 2]| json!({"initContainers": names.map(|name| json!({"name": name}))});
        let [without, with] = shown(&init(["a", "b"]), &init(["b", "a"]));
        assert_eq!(without, ["initContainers: changed"]);
        assert_eq!(with, ["initContainers: [\"a\",\"b\"] -> [\"b\",\"a\"]"]);
    }

    #[test]
    fn items_without_names_are_matched_by_place_between_what_stays() {
        let args = |list: &[&str]| json!({"args": list});
        assert_eq!(shown(&args(&["a", "b"]), &args(&["x", "a", "b"]))[1], ["args[0]: added x"]);
        assert_eq!(shown(&args(&["a", "x", "b"]), &args(&["a", "b"]))[1], ["args[1]: removed x"]);
        assert_eq!(shown(&args(&["a", "a"]), &args(&["a"]))[1], ["args[1]: removed a"]);
        assert_eq!(
            shown(&args(&["a", "b", "c", "z"]), &args(&["a", "x", "z"]))[1],
            ["args[1]: b -> x", "args[2]: removed c"]
        );
    }

    #[test]
    fn paths_are_those_that_people_write() {
        let object =
            |value: &str| json!({"metadata": {"annotations": {"helm.sh/hook": value}, "name": value}, "": value});
        let expected = ["[]: a -> b", "metadata.annotations[helm.sh/hook]: a -> b", "metadata.name: a -> b"];
        assert_eq!(shown(&object("a"), &object("b"))[1], expected);
        let hostile = shown(&json!({"a\n\u{202e}": 1}), &json!({"a\n\u{202e}": "\u{1b}"}));
        assert_eq!(hostile[1], ["[a\\n\\u{202e}]: 1 -> \\u{1b}"]);
    }

    /// Objects as charts have them, small enough to be alike.
    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!(1)), "[ab]".prop_map(|text| json!(text))];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab]|name|image|containers", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_changed_where_all_is_equal_and_only_there(old in values(), new in values()) {
            prop_assert!(changes(&old, &old).is_empty());
            let found = changes(&old, &new);
            prop_assert_eq!(found.is_empty(), old == new);
            prop_assert!(found.iter().all(|change| change.old != change.new));
        }
    }
}
