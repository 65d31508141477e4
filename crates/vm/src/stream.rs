//! Follows a guest's results from its hello to its bye and stops at the first thing that is out of order.

use std::collections::BTreeSet;

use mthp_record::{
    frame::Decoder,
    message::{GuestIdentity, Message, Snapshot},
    result::{Outcome, TestResult},
};

use crate::text::sanitize_message;

/// The most that one guest may send.
const MAX_TOTAL: usize = 64 << 20;
/// The most tests that one guest may announce.
const MAX_TESTS: usize = 10_000;
/// The longest name of a test, a check or a metric.
const MAX_NAME: usize = 200;

/// What a guest has said, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The guest is up and announced these tests.
    Hello(Vec<String>),
    /// A test began.
    Started(String),
    /// A test ended; it is the last of [`ResultStream::tests`].
    Test,
    /// All was done.
    Bye,
}

/// The results of one guest, as they come.
#[derive(Debug)]
pub struct ResultStream {
    nonce: u64,
    decoder: Decoder,
    total: usize,
    identity: Option<GuestIdentity>,
    announced: Vec<String>,
    before: Snapshot,
    started: bool,
    tests: Vec<TestResult>,
    bye: Option<(u64, Snapshot)>,
    problem: Option<String>,
}

/// What a stream held, for a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// From the hello.
    pub identity: Option<GuestIdentity>,
    /// From the hello.
    pub announced: Vec<String>,
    /// From the hello.
    pub before: Snapshot,
    /// In the order of their coming.
    pub tests: Vec<TestResult>,
    /// From the bye.
    pub after: Snapshot,
    /// From the bye.
    pub tainted: Option<u64>,
}

impl ResultStream {
    /// A stream that must begin with a hello of this nonce.
    #[must_use]
    pub fn new(nonce: u64) -> Self {
        Self {
            nonce,
            decoder: Decoder::default(),
            total: 0,
            identity: None,
            announced: Vec::new(),
            before: Snapshot::default(),
            started: false,
            tests: Vec::new(),
            bye: None,
            problem: None,
        }
    }

