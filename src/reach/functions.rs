//! The functions that templates call, as far as they say where a value comes from.

use std::collections::BTreeSet;

use serde_json::Value;

use super::notes::{Gap, Notes};
use super::reading::{Key, Literal, Pattern, Reading, Writes, found};
use super::words::{is_judged, names_hook};

/// How many texts one that is put together may be.
const MOST_TEXTS: usize = 32;

/// What functions need of the walk that calls them.
pub(super) trait Templates {
    fn notes(&mut self) -> &mut Notes;

    fn values(&self) -> &Value;

    /// The templates of a name. Of a file's name only the end may be known, the rest being `.Template.BasePath`.
    fn called(&self, name: &str) -> Vec<String>;

    /// What a named template writes, as a value.
    fn call(&mut self, name: &str, dot: Reading) -> Reading;

    /// What a text writes that is a template of its own.
    fn call_text(&mut self, text: &str, dot: Reading) -> Reading;

    /// A map or list that nothing else holds.
    fn new_map(&mut self, map: Reading) -> Reading;

    /// Something is written into a map.
    fn write(&mut self, map: &Reading, effect: Reading);

    /// What is written here hangs on what stands around it.
    fn here(&self, value: Reading) -> Reading;
}

/// Functions whose result is a yes or no about their arguments.
const COMPARE: [&str; 11] =
    ["eq", "ne", "lt", "le", "gt", "ge", "has", "contains", "hasPrefix", "hasSuffix", "mustHas"];

/// Functions that make something of a text in which it cannot be read any more.
const DIGEST: [&str; 11] = [
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "adler32sum",
    "b64enc",
    "len",
    "empty",
    "not",
    "bcrypt",
    "kindIs",
    "semverCompare",
];

/// Functions that give one of their arguments, or what they are made of.
const PASS: [&str; 12] = [
    "default",
    "coalesce",
    "ternary",
    "and",
    "or",
    "concat",
    "toYaml",
    "toJson",
    "toPrettyJson",
    "required",
    "mustToJson",
    "mustToPrettyJson",
];

/// Functions that give a copy.
const COPY: [&str; 6] = ["deepCopy", "mustDeepCopy", "fromYaml", "fromJson", "fromYamlArray", "fromJsonArray"];

/// The result of a function. Of one that is not known it may be made of all that it is given.
pub(super) fn call(templates: &mut impl Templates, name: &str, arguments: &[Reading]) -> Reading {
    match (name, arguments) {
        ("include", [names, rest @ ..]) => include(templates, names, rest.first()),
        ("tpl", [text, rest @ ..]) => tpl(templates, text, rest.first()),
        ("dict", entries) => {
            let dict = dict(templates, entries);
            templates.new_map(dict)
        }
        ("list" | "tuple", items) => {
            let items = items.iter().enumerate();
            let entries = items.map(|(number, item)| (Key::Named(number.to_string()), item.clone())).collect();
            templates.new_map(Reading { entries, ..Reading::default() })
        }
        ("append" | "push" | "prepend" | "mustAppend" | "mustPush" | "mustPrepend", [list, item]) => {
            let mut list = list.clone().shuffled();
            list.entries.entry(Key::Any).or_default().join(item.clone());
            templates.new_map(list)
        }
        ("set", [map, key, value]) => {
            let source = templates.here(value.clone());
            templates.notes().write(map, &keys_of(key), &source);
            let mut effect = Reading::default();
            add(templates, &mut effect, key, &source);
            templates.write(map, effect.clone());
            Reading::joined([map.clone(), effect])
        }
        ("unset", [map, key]) => {
            let nothing = without_text(std::slice::from_ref(key));
            call(templates, "set", &[map.clone(), key.clone(), nothing])
        }
        ("get" | "hasKey", [map, key]) => {
            let entry = below(map, key);
            templates.notes().use_of(&entry);
            entry
        }
        ("index", [map, keys @ ..]) => keys.iter().fold(map.clone(), |map, key| below(&map, key)),
        ("dig", [keys @ .., default, map]) => {
            let found = keys.iter().fold(map.clone(), |map, key| below(&map, key));
            Reading::joined([found, default.clone()])
        }
        ("pluck", [key, maps @ ..]) => {
            let items = Reading::joined(maps.iter().map(|map| below(map, key)));
            Reading { entries: [(Key::Any, items)].into(), ..Reading::default() }
        }
        ("pick" | "omit", arguments) => {
            let all = Reading::joined(arguments.iter().cloned());
            templates.new_map(Reading { is_shallow: true, is_made: true, ..all })
        }
        ("values", maps) => {
            let items = Reading::joined(maps.iter().map(|map| map.entry(None)));
            Reading { entries: [(Key::Any, items)].into(), ..Reading::default() }
        }
        ("first" | "last" | "mustFirst" | "mustLast", [list]) => list.entry(None),
        ("keys", maps) => {
            templates.notes().uses(maps);
            let names = Reading::joined(maps.iter().map(names_in));
            Reading { entries: [(Key::Any, names)].into(), ..without_text(maps) }
        }
        ("print" | "printf" | "cat", texts) => {
            templates.notes().uses(texts);
            printed(name, texts)
        }
        (
            "merge" | "mergeOverwrite" | "mustMerge" | "mustMergeOverwrite" | "mustMergeOverwriteWithOptions",
            all @ [into, others @ ..],
        ) => merged(templates, all, into, others),
        ("lookup", _) => {
            templates.notes().gap(Gap::Lookup);
            templates.notes().uses(arguments);
            Reading { is_made: true, ..Reading::default() }
        }
        (name, arguments) if COMPARE.contains(&name) => {
            for (at, argument) in arguments.iter().enumerate() {
                let others = arguments.iter().enumerate().filter(|(other, _)| *other != at);
                let literals: BTreeSet<_> = others.flat_map(|(_, other)| literals_of(other)).collect();
                templates.notes().compared(argument, &literals);
            }
            templates.notes().uses(arguments);
            without_text(arguments)
        }
        (name, arguments) if DIGEST.contains(&name) => {
            templates.notes().uses(arguments);
            without_text(arguments)
        }
        // Their values pass through, and are used where the result is.
        (name, arguments) if PASS.contains(&name) => Reading::joined(arguments.iter().cloned()).shuffled(),
        (name, arguments) if COPY.contains(&name) => {
            let all = Reading::joined(arguments.iter().cloned());
            copied(templates, Reading { is_made: true, ..all })
        }
        (_, arguments) => {
            templates.notes().uses(arguments);
            Reading { is_made: true, ..Reading::joined(arguments.iter().cloned()).shuffled() }
        }
    }
}

