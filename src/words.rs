//! Pieces of sentences.

/// A sentence names no more of them.
const MOST_NAMED: usize = 5;

/// The first of them, and how many more there are.
pub(crate) fn listed<T>(items: &[T], told: impl Fn(&T) -> String, between: &str) -> String {
    let mut named: Vec<_> = items.iter().take(MOST_NAMED).map(told).collect();
    let more = items.len().saturating_sub(MOST_NAMED);
    named.extend((more > 0).then(|| format!("and {more} more")));
    named.join(between)
}

/// "1 render", "2 renders".
pub(crate) fn counted(count: impl TryInto<u64>, one: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{counted, listed};

    #[test]
    fn one_is_singular_and_many_end_in_a_count() {
        assert_eq!([0_usize, 1, 2].map(|count| counted(count, "render")), ["0 renders", "1 render", "2 renders"]);
        let told = |count: usize| listed(&(0..count).collect::<Vec<_>>(), ToString::to_string, ", ");
        assert_eq!([told(2), told(6)], ["0, 1", "0, 1, 2, 3, 4, and 1 more"]);
    }
}