    /// Takes bytes as they come; `on_step` hears of each message they complete.
    ///
    /// # Errors
    /// What is wrong with the stream. Nothing after that is believed, and each later call says the same.
    pub fn push(&mut self, bytes: &[u8], mut on_step: impl FnMut(&Self, Step)) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let result = self.take(bytes, &mut on_step);
        if let Err(problem) = &result {
            self.problem = Some(problem.clone());
        }
        result
    }

    fn take(&mut self, bytes: &[u8], on_step: &mut impl FnMut(&Self, Step)) -> Result<(), String> {
        self.total = self.total.saturating_add(bytes.len());
        if self.total > MAX_TOTAL {
            return Err(format!("the guest sent more than the {} MiB allowed", MAX_TOTAL >> 20));
        }
        self.decoder.push(bytes);
        while let Some(payload) = self.decoder.next_payload().map_err(|error| error.to_string())? {
            let message: Message = serde_json::from_slice(&payload)
                .map_err(|error| format!("a message could not be read: {}", bounded(&error.to_string())))?;
            let step = self.follow(sanitize_message(message))?;
            on_step(self, step);
        }
        Ok(())
    }

    fn follow(&mut self, message: Message) -> Result<Step, String> {
        if self.bye.is_some() {
            return Err("a message came after the bye".to_owned());
        }
        match message {
            Message::Hello { nonce, tests, identity, before } => {
                if self.identity.is_some() {
                    return Err("a second hello came".to_owned());
                }
                if nonce != self.nonce {
                    return Err(format!("the hello repeats the nonce {nonce}, not {}", self.nonce));
                }
                check_announced(&tests)?;
                self.identity = Some(identity);
                self.before = before;
                self.announced.clone_from(&tests);
                Ok(Step::Hello(tests))
            }
            _ if self.identity.is_none() => Err("a message came before the hello".to_owned()),
            Message::Started { name } => {
                if self.started {
                    return Err(format!("{} started before the test before it ended", bounded(&name)));
                }
                self.expect_next(&name)?;
                self.started = true;
                Ok(Step::Started(name))
            }
            Message::Test { result } => {
                self.expect_next(&result.name)?;
                check_result(&result)?;
                self.started = false;
                self.tests.push(result);
                Ok(Step::Test)
            }
            Message::Bye { tests, tainted, after } => {
                if self.tests.len() != self.announced.len() {
                    return Err(format!(
                        "the bye came after {} of {} announced tests",
                        self.tests.len(),
                        self.announced.len()
                    ));
                }
                if usize::try_from(tests) != Ok(self.tests.len()) {
                    return Err(format!("the bye counts {tests} tests, {} came", self.tests.len()));
                }
                self.bye = Some((tainted, after));
                Ok(Step::Bye)
            }
        }
    }

    fn expect_next(&self, name: &str) -> Result<(), String> {
        match self.announced.get(self.tests.len()) {
            Some(next) if next == name => Ok(()),
            Some(next) if self.announced.iter().any(|known| known == name) => {
                Err(format!("{} came out of order, where {next} was announced", bounded(name)))
            }
            Some(_) => Err(format!("{} was not announced", bounded(name))),
            None => Err(format!("{} came after the last announced test", bounded(name))),
        }
    }

    /// Did the guest do all it announced, say so, and say nothing more or less?
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.bye.is_some() && self.problem.is_none() && self.decoder.pending() == 0
    }

    /// Has the hello come?
    #[must_use]
    pub fn has_hello(&self) -> bool {
        self.identity.is_some()
    }

    /// Has the bye come?
    #[must_use]
    pub fn has_bye(&self) -> bool {
        self.bye.is_some()
    }

    /// The taint flags of the bye.
    #[must_use]
    pub fn tainted(&self) -> Option<u64> {
        self.bye.as_ref().map(|(tainted, _)| *tainted)
    }

    /// The results so far.
    #[must_use]
    pub fn tests(&self) -> &[TestResult] {
        &self.tests
    }

    /// The test that runs or is next, while there is one.
    #[must_use]
    pub fn current_test(&self) -> Option<&str> {
        self.announced.get(self.tests.len()).map(String::as_str)
    }

    /// What came, whole or not.
    #[must_use]
    pub fn into_results(self) -> Results {
        let (tainted, after) = match self.bye {
            Some((tainted, after)) => (Some(tainted), after),
            None => (None, Snapshot::default()),
        };
        Results {
            identity: self.identity,
            announced: self.announced,
            before: self.before,
            tests: self.tests,
            after,
            tainted,
        }
    }
}

fn check_announced(tests: &[String]) -> Result<(), String> {
    if tests.len() > MAX_TESTS {
        return Err(format!("the guest announces {} tests, more than the {MAX_TESTS} allowed", tests.len()));
    }
    unique("test", tests.iter().map(String::as_str))
}

fn check_result(result: &TestResult) -> Result<(), String> {
    let within = |problem| format!("in {}: {problem}", result.name);
    if !matches!(result.outcome, Outcome::Completed) && !result.checks.is_empty() {
        return Err(within("a test that did not complete has checks".to_owned()));
    }
    // Both become checks of the comparison.
    let promised = result.agreements.iter().map(|agreement| agreement.name.as_str());
    let checks = result.checks.iter().map(|check| check.name.as_str());
    unique("check or agreement", checks.chain(promised)).map_err(within)?;
    unique("metric", result.metrics.iter().map(|metric| metric.name.as_str())).map_err(within)
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.is_empty() || name.chars().count() > MAX_NAME {
            return Err(format!("a {what} has no name or one of more than {MAX_NAME} characters"));
        }
        if !seen.insert(name) {
            return Err(format!("two of a kind: the {what} {name}"));
        }
    }
    Ok(())
}

