//! On a tiny tree that has the texts which the faults change.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt};

use super::{
    change::{Change, Edit, Overlay},
    harmless::Harmless,
    *,
};
use mthp_kernel::{SourceSpec, process};
use tempfile::TempDir;

const ALL_FAULTS: [Fault; 6] = [
    Fault::DoesNotCompile,
    Fault::DoesNotLink,
    Fault::LacksSymbol,
    Fault::PanicsAtBoot,
    Fault::HangsAtBoot,
    Fault::PanicsElsewhere,
];

const CULPRIT: &str = "From: A <a@b>\nSubject: [PATCH] mm: break it\n\n--- a/mm/mmap.c\n+++ b/mm/mmap.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

/// Words of one file, each once.
const WORDS: [&str; 6] = ["apple", "berry", "cherry", "date", "elder", "fig"];

struct Tiny {
    folder: TempDir,
    stock: Stock,
}

impl Tiny {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("linux");
        let write = |name: &str, text: &str| {
            let path = tree.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let before = fs::read_to_string(&path).unwrap_or_default();
            if !before.contains(text) {
                fs::write(&path, format!("{before}{text}\n")).unwrap();
            }
        };
        write("Makefile", "VERSION = 6\nPATCHLEVEL = 12");
        write("Kconfig", "config X");
        write("mm/mmap.c", "one\ntwo\nthree");
        write("mm/words.c", &WORDS.join("\n"));
        for fault in ALL_FAULTS {
            let Change::Edits(edits) = fault.change() else { panic!("{fault:?}") };
            for edit in edits {
                write(edit.file, edit.from);
            }
        }
        let harmless = WORDS.map(|word| Harmless {
            subject: format!("mm: words: do without {word}"),
            change: Change::Edits(vec![Edit { file: "mm/words.c", from: word, to: "-" }]),
            changes_image: word != "apple",
        });
        let culprit = PatchSeries::parse("culprit", CULPRIT.as_bytes(), false).unwrap();
        Self { folder, stock: Stock { harmless: harmless.into(), culprit } }
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("linux")
    }

    /// The history, in a cache of its own.
    fn history(&self, plan: &Plan) -> Result<(TempDir, History)> {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        let stop = AtomicBool::new(false);
        let spec = SourceSpec::Tree { dir: self.tree(), revision: None, dirty: false };
        let tree = fetch(&cache, &spec, &|_| {}, &stop)?;
        let composed = compose(&tree.path, plan, &self.stock)?;
        let history = in_cache(&cache, &tree, &composed, &stop)?;
        let again = in_cache(&cache, &tree, &composed, &stop)?;
        assert_eq!(history, again);
        Ok((folder, history))
    }

    fn error(&self, plan: &Plan) -> String {
        format!("{:#}", self.history(plan).unwrap_err())
    }
}

fn plan(commits: usize, culprit: usize, broken: &[(Fault, usize, usize)]) -> Plan {
    let broken = broken.iter().map(|&(fault, at, mended)| Broken { fault, at, mended }).collect();
    Plan { commits, patch: PathBuf::new(), culprit, broken, side: None }
}

fn ask(history: &History, words: &[&str]) -> String {
    let output = process::capture(git::git().arg("-C").arg(&history.repository).args(words)).unwrap();
    String::from_utf8(output).unwrap().trim_end().to_owned()
}

#[test]
fn the_same_plan_gives_the_same_hashes_wherever_it_is_made() {
    let plan = plan(6, 4, &[(Fault::DoesNotCompile, 2, 5)]);
    let (one, two) = (Tiny::new(), Tiny::new());
    let (_kept, first) = one.history(&plan).unwrap();
    let (_kept_too, second) = two.history(&plan).unwrap();
    assert_eq!((&first.base, &first.commits), (&second.base, &second.commits));
    assert_eq!(ask(&first, &["rev-parse", "main"]), first.head());
    assert_eq!(ask(&first, &["rev-parse", "base^{commit}"]), first.base);
}

#[test]
fn each_commit_does_what_it_says_and_nothing_else() {
    let (_kept, history) = Tiny::new().history(&plan(5, 3, &[(Fault::PanicsElsewhere, 2, 5)])).unwrap();
    let kinds: Vec<Kind> = history.commits.iter().map(|made| made.kind).collect();
    assert_eq!(kinds, [Kind::Harmless, Kind::PanicsElsewhere, Kind::Culprit, Kind::Harmless, Kind::Mend]);
    let images: Vec<bool> = history.commits.iter().map(|made| made.changes_image).collect();
    assert_eq!(images, [false, true, true, true, true]);
    let changed = |position: usize| {
        let id = &history.at(position).unwrap().id;
        ask(&history, &["diff-tree", "-r", "--no-commit-id", "--name-only", id])
    };
    assert_eq!(changed(1), "mm/words.c");
    assert_eq!(changed(2), "fs/userfaultfd.c\nmm/shmem.c");
    assert_eq!(changed(3), "mm/mmap.c");
    assert_eq!(changed(5), changed(2));
    assert_eq!(ask(&history, &["show", "main:mm/mmap.c"]), "one\n2\nthree");
    let subjects = ask(&history, &["log", "--format=%s", "--reverse", "base..main"]);
    let told: Vec<&str> = history.commits.iter().map(|made| made.subject.as_str()).collect();
    assert_eq!(subjects.lines().collect::<Vec<_>>(), told);
    assert_eq!(history.first(Kind::Culprit).unwrap().subject, "mm: break it");
}