/// Maps that are merged into the first of them.
fn merged(templates: &mut impl Templates, all: &[Reading], into: &Reading, others: &[Reading]) -> Reading {
    // The maps in a map that was picked from another one are that one's.
    merge_inside(templates, if into.is_shallow { all } else { others });
    let source = Reading { is_copy: true, is_shallow: true, ..Reading::joined(others.iter().cloned()) };
    let source = templates.here(source);
    if !into.is_copy {
        for target in &into.patterns {
            templates.notes().write_over(target.clone(), source.clone());
        }
    }
    templates.write(into, source.clone());
    Reading::joined([into.clone(), source])
}

/// The maps in one that is merged are not copied: the same keys of those after it are written into them.
fn merge_inside(templates: &mut impl Templates, merged: &[Reading]) {
    for (at, target) in merged.iter().enumerate() {
        let later = Reading::joined(merged.iter().skip(at + 1).cloned());
        let later = templates.here(Reading { is_copy: true, is_shallow: true, ..later });
        let maps: Vec<_> = target.patterns.iter().flat_map(|pattern| maps_in(pattern, templates.values())).collect();
        for (pattern, key) in maps {
            let source = later.entry(Some(&key));
            templates.notes().write_over(pattern.then(Key::Named(key)), source);
        }
        for (key, entry) in &target.entries {
            let Key::Named(key) = key else { continue };
            templates.write(entry, later.entry(Some(key)));
        }
    }
}

/// The keys of the values at a pattern that are maps themselves.
fn maps_in(pattern: &Pattern, values: &Value) -> BTreeSet<(Pattern, String)> {
    let maps = found(pattern, values).into_iter().filter_map(Value::as_object).flatten();
    maps.filter(|(_, value)| value.is_object()).map(|(key, _)| (pattern.clone(), key.clone())).collect()
}

/// A copy: nobody else holds it, or what is in it.
fn copied(templates: &mut impl Templates, value: Reading) -> Reading {
    let entries = value.entries.into_iter().map(|(key, entry)| (key, copied(templates, entry))).collect();
    let copy = Reading { entries, maps: BTreeSet::new(), is_copy: true, is_shallow: false, is_inside: false, ..value };
    if copy.entries.is_empty() && copy.patterns.is_empty() && copy.decisions.is_empty() {
        return copy;
    }
    templates.new_map(copy)
}

/// What hangs on all of these, and has nothing of their texts.
fn without_text(all: &[Reading]) -> Reading {
    let joined = Reading::joined(all.iter().cloned());
    Reading { patterns: joined.all_patterns(), is_copy: true, ..Reading::hanging(joined.all_decisions()) }
}

fn literals_of(value: &Reading) -> BTreeSet<Literal> {
    let below = value.entries.values().flat_map(literals_of);
    value.literals.iter().cloned().chain(below).collect()
}

/// The keys of a map as texts.
pub(super) fn names_in(map: &Reading) -> Reading {
    let named = map.entries.keys().filter_map(|key| match key {
        Key::Named(name) => Some(Literal::Text(name.clone())),
        Key::Any => None,
    });
    let is_made = !map.patterns.is_empty() || !map.tops.is_empty() || map.is_made || map.is_folded;
    let is_made = is_made || map.entries.contains_key(&Key::Any);
    Reading { literals: named.collect(), is_made, ..without_text(std::slice::from_ref(map)) }
}

