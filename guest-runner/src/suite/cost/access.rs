//! A map's memory as a slice, and accesses to it that the compiler neither drops, joins nor repeats.

use crate::mem::Area;

/// Numbers of which every pattern of bits is one, of at most 8 bytes: an access to one is a single access on any
/// emulator.
pub trait Plain: Copy {}

impl Plain for f64 {}
impl Plain for usize {}

/// The whole of a private, anonymous area. It is a number of pages, so nothing is left over.
pub fn slice<T: Plain>(area: &mut Area) -> &mut [T] {
    let range = area.range();
    let start = std::ptr::with_exposed_provenance_mut(range.start);
    // SAFETY: the area is readable, writable and aligned to a page, `T` may hold any bits, and while the area is
    // borrowed nothing else refers to it or unmaps it.
    unsafe { std::slice::from_raw_parts_mut(start, range.len() / size_of::<T>()) }
}

/// Exactly one load.
pub fn load<T: Copy>(place: &T) -> T {
    // SAFETY: a reference is readable, aligned and initialised.
    unsafe { std::ptr::read_volatile(place) }
}

/// Exactly one store.
pub fn store<T: Copy>(place: &mut T, value: T) {
    // SAFETY: a mutable reference is writable and aligned.
    unsafe { std::ptr::write_volatile(place, value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::{self, Kind, PAGE};

    #[test]
    fn an_area_holds_as_many_numbers_as_fit() {
        let mut area = mem::map(Kind::Private, 2 * PAGE).unwrap();
        let numbers = slice::<f64>(&mut area);
        assert_eq!(numbers.len(), 1024);
        store(&mut numbers[1023], 2.5);
        assert_eq!((load(&numbers[1022]), load(&numbers[1023])), (0.0, 2.5));
    }
}
