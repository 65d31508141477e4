//! What users type, error paths included. Nothing here boots a kernel.

#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test is a failed test")]

use std::{
    fs,
    process::{Command, Output},
};

fn xtask(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments).env("NO_COLOR", "1").env_remove("MTHP_QEMU").current_dir(root());
    command.output().unwrap()
}

fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The command must end with `code` and say each of `words`.
fn fails(arguments: &[&str], code: i32, words: &[&str]) {
    let output = xtask(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?} does not say {word:?}: {said}");
    }
    assert!(!said.contains('\x1b'), "no colour without a terminal: {said}");
}

#[test]
fn help_documents_the_exit_codes() {
    for arguments in [&["--help"][..], &["test-kernel", "--help"]] {
        let output = xtask(arguments);
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for word in ["0 unchanged or improved", "1 regressed or mixed", "3 inconclusive", "69", "70"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}

#[test]
fn a_wrong_flag_is_a_usage_error() {
    fails(&["test-kernel", "--pach", "x"], 2, &["--pach"]);
    fails(&["test-kernel", "--expect", "good"], 2, &["good", "improved"]);
    fails(&["test-kernel", "--revert"], 2, &["--patch"]);
    fails(&["test-kernel", "--accel", "hvf"], 2, &["hvf", "tcg"]);
}

#[test]
fn an_unknown_kernel_or_suite_lists_those_there_are() {
    fails(&["test-kernel", "--kernel", "nope", "--patch", "x"], 2, &["nope", "stock-6.12"]);
    fails(&["test-kernel", "--suite", "nope"], 2, &["nope", "alignment"]);
}

#[test]
fn a_patch_that_is_none_is_refused_before_anything_is_built() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("notes.txt");
    fs::write(&path, "remember the milk\n").unwrap();
    let path = path.to_str().unwrap();
    fails(&["test-kernel", "--patch", path], 2, &["notes.txt"]);
    fails(&["test-kernel", "--patch", "/nonexistent.patch"], 2, &["/nonexistent.patch"]);
}

#[test]
fn a_patch_that_reaches_outside_the_tree_is_refused() {
    fails(&["test-kernel", "--patch", "kernels/patches/broken/outside.patch"], 2, &["outside"]);
}

#[test]
fn a_missing_qemu_is_named() {
    fails(&["test-kernel", "--qemu", "/nonexistent/qemu"], 69, &["/nonexistent/qemu"]);
}

#[test]
fn a_bug_or_a_claim_that_is_not_known_lists_those_there_are() {
    fails(&["backtest", "nosuch"], 2, &["'nosuch'", "k1-align-any-length", "mm-comment"]);
    fails(&["reproduce", "nosuch"], 2, &["'nosuch'", "page-faults-went-up"]);
}

#[test]
fn what_to_reproduce_must_be_said() {
    fails(&["reproduce"], 2, &["--all", "--list"]);
    fails(&["reproduce", "--record", "page-faults-went-up"], 2, &["--record"]);
    fails(&["backtest", "--record", "k1-align-any-length"], 2, &["--record"]);
    fails(&["backtest", "--runs", "0"], 2, &["--runs"]);
}

#[test]
fn claims_are_listed_without_measuring() {
    let output = xtask(&["reproduce", "--list"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("page-faults-went-up\n    Page faults went up\n"), "{text}");
}

#[test]
fn each_schema_is_one() {
    for of in ["report", "backtest", "ledger"] {
        let output = xtask(&["schema", of]);
        assert!(output.status.success(), "{of}: {}", stderr(&output));
        let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!jsonschema::validator_for(&schema).unwrap().is_valid(&serde_json::json!({})), "{of}");
    }
}

#[test]
fn the_schema_is_valid_and_refuses_what_is_no_report() {
    let output = xtask(&["schema"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(!validator.is_valid(&serde_json::json!({"verdict": "improved"})));
    let suite = mthp_judge::report::SuiteRecord { name: "s".to_owned(), sha256: String::new() };
    let report = mthp_judge::report::Report::unfinished("0", "2026-01-01T00:00:00Z", suite);
    let report = serde_json::to_value(report).unwrap();
    let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn a_missing_tool_is_named_with_its_package_on_every_distribution() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["test-kernel"])
        .env("PATH", "/nonexistent")
        .current_dir(root())
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(69), "{said}");
    for word in ["flex", "qemu-system-x86", "apt-get install", "dnf install", "pacman -S", "zypper install"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn a_test_that_does_not_exist_is_named_before_anything_boots() {
    let place = tempfile::tempdir().unwrap();
    let report = place.path().join("report");
    let folder = report.to_str().unwrap();
    fails(&["test-kernel", "--test", "nosuch", "--report", folder], 2, &["'nosuch'", "placement/4632KiB"]);
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(report.join("report.json")).unwrap()).unwrap();
    assert_eq!(record["status"], "refused");
    assert_eq!(record["boots"], serde_json::json!([]));
    // A CI that collects these finds an error, not a missing file.
    let junit = fs::read_to_string(report.join("junit.xml")).unwrap();
    assert!(junit.contains("errors=\"1\"") && junit.contains("nosuch"), "{junit}");
    let ktap = fs::read_to_string(report.join("results.ktap")).unwrap();
    assert!(ktap.contains("not ok 1 verdict"), "{ktap}");
}

#[test]
fn a_shard_without_a_test_has_nothing_to_do_and_that_is_no_failure() {
    let place = tempfile::tempdir().unwrap();
    let report = place.path().join("report");
    let mut arguments =
        vec!["test-kernel", "--test", "placement/2MiB", "--shard", "2/2", "--expect", "improved"];
    arguments.extend(["--report", report.to_str().unwrap(), "--format"]);
    for (format, words) in [
        ("junit", "<skipped message=\"nothing to do in shard 2/2: 1 test in all\">"),
        ("ktap", "ok 1 verdict # SKIP nothing to do"),
        ("text", "verdict: none, nothing was run"),
    ] {
        let output = xtask(&[&arguments[..], &[format]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(words), "{format}: {said}");
    }
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(report.join("report.json")).unwrap()).unwrap();
    assert_eq!(record["status"], "empty");
    assert!(fs::read_to_string(report.join("junit.xml")).unwrap().contains("errors=\"0\""));
    fails(&["test-kernel", "--shard", "3/2"], 2, &["3/2", "2/4"]);
}

/// A workload of one's own, in a folder of its own; `model` is the table's content.
fn workload(folder: &std::path::Path, model: &str) -> String {
    let text = format!(
        "name = \"mine\"\ndescription = \"d\"\n[model]\n{model}\n[image]\npath = \"image.png\"\n[runtime]\npath = \".\"\n\
         [[scenario]]\nname = \"one\"\nshape = [1, 3, 32, 32]\n"
    );
    let path = folder.join("mine.toml");
    fs::write(&path, text).unwrap();
    fs::write(folder.join("libonnxruntime.so"), "no library").unwrap();
    fs::write(folder.join("image.png"), "no image").unwrap();
    fs::write(folder.join("model.onnx"), "no model").unwrap();
    path.to_str().unwrap().to_owned()
}

fn workload_fails(model: &str, code: i32, words: &[&str]) {
    let place = tempfile::tempdir().unwrap();
    let file = workload(place.path(), model);
    let report = place.path().join("report");
    let arguments =
        ["test-kernel", "--suite", "yolov5", "--workload", &file, "--report", report.to_str().unwrap()];
    fails(&arguments, code, words);
}

#[test]
fn a_workload_that_is_none_is_refused_with_its_line() {
    workload_fails("paht = \"model.onnx\"", 2, &["mine.toml", "line 4", "paht"]);
}

#[test]
fn a_model_that_is_not_there_is_refused() {
    workload_fails("path = \"gone.onnx\"", 2, &["failed to find", "gone.onnx"]);
}

#[test]
fn a_model_with_another_hash_is_refused_with_both() {
    let wanted = "0".repeat(64);
    let model = format!("path = \"model.onnx\"\nsha256 = \"{wanted}\"");
    workload_fails(&model, 2, &["model.onnx", &wanted, "found"]);
}

#[test]
fn an_image_that_is_none_is_refused() {
    workload_fails("path = \"model.onnx\"", 2, &["image.png", "neither JPEG nor PNG"]);
}

#[test]
fn a_workload_that_is_not_there_is_refused() {
    fails(&["test-kernel", "--suite", "yolov5", "--workload", "/gone.toml"], 2, &["/gone.toml"]);
}

#[test]
fn a_suite_without_a_workload_takes_none() {
    let place = tempfile::tempdir().unwrap();
    let file = workload(place.path(), "path = \"model.onnx\"");
    fails(&["test-kernel", "--workload", &file], 2, &["alignment", "runs none"]);
}

#[test]
fn a_workload_that_was_not_fetched_says_how_to_fetch_it() {
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (cache, report) = (folder("cache"), folder("report"));
    let arguments = ["test-kernel", "--suite", "yolov5", "--cache-dir", &cache, "--report", &report];
    fails(&arguments, 69, &["onnxruntime-openvino==1.24.1", "--setup"]);
}
