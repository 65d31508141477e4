//! All lines of a program.

use std::collections::{BTreeSet, VecDeque};

use crate::line::{self, Directive, Line, Result_};

/// The most points that are believed.
pub const MAX_POINTS: usize = 1500;
/// The most that all levels together keep while they are read.
const KEPT_POINTS: usize = MAX_POINTS * MAX_DEPTH;
/// The deepest nesting; what lies deeper is read as words.
const MAX_DEPTH: usize = 8;
/// The longest description and line of words that is kept, in characters.
const MAX_WORDS: usize = 160;
/// Lines before a result that are kept as its words.
const KEPT_LINES: usize = 4;

/// How a test point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// `ok`.
    Passed,
    /// `not ok`.
    Failed,
    /// `# SKIP`, never a pass.
    Skipped,
    /// `# TODO` or `# XFAIL`: known not to work, whatever came.
    Excused,
    /// The plan promises it and it did not come.
    Missing,
}

/// One test point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its numbers, the outermost test's first.
    pub path: Vec<u32>,
    /// What it calls itself; addresses are left out.
    pub description: String,
    /// How it ended.
    pub state: State,
    /// Why, in its own words: what follows the hash, or the lines before it.
    pub words: String,
}

impl Point {
    /// A name that does not depend on how the test ended: many a test describes a failure otherwise than a pass.
    #[must_use]
    pub fn name(&self) -> String {
        let numbers: Vec<String> = self.path.iter().map(u32::to_string).collect();
        format!("point-{}", numbers.join("."))
    }
}

/// What a program said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Is it of the format at all? Otherwise only the exit status counts.
    pub is_ktap: bool,
    /// Every point, those that did not come included; children before their parents.
    pub points: Vec<Point>,
    /// `1..0 # SKIP why`.
    pub skipped: Option<String>,
    /// `Bail out! why`.
    pub bail_out: Option<String>,
    /// What is out of order. Nothing is to be believed then.
    pub problems: Vec<String>,
}

impl Transcript {
    /// How many points ended so.
    #[must_use]
    pub fn count(&self, state: State) -> usize {
        self.points.iter().filter(|point| point.state == state).count()
    }
}

/// Reads what a program printed.
#[must_use]
pub fn parse(text: &str) -> Transcript {
    let mut reader = Reader::default();
    for line in text.lines() {
        reader.take(line);
    }
    reader.end()
}

/// Tests of one indentation.
#[derive(Default)]
struct Level {
    indent: usize,
    plan: Option<u32>,
    numbers: BTreeSet<u32>,
    last: u32,
    points: Vec<Point>,
    /// Of an inner level, until the result comes that they belong to.
    children: Vec<Point>,
}

impl Level {
    /// Its points, with those that the plan promises in vain.
    fn close(mut self, problems: &mut Vec<String>) -> Vec<Point> {
        let own = self.last.saturating_add(1);
        self.points.extend(under(own, std::mem::take(&mut self.children)));
        let Some(plan) = self.plan else { return self.points };
        if usize::try_from(plan).is_ok_and(|plan| plan > MAX_POINTS) {
            problems.push(format!("a plan promises {plan} points, more than the {MAX_POINTS} allowed"));
            return self.points;
        }
        if let Some(beyond) = self.numbers.iter().next_back().filter(|last| **last > plan) {
            problems.push(format!("a plan promises {plan} points, and number {beyond} came"));
        }
        for number in (1..=plan).filter(|number| !self.numbers.contains(number)) {
            self.points.push(Point {
                path: vec![number],
                description: "promised by the plan".to_owned(),
                state: State::Missing,
                words: String::new(),
            });
        }
        self.points
    }
}

fn under(number: u32, mut points: Vec<Point>) -> Vec<Point> {
    for point in &mut points {
        point.path.insert(0, number);
    }
    points
}

#[derive(Default)]
struct Reader {
    /// The outermost first; never empty once a line was taken.
    levels: Vec<Level>,
    words: VecDeque<String>,
    count: usize,
    /// Points of all levels that were closed; an inner one counts once for each level.
    kept: usize,
    found: Transcript,
}

impl Reader {
    fn take(&mut self, line: &str) {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let (indent, line) = line::read(line);
        match line {
            Line::Version => {
                self.found.is_ktap = true;
                self.level(indent, true);
            }
            Line::Subtest => {
                self.level(indent, true);
            }
            Line::Plan(plan, skip) => self.plan(indent, plan, skip),
            Line::Result(result) => self.result(indent, &result),
            Line::BailOut(why) => {
                self.found.is_ktap = true;
                self.found.bail_out.get_or_insert_with(|| shorten(why));
            }
            Line::Unknown(words) => {
                // A failure that is not understood must not get lost.
                if words.trim_start().starts_with("not ok") {
                    self.found.problems.push(format!("a result that is none: {}", shorten(words)));
                }
                self.say(words);
            }
            Line::Diagnostic(words) => self.say(words),
        }
    }

