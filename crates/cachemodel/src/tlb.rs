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
