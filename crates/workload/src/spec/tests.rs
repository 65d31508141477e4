use super::*;
use mthp_record::workload::Thp;
use proptest::prelude::*;

fn shipped() -> Spec {
    Spec::parse(SHIPPED, Path::new("/w")).unwrap()
}

const OWN: &str = r#"name = "mine"
description = "a model of mine"
runtime = "shipped"

[model]
path = "my.onnx"
decode = { kind = "yolov5" }

[image]
path = "/photos/street.png"

[[expected]]
size = [320, 640]
confidence_tolerance = 0.01
box_tolerance = 2
detections = [
    { class = 5, confidence = 0.8541, bounds = [1, 2, 30, 40] },
    { class = 0, confidence = 0.5, bounds = [5, 6, 7, 8] },
]

[[scenario]]
name = "wide"
shape = [2, 3, 320, 640]
"#;

#[test]
fn the_shipped_workload_parses() {
    let spec = shipped();
    assert_eq!(spec.name, "yolov5");
    let names = |wanted: fn(&Case) -> bool| -> Vec<&str> {
        spec.cases.iter().filter(|case| wanted(case)).map(|case| case.scenario.name.as_str()).collect()
    };
    let fast = names(|case| !case.slow && !case.scenario.is_modelled());
    assert_eq!(fast, ["yolov5/160", "yolov5/160-mmap-threshold", "yolov5/320"]);
    let modelled = names(|case| case.scenario.is_modelled());
    assert_eq!(modelled, ["yolov5/160-modelled", "yolov5/160-mmap-threshold-modelled"]);
    for Case { scenario, .. } in &spec.cases {
        let order = &scenario.order;
        assert!(scenario.expected.is_some(), "{}", scenario.name);
        assert_eq!(order.runtime, "/workload/lib/libonnxruntime.so");
        assert_eq!(order.dimensions, ["batch", "", "height", "width"]);
        assert_eq!(order.decode, Decode::Yolov5 { confidence_thousandths: 250, overlap_thousandths: 450 });
    }
}

#[test]
fn a_workload_of_ones_own_is_short() {
    let spec = Spec::parse(OWN, Path::new("/w")).unwrap();
    assert_eq!(spec.model.source, Source::Path { path: "/w/my.onnx".into(), sha256: None });
    assert_eq!(spec.image, Source::Path { path: "/photos/street.png".into(), sha256: None });
    assert_eq!(spec.runtime, shipped().runtime);
    let [case] = spec.cases.as_slice() else { panic!("{:?}", spec.cases) };
    assert!(!case.slow);
    let scenario = &case.scenario;
    assert_eq!(scenario.name, "mine/wide");
    assert_eq!((scenario.thp, scenario.khugepaged), (Thp::Always, false));
    let order = &scenario.order;
    assert_eq!((order.inferences, order.in_flight, order.loads), (3, 1, 1));
    assert_eq!(order.tensors, Tensors::Heap);
    let expected = scenario.expected.as_ref().unwrap();
    assert_eq!((expected.confidence_tolerance, expected.box_tolerance), (10, 2));
    assert_eq!(expected.detections[0].confidence_thousandths, 854);
    // Without the line it is the shipped one too.
    let without = OWN.replacen("runtime = \"shipped\"\n", "", 1);
    assert_eq!(Spec::parse(&without, Path::new("/w")).unwrap(), spec);
}

#[test]
fn the_last_inference_of_a_modelled_scenario_is_a_region_of_the_tests_name() {
    let scenario = |more: &str| {
        let mut text = format!("{OWN}{more}\n");
        if more.contains("modelled") {
            text = text.replacen("\"wide\"", "\"wide-modelled\"", 1);
        }
        Spec::parse(&text, Path::new("")).unwrap().cases.remove(0).scenario
    };
    let modelled = scenario("modelled = true");
    assert_eq!(modelled.order.region.as_deref(), Some("mine/wide-modelled"));
    assert!(modelled.is_modelled() && !modelled.watched);
    assert_eq!(scenario("modelled = true\nwatched = false"), modelled);
    for plain in [scenario(""), scenario("watched = false")] {
        assert!(!plain.is_modelled(), "{plain:?}");
    }
}

