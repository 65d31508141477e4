//! A real program as a test: run under watch, its memory read at each of its marks, its answer checked.

mod census;
mod events;
mod filter;
mod findings;
mod huge;
mod live;
mod reading;
mod setup;
mod space;
mod watch;

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs::{self, File},
};

use anyhow::{Context, Result, bail};
use mthp_record::workload::{Answer, LIBRARIES, PROGRAM, Phase, ROOT, Scenario};
use nix::unistd::Pid;

use self::{
    census::{Census, Class},
    events::Events,
    findings::{Loaded, Measured, Moment},
    huge::Pagemap,
    watch::{End, Program, Seen, watch},
};
use crate::{
    needs::Need,
    smaps, snapshot,
    suite::{Findings, layout::kib},
};

/// What every scenario needs of the guest.
pub const NEEDS: &[Need] = &[Need::Thp, Need::MemoryMib(900), Need::FileSystem("squashfs"), Need::Seccomp];

const ANSWER: &str = "/tmp/answer";
const COMPLAINTS: &str = "/tmp/complaints";
/// The program goes first when memory runs out, not the one who tells of it.
const FIRST_TO_GO: &str = "1000";

/// The program died of a signal: to the runner, the test crashed.
#[derive(Debug)]
pub struct Killed(pub String);

impl std::fmt::Display for Killed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the program was {}", self.0)
    }
}

impl std::error::Error for Killed {}

/// Runs a scenario.
///
/// # Errors
/// When the guest cannot be set up or the program does not do its work; the message carries its own words.
pub fn run(scenario: &Scenario, findings: &mut Findings) -> Result<()> {
    setup::prepare(scenario)?;
    let before = snapshot::take();
    if !scenario.watched {
        let end = watch::alone(&program(scenario)?)?;
        let answer = answer(end, "", &before, &snapshot::take())?;
        findings::report_alone(findings, scenario, &answer);
        return Ok(());
    }
    let mut observer = Observer { loads: scenario.order.loads, ..Observer::default() };
    let end = watch(&program(scenario)?, |program, seen| observer.on(program, &seen));
    let after = snapshot::take();
    let answer = answer(end?, &observer.place(), &before, &after)?;
    let measured = observer.measured(&answer)?;
    findings::report(findings, scenario, &answer, &measured, (&before, &after))
}

fn program(scenario: &Scenario) -> Result<Program> {
    let text = |text: String| CString::new(text).context("an argument holds a zero byte");
    let create = |path: &str| File::create(path).with_context(|| format!("failed to create {path}"));
    let path = text(format!("{ROOT}/{PROGRAM}"))?;
    let order = serde_json::to_string(&scenario.order).context("failed to write the order as JSON")?;
    let mut environment = vec![text(format!("LD_LIBRARY_PATH={ROOT}/{LIBRARIES}"))?];
    if !scenario.tunables.is_empty() {
        environment.push(text(format!("GLIBC_TUNABLES={}", scenario.tunables))?);
    }
    Ok(Program {
        arguments: vec![path.clone(), text(order)?],
        path,
        environment,
        output: create(ANSWER)?,
        complaints: create(COMPLAINTS)?,
    })
}

/// The program's answer, or what went wrong in one message.
fn answer(
    end: End,
    at: &str,
    before: &mthp_record::message::Snapshot,
    after: &mthp_record::message::Snapshot,
) -> Result<Answer> {
    match end {
        End::Exit(0) => {}
        End::Exit(code) => {
            let words = fs::read_to_string(COMPLAINTS).unwrap_or_default();
            bail!("the program ended with exit code {code}{at}: {}", last_words(&words));
        }
        End::Signal(signal) => {
            let kills = |snapshot| findings::vmstat(snapshot, "oom_kill");
            let words = fs::read_to_string(COMPLAINTS).unwrap_or_default();
            let why = if kills(after) > kills(before) {
                ": the guest ran out of memory".to_owned()
            } else {
                format!(": {}", last_words(&words))
            };
            return Err(Killed(format!("killed by {signal}{at}{why}")).into());
        }
    }
    let text = fs::read_to_string(ANSWER).with_context(|| format!("failed to read {ANSWER}"))?;
    serde_json::from_str(text.trim()).context("the program gave no whole answer")
}

