//! What an access costs on a machine, in cycles, as its vendor or a published measurement has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The latencies of one machine in cycles of its core: what one access takes that is served there and waits for
/// nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// A load that the first-level cache has.
    pub l1: u32,
    /// One that the second level has.
    pub l2: u32,
    /// One that the third level has; `None` on a machine without one.
    pub l3: Option<u32>,
    /// One that memory has.
    pub memory: u32,
    /// What the look into the second-level TLB adds, for a translation that the first level did not have.
    pub stlb: u32,
    /// What each entry of a page table adds that a walk reads.
    pub walk_reference: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_level_may_be_left_out_and_nothing_else() {
        let two = r#"{"l1":4,"l2":12,"memory":200,"stlb":7,"walk_reference":12}"#;
        assert_eq!(serde_json::from_str::<Latencies>(two).unwrap().l3, None);
        let three = r#"{"l1":4,"l2":12,"l3":40,"memory":200,"stlb":7,"walk_reference":12}"#;
        assert_eq!(serde_json::from_str::<Latencies>(three).unwrap().l3, Some(40));
        for bad in [r#"{"l1":4,"l2":12,"memory":200,"stlb":7}"#, &two.replace("stlb", "l4")] {
            assert!(serde_json::from_str::<Latencies>(bad).is_err(), "{bad}");
        }
    }
}
