//! The manifest of a release, taken apart as Helm does (`SplitManifests` in `pkg/release/v1/util/manifest.go`).

use std::vec;

use serde_json::Value;

use crate::helm;
use crate::yaml::{self, Head};

const SEPARATOR: &str = "---";
const SOURCE: &str = "# Source: ";

/// One object of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'a> {
    /// Of its template, from the chart's name on; empty if that is not said.
    pub path: &'a str,
    /// The YAML, with the line that says the path.
    pub text: &'a str,
    /// The object, where `text` is a list that holds it.
    pub item: Option<Value>,
    pub head: Head,
}

impl Document<'_> {
    /// The whole object, unless it is no YAML further down than its head.
    pub fn object(&self, limits: &yaml::Limits) -> Option<Value> {
        match &self.item {
            Some(item) => Some(item.clone()),
            None => Some(yaml::parse(self.text, limits).ok()??.1),
        }
    }
}

/// What one manifest may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many documents and items of lists are looked at.
    pub documents: usize,
    /// For each document.
    pub yaml: yaml::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self { documents: 10_000, yaml: yaml::Limits::default() }
    }
}

/// Reads the heads of a manifest's documents, one at a time.
pub fn documents<'a>(manifest: &'a str, limits: &Limits) -> Documents<'a> {
    let manifest = manifest.trim_start();
    // A separator at the start ends nothing.
    let rest = manifest.strip_prefix(SEPARATOR).unwrap_or(manifest);
    let (items, left) = (Vec::new().into_iter(), limits.documents);
    Documents { rest: Some(rest), items, left, yaml: limits.yaml, unreadable: 0, cut_off: false }
}

/// The iterator of [`documents`].
#[derive(Debug)]
pub struct Documents<'a> {
    /// Behind the last separator.
    rest: Option<&'a str>,
    /// Of the list that was read last.
    items: vec::IntoIter<Document<'a>>,
    /// How many more may be looked at.
    left: usize,
    yaml: yaml::Limits,
    unreadable: usize,
    cut_off: bool,
}

impl<'a> Documents<'a> {
    /// How many documents so far are no YAML or no objects.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// The limit left something unread.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Up to the next line that starts with a separator: Helm minds neither what follows there nor a block scalar.
    fn next_text(&mut self) -> Option<&'a str> {
        let rest = self.rest.take()?;
        let (text, after) = match rest.split_once("\n---") {
            Some((text, after)) => (text, Some(after)),
            None => (rest, None),
        };
        self.rest = after;
        Some(text.trim_start_matches([' ', '\t']))
    }

    fn read(&mut self, text: &'a str) -> Option<Document<'a>> {
        let head = yaml::head(text, &self.yaml).ok().filter(|head| !head.kind.is_empty());
        let Some(head) = head else {
            self.unreadable += 1;
            return None;
        };
        let document = Document { path: path(text), text, item: None, head };
        // A list that is itself a hook is one hook; else Helm takes it apart.
        if !document.head.kind.ends_with("List") || document.head.annotations.contains_key(helm::HOOK) {
            return Some(document);
        }
        let Some(mut list) = document.object(&self.yaml) else {
            self.unreadable += 1;
            return None;
        };
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(mut items)) => {
                self.cut_off |= items.len() > self.left;
                items.truncate(self.left);
                self.left -= items.len();
                let items = items.into_iter().map(|item| document.item(item));
                self.items = items.collect::<Vec<_>>().into_iter();
                None
            }
            // Go writes an empty list as null.
            Some(Value::Null) => None,
            _ => Some(document),
        }
    }
}

impl<'a> Document<'a> {
    /// What the API server leaves out of the items of a list of one kind, such as a `JobList`, is the list's.
    fn item(&self, item: Value) -> Document<'a> {
        let mut head = Head::of(&item);
        if head.kind.is_empty() && head.api_version.is_empty() {
            self.head.kind.trim_end_matches("List").clone_into(&mut head.kind);
            self.head.api_version.clone_into(&mut head.api_version);
        }
        Document { path: self.path, text: self.text, item: Some(item), head }
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Document<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.items.next() {
                return Some(item);
            }
            let text = self.next_text()?;
            if text.lines().all(is_blank) {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else {
                self.cut_off = true;
                self.rest = None;
                return None;
            };
            self.left = left;
            if let Some(document) = self.read(text) {
                return Some(document);
            }
        }
    }
}