/// The end of what a program complained about, in one line.
fn last_words(text: &str) -> String {
    const MOST: usize = 1500;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let words = lines.join("; ");
    let from = words.len().saturating_sub(MOST);
    let from = (from..words.len()).find(|at| words.is_char_boundary(*at)).unwrap_or(0);
    if words.is_empty() {
        "it said nothing".to_owned()
    } else {
        words.get(from..).unwrap_or_default().to_owned()
    }
}

/// Gathers while the program runs.
#[derive(Default)]
struct Observer {
    loads: u32,
    census: Census,
    events: Option<Events>,
    moments: Vec<Moment>,
    loaded: Option<Loaded>,
}

impl Observer {
    /// Where the program was, in words that follow on others.
    fn place(&self) -> String {
        self.moments.last().map_or_else(
            || " before its first mark".to_owned(),
            |moment| format!(" after {:?} {}", moment.phase, moment.number),
        )
    }

    fn on(&mut self, program: Pid, seen: &Seen) -> Result<()> {
        match *seen {
            Seen::Started => {
                let path = format!("/proc/{program}/oom_score_adj");
                fs::write(&path, FIRST_TO_GO).with_context(|| format!("failed to write {path}"))?;
                self.events = Some(Events::open(program));
            }
            Seen::Call(call) => self.census.note(call),
            Seen::Mark(phase, number) => {
                let last_load = phase == Phase::Loaded && number == u64::from(self.loads);
                if last_load {
                    self.loaded = Some(self.look_closely(program)?);
                }
                self.moments.push(Moment {
                    phase,
                    number,
                    reading: reading::take(program)?,
                    events: self.events.as_mut().map(Events::read).transpose()?.unwrap_or_default(),
                });
                // What is mapped from here on belongs to the next stage.
                self.census.mark(phase, last_load);
            }
        }
        Ok(())
    }

    fn look_closely(&self, program: Pid) -> Result<Loaded> {
        let read = |name: &str| {
            let path = format!("/proc/{program}/{name}");
            fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))
        };
        let vmas = smaps::parse(&read("smaps")?);
        let heap = vmas.iter().filter(|vma| vma.line.ends_with("[heap]"));
        Ok(Loaded {
            huge: self.huge(program)?,
            heap_kib: kib(self.census.heap_growth()),
            heap_huge_kib: heap.map(|vma| vma.anon_huge_kib).sum(),
            maps: read("maps")?,
            rollup: read("smaps_rollup")?,
        })
    }

    /// Bytes in huge pages by the class of mapping they lie in; `None` where the kernel does not tell.
    fn huge(&self, program: Pid) -> Result<Option<BTreeMap<Class, usize>>> {
        let pagemap = Pagemap::of(program)?;
        let mut sums = BTreeMap::from(Class::ALL.map(|class| (class, 0)));
        for (range, class) in self.census.live() {
            let Some(bytes) = pagemap.huge_bytes(&range)? else { return Ok(None) };
            *sums.entry(class).or_default() += bytes;
        }
        Ok(Some(sums))
    }

    /// All that was gathered, if the program marked all it should have.
    fn measured(self, answer: &Answer) -> Result<Measured> {
        let missing_events = self.events.as_ref().map(|events| events.missing().to_vec()).unwrap_or_default();
        let loaded = self.loaded.context("the program never said that its model was loaded")?;
        let inferred = self.moments.iter().filter(|moment| moment.phase == Phase::Inferred).count();
        if inferred != answer.inference_micros.len()
            || self.moments.last().map(|m| m.phase) != Some(Phase::Done)
        {
            bail!("the program answers {} inferences and marked {inferred}", answer.inference_micros.len());
        }
        Ok(Measured { census: self.census, moments: self.moments, loaded, missing_events })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_last_words_are_one_line() {
        assert_eq!(last_words("a\n\n b \n"), "a; b");
        assert_eq!(last_words(""), "it said nothing");
        let long = "ä".repeat(2000);
        assert!(last_words(&long).len() <= 1500);
    }
}
