//! The manifest of a release, taken apart as Helm does (`SplitManifests` in `pkg/release/v1/util/manifest.go`).

use std::collections::BTreeSet;
use std::vec;

use memchr::memmem::Finder;
use serde_json::Value;

use crate::annotation::HOOK;
use crate::yaml::{self, Head};

const SEPARATOR: &str = "---";
/// The text that Helm writes before the path of a template.
pub const SOURCE: &str = "# Source: ";

/// One object of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'a> {
    /// The template's path, from the chart's name on; empty if none is given.
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

/// Limits of one manifest.
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

/// A choice of the documents to read: reading takes most of the time that a large release takes.
///
/// Only an escape can spell a word in YAML so that a search does not find it, so a document that has one is read.
#[derive(Debug, Clone)]
pub struct Wanted {
    everything: bool,
    /// Whatever holds one of these words, wherever it stands.
    words: Vec<Finder<'static>>,
    kinds: Vec<WantedKind>,
}

#[derive(Debug, Clone)]
struct WantedKind {
    kind: Finder<'static>,
    /// One of these must be in the document too.
    words: Option<Vec<Finder<'static>>>,
}

impl Wanted {
    /// Each word costs a search through the manifest; with more of them reading everything is quicker.
    const MOST_WORDS: usize = 50;
    const ESCAPE: &'static str = "\\";
    /// A list holds other objects.
    const LIST: &'static str = "List";

    pub fn everything() -> Self {
        Self { everything: true, words: Vec::new(), kinds: Vec::new() }
    }

    /// Nothing yet but what could hold anything.
    pub fn nothing() -> Self {
        Self { everything: false, words: finders([Self::ESCAPE]), kinds: Vec::new() }.with_kind(Self::LIST)
    }

    /// Adds the documents of this kind, or of one that ends so.
    #[must_use]
    pub fn with_kind(mut self, kind: &str) -> Self {
        self.kinds.push(WantedKind { kind: Finder::new(kind).into_owned(), words: None });
        self
    }

    /// Adds the documents of this kind, or of one that ends so, that hold one of these words.
    #[must_use]
    pub fn with_kind_and<'w>(mut self, kind: &str, words: impl IntoIterator<Item = &'w str>) -> Self {
        let words = Some(finders(words)).filter(|words| words.len() <= Self::MOST_WORDS);
        self.kinds.push(WantedKind { kind: Finder::new(kind).into_owned(), words });
        self
    }

    /// Adds the documents that hold one of these words.
    #[must_use]
    pub fn with<'w>(mut self, words: impl IntoIterator<Item = &'w str>) -> Self {
        self.words.extend(finders(words));
        if self.words.len() > Self::MOST_WORDS { Self::everything() } else { self }
    }

    fn includes(&self, text: &str, limits: &yaml::Limits) -> bool {
        let holds = |word: &Finder<'_>| word.find(text.as_bytes()).is_some();
        if self.everything || self.words.iter().any(holds) {
            return true;
        }
        let holds_one = |words: &Option<Vec<_>>| words.as_ref().is_none_or(|words| words.iter().any(holds));
        let mut possible =
            self.kinds.iter().filter(|wanted| holds(&wanted.kind) && holds_one(&wanted.words)).peekable();
        // Others speak of these kinds too; what is no YAML is counted where it is read as a whole.
        possible.peek().is_some()
            && yaml::kind(text, limits).map_or(true, |kind| {
                kind.is_empty() || possible.any(|wanted| kind.as_bytes().ends_with(wanted.kind.needle()))
            })
    }
}

fn finders<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<Finder<'static>> {
    let words: BTreeSet<_> = words.into_iter().collect();
    words.into_iter().map(|word| Finder::new(word).into_owned()).collect()
}

/// Reads the heads of a manifest's documents, one at a time.
pub fn documents<'a, 'w>(manifest: &'a str, wanted: &'w Wanted, limits: &Limits) -> Documents<'a, 'w> {
    let (texts, items) = (texts(manifest.trim_start()), Vec::new().into_iter());
    let (left, yaml) = (limits.documents, limits.yaml);
    Documents { texts, wanted, items, left, yaml, unreadable: 0, cut_off: false }
}

/// The texts between the separators. Helm separates where a line starts with three dashes: it minds neither what follows
/// there nor a block scalar around it.
pub fn texts(manifest: &str) -> Texts<'_> {
    // A separator at the start ends nothing.
    let rest = manifest.strip_prefix(SEPARATOR).unwrap_or(manifest);
    Texts { rest: Some(rest), separator: Finder::new("\n---") }
}

/// The iterator of [`texts`].
#[derive(Debug)]
pub struct Texts<'a> {
    /// Behind the last separator.
    rest: Option<&'a str>,
    separator: Finder<'static>,
}

impl<'a> Iterator for Texts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let found = self.separator.find(rest.as_bytes()).and_then(|at| rest.split_at_checked(at));
        let (text, after) = found.unwrap_or((rest, ""));
        self.rest = after.strip_prefix("\n---");
        Some(text)
    }
}

/// The iterator of [`documents`].
#[derive(Debug)]
pub struct Documents<'a, 'w> {
    texts: Texts<'a>,
    wanted: &'w Wanted,
    /// The items left of the list that was read last.
    items: vec::IntoIter<Document<'a>>,
    /// How many more may be looked at.
    left: usize,
    yaml: yaml::Limits,
    unreadable: usize,
    cut_off: bool,
}