#[test]
fn a_runtime_of_ones_own_is_a_folder_or_files_of_it() {
    let with = |table: &str| {
        let text = OWN.replacen("runtime = \"shipped\"\n", "", 1).replacen(
            "[image]",
            &format!("{table}\n[image]"),
            1,
        );
        Spec::parse(&text, Path::new("/w")).unwrap().runtime
    };
    assert_eq!(with("[runtime]\npath = \"ort\""), Runtime::Folder("/w/ort".into()));
    let file = Source::Path { path: "/w/ort/libonnxruntime.so".into(), sha256: None };
    assert_eq!(
        with("[runtime]\npath = \"ort\"\nfiles = [{ file = \"libonnxruntime.so\" }]"),
        Runtime::Files(vec![file])
    );
}

/// What replaces what in [`OWN`], and the words of the error on the replaced line.
const WRONG: &[(&str, &str, &str)] = &[
    ("runtime = \"shipped\"", "runtime = {}", "either `package` or `path` says where it comes from"),
    ("name = \"mine\"", "name = \"my/own\"", "a name is of letters"),
    ("name = \"mine\"", "name = \"\"", "a name is of letters"),
    ("runtime = \"shipped\"", "runtime = \"latest\"", "expected \"shipped\" or a table"),
    ("runtime = \"shipped\"", "runtime = { package = \"a==1\" }", "`folder` is missing beside `package`"),
    ("runtime = \"shipped\"", "runtime = { path = \"a\", packages = \"b\" }", "unknown field `packages`"),
    (
        "runtime = \"shipped\"",
        "runtime = { path = \"a\", files = [{ file = \"../a.so\" }] }",
        "no file's name",
    ),
    (
        "runtime = \"shipped\"",
        "runtime = { path = \"a\", folder = \"b\" }",
        "`folder` means nothing beside `path`",
    ),
    ("path = \"my.onnx\"", "path = \"\"", "an empty path"),
    ("path = \"my.onnx\"", "path = \"a\"\nsha256 = \"abc\"", "64 hexadecimal digits"),
    ("path = \"my.onnx\"", "path = \"a\"\nfile = \"b\"", "`file` means nothing beside `path`"),
    ("path = \"my.onnx\"", "path = \"a\"\nconvert = \"yolov5-checkpoint\"", "`convert` needs `onnx_sha256`"),
    ("path = \"my.onnx\"", "path = \"a\"\nconvert = \"caffe\"", "unknown variant `caffe`"),
    ("path = \"my.onnx\"", "path = \"a\"\nonnx_sha256 = \"b\"", "means nothing without `convert`"),
    ("path = \"my.onnx\"", "path = \"a\"\nweights = \"b\"", "unknown field `weights`"),
    ("kind = \"yolov5\"", "kind = \"yolov9\"", "unknown variant `yolov9`"),
    ("kind = \"yolov5\"", "kind = \"yolov5\", confidence = 1.5", "1.5 is not within 0 to 1"),
    ("size = [320, 640]", "size = [640, 320]", "no scenario has the height 640 and the width 320"),
    ("confidence_tolerance = 0.01", "confidence_tolerance = -0.1", "not within 0 to 1"),
    ("confidence = 0.5,", "confidence = 0.9,", "the most confident detection comes first"),
    ("confidence = 0.5,", "confidence = 0.2,", "below what `decode` keeps"),
    ("bounds = [5, 6, 7, 8]", "bounds = [7, 6, 5, 8]", "left, top, right, bottom"),
    ("name = \"wide\"", "name = \"wi de\"", "a name is of letters"),
    ("[2, 3, 320, 640]", "[0, 3, 320, 640]", "a batch of 0"),
    ("[2, 3, 320, 640]", "[2, 1, 320, 640]", "1 channels"),
    ("[2, 3, 320, 640]", "[2, 3, 320]", "invalid length 3"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\nin_flight = 0", "in_flight is 0, not within 1 to 255"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\nloads = -1", "invalid value"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\ninferences = 0", "inferences is 0"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\ntensors = \"disk\"", "unknown variant `disk`"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\nthp = \"sometimes\"", "unknown variant `sometimes`"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\nmthp_kib = [64, 100]", "mthp_kib 100 is no power of two"),
    (
        "[2, 3, 320, 640]",
        "[2, 3, 320, 640]\nmthp_kib = [8]",
        "mthp_kib 8 is no power of two within 16 to 2048",
    ),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\nmthp_kib = [64, 64]", "mthp_kib 64 twice"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\ntunables = \"glibc.malloc\"", "a tunable is glibc.NAME=VALUE"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\ntunables = \"glibc.a=1:\"", "a tunable is glibc.NAME=VALUE"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\nthreads = 2", "unknown field `threads`"),
    ("name = \"wide\"", "modelled = true\nname = \"wi_de\"", "a region's name is of letters"),
    (
        "[2, 3, 320, 640]",
        "[2, 3, 320, 640]\nmodelled = true\ninferences = 1",
        "the last inference counts, one before it warms up",
    ),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\nmodelled = true\nin_flight = 2", "one request"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\nmodelled = true\nkhugepaged = true", "inside the region"),
    ("[2, 3, 320, 640]", "[2, 3, 320, 640]\nmodelled = true\nwatched = true", "never watched"),
    ("name = \"wide\"", "modelled = true\nname = \"wide\"", "its name must end in -modelled"),
    ("name = \"wide\"", "name = \"wide-modelled\"", "takes `modelled = true`"),
];

