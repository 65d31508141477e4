use super::*;

const ALIGNMENT: &str = include_str!("../../../../configs/suites/alignment.toml");

/// The list of tests as the file has it.
fn tests() -> String {
    let from = ALIGNMENT.find("tests = [").unwrap();
    let to = ALIGNMENT[from..].find(']').unwrap();
    ALIGNMENT[from..=from + to].to_owned()
}

fn error(from: &str, to: &str) -> String {
    assert!(ALIGNMENT.contains(from), "the shipped suite no longer has {from}");
    Suite::parse(&ALIGNMENT.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn the_shipped_suite_parses_and_gates_no_mechanism_counter() {
    let suite = Suite::parse(ALIGNMENT).unwrap();
    assert_eq!(suite.name, "alignment");
    assert!(suite.selects("placement/4632KiB"));
    for gate in &suite.gates {
        assert!(!gate.metric.contains("fault"), "{gate:?}");
        assert!(!gate.metric.contains("huge"), "{gate:?}");
    }
}

#[test]
fn a_problem_is_told_with_its_line() {
    let boots = ALIGNMENT.lines().position(|line| line.starts_with("boots")).unwrap() + 1;
    assert_eq!(
        error("boots = 2", "boots = 1"),
        format!("line {boots}: boots must be 2 to 64: one boot cannot show that a value repeats")
    );
    assert_eq!(
        error("boots = 2", "boots = \"two\""),
        format!("line {boots}: invalid type: string \"two\", expected u32")
    );
    let unknown = error("boots = 2", "boots = 2\nretries = 3");
    assert!(unknown.starts_with(&format!("line {}: unknown field `retries`", boots + 1)), "{unknown}");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    assert!(error(&tests(), "tests = []").contains("proves nothing"));
    assert!(error("\"mixed/*\"", "\"*/3MiB\"").contains("at the end only"));
    assert!(error("fragments = [\"base\"]", "fragments = []").contains("nothing to build"));
    assert!(error("memory_mib = 1536", "memory_mib = 1").contains("memory_mib is 1,"));
    assert!(error("run_secs = 60", "run_secs = 5").contains("too short"));
    assert!(error("polarity = \"lower\"", "polarity = \"neutral\"").contains("neutral"));
    assert!(error("floor = 4", "floor = 0").contains("at least 1"));
    let twice = format!("{ALIGNMENT}\n{}", &ALIGNMENT[ALIGNMENT.find("[[gate]]").unwrap()..]);
    assert!(Suite::parse(&twice).unwrap_err().message.contains("a second gate"));
}

#[test]
fn an_exception_is_not_selected() {
    let text = ALIGNMENT.replacen("boots =", "except = [\"placement/3*\"]\nboots =", 1);
    let suite = Suite::parse(&text).unwrap();
    assert!(suite.selects("placement/4MiB") && !suite.selects("placement/3MiB"));
    assert!(error("boots =", "except = [\"*x\"]\nboots =").contains("at the end only"));
}

#[test]
fn an_exception_is_not_ruled() {
    let mut gate = Suite::parse(ALIGNMENT).unwrap().gates.remove(0);
    assert!(gate.rules("placement/3MiB", &gate.metric));
    gate.except = vec!["placement/3*".to_owned()];
    assert!(!gate.rules("placement/3MiB", &gate.metric));
    assert!(gate.rules("placement/4MiB", &gate.metric));
    gate.metric = "l2.misses[*".to_owned();
    gate.except_metrics = vec!["l2.misses[zen3-*".to_owned()];
    assert!(gate.rules("placement/4MiB", "l2.misses[zen3]"));
    assert!(!gate.rules("placement/4MiB", "l2.misses[zen3-hashed]"));
}

#[test]
fn a_gate_rules_all_metrics_that_its_pattern_selects() {
    let mut gate = Suite::parse(ALIGNMENT).unwrap().gates.remove(0);
    gate.metric = "l2.misses[*".to_owned();
    for (metric, ruled) in [
        ("l2.misses[zen3]", true),
        ("l2.misses[a72]", true),
        ("l2.misses", false),
        ("l3.misses[zen3]", false),
        ("build.l2.misses[zen3]", false),
    ] {
        assert_eq!(gate.rules("placement/3MiB", metric), ruled, "{metric}");
    }
    gate.metric = "l2.misses".to_owned();
    assert!(!gate.rules("placement/3MiB", "l2.misses[zen3]"), "a name is no prefix");
}

#[test]
fn a_pattern_of_metrics_is_checked_as_one_of_tests() {
    let metric = ALIGNMENT.lines().find(|line| line.starts_with("metric = ")).unwrap();
    assert!(Suite::parse(&ALIGNMENT.replacen(metric, "metric = \"l2.misses[*\"", 1)).is_ok());
    assert!(error(metric, "metric = \"*.misses\"").contains("at the end only"));
    assert!(error(metric, "metric = \" \"").contains("selects nothing"));
}

#[test]
fn the_kernels_words_are_plain_and_few_suites_have_some() {
    assert_eq!(Suite::parse(ALIGNMENT).unwrap().cmdline, "");
    let with = |words: &str| ALIGNMENT.replacen("boots =", &format!("cmdline = {words}\nboots ="), 1);
    let words = "movablecore=512M psi=0";
    assert_eq!(Suite::parse(&with(&format!("\"{words}\""))).unwrap().cmdline, words);
    for bad in ["\"a\\nb\"", "'a=\"b\"'", "\"it's\"", "\"é\"", "\"\\u0000\""] {
        let error = Suite::parse(&with(bad)).unwrap_err();
        assert!(error.line.is_some() && error.message.contains("cmdline"), "{bad}: {error}");
    }
}

#[test]
fn machines_are_names_of_files_each_once() {
    assert_eq!(Suite::parse(ALIGNMENT).unwrap().machines, [""; 0]);
    let with = |names: &str| ALIGNMENT.replacen("boots =", &format!("machines = {names}\nboots ="), 1);
    let suite = Suite::parse(&with("[\"zen3\", \"neoverse-n1\"]")).unwrap();
    assert_eq!(suite.machines, ["zen3", "neoverse-n1"]);
    for (names, part) in [
        ("[\"zen3\", \"a72\", \"zen3\"]", "`zen3` a second time"),
        ("[\"\"]", "no machine's name"),
        ("[\"Zen3\"]", "no machine's name"),
        ("[\"../zen3\"]", "no machine's name"),
    ] {
        let error = Suite::parse(&with(names)).unwrap_err();
        assert!(error.line.is_some() && error.message.contains(part), "{names}: {error}");
    }
}

#[test]
fn a_gain_follows_the_polarity() {
    let mut gate = Suite::parse(ALIGNMENT).unwrap().gates.remove(0);
    gate.polarity = Direction::Lower;
    assert_eq!(gate.gain(10, 4), 6);
    gate.polarity = Direction::Higher;
    assert_eq!(gate.gain(10, 4), -6);
    assert_eq!(gate.gain(i64::MAX, i64::MIN), i64::MIN);
}
