//! The exact values of each kernel, and where they come from.
//!
//! For maps of `k` PMDs and a rest, the old rule (6.8 to 6.11) puts each map on a PMD boundary: the gap is what
//! the rest lacks to a PMD, every map is a VMA of its own, and only its `k` PMDs are huge. The rule of 6.12 packs
//! maps with a rest: one VMA, huge wherever a whole PMD is covered when it is first touched. A fault count is the
//! number of huge and small pages touched, and one for the control page (see METHOD.md).

/// Metrics and their exact values.
pub type Metrics = &'static [(&'static str, i64)];

/// What one test finds on one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The kernel's name in `kernels/`.
    pub kernel: &'static str,
    /// The test's name.
    pub test: &'static str,
    /// Metrics and their exact values; others are not looked at.
    pub metrics: Metrics,
    /// The checks that fail, in the order of the test; all others hold.
    pub failing: &'static [&'static str],
    /// The kernel lacks what the test needs: the guest must say so, and the trial is skipped with its reason.
    pub not_applicable: bool,
}

const P2052KIB_OLD: Metrics = &[
    ("gap-kib", 2044),
    ("vmas", 8),
    ("anon-huge-kib", 16384),
    ("faults-after", 17),
    ("faults-each", 17),
    ("page-tables-kib", 64),
    ("collapse-ok", 8),
    ("collapse-failed", 8),
];
const P2052KIB_NEW: Metrics = &[
    ("gap-kib", 0),
    ("vmas", 1),
    ("anon-huge-kib", 16384),
    ("faults-after", 17),
    ("faults-each", 3594),
    ("page-tables-kib", 36),
    ("collapse-ok", 8),
    ("collapse-failed", 0),
];
const P3MIB_OLD: Metrics = &[
    ("gap-kib", 1024),
    ("vmas", 8),
    ("anon-huge-kib", 16384),
    ("faults-after", 2057),
    ("faults-each", 2057),
    ("page-tables-kib", 64),
    ("collapse-ok", 8),
    ("collapse-failed", 8),
];
const P3MIB_NEW: Metrics = &[
    ("gap-kib", 0),
    ("vmas", 1),
    ("anon-huge-kib", 24576),
    ("faults-after", 13),
    ("faults-each", 2057),
    ("page-tables-kib", 48),
    ("collapse-ok", 12),
    ("collapse-failed", 0),
];
const P4224KIB_OLD: Metrics = &[
    ("gap-kib", 1920),
    ("vmas", 8),
    ("anon-huge-kib", 32768),
    ("faults-after", 273),
    ("faults-each", 273),
    ("page-tables-kib", 96),
    ("collapse-ok", 16),
    ("collapse-failed", 8),
];
const P4224KIB_NEW: Metrics = &[
    ("gap-kib", 0),
    ("vmas", 1),
    ("anon-huge-kib", 32768),
    ("faults-after", 273),
    ("faults-each", 3850),
    ("page-tables-kib", 68),
    ("collapse-ok", 16),
    ("collapse-failed", 0),
];
const P4632KIB_OLD: Metrics = &[
    ("gap-kib", 1512),
    ("vmas", 16),
    ("anon-huge-kib", 65536),
    ("faults-after", 2177),
    ("faults-each", 2177),
    ("page-tables-kib", 192),
    ("collapse-ok", 32),
    ("collapse-failed", 16),
];
const P4632KIB_NEW: Metrics = &[
    ("gap-kib", 0),
    ("vmas", 1),
    ("anon-huge-kib", 73728),
    ("faults-after", 133),
    ("faults-each", 7798),
    ("page-tables-kib", 148),
    ("collapse-ok", 36),
    ("collapse-failed", 0),
];
const P1536KIB_ANY: Metrics = &[
    ("gap-kib", 0),
    ("vmas", 1),
    ("anon-huge-kib", 12288),
    ("faults-after", 7),
    ("faults-each", 3073),
    ("page-tables-kib", 24),
    ("collapse-ok", 6),
    ("collapse-failed", 0),
];
const P1844KIB_ANY: Metrics = &[
    ("gap-kib", 0),
    ("vmas", 1),
    ("anon-huge-kib", 14336),
    ("faults-after", 112),
    ("faults-each", 3689),
    ("page-tables-kib", 32),
    ("collapse-ok", 7),
    ("collapse-failed", 0),
];
const P2044KIB_ANY: Metrics = &[
    ("gap-kib", 0),
    ("vmas", 1),
    ("anon-huge-kib", 14336),
    ("faults-after", 512),
    ("faults-each", 4089),
    ("page-tables-kib", 32),
    ("collapse-ok", 7),
    ("collapse-failed", 0),
];
const P2MIB_ANY: Metrics = &[
    ("gap-kib", 0),
    ("vmas", 1),
    ("anon-huge-kib", 16384),
    ("faults-after", 9),
    ("faults-each", 9),
    ("page-tables-kib", 32),
    ("collapse-ok", 8),
    ("collapse-failed", 0),
];
const P4MIB_ANY: Metrics = &[
    ("gap-kib", 0),
    ("vmas", 1),
    ("anon-huge-kib", 32768),
    ("faults-after", 17),
    ("faults-each", 17),
    ("page-tables-kib", 64),
    ("collapse-ok", 16),
    ("collapse-failed", 0),
];

