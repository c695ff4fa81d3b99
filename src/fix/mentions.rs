//! The objects of a stream that name what hooks refer to: they may make it, or give it its rights.

use std::collections::{BTreeMap, BTreeSet};

use helm::Event;
use serde_json::Value;

use super::stream::{Entry, Stream};
use super::words::{Texts, for_each_word};

/// The objects that mention a name, by that name.
pub(super) struct Mentions(BTreeMap<String, Places>);

/// The places of the objects that mention a name.
#[derive(Default)]
struct Places {
    /// The first alone: all that Helm creates with the release is there at the same events.
    resource: Option<usize>,
    hooks: Vec<usize>,
}

impl Mentions {
    /// The stream is read once for all names, one document at a time.
    pub(super) fn of(stream: &Stream<'_>, wanted: BTreeSet<String>) -> Self {
        let mut mentions = Self(wanted.into_iter().map(|name| (name, Places::default())).collect());
        if !mentions.0.is_empty() {
            for document in 0..stream.documents.len() {
                if mentions.may_stand_in(stream.text(document)) {
                    stream.for_each_object(document, |place, entry, object| mentions.add(place, entry, object));
                }
            }
        }
        mentions
    }

    pub(super) fn places(&self, name: &str) -> impl Iterator<Item = usize> {
        self.0.get(name).into_iter().flat_map(|places| places.resource.iter().chain(&places.hooks).copied())
    }

    fn may_stand_in(&self, text: &str) -> bool {
        // An escape can spell a name in another way.
        let mut may_stand = text.contains('\\');
        for_each_word(text, |word| may_stand |= self.0.contains_key(word));
        may_stand
    }

    fn add(&mut self, place: usize, entry: &Entry<'_>, object: &Value) {
        // The hook has run without it so far.
        if entry.events().is_some_and(|events| events.iter().all(Event::is_test_or_delete)) {
            return;
        }
        let texts = if entry.is_built_in() { Texts::of_built_in(object) } else { Texts::of_custom(object) };
        texts.for_each(object, |_, text| {
            for_each_word(text, |word| {
                let Some(places) = self.0.get_mut(word) else { return };
                if entry.is_resource() {
                    places.resource.get_or_insert(place);
                } else if places.hooks.last() != Some(&place) {
                    places.hooks.push(place);
                }
            });
        });
    }
}