/// A guest's word in a problem's text, not longer than a name.
fn bounded(text: &str) -> String {
    crate::text::printable(text).chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mthp_record::{
        frame,
        result::{Check, Metric, Polarity, Unit},
    };
    use proptest::prelude::*;

    use super::*;

    fn hello(nonce: u64, tests: &[&str]) -> Message {
        Message::Hello {
            nonce,
            tests: tests.iter().map(|&name| name.to_owned()).collect(),
            identity: GuestIdentity::default(),
            before: Snapshot::default(),
        }
    }

    fn started(name: &str) -> Message {
        Message::Started { name: name.to_owned() }
    }

    fn result(name: &str) -> TestResult {
        TestResult {
            name: name.to_owned(),
            outcome: Outcome::Completed,
            checks: Vec::new(),
            metrics: Vec::new(),
            agreements: Vec::new(),
            evidence: BTreeMap::new(),
        }
    }

    fn test(name: &str) -> Message {
        Message::Test { result: result(name) }
    }

    fn bye(tests: u32) -> Message {
        Message::Bye { tests, tainted: 0, after: Snapshot::default() }
    }

    fn framed(messages: &[Message]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in messages {
            frame::write(&mut bytes, &serde_json::to_vec(message).unwrap()).unwrap();
        }
        bytes
    }

    fn problem(messages: &[Message]) -> String {
        let mut stream = ResultStream::new(7);
        let problem = stream.push(&framed(messages), |_, _| ()).unwrap_err();
        assert!(!stream.is_complete());
        assert_eq!(stream.push(b"", |_, _| ()), Err(problem.clone()));
        problem
    }

    fn honest() -> Vec<Message> {
        vec![hello(7, &["a", "b"]), started("a"), test("a"), started("b"), test("b"), bye(2)]
    }

    #[test]
    fn an_honest_guest_is_complete_only_at_its_bye() {
        let bytes = framed(&honest());
        let mut stream = ResultStream::new(7);
        let mut steps = Vec::new();
        for byte in &bytes {
            assert!(!stream.is_complete());
            stream.push(&[*byte], |_, step| steps.push(step)).unwrap();
        }
        assert!(stream.is_complete());
        assert_eq!(steps.len(), 6);
        assert_eq!(steps[1], Step::Started("a".to_owned()));
        let results = stream.into_results();
        assert_eq!(results.tests.len(), 2);
        assert_eq!(results.tainted, Some(0));
    }

    #[test]
    fn a_test_that_does_not_apply_need_not_start() {
        let mut stream = ResultStream::new(7);
        stream.push(&framed(&[hello(7, &["a"]), test("a"), bye(1)]), |_, _| ()).unwrap();
        assert!(stream.is_complete());
    }

    #[test]
    fn bytes_behind_the_bye_are_not_complete() {
        let mut stream = ResultStream::new(7);
        stream.push(&framed(&honest()), |_, _| ()).unwrap();
        stream.push(b"MTHP", |_, _| ()).unwrap();
        assert!(!stream.is_complete());
    }

    #[test]
    fn lies_are_named() {
        assert_eq!(problem(&[hello(8, &[])]), "the hello repeats the nonce 8, not 7");
        assert_eq!(problem(&[started("a")]), "a message came before the hello");
        assert_eq!(problem(&[bye(0)]), "a message came before the hello");
        assert_eq!(problem(&[hello(7, &[]), hello(7, &[])]), "a second hello came");
        assert_eq!(problem(&[hello(7, &["a", "a"])]), "two of a kind: the test a");
        assert_eq!(problem(&[hello(7, &["a"]), test("x")]), "x was not announced");
        assert_eq!(
            problem(&[hello(7, &["a", "b"]), test("b")]),
            "b came out of order, where a was announced"
        );
        assert_eq!(
            problem(&[hello(7, &["a"]), test("a"), test("a")]),
            "a came after the last announced test"
        );
        assert_eq!(
            problem(&[hello(7, &["a"]), started("a"), started("a")]),
            "a started before the test before it ended"
        );
        assert_eq!(problem(&[hello(7, &["a"]), bye(0)]), "the bye came after 0 of 1 announced tests");
        assert_eq!(problem(&[hello(7, &["a"]), bye(1)]), "the bye came after 0 of 1 announced tests");
        assert_eq!(problem(&[hello(7, &["a"]), test("a"), bye(2)]), "the bye counts 2 tests, 1 came");
        assert_eq!(problem(&[hello(7, &[]), bye(0), bye(0)]), "a message came after the bye");
    }

    #[test]
    fn a_result_keeps_to_its_rules() {
        let metric =
            Metric { name: "m".to_owned(), value: 1, unit: Unit::Count, polarity: Polarity::Neutral };
        let twice = TestResult { metrics: vec![metric.clone(), metric], ..result("a") };
        assert_eq!(
            problem(&[hello(7, &["a"]), Message::Test { result: twice }]),
            "in a: two of a kind: the metric m"
        );
        let check = Check {
            name: "c".to_owned(),
            promise: String::new(),
            passed: true,
            observed: String::new(),
            expected: String::new(),
        };
        let crashed = TestResult {
            outcome: Outcome::Crashed { how: "signal 11".to_owned() },
            checks: vec![check],
            ..result("a")
        };
        assert_eq!(
            problem(&[hello(7, &["a"]), Message::Test { result: crashed }]),
            "in a: a test that did not complete has checks"
        );
    }

    #[test]
    fn floods_are_bounded() {
        let names: Vec<String> = (0..=MAX_TESTS).map(|n| n.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(problem(&[hello(7, &names)]).contains("more than the 10000 allowed"));
        assert!(problem(&[hello(7, &[&"x".repeat(201)])]).contains("200 characters"));

        let mut frame = Vec::new();
        let evidence = BTreeMap::from([("x".to_owned(), "x".repeat(1 << 19))]);
        let big = Message::Test { result: TestResult { evidence, ..result("a") } };
        frame::write(&mut frame, &serde_json::to_vec(&big).unwrap()).unwrap();
        let mut stream = ResultStream::new(7);
        let names: Vec<String> = (0..200).map(|n| n.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        stream.push(&framed(&[hello(7, &names)]), |_, _| ()).unwrap();
        stream.total = MAX_TOTAL - 10;
        assert_eq!(
            stream.push(&frame, |_, _| ()),
            Err("the guest sent more than the 64 MiB allowed".to_owned())
        );
    }

    #[test]
    fn escape_sequences_reach_no_name() {
        let mut stream = ResultStream::new(7);
        let messages = [hello(7, &["\x1b[31ma"]), test("\x1b[31ma"), bye(1)];
        stream.push(&framed(&messages), |_, _| ()).unwrap();
        assert!(stream.is_complete());
        assert_eq!(stream.tests()[0].name, "a");
        let long = format!("{{\"kind\":\"\x1b[2J{}\"}}", "x".repeat(5_000));
        let mut frame = Vec::new();
        frame::write(&mut frame, long.as_bytes()).unwrap();
        let problem = ResultStream::new(7).push(&frame, |_, _| ()).unwrap_err();
        assert!(!problem.contains('\x1b') && problem.len() < 300, "{problem}");
    }

    proptest! {
        #[test]
        fn no_subset_of_an_honest_stream_is_complete(kept in prop::collection::vec(any::<bool>(), 6)) {
            // Started may be missing (0b001010 of the six); anything else must not be.
            let messages: Vec<_> =
                honest().into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(m, _)| m).collect();
            let mut stream = ResultStream::new(7);
            let _ = stream.push(&framed(&messages), |_, _| ());
            prop_assert_eq!(stream.is_complete(), kept[0] && kept[2] && kept[4] && kept[5]);
        }

        #[test]
        fn arbitrary_payloads_never_panic(payload in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = Vec::new();
            frame::write(&mut bytes, &payload).unwrap();
            let mut stream = ResultStream::new(7);
            let _ = stream.push(&bytes, |_, _| ());
            prop_assert!(!stream.is_complete());
        }
    }
}