const NEIGHBOURS: &[&str] = &["neighbours-touch", "neighbours-merge"];

const fn holds(kernel: &'static str, test: &'static str, metrics: Metrics) -> Expected {
    Expected { kernel, test, metrics, failing: &[], not_applicable: false }
}

const fn fails(
    kernel: &'static str,
    test: &'static str,
    metrics: Metrics,
    failing: &'static [&'static str],
) -> Expected {
    Expected { kernel, test, metrics, failing, not_applicable: false }
}

/// The kernel lacks what the test needs.
const fn lacks(kernel: &'static str, test: &'static str) -> Expected {
    Expected { kernel, test, metrics: &[], failing: &[], not_applicable: true }
}

/// All of them.
pub const ALL: &[Expected] = &[
    // Stock: the rule of 6.12.5 and later.
    holds("stock-6.12", "placement/1536KiB", P1536KIB_ANY),
    holds("stock-6.12", "placement/1844KiB", P1844KIB_ANY),
    holds("stock-6.12", "placement/2044KiB", P2044KIB_ANY),
    holds("stock-6.12", "placement/2MiB", P2MIB_ANY),
    holds("stock-6.12", "placement/4MiB", P4MIB_ANY),
    holds("stock-6.12", "placement/2052KiB", P2052KIB_NEW),
    holds("stock-6.12", "placement/3MiB", P3MIB_NEW),
    holds("stock-6.12", "placement/4224KiB", P4224KIB_NEW),
    holds("stock-6.12", "placement/4632KiB", P4632KIB_NEW),
    holds("stock-6.12", "placement/512MiB+12KiB", &[("gap-kib", 0), ("vmas", 1)]),
    holds("stock-6.12", "placement-aslr/4632KiB", &[("gap-kib", 0), ("vmas", 1), ("span-kib", 74112)]),
    holds("stock-6.12", "khugepaged/4632KiB", &[("anon-huge-kib", 73728), ("collapsed", 36)]),
    fails(
        "stock-6.12",
        "mixed/2MiB-3MiB",
        &[("gap-total-kib", 2048), ("vmas", 3)],
        &["alternating-maps-touch"],
    ),
    holds("stock-6.12", "hint/4MiB", &[("hint-distance-kib", 0)]),
    holds("stock-6.12", "hint/3MiB", &[("hint-distance-kib", 0)]),
    holds("stock-6.12", "hint/2MiB", &[("hint-distance-kib", 0)]),
    holds("stock-6.12", "stack/map-stack", &[("anon-huge-kib", 0)]),
    holds("stock-6.12", "fixed/map-fixed", &[("anon-huge-kib", 2048)]),
    holds("stock-6.12", "shared/anon", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0)]),
    holds("stock-6.12", "shared/memfd", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0)]),
    holds("stock-6.12", "tmpfs/never", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0)]),
    holds("stock-6.12", "tmpfs/always", &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)]),
    holds("stock-6.12", "tmpfs/within_size", &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)]),
    holds("stock-6.12", "tmpfs/advise", &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)]),
    fails(
        "stock-6.12",
        "file/overlayfs",
        &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0), ("phase-4mib-kib", 0)],
        &["file-map-unaligned-by-thp"],
    ),
    holds(
        "stock-6.12",
        "mthp/16kB",
        &[
            ("anon-fault-alloc", 4632),
            ("anon-fault-fallback", 0),
            ("covered-kib", 74112),
            ("uncovered-kib", 0),
            ("faults-after", 4632),
        ],
    ),
    holds(
        "stock-6.12",
        "mthp/32kB",
        &[
            ("anon-fault-alloc", 2316),
            ("anon-fault-fallback", 0),
            ("covered-kib", 74112),
            ("uncovered-kib", 0),
            ("faults-after", 2316),
        ],
    ),
    holds(
        "stock-6.12",
        "mthp/64kB",
        &[
            ("anon-fault-alloc", 1158),
            ("anon-fault-fallback", 0),
            ("covered-kib", 74112),
            ("uncovered-kib", 0),
            ("faults-after", 1158),
        ],
    ),
    holds(
        "stock-6.12",
        "mthp/128kB",
        &[
            ("anon-fault-alloc", 579),
            ("anon-fault-fallback", 0),
            ("covered-kib", 74112),
            ("uncovered-kib", 0),
            ("faults-after", 579),
        ],
    ),
    holds(
        "stock-6.12",
        "mthp/256kB",
        &[
            ("anon-fault-alloc", 289),
            ("anon-fault-fallback", 0),
            ("covered-kib", 73984),
            ("uncovered-kib", 128),
            ("faults-after", 321),
        ],
    ),
    holds(
        "stock-6.12",
        "mthp/512kB",
        &[
            ("anon-fault-alloc", 144),
            ("anon-fault-fallback", 0),
            ("covered-kib", 73728),
            ("uncovered-kib", 384),
            ("faults-after", 240),
        ],
    ),
    holds(
        "stock-6.12",
        "mthp/1024kB",
        &[
            ("anon-fault-alloc", 72),
            ("anon-fault-fallback", 0),
            ("covered-kib", 73728),
            ("uncovered-kib", 384),
            ("faults-after", 168),
        ],
    ),
    holds("stock-6.12", "fragmentation/shards", &[("order4-tried", 128), ("order4-succeeded", 128)]),
    // K1: the limit to PMD-sized lengths reverted.
    holds("k1-6.12", "placement/1536KiB", P1536KIB_ANY),
    holds("k1-6.12", "placement/1844KiB", P1844KIB_ANY),
    holds("k1-6.12", "placement/2044KiB", P2044KIB_ANY),
    holds("k1-6.12", "placement/2MiB", P2MIB_ANY),
    holds("k1-6.12", "placement/4MiB", P4MIB_ANY),
    fails("k1-6.12", "placement/2052KiB", P2052KIB_OLD, NEIGHBOURS),
    fails("k1-6.12", "placement/3MiB", P3MIB_OLD, NEIGHBOURS),
    fails("k1-6.12", "placement/4224KiB", P4224KIB_OLD, NEIGHBOURS),
    fails("k1-6.12", "placement/4632KiB", P4632KIB_OLD, NEIGHBOURS),
    fails("k1-6.12", "placement/512MiB+12KiB", &[("gap-kib", 2036), ("vmas", 3)], NEIGHBOURS),
    fails(
        "k1-6.12",
        "placement-aslr/4632KiB",
        &[("gap-kib", 1512), ("vmas", 16), ("span-kib", 96792)],
        NEIGHBOURS,
    ),
    holds("k1-6.12", "khugepaged/4632KiB", &[("anon-huge-kib", 65536), ("collapsed", 32)]),
    fails("k1-6.12", "mixed/2MiB-3MiB", &[("gap-total-kib", 3072), ("vmas", 4)], &["alternating-maps-touch"]),
    holds("k1-6.12", "hint/4MiB", &[("hint-distance-kib", 0)]),
    holds("k1-6.12", "hint/3MiB", &[("hint-distance-kib", 0)]),
    holds("k1-6.12", "hint/2MiB", &[("hint-distance-kib", 0)]),
    fails(
        "k1-6.12",
        "file/overlayfs",
        &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)],
        &["neighbours-touch", "file-map-unaligned-by-thp"],
    ),
    holds("k1-6.12", "fixed/map-fixed", &[("anon-huge-kib", 2048)]),
    holds("k1-6.12", "shared/anon", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0)]),
    holds("k1-6.12", "shared/memfd", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0)]),
    holds("k1-6.12", "tmpfs/never", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0)]),
    holds("k1-6.12", "tmpfs/always", &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)]),
    holds("k1-6.12", "tmpfs/within_size", &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)]),
    holds("k1-6.12", "tmpfs/advise", &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)]),
    holds(
        "k1-6.12",
        "mthp/16kB",
        &[
            ("anon-fault-alloc", 4624),
            ("anon-fault-fallback", 0),
            ("covered-kib", 73984),
            ("uncovered-kib", 128),
            ("faults-after", 4656),
        ],
    ),
    holds(
        "k1-6.12",
        "mthp/32kB",
        &[
            ("anon-fault-alloc", 2304),
            ("anon-fault-fallback", 0),
            ("covered-kib", 73728),
            ("uncovered-kib", 384),
            ("faults-after", 2400),
        ],
    ),
    holds(
        "k1-6.12",
        "mthp/64kB",
        &[
            ("anon-fault-alloc", 1152),
            ("anon-fault-fallback", 0),
            ("covered-kib", 73728),
            ("uncovered-kib", 384),
            ("faults-after", 1248),
        ],
    ),
    holds(
        "k1-6.12",
        "mthp/128kB",
        &[
            ("anon-fault-alloc", 576),
            ("anon-fault-fallback", 0),
            ("covered-kib", 73728),
            ("uncovered-kib", 384),
            ("faults-after", 672),
        ],
    ),
    holds(
        "k1-6.12",
        "mthp/256kB",
        &[
            ("anon-fault-alloc", 288),
            ("anon-fault-fallback", 0),
            ("covered-kib", 73728),
            ("uncovered-kib", 384),
            ("faults-after", 384),
        ],
    ),
    holds(
        "k1-6.12",
        "mthp/512kB",
        &[
            ("anon-fault-alloc", 144),
            ("anon-fault-fallback", 0),
            ("covered-kib", 73728),
            ("uncovered-kib", 384),
            ("faults-after", 240),
        ],
    ),
    holds(
        "k1-6.12",
        "mthp/1024kB",
        &[
            ("anon-fault-alloc", 64),
            ("anon-fault-fallback", 0),
            ("covered-kib", 65536),
            ("uncovered-kib", 8576),
            ("faults-after", 2208),
        ],
    ),
    // K2: the rule of 6.8 to 6.11.6, hints included.
    holds("k2-6.12", "placement/1536KiB", P1536KIB_ANY),
    holds("k2-6.12", "placement/1844KiB", P1844KIB_ANY),
    holds("k2-6.12", "placement/2044KiB", P2044KIB_ANY),
    holds("k2-6.12", "placement/2MiB", P2MIB_ANY),
    holds("k2-6.12", "placement/4MiB", P4MIB_ANY),
    fails("k2-6.12", "placement/2052KiB", P2052KIB_OLD, NEIGHBOURS),
    fails("k2-6.12", "placement/3MiB", P3MIB_OLD, NEIGHBOURS),
    fails("k2-6.12", "placement/4224KiB", P4224KIB_OLD, NEIGHBOURS),
    fails("k2-6.12", "placement/4632KiB", P4632KIB_OLD, NEIGHBOURS),
    fails("k2-6.12", "placement/512MiB+12KiB", &[("gap-kib", 2036), ("vmas", 3)], NEIGHBOURS),
    fails(
        "k2-6.12",
        "placement-aslr/4632KiB",
        &[("gap-kib", 1512), ("vmas", 16), ("span-kib", 96792)],
        NEIGHBOURS,
    ),
    holds("k2-6.12", "khugepaged/4632KiB", &[("anon-huge-kib", 65536), ("collapsed", 32)]),
    fails("k2-6.12", "hint/4MiB", &[], &["hint-honoured"]),
    fails("k2-6.12", "hint/3MiB", &[], &["hint-honoured"]),
    fails("k2-6.12", "hint/2MiB", &[], &["hint-honoured"]),
    holds("k2-6.12", "fixed/map-fixed", &[("anon-huge-kib", 2048)]),
    holds("k2-6.12", "shared/anon", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0)]),
    holds("k2-6.12", "shared/memfd", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0)]),
    holds("k2-6.12", "tmpfs/never", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0)]),
    holds("k2-6.12", "tmpfs/always", &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)]),
    holds("k2-6.12", "tmpfs/within_size", &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)]),
    holds("k2-6.12", "tmpfs/advise", &[("gap-3mib-kib", 1024), ("gap-4mib-kib", 0)]),
    // K4: file maps are placed like any other.
    holds("k4-6.12", "placement/4632KiB", P4632KIB_NEW),
    holds("k4-6.12", "file/overlayfs", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0), ("phase-4mib-kib", 1024)]),
    // K5: nothing is aligned, so exact multiples lie where the free gap ends.
    holds("k5-6.12", "placement/2052KiB", P2052KIB_NEW),
    holds("k5-6.12", "placement/3MiB", P3MIB_NEW),
    holds("k5-6.12", "placement/4224KiB", P4224KIB_NEW),
    holds("k5-6.12", "placement/4632KiB", P4632KIB_NEW),
    holds("k5-6.12", "placement/512MiB+12KiB", &[("gap-kib", 0), ("vmas", 1)]),
    holds("k5-6.12", "placement-aslr/4632KiB", &[("gap-kib", 0), ("vmas", 1), ("span-kib", 74112)]),
    holds("k5-6.12", "khugepaged/4632KiB", &[("anon-huge-kib", 73728), ("collapsed", 36)]),
    fails("k5-6.12", "placement/2MiB", &[], &["pmd-aligned"]),
    fails("k5-6.12", "placement/4MiB", &[], &["pmd-aligned"]),
    holds("k5-6.12", "mixed/2MiB-3MiB", &[("gap-total-kib", 0), ("vmas", 1)]),
    holds("k5-6.12", "file/overlayfs", &[("gap-3mib-kib", 0), ("gap-4mib-kib", 0), ("phase-4mib-kib", 1024)]),
    // K6: stacks may have huge pages.
    fails("k6-6.12", "stack/map-stack", &[("anon-huge-kib", 16384)], &["map-stack-no-hugepage"]),
    holds("k6-6.12", "placement/4632KiB", P4632KIB_NEW),
    // K7: hints do not count for lengths that are aligned.
    fails("k7-6.12", "hint/4MiB", &[], &["hint-honoured"]),
    holds("k7-6.12", "hint/3MiB", &[("hint-distance-kib", 0)]),
    fails("k7-6.12", "hint/2MiB", &[], &["hint-honoured"]),
    holds("k7-6.12", "placement/4632KiB", P4632KIB_NEW),
    // 6.1 never aligns; it has no mTHP.
    holds("stock-6.1", "placement/2052KiB", P2052KIB_NEW),
    holds("stock-6.1", "placement/3MiB", P3MIB_NEW),
    holds("stock-6.1", "placement/4224KiB", P4224KIB_NEW),
    holds("stock-6.1", "placement/4632KiB", P4632KIB_NEW),
    holds("stock-6.1", "placement/512MiB+12KiB", &[("gap-kib", 0), ("vmas", 1)]),
    holds("stock-6.1", "placement-aslr/4632KiB", &[("gap-kib", 0), ("vmas", 1), ("span-kib", 74112)]),
    holds("stock-6.1", "khugepaged/4632KiB", &[("anon-huge-kib", 73728), ("collapsed", 36)]),
    fails("stock-6.1", "placement/2MiB", &[], &["pmd-aligned"]),
    holds("stock-6.1", "mixed/2MiB-3MiB", &[("gap-total-kib", 0), ("vmas", 1)]),
    holds("stock-6.1", "hint/4MiB", &[("hint-distance-kib", 0)]),
    holds("stock-6.1", "hint/3MiB", &[("hint-distance-kib", 0)]),
    holds("stock-6.1", "hint/2MiB", &[("hint-distance-kib", 0)]),
    lacks("stock-6.1", "mthp/16kB"),
    lacks("stock-6.1", "mthp/32kB"),
    lacks("stock-6.1", "mthp/64kB"),
    lacks("stock-6.1", "mthp/128kB"),
    lacks("stock-6.1", "mthp/256kB"),
    lacks("stock-6.1", "mthp/512kB"),
    lacks("stock-6.1", "mthp/1024kB"),
];
