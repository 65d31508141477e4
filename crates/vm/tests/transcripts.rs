//! Golden console transcripts: what is told, and that it is the same however the bytes are cut.

#![expect(clippy::unwrap_used, reason = "helpers of tests may be as blunt as tests")]

use std::{fmt::Write, fs, path::Path};

use mthp_vm::console::Console;

struct Read {
    told: String,
    log: String,
}

fn read(bytes: &[u8], cut: usize) -> Read {
    let mut console = Console::default();
    let mut log = String::new();
    for chunk in bytes.chunks(cut) {
        console.push(chunk, |line| writeln!(log, "{line}").unwrap());
    }
    console.finish(|line| writeln!(log, "{line}").unwrap());
    let told = match console.told() {
        Some(told) => format!("{:?}: {}", told.failure, told.line),
        None => "nothing".to_owned(),
    };
    Read { told, log }
}

#[test]
fn every_transcript_tells_what_it_should() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut golden = String::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(&file).unwrap();
        let whole = read(&bytes, bytes.len());
        for cut in [1, 2, 7, 61, 4096] {
            let cut_up = read(&bytes, cut);
            assert_eq!(cut_up.told, whole.told, "{name} cut at {cut}");
            assert_eq!(cut_up.log, whole.log, "{name} cut at {cut}");
        }
        assert!(!whole.log.chars().any(|c| c.is_control() && c != '\n'), "{name}: the log is not printable");
        writeln!(golden, "{name}: {}", whole.told).unwrap();
    }
    insta::assert_snapshot!(golden);
}