    fn say(&mut self, words: &str) {
        if !words.is_empty() {
            if self.words.len() == KEPT_LINES {
                self.words.pop_front();
            }
            self.words.push_back(shorten(words));
        }
    }

    /// The level of that indentation; `opens` makes it where it is an inner one that begins.
    fn level(&mut self, indent: usize, opens: bool) -> Option<&mut Level> {
        while self.levels.len() > 1 && self.levels.last().is_some_and(|level| level.indent > indent) {
            self.close_last();
        }
        let now = self.levels.last()?.indent;
        if indent > now {
            if !opens || self.levels.len() >= MAX_DEPTH {
                return None;
            }
            self.levels.push(Level { indent, ..Level::default() });
        }
        self.levels.last_mut()
    }

    fn close_last(&mut self) {
        if let Some(level) = self.levels.pop() {
            let mut points = level.close(&mut self.found.problems);
            // Promises cost nothing to make: all levels together are bounded.
            self.kept = self.kept.saturating_add(points.len());
            if self.kept > KEPT_POINTS {
                self.found.problems.push(format!("more than the {MAX_POINTS} points allowed"));
                points.clear();
            }
            match self.levels.last_mut() {
                Some(parent) => parent.children.extend(points),
                None => self.found.points = points,
            }
        }
    }

    fn plan(&mut self, indent: usize, plan: u32, skip: Option<&str>) {
        self.found.is_ktap = true;
        let outermost = indent == 0;
        let Some(level) = self.level(indent, true) else { return };
        if level.plan.is_some_and(|earlier| earlier != plan) {
            self.found.problems.push("two plans that differ".to_owned());
            return;
        }
        level.plan = Some(plan);
        if outermost && plan == 0 {
            self.found.skipped = Some(shorten(skip.unwrap_or("a plan of nothing")));
        }
    }

    fn result(&mut self, indent: usize, result: &Result_<'_>) {
        let words: Vec<String> = self.words.drain(..).collect();
        let full = self.count >= MAX_POINTS;
        let Some(level) = self.level(indent, false) else {
            if !result.ok {
                // A failure that belongs nowhere must not get lost; words that look like a pass may.
                self.found.problems.push("a failure at an indentation that nothing opened".to_owned());
            }
            return;
        };
        let number = result.number.unwrap_or_else(|| level.last.saturating_add(1));
        if !level.numbers.insert(number) {
            self.found.problems.push(format!("number {number} came twice"));
            return;
        }
        level.last = number;
        if full {
            self.found.problems.push(format!("more than the {MAX_POINTS} points allowed"));
            return;
        }
        let state = match (result.directive, result.ok) {
            (Some(Directive::Skip), _) => State::Skipped,
            (Some(Directive::Excused), _) => State::Excused,
            (None, true) => State::Passed,
            (None, false) => State::Failed,
        };
        // kselftest.h puts the name behind the directive.
        let description = if result.description.is_empty() { result.words } else { result.description };
        let words = if result.words.is_empty() { words.join("; ") } else { result.words.to_owned() };
        let children = std::mem::take(&mut level.children);
        level.points.extend(under(number, children));
        level.points.push(Point {
            path: vec![number],
            description: without_addresses(&shorten(description)),
            state,
            words: shorten(&words),
        });
        self.count += 1;
    }

    fn end(mut self) -> Transcript {
        while !self.levels.is_empty() {
            self.close_last();
        }
        if !self.found.is_ktap {
            // Words that happen to look like results.
            return Transcript::default();
        }
        // One line would do to refuse it all.
        self.found.problems.truncate(8);
        if self.found.points.len() > MAX_POINTS {
            self.found.problems.push(format!("more than the {MAX_POINTS} points allowed"));
            self.found.points.truncate(MAX_POINTS);
        }
        let mut names = BTreeSet::new();
        if !self.found.points.iter().all(|point| names.insert(point.path.clone())) {
            self.found.problems.push("results of an inner test without a result of their own".to_owned());
        }
        self.found
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Addresses differ from run to run.
fn without_addresses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        let (before, after) = rest.split_at(at + 2);
        out.push_str(before);
        let digits = after.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        // Small ones are flags and sizes.
        out.push_str(if digits > 8 { "…" } else { number });
        rest = after;
    }
    out.push_str(rest);
    out
}
