use proptest::prelude::*;

use super::*;

fn one(text: &str) -> FilePatch {
    let mut files = parse("x.patch", text.as_bytes(), 1).unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn error(text: &str) -> PatchError {
    parse("x.patch", text.as_bytes(), 1).unwrap_err()
}

const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

#[test]
fn a_plain_diff() {
    let file = one(&format!("--- linux.orig/mm/x.c.orig\t2024-01-01\n+++ linux/mm/x.c\t2024-01-02\n{HUNK}"));
    assert_eq!((file.old.as_deref(), file.new.as_deref()), (Some("mm/x.c"), Some("mm/x.c")));
}

#[test]
fn a_plain_diff_that_creates_and_one_that_deletes() {
    let new = one("--- a/x\t1970-01-01 00:00:00.000000000 +0000\n+++ b/x\t2024-01-01\n@@ -0,0 +1 @@\n+b\n");
    assert_eq!((new.old.as_deref(), new.new.as_deref()), (None, Some("x")));
    let gone = one("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n");
    assert_eq!((gone.old.as_deref(), gone.new.as_deref()), (Some("x"), None));
}

#[test]
fn renames_copies_and_modes() {
    let file = one("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n");
    assert_eq!((file.old.as_deref(), file.new.as_deref(), file.copy), (Some("x"), Some("y"), false));
    let file = one(&format!(
        "diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\nindex 1..2\n--- a/x\n+++ b/y\n{HUNK}"
    ));
    assert_eq!((file.old.as_deref(), file.new.as_deref(), file.copy), (Some("x"), Some("y"), true));
    let file = one("diff --git a/s b/s\nold mode 100644\nnew mode 100755\n");
    assert_eq!((file.new.as_deref(), file.new_mode), (Some("s"), Some(0o100_755)));
    let file = one("diff --git a/e b/e\nnew file mode 100644\nindex 0..0\n");
    assert_eq!((file.old, file.new.as_deref()), (None, Some("e")));
}

#[test]
fn quoted_names() {
    let file = one(&format!("--- \"a/tab\\there\"\n+++ \"b/tab\\there\"\n{HUNK}"));
    assert_eq!(file.new.as_deref(), Some("tab\there"));
    assert_eq!(unquote(b"\"\\303\\244\""), "ä".as_bytes());
}

#[test]
fn two_files_and_a_signature() {
    let text =
        format!("Subject\n---\n x | 2 +-\n\n--- a/x\n+++ b/x\n{HUNK}--- a/y\n+++ b/y\n{HUNK}-- \n2.47\n");
    assert_eq!(parse("x", text.as_bytes(), 1).unwrap().len(), 2);
}

#[test]
fn an_empty_context_line_without_its_blank() {
    let file = one("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n\n-a\n+b\n");
    assert_eq!(file.hunks[0].lines[0], HunkLine::Context(b"\n".to_vec()));
}

#[test]
fn outside() {
    for name in ["a/../../etc/passwd", "/etc/passwd", "a/.git/config", "a/.GIT/hooks/x", "../x"] {
        let error = error(&format!("--- {name}\n+++ {name}\n{HUNK}"));
        assert!(matches!(error, PatchError::Outside { .. }), "{name}: {error}");
    }
    let error = error("diff --git a/x b/y\nrename from x\nrename to ../y\n");
    assert!(matches!(error, PatchError::Outside { .. }), "{error}");
}

#[test]
fn binary() {
    let error = error("diff --git a/x.bin b/x.bin\nindex 1..2 100644\nGIT binary patch\nliteral 1\n");
    assert_eq!(error, PatchError::Binary { name: "x.patch".into(), file: "x.bin".into() });
}

#[test]
fn broken() {
    let cases = [
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n", 5, "breaks off"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n-b\n", 5, "lengths"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\nxxx\n", 4, "none of"),
        ("--- a/x\n+++ b/x\n@@ -1 x @@\n-a\n", 3, "header"),
        ("@@ -1 +1 @@\n-a\n+b\n", 1, "without the names"),
        ("*** a/x\n--- b/x\n***************\n", 1, "context diff"),
        ("--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", 1, "-p1"),
    ];
    for (text, wanted, words) in cases {
        let PatchError::Malformed { line, why, .. } = error(text) else { panic!("{text}") };
        assert_eq!(line, wanted, "{text}: {why}");
        assert!(why.contains(words), "{text}: {why}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse("x", &text, 1);
    }

    #[test]
    fn no_mixture_of_its_lines_makes_it_panic(picks in proptest::collection::vec(0_usize..22, 0..30)) {
        let lines = [
            "diff --git a/x b/x", "diff --git \"a/x\" \"b/x\"", "--- a/x", "+++ b/x", "--- /dev/null", "+++ /dev/null",
            "@@ -1,3 +1,3 @@", "@@ -1 +1 @@ f()", "@@ -0,0 +1,2 @@", "@@ -4294967295,4294967295 +1 @@", " a", "-a", "+a", "",
            "\\ No newline at end of file", "old mode 100644", "new file mode 9", "deleted file mode 100644",
            "rename from x", "rename to y", "GIT binary patch", "-- ",
        ];
        let text: String = picks.iter().filter_map(|&pick| lines.get(pick)).flat_map(|line| [line, "\n"]).collect();
        if let Ok(files) = parse("x", text.as_bytes(), 1) {
            for file in files {
                let _ = crate::patch::hunks::apply(b"a\na\nb\n", &file.hunks);
                let _ = crate::patch::hunks::apply(b"", &file.reversed().hunks);
            }
        }
    }
}