impl<'a> Documents<'a, '_> {
    /// How many of the documents that were read so far are no YAML or no objects.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// The limit left something unread.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    fn read(&mut self, text: &'a str) -> Option<Document<'a>> {
        let head = yaml::head(text, &self.yaml).ok().filter(|head| !head.kind.is_empty());
        let Some(head) = head else {
            self.unreadable += 1;
            return None;
        };
        let document = Document { path: path(text), text, item: None, head };
        // A list that is itself a hook is one hook; else Helm takes it apart.
        if !document.head.kind.ends_with("List") || document.head.annotations.contains_key(HOOK) {
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
    fn item(&self, item: Value) -> Document<'a> {
        let head = head_of_item(&item, &self.head);
        Document { path: self.path, text: self.text, item: Some(item), head }
    }
}

impl<'a> Iterator for Documents<'a, '_> {
    type Item = Document<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.items.next() {
                return Some(item);
            }
            let text = self.texts.next()?.trim_start_matches([' ', '\t']);
            if text.lines().all(is_blank) {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else {
                self.cut_off = true;
                self.texts.rest = None;
                return None;
            };
            self.left = left;
            if !self.wanted.includes(text, &self.yaml) {
                continue;
            }
            if let Some(document) = self.read(text) {
                return Some(document);
            }
        }
    }
}

/// The items of a document that is a list, each with its head; none of a document that is no list.
pub fn items(text: &str, limits: &yaml::Limits) -> Vec<(Head, Value)> {
    let Ok(Some((_, mut list))) = yaml::parse(text, limits) else { return Vec::new() };
    let of = Head::of(&list);
    let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) else { return Vec::new() };
    items.into_iter().map(|item| (head_of_item(&item, &of), item)).collect()
}

/// The head of an item. In a list of one kind, such as a `JobList`, the API server leaves out the items' kind and
/// apiVersion: they follow from the list's.
fn head_of_item(item: &Value, list: &Head) -> Head {
    let mut head = Head::of(item);
    if head.kind.is_empty() && head.api_version.is_empty() {
        list.kind.trim_end_matches("List").clone_into(&mut head.kind);
        list.api_version.clone_into(&mut head.api_version);
    }
    head
}

/// Holds nothing, or a comment only: Helm keeps such documents, and nothing comes of them.
fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// The template of a document, from the chart's name on: Helm writes it above, and the template may go on with comments
/// of its own.
pub fn path(text: &str) -> &str {
    let mut comments = text.lines().take_while(|line| is_blank(line));
    comments.find_map(|line| line.strip_prefix(SOURCE)).unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use serde_json::json;

    use super::{Documents, Limits, Wanted, documents};
    use crate::testing::test;
    use crate::yaml;

    static ALL: LazyLock<Wanted> = LazyLock::new(Wanted::everything);

    fn all(manifest: &str) -> Documents<'_, '_> {
        documents(manifest, &ALL, &Limits::default())
    }

    /// The path, kind and name of each document.
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
    fn a_list_that_breaks_off_behind_its_head_is_counted() {
        let mut found = all("kind: List\napiVersion: v1\nmetadata: {}\nitems: [\n");
        assert_eq!((found.by_ref().count(), found.unreadable()), (0, 1));
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
            let mut found = documents(manifest, &ALL, &limits);
            (found.by_ref().count(), found.is_cut_off())
        };
        assert_eq!(count(&"---\nkind: A\n".repeat(3)), (3, false));
        assert_eq!(count(&"---\nkind: A\n".repeat(4)), (3, true));
        assert_eq!(count("kind: List\nitems: [{kind: A}, {kind: B}]\n---\n"), (2, false));
        assert_eq!(count("kind: List\nitems: [{kind: A}, {kind: B}, {kind: C}]\n---\n"), (2, true));
        assert_eq!(count("kind: List\nitems: [{kind: A}, {kind: B}]\n---\nkind: C\n"), (2, true));
        assert_eq!(count(&"---\n# nothing\n".repeat(9)), (0, false));
    }

    #[test]
    fn only_wanted_documents_are_read_and_all_of_them_count() {
        let manifest = "kind: A\nmetadata: {name: db}\n---\nkind: [\n---\nkind: Job\n---\nkind: \"J\\x6fb\"\n---\n\
                        kind: List\nitems: [{kind: C}]\n---\nkind: B\nabout: a Job\n---\nkind: CronJob\n---\nJob: [\n";
        let found = |words: &[&str], most| {
            let wanted = Wanted::nothing().with_kind("Job").with_kind_and("B", ["db"]).with(words.iter().copied());
            let limits = Limits { documents: most, ..Limits::default() };
            let mut found = documents(manifest, &wanted, &limits);
            let kinds: Vec<_> = found.by_ref().map(|found| found.head.kind).collect();
            (kinds.join(" "), found.unreadable(), found.is_cut_off())
        };
        assert_eq!(found(&["db"], 9), ("A Job Job C CronJob".to_owned(), 1, false));
        assert_eq!(found(&[], 2), (String::new(), 0, true));
        let many: Vec<_> = (0..50).map(|number| number.to_string()).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(found(&many, 9), ("A Job Job C B CronJob".to_owned(), 2, false));
        assert_eq!(found(&many[1..], 9), ("Job Job C CronJob".to_owned(), 1, false));
    }
}