#[test]
fn every_fault_is_mended_without_a_trace() {
    for fault in ALL_FAULTS {
        let (_kept, history) = Tiny::new().history(&plan(3, 3, &[(fault, 1, 2)])).unwrap();
        let tree = |id: &str| ask(&history, &["rev-parse", &format!("{id}^{{tree}}")]);
        assert_ne!(tree(&history.commits[0].id), tree(&history.base), "{fault:?}");
        assert_eq!(tree(&history.commits[1].id), tree(&history.base), "{fault:?}");
        assert_eq!(history.commits[0].kind, fault.kind());
    }
}

#[test]
fn a_fault_may_come_back() {
    let broken = [(Fault::DoesNotLink, 1, 2), (Fault::DoesNotLink, 3, 5)];
    let (_kept, history) = Tiny::new().history(&plan(5, 4, &broken)).unwrap();
    assert_eq!(history.commits.iter().filter(|made| made.kind == Kind::Unbuildable).count(), 2);
}

#[test]
fn a_side_branch_ends_where_the_straight_line_does() {
    let straight = plan(6, 4, &[]);
    let tiny = Tiny::new();
    let (_kept, line) = tiny.history(&straight).unwrap();
    for forks in [0, 1, 2] {
        let side = Some(Side { forks, first: 3, last: 5 });
        let (_kept_too, history) = tiny.history(&Plan { side, ..straight.clone() }).unwrap();
        let merge = history.first(Kind::Merge).unwrap();
        let parents = [history.at(2).unwrap(), history.at(5).unwrap()].map(|made| made.id.as_str());
        assert_eq!(ask(&history, &["log", "-1", "--format=%P", &merge.id]), parents.join(" "));
        let start = if forks == 0 { history.base.clone() } else { history.at(forks).unwrap().id.clone() };
        assert_eq!(ask(&history, &["rev-parse", &format!("{}^", history.at(3).unwrap().id)]), start);
        assert_eq!(history.commits.len(), 7);
        let tree = |history: &History| ask(history, &["rev-parse", "main^{tree}"]);
        assert_eq!(tree(&history), tree(&line));
    }
}

