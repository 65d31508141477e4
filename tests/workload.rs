//! The YOLOv5 workload on the kernel with the limit to PMD-sized lengths and on the one before it: what it sees,
//! where its memory lies, and how it fails.

use std::sync::OnceLock;

use anyhow::{Result, anyhow, bail, ensure};
use kernel_tests::inference::{SCENARIOS, boot, completed, metric, scenario};
use libtest_mimic::{Arguments, Failed, Trial};
use mthp_lab::Extra;
use mthp_record::{boot::BootRecord, result::Outcome, workload::Scenario};

/// Aligns only lengths that are a multiple of the PMD size.
const STOCK: &str = "stock-6.12";
/// Aligns every length from the PMD size on.
const OLD_RULE: &str = "k2-6.12";

/// Looks at a test of a kernel.
type Look = fn(&str, &str) -> Result<()>;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let checks: [(&str, Look); 3] = [
        ("sees-what-is-there", sees),
        ("inference-maps-nothing", maps_nothing),
        ("large-maps-lie-by-the-rule", placed),
    ];
    for test in SCENARIOS {
        for (what, check) in checks {
            // In turns, so that the first two trials boot the two kernels side by side.
            for kernel in [STOCK, OLD_RULE] {
                trials.push(trial(format!("{kernel}::{test}::{what}"), move || check(kernel, test)));
            }
        }
    }
    trials.push(trial("both-kernels-give-the-same-bits".to_owned(), same_bits));
    trials.push(trial("the-old-rule-leaves-holes".to_owned(), holes));
    for (name, words) in BROKEN {
        trials.push(trial(format!("broken::{name}"), move || fails(name, words)));
    }
    trials.push(trial("broken::a-picture-of-something-else".to_owned(), sees_something_else));
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: String, run: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || run().map_err(|error| Failed::from(format!("{error:#}"))))
}

/// One boot of each kernel, the two side by side, serves all trials.
fn record(kernel: &str) -> Result<&'static BootRecord> {
    static STOCKS: OnceLock<Result<BootRecord, String>> = OnceLock::new();
    static OLD_RULES: OnceLock<Result<BootRecord, String>> = OnceLock::new();
    let cell = if kernel == STOCK { &STOCKS } else { &OLD_RULES };
    once(cell, || boot(kernel, SCENARIOS.into_iter().map(scenario).collect::<Result<_>>()?, |_| {}))
}

