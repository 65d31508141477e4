use mthp_cachemodel::Kind;
use mthp_record::cost::RegionAccount;

use super::*;

const TEST: &str = "cost/a";
const NONCE: u64 = 7;

#[test]
fn no_gate_rules_what_no_cpu_is() {
    let project = Project::here().unwrap();
    let (suite, _) = project.suite("cost").unwrap();
    for name in &suite.machines {
        let modelled = Modelled::read(&project, name).unwrap();
        for metric in ["l2.misses", "dtlb.misses", "walks"] {
            let metric = format!("{metric}[{name}]");
            let ruled = suite.gates.iter().any(|gate| gate.rules("cost/stencil-24x4632KiB", &metric));
            assert_eq!(ruled, modelled.machine.kind == Kind::Cpu, "{metric}");
        }
    }
}

fn ready() -> Model {
    let machines = vec![Modelled::read(&Project::here().unwrap(), "zen3").unwrap()];
    Model::Ready(Arc::new(Ready { plugin: PathBuf::new(), machines }))
}

fn completed() -> TestResult {
    TestResult {
        name: TEST.to_owned(),
        outcome: Outcome::Completed,
        checks: Vec::new(),
        metrics: Vec::new(),
        agreements: Vec::new(),
        evidence: Default::default(),
    }
}

fn account(nonce: u64) -> Account {
    let machines = [("zen3".to_owned(), Default::default())];
    let region = RegionAccount {
        name: TEST.to_owned(),
        loads: 5,
        machines: machines.into_iter().collect(),
        ..Default::default()
    };
    Account { nonce, machines: vec!["zen3".to_owned()], regions: vec![region], ..Default::default() }
}

/// What comes of the test after a boot that left this where the account should be.
fn settled(left: Option<&[u8]>) -> TestResult {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("account.json");
    if let Some(left) = left {
        fs::write(&path, left).unwrap();
    }
    let mut tests = vec![completed()];
    ready().settle(Some(NONCE), &path, &mut tests);
    tests.remove(0)
}

fn error(test: &TestResult) -> &str {
    let Outcome::Error { message } = &test.outcome else { panic!("{test:?}") };
    assert!(test.metrics.is_empty());
    message
}

#[test]
fn an_account_gives_its_boot_s_tests_their_numbers() {
    let test = settled(Some(&serde_json::to_vec(&account(NONCE)).unwrap()));
    assert!(
        test.outcome.is_completed() && test.metrics.iter().any(|metric| metric.name == "l2.misses[zen3]")
    );
}

#[test]
fn without_an_account_of_its_own_a_boot_has_no_numbers() {
    let good = serde_json::to_vec(&account(NONCE)).unwrap();
    assert!(error(&settled(None)).contains("left no account"));
    assert!(error(&settled(Some(&good[..good.len() / 2]))).contains("failed to read the emulator's account"));
    assert!(error(&settled(Some(b"{}"))).contains("missing field"));
    let old = serde_json::to_vec(&account(NONCE - 1)).unwrap();
    assert!(error(&settled(Some(&old))).ends_with("it is another boot's"));
}

#[test]
fn an_account_of_an_earlier_run_is_removed_before_the_boot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("account.json");
    fs::write(&path, "{}").unwrap();
    // The file is no kernel: the plugin's arguments cannot be made, but what lay there is gone.
    assert!(ready().plugin(&path, &path, NONCE).is_err());
    assert!(!path.exists());
    fs::create_dir(&path).unwrap();
    let error = format!("{:#}", ready().plugin(&path, &path, NONCE).unwrap_err());
    assert!(error.starts_with("failed to remove "), "{error}");
}

#[test]
fn a_guest_that_nothing_watched_has_no_numbers_of_the_model_and_what_it_did_counts() {
    let mut tests = vec![completed()];
    ready().settle(None, Path::new("/nonexistent"), &mut tests);
    assert_eq!(tests, [completed()]);
    Model::Missing("no plugin".to_owned()).settle(None, Path::new("/nonexistent"), &mut tests);
    assert_eq!(tests[0].outcome, Outcome::NotApplicable { reason: "no plugin".to_owned() });
}
