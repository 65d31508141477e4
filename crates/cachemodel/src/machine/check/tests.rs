use super::*;
use crate::testing::text;

const CACHE: &str = "index = \"physical\"\norigin = {}\n";

#[test]
fn figures_that_contradict_each_other_are_refused() {
    let cache = |figures: &str| format!("{CACHE}{figures}");
    let tree = cache("size-kib = 3\nways = 6\nsets = 8\nreplacement = \"tree-plru\"");
    let sum = cache("size-kib = 3\nways = 2\nsets = 16\nreplacement = \"lru\"");
    let none = cache("size-kib = 2\nways = 0\nsets = 16\nreplacement = \"lru\"");
    let vast = cache("size-kib = 4294967295\nways = 1\nsets = 16\nreplacement = \"lru\"");
    // 2³² sets, and 2⁷⁰ bytes: more than their words hold.
    let sets = cache("size-kib = 1\nways = 16\nsets = 65536\nslices = 65536\nreplacement = \"lru\"");
    let size = cache("size-kib = 1\nways = 4\nsets = 2147483648\nslices = 2147483648\nreplacement = \"lru\"");
    let hash = cache("size-kib = 3\nways = 1\nsets = 48\nhash = true\nreplacement = \"lru\"");
    let l3 = cache("size-kib = 2\nways = 2\nsets = 16\nreplacement = \"lru\"");
    let tlb = |figures: &str| format!("origin = {{}}\n{figures}");
    let uneven = tlb("pages = [\"4KiB\", \"2MiB\"]\nentries = 10\nways = 4");
    let empty = tlb("pages = []\nentries = 4\nways = 4");
    let group = tlb("pages = [\"4KiB\", \"2MiB\"]\nentries = 4\nways = 4\ncoalesce = 3");
    let small = tlb("pages = [\"4KiB\"]\nentries = 4\nways = 4");
    let twice = tlb(
        "pages = [\"4KiB\", \"4KiB\"]\nentries = 4\nways = 4\n[[stlb]]\npages = [\"4KiB\"]\nentries = 4\nways = 4\norigin = {}",
    );
    let walk = "pml4e = 0\npdpte = 0\npde = 99999\norigin = {}";
    for (table, body, message) in [
        ("l2", tree.as_str(), "a tree needs a power of two of ways, at most 64, and not 6"),
        ("l2", &sum, "3 KiB are not 1 slices of 16 sets of 2 lines of 64 bytes"),
        ("l2", &none, "ways is at least 1"),
        ("l2", &vast, "a cache has at most 1048576 KiB"),
        ("l2", &sets, "1 KiB are not 65536 slices of 65536 sets of 16 lines of 64 bytes"),
        ("l2", &size, "1 KiB are not 2147483648 slices of 2147483648 sets of 4 lines of 64 bytes"),
        ("l2", &hash, "a hash chooses from a power of two, which 48 sets are not"),
        ("l3", &l3, "l3 and the latency of l3 are there together or not at all"),
        ("[dtlb", &uneven, "10 entries do not fill sets of 4"),
        ("[dtlb", &empty, "a TLB holds at least one page size"),
        ("[dtlb", &group, "an entry covers a power of two of pages, at most 512, and not 3"),
        ("[dtlb", &small, "not exactly one dtlb holds pages of 2MiB"),
        ("[stlb", &twice, "more than one stlb holds pages of 4KiB"),
        ("walk", walk, "a paging-structure cache has at most 16384 entries"),
        ("", "kind = \"cpu\"", "duplicate key"),
        ("", "shoe-size = 43", "unknown field `shoe-size`"),
        ("", "prefetch = \"all\"", "unknown variant `all`"),
        ("latency", "l1 = 1", "missing field `l2`"),
    ] {
        let error = Machine::parse(&text(&[(table, body)])).unwrap_err();
        assert!(error.message.contains(message), "{table}: expected {message:?}, got {error}");
    }
}

#[test]
fn the_largest_caches_are_what_they_say() {
    for (figures, sets) in [
        ("ways = 16777216\nsets = 1", 1),
        ("ways = 1\nsets = 16777216", 1 << 24),
        ("ways = 1\nsets = 4096\nslices = 4096", 1 << 24),
    ] {
        let body = format!("{CACHE}size-kib = 1048576\nreplacement = \"lru\"\n{figures}");
        assert_eq!(Machine::parse(&text(&[("l2", &body)])).unwrap().l2.all_sets(), sets, "{figures}");
    }
}

#[test]
fn an_error_names_the_line() {
    let bad = format!("{CACHE}size-kib = 3\nways = 2\nsets = 16\nreplacement = \"lru\"");
    let text = text(&[("l2", &bad)]);
    let error = Machine::parse(&text).unwrap_err();
    let line = text.lines().nth(error.line.unwrap() - 1).unwrap();
    assert_eq!(line, "[l2]", "{error}");
}

#[test]
fn a_name_is_one_that_a_metric_can_carry() {
    for name in ["", "zen 3", "Zen3", "a/b", "a]"] {
        let text = text(&[]).replace("\"tiny\"", &format!("{name:?}"));
        let error = Machine::parse(&text).unwrap_err();
        assert!(error.message.contains("a name is made of"), "{name:?}: {error}");
    }
}

#[test]
fn a_figure_of_a_cpu_comes_from_somewhere() {
    let cpu = |text: String| text.replace("what-if", "cpu");
    let error = Machine::parse(&cpu(text(&[]))).unwrap_err();
    assert_eq!(error.message, "an origin of a CPU says nothing");
    let cites = text(&[("walk", "pml4e = 0\npdpte = 0\npde = 0\norigin = { source = \"x 1; y\" }")]);
    let error = Machine::parse(&cites).unwrap_err();
    assert_eq!(error.message, "\"x\" in \"x 1; y\" is not the id of a [[source]]");
    let both =
        format!("{cites}\n[[source]]\nid = \"x\"\ntitle = \"X\"\n[[source]]\nid = \"y\"\ntitle = \"Y\"\n");
    assert_eq!(Machine::parse(&both).unwrap().sources.len(), 2);
    let assumed = cpu(text(&[])).replace("origin = {}", "origin = { assumed = \"a guess\" }");
    assert_eq!(Machine::parse(&assumed).unwrap().kind, Kind::Cpu);
}
