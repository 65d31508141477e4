//! Which class of mapping owns which addresses, as mappings come and go. Pure.

use std::{collections::BTreeMap, ops::Range};

use super::census::Class;

/// The anonymous mappings that are still there, with the class each was born in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live(BTreeMap<usize, (usize, Class)>);

impl Live {
    /// A mapping came; what lay there is gone.
    pub fn add(&mut self, range: Range<usize>, class: Class) {
        self.remove(&range);
        if !range.is_empty() {
            self.0.insert(range.start, (range.end, class));
        }
    }

    /// These addresses were unmapped, or mapped over.
    pub fn remove(&mut self, hole: &Range<usize>) {
        let cut: Vec<(usize, usize, Class)> = self
            .0
            .range(..hole.end)
            .filter(|(_, (end, _))| *end > hole.start)
            .map(|(start, (end, class))| (*start, *end, *class))
            .collect();
        for (start, end, class) in cut {
            self.0.remove(&start);
            if start < hole.start {
                self.0.insert(start, (hole.start, class));
            }
            if end > hole.end {
                self.0.insert(hole.end, (end, class));
            }
        }
    }

    /// A mapping moved or changed its size; it keeps the class it was born in.
    pub fn moved(&mut self, from: &Range<usize>, to: Range<usize>) {
        let class = self.class_at(from.start);
        self.remove(from);
        if let Some(class) = class {
            self.add(to, class);
        }
    }

    fn class_at(&self, address: usize) -> Option<Class> {
        let (_, (end, class)) = self.0.range(..=address).next_back()?;
        (*end > address).then_some(*class)
    }

    /// What is left, in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = (Range<usize>, Class)> + '_ {
        self.0.iter().map(|(start, (end, class))| (*start..*end, *class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(live: &Live) -> Vec<(Range<usize>, Class)> {
        live.ranges().collect()
    }

    #[test]
    fn a_hole_in_the_middle_leaves_both_ends() {
        let mut live = Live::default();
        live.add(10..20, Class::Small);
        live.remove(&(13..15));
        assert_eq!(left(&live), [(10..13, Class::Small), (15..20, Class::Small)]);
    }

    #[test]
    fn a_hole_takes_whatever_it_meets() {
        let mut live = Live::default();
        live.add(10..20, Class::Small);
        live.add(20..30, Class::Other);
        live.add(40..50, Class::Multiple);
        live.remove(&(15..45));
        assert_eq!(left(&live), [(10..15, Class::Small), (45..50, Class::Multiple)]);
        live.remove(&(0..100));
        assert_eq!(left(&live), []);
    }

    #[test]
    fn what_is_mapped_over_changes_its_class() {
        let mut live = Live::default();
        live.add(10..20, Class::Multiple);
        live.add(12..14, Class::Small);
        let expected = [(10..12, Class::Multiple), (12..14, Class::Small), (14..20, Class::Multiple)];
        assert_eq!(left(&live), expected);
    }

    #[test]
    fn a_moved_mapping_keeps_its_class() {
        let mut live = Live::default();
        live.add(10..20, Class::Other);
        live.moved(&(10..20), 30..50);
        assert_eq!(left(&live), [(30..50, Class::Other)]);
        live.moved(&(0..5), 60..65);
        assert_eq!(left(&live), [(30..50, Class::Other)]);
    }
}
