use proptest::prelude::*;

use super::*;
use Replacement::{Lru as LeastRecent, TreePlru};

/// Letters as they are used; a capital letter is one that is there.
fn replay(sets: &mut Sets<u64>, letters: &str) -> String {
    let show = |letter: char, hit: bool| if hit { letter.to_ascii_uppercase() } else { letter };
    letters.chars().map(|letter| show(letter, sets.access(0, letter as u64))).collect()
}

#[test]
fn sequences_by_hand() {
    for (replacement, ways, letters, seen) in [
        (LeastRecent, 1, "abaab", "abaAb"),
        (LeastRecent, 2, "abacbca", "abAcbCa"),
        (LeastRecent, 4, "abcdeabcde", "abcdeabcde"),
        (LeastRecent, 4, "abcdaebdacb", "abcdAebDAcB"),
        // Twenty ways are found by a hash; with one letter more than ways each is gone when it comes again.
        (
            LeastRecent,
            20,
            "abcdefghijklmnopqrstabcdefghijklmnopqrst",
            "abcdefghijklmnopqrstABCDEFGHIJKLMNOPQRST",
        ),
        (
            LeastRecent,
            20,
            "abcdefghijklmnopqrstuabcdefghijklmnopqrstu",
            "abcdefghijklmnopqrstuabcdefghijklmnopqrstu",
        ),
        (LeastRecent, 20, "abcdefghijklmnopqrstaubc", "abcdefghijklmnopqrstAubc"),
        (TreePlru, 1, "abaab", "abaAb"),
        (TreePlru, 2, "abacbca", "abAcbCa"),
        // The ways hold a b c d. e takes a's way; the tree then looks away from a and b, to c, which f replaces;
        // b was used before c and is still there. After b the tree leads to d, not used for longest but one.
        (TreePlru, 4, "abcdefbgdc", "abcdefBgdc"),
        (TreePlru, 4, "abcdabea", "abcdABeA"),
        (TreePlru, 4, "abcdabeacd", "abcdABeAcd"),
    ] {
        let mut sets = Sets::new(1, ways, replacement);
        assert_eq!(replay(&mut sets, letters), seen, "{replacement:?} of {ways}");
        sets.clear();
        assert_eq!(replay(&mut sets, letters), seen, "{replacement:?} of {ways}, cleared");
    }
}

#[test]
fn a_set_may_be_as_large_as_a_cache() {
    for ways in [65_534, 65_535, 65_536, 65_537, 131_072, 1 << 20] {
        let mut sets = Sets::new(1, ways, LeastRecent);
        let keys = 0..ways as u64;
        assert!(keys.clone().all(|key| !sets.access(0, key)), "{ways}: empty");
        assert!(keys.clone().all(|key| sets.access(0, key)), "{ways}: full");
        // One too many: the oldest goes, and no other.
        assert!(!sets.access(0, ways as u64));
        assert!(!sets.holds(0, 0), "{ways}");
        assert!(keys.skip(1).all(|key| sets.holds(0, key)), "{ways}");
    }
}

#[test]
fn who_only_looks_changes_nothing() {
    for (replacement, ways) in [(LeastRecent, 2), (LeastRecent, 17), (TreePlru, 2)] {
        let mut sets = Sets::new(1, ways, replacement);
        (0..ways as u64).for_each(|key| assert!(!sets.access(0, key)));
        assert!(sets.holds(0, 0));
        assert!(!sets.holds(0, 99));
        assert!(!sets.access(0, 99));
        assert!(!sets.holds(0, 0), "the oldest went, although it was looked for");
    }
}

#[test]
fn sets_do_not_know_each_other() {
    for replacement in [LeastRecent, TreePlru] {
        let mut sets = Sets::new(2, 1, replacement);
        assert!(!sets.access(0, 7_u64));
        assert!(!sets.access(1, 8));
        assert!(sets.access(0, 7));
        assert!(!sets.holds(1, 7));
    }
}

/// A tree, node by node, by its definition.
enum Node {
    Leaf(Option<u64>),
    Inner { lower: Box<Node>, upper: Box<Node>, upper_makes_room: bool },
}

impl Node {
    fn new(ways: usize) -> Self {
        match ways {
            1 => Self::Leaf(None),
            ways => Self::Inner {
                lower: Box::new(Self::new(ways / 2)),
                upper: Box::new(Self::new(ways / 2)),
                upper_makes_room: false,
            },
        }
    }

    /// Writes the entry to the first leaf that fulfils the condition, and points away from it all along the way.
    fn put(&mut self, key: u64, fits: &impl Fn(Option<u64>) -> bool) -> bool {
        match self {
            Self::Leaf(entry) => {
                let here = fits(*entry);
                if here {
                    *entry = Some(key);
                }
                here
            }
            Self::Inner { lower, upper, upper_makes_room } => {
                let in_lower = lower.put(key, fits);
                let found = in_lower || upper.put(key, fits);
                if found {
                    *upper_makes_room = in_lower;
                }
                found
            }
        }
    }

    fn room(&self) -> Option<u64> {
        match self {
            Self::Leaf(entry) => *entry,
            Self::Inner { upper, upper_makes_room: true, .. } => upper.room(),
            Self::Inner { lower, .. } => lower.room(),
        }
    }

    fn access(&mut self, key: u64) -> bool {
        if self.put(key, &|entry| entry == Some(key)) {
            return true;
        }
        if !self.put(key, &|entry| entry.is_none()) {
            let goes = self.room();
            self.put(key, &|entry| entry == goes);
        }
        false
    }
}

proptest! {
    /// An entry is there if and only if fewer others than ways were used since.
    #[test]
    fn least_recently_used_is_a_matter_of_distance(ways in 1_usize..40, keys in prop::collection::vec(0_u64..60, 0..600)) {
        let mut sets = Sets::new(1, ways, LeastRecent);
        for (at, key) in keys.iter().enumerate() {
            let since = keys[..at].iter().rposition(|other| other == key);
            let others = since.map(|since| {
                keys[since + 1..at].iter().collect::<std::collections::BTreeSet<_>>().len()
            });
            let there = others.is_some_and(|others| others < ways);
            prop_assert_eq!(sets.holds(0, *key), there);
            prop_assert_eq!(sets.access(0, *key), there);
        }
    }

    #[test]
    fn a_tree_is_a_tree(level in 0_u32..6, keys in prop::collection::vec(0_u64..90, 0..600)) {
        let ways = 1 << level;
        let mut sets = Sets::new(1, ways, TreePlru);
        let mut tree = Node::new(ways);
        for key in keys {
            prop_assert_eq!(sets.access(0, key), tree.access(key));
        }
    }
}