#[test]
fn the_base_has_every_file_as_it_is() {
    let tiny = Tiny::new();
    fs::write(tiny.tree().join(".gitignore"), "*\n").unwrap();
    fs::write(tiny.tree().join("ignored name.o"), [0, 255, 10]).unwrap();
    fs::write(tiny.tree().join("run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(tiny.tree().join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("mm/mmap.c", tiny.tree().join("link")).unwrap();
    let (_kept, history) = tiny.history(&plan(1, 1, &[])).unwrap();
    let entry = |name: &str| ask(&history, &["ls-tree", "--format=%(objectmode)", "base", name]);
    assert_eq!(entry(".gitignore"), "100644");
    assert_eq!(entry("ignored name.o"), "100644");
    assert_eq!(entry("run"), "100755");
    assert_eq!(entry("link"), "120000");
    assert_eq!(ask(&history, &["cat-file", "-s", "base:ignored name.o"]), "3");
    let files = ask(&history, &["ls-tree", "-r", "--name-only", "base"]).lines().count();
    let there =
        process::capture(std::process::Command::new("find").arg(tiny.tree()).args(["!", "-type", "d"]));
    assert_eq!(files, String::from_utf8(there.unwrap()).unwrap().lines().count());
}

#[test]
fn a_plan_that_contradicts_itself_is_refused() {
    let side = |forks, first, last| Plan { side: Some(Side { forks, first, last }), ..plan(6, 4, &[]) };
    let across = Plan { broken: plan(0, 0, &[(Fault::DoesNotLink, 2, 5)]).broken, ..side(1, 3, 5) };
    for (plan, said) in [
        (plan(3, 4, &[]), "there is no commit 4"),
        (plan(3, 0, &[]), "there is no commit 0"),
        (plan(6, 2, &[(Fault::DoesNotLink, 2, 3)]), "commit 2 cannot be both"),
        (plan(6, 1, &[(Fault::DoesNotLink, 3, 2)]), "before it is there"),
        (plan(6, 1, &[(Fault::DoesNotLink, 2, 5), (Fault::DoesNotLink, 3, 6)]), "is there already at 3"),
        (plan(6, 1, &[(Fault::DoesNotLink, 3, 6), (Fault::DoesNotLink, 2, 5)]), "is there already at 3"),
        (plan(6, 1, &[(Fault::DoesNotLink, 2, 7)]), "there is no commit 7"),
        (side(3, 3, 5), "is none"),
        (side(1, 5, 4), "is none"),
        (side(1, 5, 7), "is none"),
        (across, "on one branch and mended on another"),
        (plan(8, 1, &[]), "failed to find a harmless change for commit 8: there are 6"),
    ] {
        let error = Tiny::new().error(&plan);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_standard_plan_leaves_the_culprit_and_its_parent_alone() {
    for culprit in 1..=64 {
        let plan = Plan::standard(PathBuf::new(), culprit);
        assert_eq!(plan.steps().unwrap().len(), 64, "{culprit}");
        let kinds: Vec<Kind> = plan.broken.iter().map(|broken| broken.fault.kind()).collect();
        assert_eq!(kinds, [Kind::Unbuildable, Kind::PanicsElsewhere, Kind::Unbootable, Kind::Unbuildable]);
        for Broken { at, mended, .. } in plan.broken {
            for tested in [culprit - 1, culprit, 0, 64] {
                assert!(!(at..mended).contains(&tested), "{culprit}: {at} to {mended}");
            }
        }
    }
}

#[test]
fn a_change_that_does_not_fit_names_its_file_and_commit() {
    let mut tiny = Tiny::new();
    fs::write(tiny.tree().join("mm/words.c"), "apple apple\n").unwrap();
    let error = tiny.error(&plan(2, 2, &[]));
    assert!(error.contains("commit 1") && error.contains("mm/words.c: it has 2 times"), "{error}");
    tiny.stock.harmless.clear();
    fs::write(tiny.tree().join("mm/mmap.c"), "four\n").unwrap();
    let error = tiny.error(&plan(1, 1, &[]));
    assert!(error.contains("commit 1 (mm: break it)") && error.contains("does not match"), "{error}");
}

#[test]
fn a_patch_that_deletes_or_renames_is_refused() {
    let tiny = Tiny::new();
    for (text, said) in [
        ("--- a/mm/mmap.c\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n", "deletes mm/mmap.c"),
        ("diff --git a/Kconfig b/K\nsimilarity index 100%\nrename from Kconfig\nrename to K\n", "renames K"),
    ] {
        let change = Change::Patch(PatchSeries::parse("x", text.as_bytes(), false).unwrap());
        let tree = tiny.tree();
        let error = Overlay::new(&tree).unwrap().apply(&change).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn a_patch_may_make_a_file_and_be_taken_back() {
    let tiny = Tiny::new();
    let text = "--- /dev/null\n+++ b/mm/new.c\n@@ -0,0 +1 @@\n+new\n";
    let tree = tiny.tree();
    let mut overlay = Overlay::new(&tree).unwrap();
    let made =
        overlay.apply(&Change::Patch(PatchSeries::parse("x", text.as_bytes(), false).unwrap())).unwrap();
    assert_eq!((made[0].name.as_str(), made[0].contents.as_slice()), ("mm/new.c", b"new\n".as_slice()));
    let change = Change::Patch(PatchSeries::parse("x", CULPRIT.as_bytes(), false).unwrap());
    overlay.apply(&change).unwrap();
    let back = overlay.apply(&change.reversed()).unwrap();
    assert_eq!(back[0].contents, b"one\ntwo\nthree\n");
    assert!(!tree.join("mm/new.c").exists());
}

#[test]
fn what_git_refuses_is_told_in_its_words_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::create(&folder.path().join("git"), None).unwrap();
    let error = repository.import(|out| Ok(out.write_all(b"nonsense\n")?)).unwrap_err();
    assert!(format!("{error:#}").contains("Unsupported command: nonsense"), "{error:#}");
    let error = repository.import(|_| anyhow::bail!("the disk is on fire")).unwrap_err();
    assert!(format!("{error:#}").contains("the disk is on fire"), "{error:#}");
}

#[test]
fn a_third_of_the_harmless_changes_gives_the_same_image_and_a_third_another() {
    let all = harmless::all(&mthp_lab::Project::here().unwrap()).unwrap();
    let same = all.iter().filter(|harmless| !harmless.changes_image).count();
    assert!(all.len() >= 63, "{}", all.len());
    assert!(same * 3 >= all.len() && (all.len() - same) * 3 >= all.len(), "{same} of {}", all.len());
    let subjects: BTreeSet<&str> = all.iter().map(|harmless| harmless.subject.as_str()).collect();
    assert!(subjects.len() == all.len(), "two have one subject");
}
