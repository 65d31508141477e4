//! What a suite can mean, and what it cannot.

use super::{Deadlines, Gate, Guest};

pub(super) fn pattern_problem(pattern: &str) -> Option<String> {
    if pattern.trim().is_empty() {
        return Some("an empty pattern selects nothing".to_owned());
    }
    let stem = pattern.strip_suffix('*').unwrap_or(pattern);
    stem.contains('*').then(|| format!("`{pattern}`: a `*` is understood at the end only"))
}

pub(super) fn guest_problem(guest: &Guest) -> Option<String> {
    if !(256..=65536).contains(&guest.memory_mib) {
        return Some(format!("memory_mib is {}, not within 256 to 65536", guest.memory_mib));
    }
    if !(1..=64).contains(&guest.cpus) {
        return Some(format!("cpus is {}, not within 1 to 64", guest.cpus));
    }
    (!(1..=8).contains(&guest.fake_nodes))
        .then(|| format!("fake_nodes is {}, not within 1 to 8", guest.fake_nodes))
}

/// The words go to QEMU and to the kernel's log as they are.
pub(super) fn cmdline_problem(words: &str) -> Option<String> {
    let plain =
        |character: char| character == ' ' || character.is_ascii_graphic() && !"\"'`".contains(character);
    (!words.chars().all(plain)).then(|| {
        "cmdline has a character that is no printable ASCII, or a quote: plain words, parted by spaces"
            .to_owned()
    })
}

pub(super) fn machine_problem<'a>(name: &str, mut earlier: impl Iterator<Item = &'a str>) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || !name.bytes().all(plain) {
        return Some(format!("`{name}` is no machine's name: small letters, digits and `-`"));
    }
    earlier.any(|other| other == name).then(|| format!("the machine `{name}` a second time"))
}

pub(super) fn deadlines_problem(deadlines: &Deadlines) -> Option<String> {
    let Deadlines { boot_secs, test_secs, run_secs } = *deadlines;
    if boot_secs == 0 || test_secs == 0 {
        return Some("a deadline of no seconds is always missed".to_owned());
    }
    (run_secs < boot_secs.saturating_add(test_secs))
        .then(|| format!("run_secs is {run_secs}: too short for a boot and one test"))
}

pub(super) fn gate_problem<'a>(gate: &Gate, mut earlier: impl Iterator<Item = &'a Gate>) -> Option<String> {
    let patterns = gate.except.iter().chain(&gate.except_metrics);
    if let Some(problem) = patterns.chain([&gate.test, &gate.metric]).find_map(|it| pattern_problem(it)) {
        return Some(problem);
    }
    if gate.floor < 1 {
        return Some(format!("the floor is {}: a gate says how much matters, at least 1", gate.floor));
    }
    if gate.reason.trim().is_empty() {
        return Some("a gate says why the metric is a declared cost".to_owned());
    }
    earlier
        .any(|other| other.test == gate.test && other.metric == gate.metric)
        .then(|| format!("a second gate on `{}` of `{}`", gate.metric, gate.test))
}
