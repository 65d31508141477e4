//! A small machine for tests.

use crate::machine::Machine;

const TABLES: [(&str, &str); 6] = [
    ("l1d", "size-kib = 1\nways = 2\nsets = 8\nindex = \"physical\"\nreplacement = \"lru\"\norigin = {}"),
    ("l2", "size-kib = 2\nways = 2\nsets = 16\nindex = \"physical\"\nreplacement = \"lru\"\norigin = {}"),
    ("[dtlb", "pages = [\"4KiB\", \"2MiB\"]\nentries = 2\nways = 2\norigin = {}"),
    ("[stlb", "pages = [\"4KiB\", \"2MiB\"]\nentries = 4\nways = 4\norigin = {}"),
    ("walk", "pml4e = 0\npdpte = 0\npde = 0\norigin = {}"),
    ("latency", "l1 = 1\nl2 = 2\nmemory = 9\nstlb = 1\nwalk-reference = 2\norigin = {}"),
];

/// Its text with some tables, by name, as others; `[dtlb` is the name of the list's; `""` is what stands above all.
pub(crate) fn text(other: &[(&str, &str)]) -> String {
    let find = |name| other.iter().find(|(other, _)| *other == name).map(|(_, body)| *body);
    let mut text = "name = \"tiny\"\ntitle = \"Tiny\"\nkind = \"what-if\"\n".to_owned();
    text += find("").unwrap_or_default();
    for (name, body) in TABLES {
        let end = if name.starts_with('[') { "]]" } else { "]" };
        text += &format!("\n[{name}{end}\n{}\n", find(name).unwrap_or(body));
    }
    if let Some(body) = find("l3") {
        text += &format!("\n[l3]\n{body}\n");
    }
    text
}

/// The machine of that text.
pub(crate) fn machine(other: &[(&str, &str)]) -> Machine {
    Machine::parse(&text(other)).unwrap()
}
