//! The search beside git's own.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use common::Shape;
use mthp_bisect::{
    finding::Finding,
    graph::{Graph, Revision},
    log::bisect_log,
    search::{Next, Search},
};
use proptest::{prelude::*, sample::Index};

const BASE_SUBJECT: &str = "base: it's \"good\" $(exit) `exit`";

/// A repository with a history.
struct Repository {
    folder: tempfile::TempDir,
    /// The commits' hashes by their places in the shape, and the base's.
    commits: Vec<String>,
    base: String,
}

impl Repository {
    fn new(shape: &Shape) -> Self {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), &["init", "--quiet", "--initial-branch=main"]);
        let mut stream = commit(1, BASE_SUBJECT, &[]);
        let mark = |parent: &Option<usize>| parent.map_or(1, |place| place + 2);
        for (place, parents) in shape.0.iter().enumerate() {
            let mut marks: Vec<usize> = parents.iter().map(mark).collect();
            marks.sort_unstable();
            marks.dedup();
            stream += &commit(place + 2, &format!("mm: 'change' {place}"), &marks);
        }
        let marks = folder.path().join("marks");
        let mut import = git(folder.path());
        let mut child = import
            .arg("fast-import")
            .arg("--quiet")
            .arg(format!("--export-marks={}", marks.display()))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let marks = std::fs::read_to_string(marks).unwrap();
        let by_mark: HashMap<usize, &str> = marks
            .lines()
            .map(|line| line.trim_start_matches(':').split_once(' ').unwrap())
            .map(|(mark, hash)| (mark.parse().unwrap(), hash))
            .collect();
        let commits = (0..shape.len()).map(|place| by_mark[&(place + 2)].to_owned()).collect();
        let base = by_mark[&1].to_owned();
        run(folder.path(), &["checkout", "--quiet", "main"]);
        Self { folder, commits, base }
    }

    fn run(&self, arguments: &[&str]) -> String {
        run(self.folder.path(), arguments)
    }

    fn graph(&self) -> Graph {
        let range = format!("{}..main", self.base);
        Graph::parse(&self.run(&["log", "--topo-order", "--format=%H%x09%P%x09%s", &range])).unwrap()
    }

    fn good(&self) -> Revision {
        Revision { id: self.base.clone(), parents: Vec::new(), subject: BASE_SUBJECT.to_owned() }
    }

    /// What git takes to be the first bad one.
    fn bad(&self) -> String {
        self.run(&["rev-parse", "refs/bisect/bad"]).trim_end().to_owned()
    }

    fn place(&self, id: &str) -> usize {
        self.commits.iter().position(|commit| commit == id).unwrap()
    }

    /// Searches, and has git take each finding too.
    fn search<'g>(&self, graph: &'g Graph, find: impl Fn(usize) -> Finding) -> Search<'g> {
        let mut search = Search::new(graph);
        self.run(&["bisect", "start", &graph.head().id, &self.base]);
        while let Next::Try { revision, .. } = search.next() {
            let finding = find(self.place(&revision));
            let word = match &finding {
                Finding::Good => "good",
                Finding::Bad => "bad",
                Finding::Skipped { .. } => "skip",
            };
            // It ends with an error where only skipped ones are left.
            output(self.folder.path(), &["bisect", word, &revision]);
            search.record(&revision, finding).unwrap();
        }
        search
    }

    /// The log of git's, after it has replayed one.
    fn replayed(&self, log: &str) -> String {
        let file = self.folder.path().join("log");
        std::fs::write(&file, log).unwrap();
        let replay = output(self.folder.path(), &["bisect", "replay", &file.display().to_string()]);
        let told = String::from_utf8_lossy(&replay.stdout).into_owned();
        // It ends with an error also where it has come to the end.
        let ends = ["There are only 'skip'ped commits left to test", "is the first bad commit"];
        assert!(replay.status.success() || ends.iter().any(|end| told.contains(end)), "{log}\n{replay:?}");
        self.run(&["bisect", "log"])
    }
}

fn commit(mark: usize, subject: &str, parents: &[usize]) -> String {
    let mut text = format!("commit refs/heads/main\nmark :{mark}\ncommitter a <a> {} +0000\n", 1_000 + mark);
    let _ = writeln!(text, "data {}\n{subject}", subject.len());
    for (parent, word) in parents.iter().zip(std::iter::once("from").chain(std::iter::repeat("merge"))) {
        let _ = writeln!(text, "{word} :{parent}");
    }
    text + "\n"
}

/// git without what the user has set.
fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        git.env_remove(name);
    }
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    git.arg("-C").arg(folder);
    git
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    git(folder).args(arguments).output().unwrap()
}

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = output(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn answer(bad: bool) -> Finding {
    if bad { Finding::Bad } else { Finding::Good }
}

#[test]
fn the_log_is_the_one_that_git_keeps_and_replays() {
    let repository = Repository::new(&Shape::line(24));
    let graph = repository.graph();
    let skips = |places: &'static [usize]| move |place: usize| places.contains(&place);
    for (culprit, skipped) in [
        (0, skips(&[])),
        (13, skips(&[])),
        (23, skips(&[])),
        (9, skips(&[11])),
        (14, skips(&[11, 12, 13, 14, 15, 16])),
        (20, skips(&[10, 11, 12])),
    ] {
        let search = repository.search(&graph, |place| match place {
            _ if skipped(place) => common::skip(),
            _ => answer(place >= culprit),
        });
        let log = bisect_log(&search, &repository.good());
        let end =
            if matches!(search.next(), Next::Range { .. }) { "possible first bad" } else { "# first bad" };
        assert!(log.contains(end), "{log}");
        assert_eq!(log, repository.run(&["bisect", "log"]));
        assert_eq!(repository.replayed(&log), log);
        repository.run(&["bisect", "reset"]);
    }
}

#[test]
fn the_log_of_a_search_under_way_is_one_too() {
    let repository = Repository::new(&Shape::line(24));
    let graph = repository.graph();
    let mut search = Search::new(&graph);
    search.record(&repository.commits[11], Finding::Good).unwrap();
    let log = bisect_log(&search, &repository.good());
    assert_eq!(log.lines().count(), 5, "{log}");
    assert_eq!(repository.replayed(&log), log);
}

proptest! {
    // Each is a repository and some ten runs of git.
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_finds_the_same_in_histories_with_merges(shape in Shape::any(24), culprit in any::<Index>()) {
        let culprit = culprit.index(shape.len());
        let bad = shape.containing(culprit);
        let repository = Repository::new(&shape);
        let graph = repository.graph();
        prop_assert_eq!(graph.len(), shape.len());
        let search = repository.search(&graph, |place| answer(bad[place]));
        let found = &repository.commits[culprit];
        prop_assert_eq!(search.next(), Next::Culprit { revision: found.clone() });
        let log = bisect_log(&search, &repository.good());
        let end = format!("# first bad commit: [{found}] mm: 'change' {culprit}\n");
        prop_assert!(log.ends_with(&end), "{}", log);
        prop_assert!(repository.replayed(&log).ends_with(&end));
        prop_assert_eq!(&repository.bad(), found);

        // On its own.
        repository.run(&["bisect", "start", "main", &repository.base]);
        let check = format!("git merge-base --is-ancestor {found} HEAD && exit 1; exit 0");
        repository.run(&["bisect", "run", "sh", "-c", &check]);
        prop_assert_eq!(&repository.bad(), found);
    }
}