/// Holds nothing, or a comment only: Helm keeps such documents, and nothing comes of them.
fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// Helm writes the path above each document, and the template may go on with comments of its own.
fn path(text: &str) -> &str {
    let mut comments = text.lines().take_while(|line| is_blank(line));
    comments.find_map(|line| line.strip_prefix(SOURCE)).unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Documents, Limits, documents};
    use crate::testing::test;
    use crate::yaml;

    fn all(manifest: &str) -> Documents<'_> {
        documents(manifest, &Limits::default())
    }

    /// Of each document its path, kind and name.
    fn outline(manifest: &str) -> Vec<String> {
        all(manifest).map(|found| format!("{} {} {}", found.path, found.head.kind, found.head.name)).collect()
    }

    #[test]
    fn reads_a_manifest_as_helm_stores_it() {
        let manifest = "---\n# Source: shop/templates/sa.yaml\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: a\n\
                        ---\n# Source: shop/templates/job.yaml\n# our job\n\nkind: Job\nmetadata: {name: b}\n";
        assert_eq!(outline(manifest), ["shop/templates/sa.yaml ServiceAccount a", "shop/templates/job.yaml Job b"]);
    }

    #[test]
    fn separators_are_those_of_both_helms() {
        let manifest = "\n\n---   \nkind: A\n\n--- # apart\nkind: B\n---kind: C\r\n---\r\nkind: D\r\n------\nkind: E\n";
        // The last one separates, and leaves a document that starts with three dashes.
        assert_eq!(outline(manifest), [" A ", " B ", " C ", " D ", " E "]);
        assert_eq!(outline("kind: A\ndata: |\n  ---\n  kind: B\n"), [" A "]);
        assert_eq!(outline("kind: A\nmetadata:\n  name: a\ndata: |\n---\nkind: B\n"), [" A a", " B "]);
    }

    #[test]
    fn empty_documents_drop_out_and_broken_ones_are_counted() {
        let manifest = "---\n---\n# Source: a\n\n  # nothing\n---\n\t\n---\nkind: [\n---\n- a\n---\n{}\n---\nkind: A\n";
        let mut found = all(manifest);
        assert_eq!(found.by_ref().count(), 1);
        assert_eq!((found.unreadable(), found.is_cut_off()), (3, false));
        assert_eq!(all("").count(), 0);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_document() {
        assert_eq!(outline("---\n# Source: a\n\u{feff}kind: A\nmetadata: {name: b}\n"), ["a A b"]);
    }

    #[test]
    fn a_plain_list_is_its_items() {
        let manifest = "# Source: a\nkind: List\napiVersion: v1\nitems:\n\
                        - {kind: Job, metadata: {name: x, annotations: {helm.sh/hook: pre-install}}}\n- {kind: B}\n\
                        ---\nkind: JobList\napiVersion: batch/v1\nmetadata: {}\nitems: [{metadata: {name: w}}]\n\
                        ---\nkind: List\nitems: null\n---\nkind: AllowList\nmetadata: {name: z}\n";
        assert_eq!(outline(manifest), ["a Job x", "a B ", " Job w", " AllowList z"]);
        let job = all(manifest).nth(2).unwrap();
        assert_eq!(job.head.api_version, "batch/v1");
        assert_eq!(job.object(&yaml::Limits::default()), Some(json!({"metadata": {"name": "w"}})));
    }

    #[test]
    fn a_list_that_is_a_hook_is_one_document() {
        let manifest = "kind: List\nmetadata: {annotations: {helm.sh/hook: pre-install}}\nitems: [{kind: Job}]\n";
        assert_eq!(outline(manifest), [" List "]);
    }

    #[test]
    fn an_object_is_read_whole_on_demand() {
        let manifest = "kind: A\napiVersion: v1\nmetadata: {}\nspec: {a: 1}\n---\nkind: A\napiVersion: v1\nmetadata: {}\nspec: [\n";
        let objects: Vec<_> = all(manifest).map(|found| found.object(&yaml::Limits::default())).collect();
        assert_eq!(objects[0].as_ref().map(|object| &object["spec"]), Some(&json!({"a": 1})));
        assert_eq!(objects[1], None);
    }

    #[test]
    fn documents_and_items_are_bounded() {
        let limits = Limits { documents: 3, ..Limits::default() };
        let count = |manifest: &str| {
            let mut found = documents(manifest, &limits);
            (found.by_ref().count(), found.is_cut_off())
        };
        assert_eq!(count(&"---\nkind: A\n".repeat(3)), (3, false));
        assert_eq!(count(&"---\nkind: A\n".repeat(4)), (3, true));
        assert_eq!(count("kind: List\nitems: [{kind: A}, {kind: B}]\n---\n"), (2, false));
        assert_eq!(count("kind: List\nitems: [{kind: A}, {kind: B}, {kind: C}]\n---\n"), (2, true));
        assert_eq!(count(&"---\n# nothing\n".repeat(9)), (0, false));
    }
}