fn once(
    cell: &'static OnceLock<Result<BootRecord, String>>,
    make: impl FnOnce() -> Result<BootRecord>,
) -> Result<&'static BootRecord> {
    cell.get_or_init(|| make().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

fn sees(kernel: &str, test: &str) -> Result<()> {
    let result = completed(record(kernel)?, test)?;
    let names: Vec<&str> = result.checks.iter().map(|check| check.name.as_str()).collect();
    ensure!(
        names == ["valid-provider", "valid-outputs", "valid-numbers", "valid-detections"],
        "checks: {names:?}"
    );
    for check in &result.checks {
        ensure!(check.passed, "{}: {}", check.name, check.observed);
    }
    Ok(())
}

fn maps_nothing(kernel: &str, test: &str) -> Result<()> {
    let result = completed(record(kernel)?, test)?;
    for name in ["inference-maps", "inference-unmaps", "inference-heap-kib"] {
        ensure!(metric(result, name)? == 0, "{name} is {}", metric(result, name)?);
    }
    // Nothing is no finding if the calls are not seen at all.
    ensure!(metric(result, "maps-small")? > 0 && metric(result, "heap-kib")? > 0, "no call was seen");
    Ok(())
}

fn placed(kernel: &str, test: &str) -> Result<()> {
    let result = completed(record(kernel)?, test)?;
    let (maps, aligned) = (metric(result, "maps-other")?, metric(result, "aligned-other")?);
    ensure!(maps > 0, "no map of 2 MiB and more is no multiple of it");
    let expected = if kernel == STOCK { 0 } else { maps };
    ensure!(aligned == expected, "{aligned} of {maps} start at a boundary, not {expected}");
    // Multiples are aligned by both rules.
    let (maps, aligned) = (metric(result, "maps-multiple")?, metric(result, "aligned-multiple")?);
    ensure!(aligned == maps, "{aligned} of {maps} multiples start at a boundary");
    Ok(())
}

fn same_bits() -> Result<()> {
    for test in SCENARIOS {
        let bits = |kernel| -> Result<String> {
            let result = completed(record(kernel)?, test)?;
            match result.agreements.as_slice() {
                [one] => Ok(one.value.clone()),
                other => bail!("{test}: agreements {other:?}"),
            }
        };
        let (stock, old) = (bits(STOCK)?, bits(OLD_RULE)?);
        ensure!(stock.len() == 64 && stock == old, "{test}: {stock} and {old}");
    }
    Ok(())
}

fn holes() -> Result<()> {
    for test in SCENARIOS {
        for name in ["gaps", "gap-kib", "vmas"] {
            let value = |kernel| metric(completed(record(kernel)?, test)?, name);
            let (stock, old) = (value(STOCK)?, value(OLD_RULE)?);
            ensure!(old > stock, "{test}: {name} is {old} by the old rule and {stock} by the new");
        }
    }
    Ok(())
}

/// What is wrong, and the words by which its one error is known.
const BROKEN: [(&str, &[&str]); 5] = [
    ("no-provider-library", &["OpenVINOExecutionProvider", "libonnxruntime_providers"]),
    ("a-truncated-model", &["failed to", "/broken/model.onnx"]),
    ("a-truncated-image", &["failed to", "/broken/image"]),
    ("no-runtime", &["failed to", "/broken/nothing.so"]),
    ("out-of-memory", &["killed by SIGABRT", "memory allocation of 1843200000 bytes failed"]),
];

/// All broken scenarios in one boot: one that fails must not harm the next.
fn broken() -> Result<&'static BootRecord> {
    static BOOT: OnceLock<Result<BootRecord, String>> = OnceLock::new();
    once(&BOOT, || {
        let good = scenario("yolov5/160")?;
        let named = |name: &str| Scenario { name: format!("broken/{name}"), ..good.clone() };
        let mut scenarios = vec![
            named("no-provider-library"),
            named("a-truncated-model"),
            named("a-truncated-image"),
            named("no-runtime"),
            named("out-of-memory"),
            named("a-picture-of-something-else"),
        ];
        let [provider, model, image, runtime, memory, picture] = scenarios.as_mut_slice() else {
            bail!("six scenarios are not six")
        };
        // The providers are looked for where the runtime's own library was found.
        provider.order.runtime = "/broken/libonnxruntime.so".to_owned();
        model.order.model = "/broken/model.onnx".to_owned();
        image.order.image = "/broken/image".to_owned();
        runtime.order.runtime = "/broken/nothing.so".to_owned();
        // An input of 1.8 GB in a guest of 1.5 GiB: refused at once. One that almost fits would leave the guest to
        // search for pages for minutes before its kernel kills.
        memory.order.shape = [6000, 3, 160, 160];
        picture.order.image = "/broken/grey.png".to_owned();
        boot(STOCK, scenarios, |setting| {
            setting.extra = vec![
                Extra::Folder("broken"),
                Extra::Link("broken/libonnxruntime.so", "/workload/lib/libonnxruntime.so"),
                Extra::File("broken/model.onnx", CUT_MODEL.to_vec()),
                Extra::File("broken/image", b"\xff\xd8\xff\xe0cut".to_vec()),
                Extra::File("broken/grey.png", GREY.to_vec()),
            ];
        })
    })
}

/// The begin of a model: its version, and a field of 127 bytes that are not there.
const CUT_MODEL: [u8; 4] = [0x08, 0x08, 0x12, 0x7f];

/// A grey picture, a PNG of 8 by 8 pixels.
const GREY: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x08, 0x08, 0x00, 0x00, 0x00, 0x00, 0xe1, 0x64, 0xe1, 0x57, 0x00,
    0x00, 0x00, 0x0e, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x68, 0x80, 0x02, 0x06, 0xca, 0x18, 0x00,
    0x80, 0x84, 0x20, 0x01, 0x10, 0xe8, 0x6a, 0x17, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae,
    0x42, 0x60, 0x82,
];

fn fails(name: &str, words: &[&str]) -> Result<()> {
    let record = broken()?;
    ensure!(record.outcome.is_completed(), "the boot ended with {:?}", record.outcome);
    let name = format!("broken/{name}");
    let Some(result) = record.tests.iter().find(|result| result.name == name) else {
        bail!("the guest ran no test {name}");
    };
    // A program that was killed is a crash, as of any test; the others could not do their work.
    let message = match &result.outcome {
        Outcome::Crashed { how } if name == "broken/out-of-memory" => how,
        Outcome::Error { message } if name != "broken/out-of-memory" => message,
        other => bail!("{name} ended with {other:?}"),
    };
    ensure!(message.lines().count() == 1, "more than one line: {message}");
    for word in words {
        ensure!(message.contains(word), "the error does not say '{word}': {message}");
    }
    ensure!(result.metrics.is_empty(), "a number of a broken inference is reported");
    Ok(())
}

fn sees_something_else() -> Result<()> {
    let result = completed(broken()?, "broken/a-picture-of-something-else")?;
    let failing: Vec<&str> =
        result.checks.iter().filter(|check| !check.passed).map(|check| check.name.as_str()).collect();
    ensure!(failing == ["valid-detections"], "failing checks: {failing:?}");
    ensure!(result.metrics.is_empty() && result.agreements.is_empty(), "a wrong inference has numbers");
    Ok(())
}