#[test]
fn what_cannot_be_meant_is_told_with_its_line() {
    for (from, to, words) in WRONG {
        assert_eq!(OWN.matches(from).count(), 1, "{from}");
        let text = OWN.replacen(from, to, 1);
        let error = Spec::parse(&text, Path::new("")).unwrap_err();
        assert!(error.message.contains(words), "{to}: {error}");
        let before = OWN[..OWN.find(from).unwrap()].matches('\n').count();
        let line = before + to.matches('\n').count() + 1;
        assert_eq!(error.line, Some(line), "{to}: {error}");
    }
}

#[test]
fn a_shape_must_fit_what_reads_it() {
    let text = OWN.replace("320", "300");
    let error = Spec::parse(&text, Path::new("")).unwrap_err().to_string();
    assert!(error.contains("YOLOv5 takes multiples of 32"), "{error}");
    let plain = "name = \"a\"\ndescription = \"\"\n[model]\npath = \"m\"\n[image]\npath = \"i\"\n";
    let one = "[[scenario]]\nname = \"s\"\nshape = [1, 3, 300, 300]\n";
    assert!(Spec::parse(&format!("{plain}{one}"), Path::new("")).is_ok());
    let error = Spec::parse(plain, Path::new("")).unwrap_err().to_string();
    assert_eq!(error, "line 1: a workload without a scenario runs nothing");
    let error = Spec::parse(&format!("{plain}{one}{one}"), Path::new("")).unwrap_err().to_string();
    assert_eq!(error, "line 11: a second scenario `s`");
    let expected =
        "[[expected]]\nsize = [300, 300]\nconfidence_tolerance = 0.1\nbox_tolerance = 1\ndetections = []\n";
    let error = Spec::parse(&format!("{plain}{expected}{one}"), Path::new("")).unwrap_err().to_string();
    assert_eq!(error, "line 7: nothing can be expected of a model without `decode`");
}

#[test]
fn a_package_is_named_exactly() {
    for package in ["a", "a>=1", "a==", "-r==1", "a==1 --index-url=x", "a==1\\nb==2", "==1", "a[b]==1"] {
        let table = format!(
            "package = \"{package}\"\nwheel_sha256 = \"{0}\"\nfile = \"m\"\nsha256 = \"{0}\"",
            "a".repeat(64)
        );
        let error = Spec::parse(&OWN.replacen("path = \"my.onnx\"", &table, 1), Path::new("")).unwrap_err();
        assert!(error.message.contains("named as name==version"), "{package}: {error}");
        assert_eq!(error.line, Some(6));
    }
}

#[test]
fn a_file_is_named_with_its_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, OWN.replace("[2, 3,", "[2, 4,")).unwrap();
    let error = Spec::read(&path).unwrap_err();
    assert!(error.is::<mthp_kernel::BadInput>(), "{error}");
    assert_eq!(
        error.to_string(),
        format!(
            "failed to use {}: line 23: 4 channels: an image has 3 (batch, channels, height, width)",
            path.display()
        )
    );
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC*") {
        let _ = Spec::parse(&text, Path::new(""));
    }

    #[test]
    fn a_cut_file_is_parsed_or_refused_with_a_line_it_has(at in 0..OWN.len()) {
        if let Err(SpecError { line: Some(line), .. }) = Spec::parse(&OWN[..at], Path::new("")) {
            prop_assert!(line >= 1 && line <= OWN[..at].matches('\n').count() + 1);
        }
    }
}
