//! Pairs of versions in few words: which versions flip an object in an upgrade to which.

use std::collections::{BTreeMap, BTreeSet};

use crate::judged::VersionRuns;

/// The numbers of two versions, the older one first; of one version twice where it flips by itself.
pub(super) type Pair = (usize, usize);

/// Versions from which every upgrade to each of the others is one of the pairs.
#[derive(Debug, PartialEq)]
pub(super) struct Block {
    pub(super) from: BTreeSet<usize>,
    pub(super) to: BTreeSet<usize>,
}

/// The pairs, those with the same newer versions together, in the order of the versions that they start from.
pub(super) fn blocks(pairs: &BTreeSet<Pair>) -> Vec<Block> {
    let mut newer = BTreeMap::<usize, BTreeSet<usize>>::new();
    for (from, to) in pairs {
        newer.entry(*from).or_default().insert(*to);
    }
    let mut older = BTreeMap::<BTreeSet<usize>, BTreeSet<usize>>::new();
    for (from, to) in newer {
        older.entry(to).or_default().insert(from);
    }
    let mut blocks: Vec<_> = older.into_iter().map(|(to, from)| Block { from, to }).collect();
    blocks.sort_by(|one, other| one.from.cmp(&other.from));
    blocks
}

/// The names of versions, each run of neighbours by itself.
pub(super) fn runs(numbers: &BTreeSet<usize>, names: &BTreeMap<usize, &str>) -> VersionRuns {
    let mut runs = Vec::<Vec<String>>::new();
    let mut last = None;
    for number in numbers {
        let name = names.get(number).copied().unwrap_or_default().to_owned();
        let follows = last.is_some_and(|last: usize| last.checked_add(1) == Some(*number));
        match runs.last_mut().filter(|_| follows) {
            Some(run) => run.push(name),
            None => runs.push(vec![name]),
        }
        last = Some(*number);
    }
    VersionRuns(runs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BTreeMap, BTreeSet, Block, blocks, runs};

    #[test]
    fn a_flip_in_the_middle_and_back_is_two_blocks() {
        // Resources in 0 and 1, hooks in 2 and 3, a resource in 4.
        let pairs = [(0, 2), (0, 3), (1, 2), (1, 3)].into();
        let block = Block { from: [0, 1].into(), to: [2, 3].into() };
        assert_eq!(blocks(&pairs), [block]);
        let pairs = [(0, 1), (0, 3), (2, 3)].into();
        let [first, second] = [([0], vec![1, 3]), ([2], vec![3])]
            .map(|(from, to)| Block { from: from.into(), to: to.into_iter().collect() });
        assert_eq!(blocks(&pairs), [first, second]);
    }

    #[test]
    fn a_version_that_is_left_out_ends_a_run() {
        let names: BTreeMap<_, _> = [(0, "a"), (1, "b"), (2, "c"), (4, "e"), (5, "f")].into();
        assert_eq!(runs(&[0, 1, 2, 4, 5].into(), &names).to_string(), "a – c, e – f");
        assert_eq!(runs(&[0, 2].into(), &names).to_string(), "a, c");
        assert_eq!(runs(&[0, 1].into(), &names).to_string(), "a – b");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn blocks_hold_the_pairs_and_no_others(pairs in prop::collection::btree_set((0_usize..9, 0_usize..9), 0..40)) {
            let found = blocks(&pairs);
            let all = found.iter().flat_map(|Block { from, to }| from.iter().flat_map(|one| to.iter().map(|other| (*one, *other))));
            let all: Vec<_> = all.collect();
            prop_assert_eq!(all.len(), pairs.len());
            prop_assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), pairs);
        }
    }
}
