use super::*;

const TARGET: &str =
    "suites = [\"memory\"]\n[[target]]\nname = \"a\"\ntree = \"https://k.org/l.git\"\nbranch = \"b-1.y\"\n";

fn parse(text: &str) -> Result<Nightly, FileError> {
    let kernels = ["stock-6.12".to_owned()];
    let suites = ["alignment".to_owned(), "memory".to_owned()];
    Nightly::parse(text, Known { kernels: &kernels, suites: &suites })
}

#[test]
fn a_target_is_a_tree_with_its_branch_or_a_kernel() {
    let more = "[[target]]\nname = \"c\"\nkernel = \"stock-6.12\"\nsuites = [\"alignment\", \"memory\"]\n";
    let nightly = parse(&format!("{TARGET}{more}")).unwrap();
    let [tree, kernel] = nightly.targets.as_slice() else { panic!("{nightly:?}") };
    let (url, branch) = ("https://k.org/l.git".to_owned(), "b-1.y".to_owned());
    assert_eq!((&tree.name[..], &tree.source), ("a", &Source::Tree { tree: url, branch }));
    assert_eq!(tree.suites, ["memory"], "those of all");
    assert_eq!(kernel.source, Source::Kernel("stock-6.12".to_owned()));
    assert_eq!(kernel.suites, ["alignment", "memory"]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_line() {
    let cases = [
        ("suites = [\"memory\"]", "suites = []", "line 1: no suite"),
        (
            "suites = [\"memory\"]",
            "suites = [\"memory\",\n\"nope\"]",
            "line 2: there is no suite named 'nope'; there are: alignment, memory",
        ),
        ("[\"memory\"]", "[\"memory\", \"memory\"]", "line 1: the suite 'memory' is there twice"),
        ("suites = [\"memory\"]\n", "", "missing field `suites`"),
        ("name = \"a\"", "name = \"a/b\"", "line 3: the name 'a/b' is not"),
        ("name = \"a\"", "name = \"stock-6.12\"", "line 3: 'stock-6.12' is another kernel's name"),
        ("branch = \"b-1.y\"\n", "", "line 2: the target 'a' has either"),
        ("branch", "kernel = \"stock-6.12\"\nbranch", "line 2: the target 'a' has either"),
        ("branch = \"b-1.y\"", "branch = \"$(x)\"", "line 5: the branch '$(x)' is not"),
        ("https:", "--upload-pack=", "line 4: the tree '--upload-pack=//k.org/l.git' is not"),
        ("b-1.y\"", "b-1.y\"\nshards = 4", "line 6: unknown field `shards`"),
    ];
    for (from, to, said) in cases {
        assert!(TARGET.contains(from), "{from}");
        let error = parse(&TARGET.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with(said) || !said.starts_with("line") && error.contains(said), "{error}");
    }
    let twice = format!("{TARGET}[[target]]\nname = \"a\"\nkernel = \"stock-6.12\"\n");
    assert_eq!(parse(&twice).unwrap_err().to_string(), "line 7: a second target named 'a'");
    let unknown = format!("{TARGET}[[target]]\nname = \"c\"\nkernel = \"stock-5\"\n");
    let error = parse(&unknown).unwrap_err().to_string();
    assert_eq!(error, "line 8: there is no kernel named 'stock-5'; there are: stock-6.12");
    let none = parse("suites = [\"memory\"]\n").unwrap_err().to_string();
    assert!(none.contains("nothing to run"), "{none}");
}
