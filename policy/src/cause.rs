//! Findings that have one cause: a rule says the same of several objects, and the same mends it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::name::Name;
use crate::shown::Shown;

/// Groups what has one key, each group standing where its first item stands; no group is empty.
pub fn grouped<T>(items: Vec<T>, key: &dyn Fn(&T) -> String) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut places = BTreeMap::new();
    for item in items {
        let place = *places.entry(key(&item)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

/// Objects that differ, as the subject of a sentence, at most so many names spelled out.
pub fn subject(objects: Vec<&Name>, most: usize) -> String {
    let namesakes = grouped(objects, &|object| format!("{}/{}", object.namespace, object.name));
    let mut text = String::new();
    for (place, objects) in namesakes.iter().take(most).enumerate() {
        let Some((last, before)) = objects.split_last() else { continue };
        text.push_str(if place > 0 { ", " } else { "" });
        for (place, object) in before.iter().enumerate() {
            let separator = if place + 1 == before.len() { " and " } else { ", " };
            let _ = write!(text, "{}{separator}", Shown(&object.kind));
        }
        let _ = write!(text, "{last}");
    }
    let others: usize = namesakes.iter().skip(most).map(Vec::len).sum();
    if others == 0 { text } else { format!("{text} and {others} more") }
}

/// Each of them once.
pub fn once(objects: Vec<&Name>) -> Vec<&Name> {
    grouped(objects, &|object| object.to_string()).into_iter().filter_map(|group| group.first().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::{grouped, once, subject};
    use crate::name::Name;
    use crate::testing::test;

    #[test]
    fn groups_stand_where_their_first_item_stands() {
        let groups = grouped(vec![3, 11, 2, 13, 21], &|item| (item % 10).to_string());
        assert_eq!(groups, [vec![3, 13], vec![11, 21], vec![2]]);
    }

    #[test]
    fn objects_of_one_name_share_it() {
        let objects = [("Job", "a"), ("ServiceAccount", "a"), ("Job", "b"), ("Job", "c"), ("Job", "d")];
        let objects = objects.map(|(kind, name)| Name::core(kind, "shop", name));
        let first = |count| once(objects.iter().take(count).chain(&objects[..1]).collect());
        assert_eq!(subject(first(1), 3), "Job shop/a");
        assert_eq!(subject(first(2), 3), "Job and ServiceAccount shop/a");
        assert_eq!(subject(first(5), 2), "Job and ServiceAccount shop/a, Job shop/b and 2 more");
        assert_eq!(subject(objects[2..4].iter().collect(), 2), "Job shop/b, Job shop/c");
    }
}
