//! What it costs a program that its memory lies where it lies.
//!
//! Each test maps, touches and fills its memory first and then does one bounded pattern of accesses inside a
//! region that the cost model's plugin measures (see [`mthp_mark`]). Without the plugin the marks do nothing, and
//! the tests say where the memory lay and that the pattern did what it should. Each pattern says how many loads
//! and stores its source asks for (`loads-asked`, `stores-asked`); what the compiler keeps on the stack comes on
//! top.

mod access;
mod chase;
mod ebizzy;
mod layout;
mod malloc1;
mod matvec;
mod measure;
mod pmu;
mod radixsort;
mod stencil;
mod stream;
mod threads;

use super::Test;
use crate::needs::Need;

const CONTRACT: &str = "mmap(2): a private map holds what was written to it, wherever the kernel has put it";
const NEEDS: &[Need] = &[Need::Thp, Need::MemoryMib(768), layout::SPLIT];

/// A test whose region has its own name: `run(findings, name, …)`.
macro_rules! cost_test {
    ($name:literal, $run:path $(, $argument:expr)*) => {
        $crate::suite::Test {
            name: $name,
            contract: $crate::suite::cost::CONTRACT,
            needs: $crate::suite::cost::NEEDS,
            randomised: false,
            run: |findings| $run(findings, $name $(, $argument)*),
        }
    };
}
use cost_test;

/// All of them. Those that scatter the free memory are the last: what they leave is another layout for others.
pub const TESTS: &[&[Test]] = &[
    stencil::TESTS,
    stream::TESTS,
    chase::TESTS,
    matvec::TESTS,
    malloc1::TESTS,
    radixsort::TESTS,
    ebizzy::TESTS,
    threads::TESTS,
    stencil::LAYOUTS,
    chase::LAYOUTS,
];

#[cfg(test)]
mod tests {
    use mthp_record::cost::mark::is_name;

    use super::*;

    #[test]
    fn every_test_has_a_name_that_a_region_may_have() {
        for test in TESTS.iter().copied().flatten() {
            assert!(test.name.starts_with("cost/") && is_name(test.name), "{}", test.name);
        }
    }
}
