//! Hook grammar: annotation values are read as a second, naive implementation reads them, and normal forms are stable.

use std::collections::BTreeSet;

use helm::{DeletePolicies, DeletePolicy, Event, Events, NotAHook, spelled, weight};

/// The words that Helm's source lists, each with what it stands for (`pkg/release/v1/util/manifest_sorter.go`).
const EVENTS: [(&str, &str); 10] = [
    ("pre-install", "pre-install"),
    ("post-install", "post-install"),
    ("pre-delete", "pre-delete"),
    ("post-delete", "post-delete"),
    ("pre-upgrade", "pre-upgrade"),
    ("post-upgrade", "post-upgrade"),
    ("pre-rollback", "pre-rollback"),
    ("post-rollback", "post-rollback"),
    ("test", "test"),
    ("test-success", "test"),
];
const POLICIES: [&str; 3] = ["before-hook-creation", "hook-failed", "hook-succeeded"];

/// Three values, each ended by the first character that no annotation holds.
pub fn hook(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let mut values = text.splitn(3, '\0');
    let mut value = || values.next().unwrap_or_default();
    events(value());
    policies(value());
    let written = value();
    assert_eq!(weight(written), atoi(written), "weight {written:?}");
}

fn events(value: &str) {
    let read = Events::parse(value);
    let words = |events: Events| events.iter().map(Event::as_str).collect::<BTreeSet<_>>();
    let known = |item: &String| EVENTS.iter().find(|(word, _)| word == item).map(|(_, event)| *event);
    let items = items(value);
    // One item that Helm does not know, and it drops the whole document.
    let expected: Option<BTreeSet<_>> = items.iter().map(known).collect();
    assert_eq!(read.clone().ok().map(words), expected, "{value:?}");
    let events = match read {
        Ok(events) => events,
        Err(NotAHook::EmptyItem) => return assert!(items.iter().any(String::is_empty), "{value:?}"),
        Err(NotAHook::UnknownEvent(_)) => return,
    };
    let normal = events.to_string();
    assert_eq!(Events::parse(&normal).map(|events| events.to_string()), Ok(normal), "{value:?}");
    assert_eq!(Events::of(events.iter()), Some(events), "{value:?}");
    let completed = events.completed();
    let (before, after) = (words(events), words(completed));
    // Nothing but the other half of an install or upgrade comes in, and nothing goes.
    let added: BTreeSet<_> = after.difference(&before).copied().collect();
    assert!(before.is_subset(&after), "{value:?} loses an event: {completed}");
    assert_eq!(completed.completed(), completed, "{value:?}");
    let has = |side: &str| before.iter().any(|event| event.ends_with(side));
    match (has("-install"), has("-upgrade")) {
        (true, false) => assert!(!added.is_empty() && added.iter().all(|event| event.ends_with("-upgrade"))),
        (false, true) => assert!(!added.is_empty() && added.iter().all(|event| event.ends_with("-install"))),
        _ => assert!(added.is_empty(), "{value:?} gets {added:?}"),
    }
    // Both stand on the same sides for installs and upgrades, where the hook has one of the two at all.
    for steady in [events.alike(), events.after_resources()] {
        let of = |operation: &str| -> BTreeSet<_> {
            words(steady).into_iter().filter_map(|event| event.strip_suffix(operation)).collect()
        };
        assert_eq!(of("-install"), of("-upgrade"), "{value:?}");
        assert_eq!(of("-install").is_empty(), !has("-install") && !has("-upgrade"), "{value:?}");
        assert_eq!((steady.alike(), steady.completed()), (steady, steady), "{value:?}");
    }
    let is_early = |event: &&str| ["pre-install", "pre-upgrade", "pre-rollback"].contains(event);
    assert!(!words(events.after_resources()).iter().any(is_early), "{value:?}");
}

fn policies(value: &str) {
    let policies = DeletePolicies::parse(value);
    let items = items(value);
    let expected: BTreeSet<_> = POLICIES.into_iter().filter(|known| items.iter().any(|item| item == known)).collect();
    let read: BTreeSet<_> = policies.iter().map(DeletePolicy::as_str).collect();
    assert_eq!(read, expected, "{value:?}");
    let all_known = items.iter().all(|item| POLICIES.contains(&item.as_str()));
    assert_eq!(policies.has_unknown(), !all_known, "{value:?}");
    let normal = policies.to_string();
    assert_eq!(DeletePolicies::parse(&normal).to_string(), normal, "{value:?}");
    assert_eq!(spelled(&normal, policies), !expected.is_empty(), "{value:?}");
    assert!(!spelled(value, policies) || all_known && items.len() == expected.len(), "{value:?}");
}

/// Split at commas, trimmed and lowered, character by character as Go does both.
fn items(value: &str) -> Vec<String> {
    let is_space = |character: char| matches!(character, '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}');
    // Go knows one lower-case letter for each letter, Rust two for a capital I with a dot.
    let lower = |character: char| character.to_lowercase().next();
    value.split(',').map(|item| item.trim_matches(is_space).chars().filter_map(lower).collect()).collect()
}

/// Digits behind at most one sign, within 64 bits (`strconv.Atoi`).
fn atoi(value: &str) -> Option<i64> {
    let (sign, digits) = match value.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] | digits => (1, digits),
    };
    let mut number = 0_i128;
    for digit in digits {
        number = number * 10 + i128::from(digit.is_ascii_digit().then(|| digit - b'0')?);
        if number > i128::from(u64::MAX) {
            return None;
        }
    }
    if digits.is_empty() { None } else { i64::try_from(sign * number).ok() }
}
