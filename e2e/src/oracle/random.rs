//! Numbers that only depend on a seed: `SplitMix64`.

pub(super) struct Random(u64);

impl Random {
    #[must_use]
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below that one.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    /// True so often of a hundred times.
    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them; the first of none is no choice, so the list may not be empty.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let chosen = of.get(self.below(of.len())).or(of.first());
        *chosen.expect("a choice")
    }
}