/// The entry under a key; every one where the key is not known.
fn below(map: &Reading, key: &Reading) -> Reading {
    let mut found = if key.is_exact() {
        Reading::joined(key.literals.iter().map(|key| match key {
            Literal::Text(key) => map.entry(Some(key)),
            Literal::Number(number) => map.item(*number),
            Literal::Bool(_) => Reading::default(),
        }))
    } else {
        map.entry(None)
    };
    // Which one it is hangs on the key.
    found.patterns.extend(key.all_patterns());
    found.decisions.extend(key.all_decisions());
    found
}

fn include(templates: &mut impl Templates, names: &Reading, dot: Option<&Reading>) -> Reading {
    let dot = dot.cloned().unwrap_or_default();
    let known: Vec<_> = names.texts().flat_map(|name| templates.called(name)).collect();
    templates.notes().use_of(names);
    if known.is_empty() {
        templates.notes().gap(Gap::ComputedName);
        // Whatever it writes, it may read all that it is given.
        let all = Reading::joined([names.clone(), dot]);
        return Reading { is_made: true, ..all };
    }
    Reading::joined(known.into_iter().map(|name| templates.call(&name, dot.clone())).collect::<Vec<_>>())
}

/// A value that is a template itself.
fn tpl(templates: &mut impl Templates, text: &Reading, dot: Option<&Reading>) -> Reading {
    let dot = dot.cloned().unwrap_or_default();
    let mut texts: BTreeSet<String> = literals_of(text).iter().filter_map(Literal::text).collect();
    for pattern in text.all_patterns() {
        for value in found(&pattern, templates.values()) {
            collect_templates(value, &mut texts);
        }
    }
    let written = texts.iter().map(|text| templates.call_text(text, dot.clone()));
    let written = Reading::joined(written.collect::<Vec<_>>());
    Reading { is_made: true, ..Reading::joined([text.clone(), written]) }
}

fn collect_templates(value: &Value, texts: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.contains("{{") => {
            texts.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| collect_templates(item, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_templates(value, texts)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn dict(templates: &mut impl Templates, entries: &[Reading]) -> Reading {
    let mut dict = Reading::default();
    for entry in entries.chunks(2) {
        let [key, value] = entry else { continue };
        add(templates, &mut dict, key, value);
    }
    dict
}

fn add(templates: &mut impl Templates, map: &mut Reading, key: &Reading, value: &Reading) {
    if !key.is_exact() {
        // Which keys it has hangs on this one.
        templates.notes().use_of(key);
        map.decisions.extend(templates.notes().reading.last());
    }
    map.writes.names_hook |= key.writes.names_hook;
    let is_object = value.texts().any(is_judged) || !value.is_exact();
    map.writes.names_object |= is_object && key.texts().any(|key| key == "kind");
    map.decisions.extend(key.all_decisions());
    for key in keys_of(key) {
        map.entries.entry(key).or_default().join(value.clone());
    }
}

/// The keys that something is written under.
fn keys_of(key: &Reading) -> BTreeSet<Key> {
    if key.is_exact() {
        return key.texts().map(|key| Key::Named(key.to_owned())).collect();
    }
    BTreeSet::from([Key::Any])
}

/// A text that is put together, where all of its parts are known.
fn printed(name: &str, texts: &[Reading]) -> Reading {
    let all = Reading { is_made: true, ..Reading::joined(texts.iter().cloned()) };
    let known = match (name, texts) {
        ("printf", [format, parts @ ..]) => known_texts(format).and_then(|formats| {
            parts.iter().try_fold(formats, |texts, part| {
                combined(&texts, &known_texts(part)?, |text, part| text.replacen("%s", part, 1))
            })
        }),
        ("print", texts) => texts.iter().try_fold(vec![String::new()], |texts, part| {
            combined(&texts, &known_texts(part)?, |text, part| format!("{text}{part}"))
        }),
        _ => None,
    };
    // The parts that are known may be the end of a file's name.
    let Some(known) = known else { return all };
    let is_open = known.iter().any(|text| text.contains('%'));
    let writes = Writes::text(known.iter().any(|text| names_hook(text)));
    let known = known.into_iter().map(Literal::Text).collect();
    Reading { literals: known, writes: all.writes.or(writes), is_made: is_open, ..all }
}

fn known_texts(text: &Reading) -> Option<Vec<String>> {
    text.is_exact().then(|| text.literals.iter().filter_map(Literal::text).collect())
}

fn combined(texts: &[String], parts: &[String], put: impl Fn(&str, &str) -> String) -> Option<Vec<String>> {
    if texts.len() * parts.len() > MOST_TEXTS {
        return None;
    }
    Some(texts.iter().flat_map(|text| parts.iter().map(|part| put(text, part)).collect::<Vec<_>>()).collect())
}
