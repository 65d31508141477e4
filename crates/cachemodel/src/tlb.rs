//! One level of TLB: an array for each page size, or one for both.

use crate::{
    access::{Page, Place},
    machine::{PageSize, TlbSpec},
    sets::Sets,
};

/// What distinguishes the entries of an array that holds more than one kind: the lowest bits of their virtual
/// number.
#[derive(Clone, Copy)]
enum Entry {
    Page = 0,
    Group = 1,
    HugePage = 2,
}

#[derive(Clone, Debug)]
pub(crate) struct Tlb {
    arrays: Vec<Array>,
    /// Which array holds pages of 4 KiB.
    small: Option<usize>,
    /// Which array holds pages of 2 MiB.
    huge: Option<usize>,
}

#[derive(Clone, Debug)]
struct Array {
    sets: u64,
    /// The sets less one, where they are a power of two.
    mask: Option<u64>,
    /// The binary logarithm of the pages in a group that one entry can cover.
    group: u32,
    entries: Sets<Place>,
}

impl Tlb {
    pub(crate) fn new(specs: &[TlbSpec]) -> Self {
        let home = |size| specs.iter().position(|spec| spec.pages.contains(&size));
        Self {
            arrays: specs.iter().map(Array::new).collect(),
            small: home(PageSize::Small),
            huge: home(PageSize::Huge),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.arrays.iter_mut().for_each(|array| array.entries.clear());
    }

    /// Translates a page: was its entry there? If not it is now, in the array for its size if there is one.
    #[inline]
    pub(crate) fn access(&mut self, page: Page) -> bool {
        let home = match page.size {
            PageSize::Small => self.small,
            PageSize::Huge => self.huge,
        };
        let Some(array) = home.and_then(|home| self.arrays.get_mut(home)) else { return false };
        match page.size {
            PageSize::Small => array.access_small(page.place),
            PageSize::Huge => array.access_huge(page.place),
        }
    }
}

impl Array {
    fn new(spec: &TlbSpec) -> Self {
        let sets = u64::from(spec.sets());
        Self {
            sets,
            mask: sets.is_power_of_two().then(|| sets - 1),
            group: spec.coalesce.trailing_zeros(),
            entries: Sets::new(sets as usize, spec.ways as usize, spec.replacement),
        }
    }

    fn access_huge(&mut self, page: Place) -> bool {
        self.access(page.virt, Entry::HugePage, page)
    }

    /// A page in the same place of its physical group as of its virtual one is covered by the entry for that pair
    /// of groups; any other page has an entry of its own, in the same set.
    #[inline]
    fn access_small(&mut self, page: Place) -> bool {
        let group = Place { virt: page.virt >> self.group, phys: page.phys >> self.group };
        let agree = (page.virt ^ page.phys) & ((1 << self.group) - 1) == 0;
        if self.group > 0 && agree {
            self.access(group.virt, Entry::Group, group)
        } else {
            self.access(group.virt, Entry::Page, page)
        }
    }

    #[inline]
    fn access(&mut self, number: u64, kind: Entry, covers: Place) -> bool {
        let set = self.mask.map_or_else(|| number % self.sets, |mask| number & mask);
        self.entries.access(set as usize, Place { virt: covers.virt << 2 | kind as u64, phys: covers.phys })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    const SMALL: PageSize = PageSize::Small;
    const HUGE: PageSize = PageSize::Huge;

    fn tlb(arrays: &str) -> Tlb {
        Tlb::new(&machine(&[("[dtlb", arrays)]).dtlb)
    }

    /// (size, virtual page, physical page, was it there)
    type Step = (PageSize, u64, u64, bool);

    fn replay(tlb: &mut Tlb, steps: &[Step]) {
        for (at, (size, virt, phys, there)) in steps.iter().enumerate() {
            let page = Page { size: *size, place: Place { virt: *virt, phys: *phys } };
            assert_eq!(tlb.access(page), *there, "step {at}");
        }
    }

    #[test]
    fn an_array_for_both_sizes_is_shared_by_them() {
        let mut tlb = tlb("pages = [\"4KiB\", \"2MiB\"]\nentries = 2\nways = 2\norigin = {}");
        let steps = [
            (SMALL, 5, 9, false),
            (HUGE, 5, 9, false), // the same numbers, but another page
            (SMALL, 5, 9, true),
            (SMALL, 6, 9, false),
            (HUGE, 5, 9, false),
        ];
        replay(&mut tlb, &steps);
        tlb.clear();
        replay(&mut tlb, &steps);
    }

    #[test]
    fn separate_arrays_leave_each_other_alone() {
        let mut tlb = tlb("pages = [\"4KiB\"]\nentries = 2\nways = 1\norigin = {}\n\
                           [[dtlb]]\npages = [\"2MiB\"]\nentries = 1\nways = 1\norigin = {}");
        replay(
            &mut tlb,
            &[
                (HUGE, 1, 1, false),
                (SMALL, 0, 0, false),
                (SMALL, 1, 1, false),
                (SMALL, 2, 2, false), // in the set of 0
                (SMALL, 1, 1, true),
                (SMALL, 0, 0, false),
                (HUGE, 1, 1, true),
                (HUGE, 2, 2, false),
            ],
        );
    }

    #[test]
    fn a_page_that_moved_is_another_one() {
        let mut tlb = tlb("pages = [\"4KiB\", \"2MiB\"]\nentries = 4\nways = 4\norigin = {}");
        replay(&mut tlb, &[(SMALL, 1, 1, false), (SMALL, 1, 2, false), (SMALL, 1, 2, true)]);
    }

    #[test]
    fn a_page_size_without_an_array_is_never_there() {
        let mut tlb = Tlb::new(&[]);
        replay(&mut tlb, &[(SMALL, 1, 1, false), (SMALL, 1, 1, false), (HUGE, 1, 1, false)]);
    }

    #[test]
    fn an_entry_covers_an_aligned_group_that_lies_alike() {
        let mut tlb = tlb("pages = [\"4KiB\", \"2MiB\"]\nentries = 2\nways = 2\ncoalesce = 4\norigin = {}");
        replay(
            &mut tlb,
            &[
                (SMALL, 8, 40, false),
                (SMALL, 9, 41, true),
                (SMALL, 11, 43, true),
                (SMALL, 10, 62, false), // its place in the group is right, but it is in another physical one
                (SMALL, 8, 40, true),
                (SMALL, 12, 45, false), // its place is wrong: an entry of its own; the other physical group goes
                (SMALL, 13, 46, false), // and so has its neighbour; the first group goes
                (SMALL, 12, 45, true),
                (SMALL, 9, 41, false),
            ],
        );
    }

    #[test]
    fn a_group_is_in_the_set_of_its_number() {
        let mut tlb = tlb("pages = [\"4KiB\", \"2MiB\"]\nentries = 2\nways = 1\ncoalesce = 2\norigin = {}");
        replay(
            &mut tlb,
            &[
                (SMALL, 0, 0, false),
                (SMALL, 2, 2, false), // group 1: the other set
                (SMALL, 1, 1, true),
                (SMALL, 4, 4, false), // group 2: the first set
                (SMALL, 3, 3, true),
                (SMALL, 0, 0, false),
                (SMALL, 7, 6, false), // alone, but in the set of its group 3
                (SMALL, 2, 2, false),
            ],
        );
    }
}
