//! The functions that templates call, as far as they say where a value comes from.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Gap;
use super::reading::{Key, Reading};
use super::walk::{Walker, Written, found};

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

/// Functions that take from their first argument what they do not change.
const WRITE: [&str; 7] =
    ["set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite", "mustMergeOverwriteWithOptions"];

/// A function writes into the map that is its first argument.
pub(super) fn writes(name: &str) -> bool {
    WRITE.contains(&name)
}

/// The result of a function. Of one that is not known it may be made of all that it is given.
pub(super) fn call(walker: &mut Walker<'_>, name: &str, arguments: &[Reading]) -> Reading {
    match (name, arguments) {
        ("include", [names, rest @ ..]) => include(walker, names, rest.first()),
        ("tpl", [text, rest @ ..]) => tpl(walker, text, rest.first()),
        ("dict", entries) => dict(entries),
        ("list" | "tuple", items) => {
            let items = Reading::joined(items.iter().cloned());
            Reading { entries: [(Key::Any, items)].into(), ..Reading::default() }
        }
        ("set", [map, key, value]) => set(walker, map, key, value),
        ("get" | "hasKey", [map, key]) => {
            let entry = below(map, key);
            walker.use_of(&entry);
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
        ("first" | "last" | "mustFirst" | "mustLast", [list]) => list.entry(None),
        ("print" | "printf" | "cat", texts) => {
            walker_uses(walker, texts);
            printed(name, texts)
        }
        ("merge" | "mergeOverwrite" | "mustMerge" | "mustMergeOverwrite", [into, others @ ..]) => {
            let source = Reading::joined(others.iter().cloned());
            for target in &into.patterns {
                walker.written.push(Written { target: target.clone(), source: source.clone() });
            }
            Reading::joined(arguments.iter().cloned())
        }
        ("lookup", _) => {
            walker.gaps.insert(Gap::Lookup(walker.file));
            walker_uses(walker, arguments);
            Reading::default()
        }
        (name, arguments) if COMPARE.contains(&name) => {
            for (at, argument) in arguments.iter().enumerate() {
                let others = arguments.iter().enumerate().filter(|(other, _)| *other != at);
                let literals: BTreeSet<_> = others.flat_map(|(_, other)| literals_of(other)).collect();
                walker.compared(argument, &literals);
            }
            walker_uses(walker, arguments);
            without_text(arguments)
        }
        (name, arguments) if DIGEST.contains(&name) => {
            walker_uses(walker, arguments);
            without_text(arguments)
        }
        // Their values pass through, and are used where the result is.
        (
            "default" | "coalesce" | "ternary" | "deepCopy" | "mustDeepCopy" | "and" | "or" | "concat" | "append"
            | "prepend" | "fromYaml" | "fromJson" | "toYaml" | "toJson" | "values",
            arguments,
        ) => Reading::joined(arguments.iter().cloned()),
        (_, arguments) => {
            walker_uses(walker, arguments);
            Reading::joined(arguments.iter().cloned())
        }
    }
}

/// What hangs on all of these, and has nothing of their texts.
fn without_text(all: &[Reading]) -> Reading {
    let joined = Reading::joined(all.iter().cloned());
    Reading { patterns: joined.all_patterns(), decisions: joined.all_decisions(), ..Reading::default() }
}

fn walker_uses(walker: &mut Walker<'_>, arguments: &[Reading]) {
    arguments.iter().for_each(|argument| walker.use_of(argument));
}

fn literals_of(value: &Reading) -> BTreeSet<super::reading::Literal> {
    let below = value.entries.values().flat_map(literals_of);
    value.literals.iter().cloned().chain(below).collect()
}

/// The entry under a key; every one where the key is not known.
fn below(map: &Reading, key: &Reading) -> Reading {
    let keys: Vec<_> = key.texts().collect();
    let is_known = key.patterns.is_empty() && key.decisions.is_empty() && !keys.is_empty();
    let mut found =
        if is_known { Reading::joined(keys.into_iter().map(|key| map.entry(Some(key)))) } else { map.entry(None) };
    found.decisions.extend(key.all_decisions());
    found
}

fn include(walker: &mut Walker<'_>, names: &Reading, dot: Option<&Reading>) -> Reading {
    let dot = dot.cloned().unwrap_or_default();
    let known: Vec<_> = names.texts().flat_map(|name| walker.called(name)).collect();
    if known.is_empty() {
        walker.gaps.insert(Gap::ComputedName(walker.file));
        // Whatever it writes, it may read all that it is given.
        return Reading::joined([names.clone(), dot]);
    }
    walker.use_of(&Reading { decisions: names.all_decisions(), ..Reading::default() });
    Reading::joined(known.into_iter().map(|name| walker.call(&name, dot.clone())))
}

/// A value that is a template itself.
fn tpl(walker: &mut Walker<'_>, text: &Reading, dot: Option<&Reading>) -> Reading {
    let dot = dot.cloned().unwrap_or_default();
    let mut texts: BTreeSet<String> = text.texts().map(str::to_owned).collect();
    for pattern in text.all_patterns() {
        for value in found(&pattern, walker.values) {
            collect_templates(value, &mut texts);
        }
    }
    let written = texts.iter().map(|text| walker.call_text(text, dot.clone()));
    let written = Reading::joined(written.collect::<Vec<_>>());
    Reading::joined([text.clone(), written])
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

fn dict(entries: &[Reading]) -> Reading {
    let mut dict = Reading::default();
    for entry in entries.chunks(2) {
        let [key, value] = entry else { continue };
        add(&mut dict, key, value);
    }
    dict
}

fn add(map: &mut Reading, key: &Reading, value: &Reading) {
    map.writes.names_hook |= key.writes.names_hook;
    map.decisions.extend(key.all_decisions());
    let keys: Vec<_> = key.texts().map(|key| Key::Named(key.to_owned())).collect();
    let keys = if keys.is_empty() { vec![Key::Any] } else { keys };
    for key in keys {
        map.entries.entry(key).or_default().join(value.clone());
    }
}

fn set(walker: &mut Walker<'_>, map: &Reading, key: &Reading, value: &Reading) -> Reading {
    for pattern in &map.patterns {
        for key in key.texts() {
            let target = pattern.then(Key::Named(key.to_owned()));
            walker.written.push(Written { target, source: value.clone() });
        }
    }
    let mut map = map.clone();
    add(&mut map, key, value);
    map
}

/// A text that is put together, where all of its parts are known.
fn printed(name: &str, texts: &[Reading]) -> Reading {
    let all = Reading::joined(texts.iter().cloned());
    let joined = Reading { literals: BTreeSet::new(), ..all.clone() };
    let parts: Option<Vec<_>> = texts
        .iter()
        .map(|text| {
            let mut texts = text.texts();
            texts.next().filter(|_| texts.next().is_none() && text.patterns.is_empty())
        })
        .collect();
    let text = match (name, parts.as_deref()) {
        ("printf", Some([format, parts @ ..])) => {
            Some(parts.iter().fold((*format).to_owned(), |text, part| text.replacen("%s", part, 1)))
        }
        ("print", Some(parts)) => Some(parts.concat()),
        _ => None,
    };
    match text {
        Some(text) => Reading::joined([joined, Reading::of_text(&text)]),
        // The parts that are known may be the end of a file's name.
        None => all,
    }
}
