//! Two orders beside each other: what stands in the same order on both sides shares a row.

use std::collections::BTreeMap;

/// The pairs, in an order that keeps both.
pub(super) fn align<'a, T, K: Ord + ?Sized + 'a>(
    before: Vec<T>,
    after: Vec<T>,
    key: impl Fn(&T) -> &'a K,
) -> Vec<(Option<T>, Option<T>)> {
    let mut places = BTreeMap::new();
    for (place, item) in after.iter().enumerate() {
        places.entry(key(item)).or_insert(place);
    }
    // The first of several items with one key has the partner.
    let matches: Vec<_> =
        before.iter().enumerate().filter_map(|(place, item)| Some((place, places.remove(key(item))?))).collect();
    let mut rows = Vec::with_capacity(before.len().max(after.len()));
    let (mut before, mut after, mut done) = (before.into_iter(), after.into_iter(), (0, 0));
    for (left, right) in longest_increasing(&matches) {
        rows.extend(before.by_ref().take(left - done.0).map(|item| (Some(item), None)));
        rows.extend(after.by_ref().take(right - done.1).map(|item| (None, Some(item))));
        rows.push((before.next(), after.next()));
        done = (left + 1, right + 1);
    }
    rows.extend(before.map(|item| (Some(item), None)));
    rows.extend(after.map(|item| (None, Some(item))));
    rows
}

/// The first places of the pairs rise; this is the longest part of them in which the second places rise too.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair with which a rising part of that length can end lowest, and the pair before each.
    let (mut ends, mut previous) = (Vec::<usize>::new(), Vec::with_capacity(pairs.len()));
    let second = |place: usize| pairs.get(place).map(|pair| pair.1);
    for (place, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| second(*end) < Some(pair.1));
        previous.push(length.checked_sub(1).and_then(|shorter| ends.get(shorter)).copied());
        match ends.get_mut(length) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let last = ends.last().copied();
    let mut found: Vec<_> = std::iter::successors(last, |place| previous.get(*place).copied().flatten())
        .filter_map(|place| pairs.get(place).copied())
        .collect();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::align;

    fn aligned(before: &str, after: &str) -> String {
        let [before, after] = [before, after].map(|items| items.split_terminator(' ').collect::<Vec<_>>());
        let rows = align(before, after, |item| *item);
        let row = |(left, right): (Option<&str>, Option<&str>)| [left, right].map(|item| item.unwrap_or("-")).concat();
        rows.into_iter().map(row).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_keeps_its_order_shares_a_row() {
        assert_eq!(aligned("a b c", "a b c"), "aa bb cc");
        assert_eq!(aligned("a c", "a b c d"), "aa -b cc -d");
        assert_eq!(aligned("", "a"), "-a");
        assert_eq!(aligned("a", ""), "a-");
    }

    #[test]
    fn what_changes_its_order_has_two_rows() {
        assert_eq!(aligned("a b c", "c a b"), "-c aa bb c-");
        assert_eq!(aligned("a a b", "b a"), "a- a- bb -a");
    }
}
