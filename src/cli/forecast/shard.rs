//! A part of all releases, the same in every run.

use std::str::FromStr;

/// `INDEX/COUNT`: one of so many parts, the first being 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// All releases.
    pub(super) const WHOLE: Self = Self { index: 0, count: 1 };

    /// The release belongs to this part, and to no other. docs/forecast.md defines it: others may want to know, too.
    pub(super) fn holds(self, namespace: &str, name: &str) -> bool {
        let hash = [namespace, "/", name]
            .iter()
            .flat_map(|text| text.bytes())
            .fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        hash % u64::from(self.count) == u64::from(self.index)
    }
}

/// Those of FNV-1a with 64 bits.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (index, count) = text.split_once('/')?;
            Some(Self { index: index.parse().ok()?, count: count.parse().ok()? })
        };
        let shard = read().ok_or("it is INDEX/COUNT, as 0/4 is the first of four")?;
        if shard.index < shard.count {
            Ok(shard)
        } else {
            Err("the first INDEX is 0, and the last one less than COUNT")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shard;

    fn releases() -> impl Iterator<Item = (String, String)> {
        let in_one = (0..5000).map(|number| ("shop".to_owned(), format!("release-{number}")));
        let in_many = (0..5000).map(|number| (format!("team-{number:04}"), "orders".to_owned()));
        in_one.chain(in_many)
    }

    #[test]
    fn shards_are_disjoint_and_together_complete_and_about_equal() {
        for count in [1, 2, 3, 4, 7, 16, 64] {
            let mut held = vec![0_usize; count as usize];
            for (namespace, name) in releases() {
                let holders: Vec<_> =
                    (0..count).filter(|index| Shard { index: *index, count }.holds(&namespace, &name)).collect();
                let [holder] = holders[..] else { panic!("{namespace}/{name}: {holders:?} of {count}") };
                held[holder as usize] += 1;
            }
            let even = 10_000 / count as usize;
            assert!(held.iter().all(|held| held.abs_diff(even) < even / 2), "{count}: {held:?}");
        }
    }

    #[test]
    fn a_shard_is_what_its_definition_says() {
        // FNV-1a of `shop/orders`, computed apart from this code.
        let hash = 0x8b4a_b6cb_2f8b_41db_u64;
        for count in [2_u32, 3, 4, 7, 1000] {
            let index = u32::try_from(hash % u64::from(count)).unwrap();
            assert!(Shard { index, count }.holds("shop", "orders"), "{count}");
        }
        assert!(Shard::WHOLE.holds("shop", "orders"));
    }

    #[test]
    fn a_shard_is_read_as_it_is_written() {
        assert_eq!("3/4".parse(), Ok(Shard { index: 3, count: 4 }));
        assert_eq!("0/1".parse(), Ok(Shard::WHOLE));
        for wrong in ["", "3", "/", "-1/4", "a/4", "1/2/3"] {
            assert_eq!(wrong.parse::<Shard>(), Err("it is INDEX/COUNT, as 0/4 is the first of four"), "{wrong}");
        }
        for wrong in ["4/4", "0/0", "5/4"] {
            assert!(wrong.parse::<Shard>().unwrap_err().starts_with("the first INDEX is 0"), "{wrong}");
        }
    }
}
