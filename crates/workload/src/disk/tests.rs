use std::{fs::File, io::Read, process::Command};

use tempfile::TempDir;

use super::*;
use mthp_kernel::files::sha256;

/// A shared library for x86-64 that holds nothing but what the dynamic linker reads first.
fn library(soname: Option<&str>, needed: &[&str]) -> Vec<u8> {
    const DYNAMIC: usize = 64 + 2 * 56;
    let mut strings = vec![0];
    let mut tags: Vec<(u64, u64)> = Vec::new();
    for (tag, name) in needed.iter().map(|&name| (1, name)).chain(soname.map(|name| (14, name))) {
        tags.push((tag, strings.len() as u64));
        strings.extend(name.as_bytes());
        strings.push(0);
    }
    let table = DYNAMIC + 16 * (tags.len() + 3);
    tags.extend([(5, table as u64), (10, strings.len() as u64), (0, 0)]);
    let end = (table + strings.len()) as u64;

    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    elf.extend([3u16, 62].map(u16::to_le_bytes).concat());
    elf.extend(1u32.to_le_bytes());
    elf.extend([0u64, 64, 0].map(u64::to_le_bytes).concat());
    elf.extend(0u32.to_le_bytes());
    elf.extend([64u16, 56, 2, 64, 0, 0].map(u16::to_le_bytes).concat());
    for (kind, offset, size) in [(1u32, 0, end), (2, DYNAMIC as u64, (16 * tags.len()) as u64)] {
        elf.extend([kind, 4].map(u32::to_le_bytes).concat());
        elf.extend([offset, offset, offset, size, size, 8].map(u64::to_le_bytes).concat());
    }
    elf.extend(tags.iter().flat_map(|&(tag, value)| [tag, value]).flat_map(u64::to_le_bytes));
    elf.extend(strings);
    elf
}

fn file(folder: &TempDir, name: &str, contents: &[u8]) -> Part {
    let path = folder.path().join(name);
    fs::write(&path, contents).unwrap();
    part(&path).unwrap()
}

fn parts(folder: &TempDir, libraries: Vec<Part>) -> Parts {
    Parts {
        model: file(folder, "my.onnx", b"model"),
        image: file(folder, "picture.jpg", b"image"),
        libraries,
    }
}

fn runtime(folder: &TempDir) -> Part {
    file(folder, "libonnxruntime.so.1.2", &library(Some("libonnxruntime.so.1"), &["libm.so.6"]))
}

fn names(folder: &TempDir, libraries: Vec<Part>) -> Result<Vec<String>> {
    Ok(layout(&parts(folder, libraries), Path::new("/bin/true"))?.into_keys().collect())
}

fn refused(folder: &TempDir, libraries: Vec<Part>) -> String {
    let error = names(folder, libraries).unwrap_err();
    assert!(error.chain().any(mthp_kernel::is_bad_input), "{error:#}");
    format!("{error:#}")
}

#[test]
fn a_disk_has_what_the_dynamic_linker_asks_for_under_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let provider = library(None, &["libextra.so.2", "libonnxruntime.so.1"]);
    let extra = library(Some("libextra.so.2"), &[]);
    let libraries = vec![
        runtime(&folder),
        file(&folder, "libprovider.so", &provider),
        file(&folder, "libextra.so", &extra),
        // The same once more, as wheels and symbolic links have it.
        file(&folder, "libextra.so.2.3.4", &extra),
    ];
    assert_eq!(
        names(&folder, libraries).unwrap(),
        [
            "bin/guest-inference",
            "image",
            "lib/ld-linux-x86-64.so.2",
            "lib/libc.so.6",
            "lib/libextra.so.2",
            "lib/libm.so.6",
            "lib/libonnxruntime.so",
            "lib/libprovider.so",
            "model.onnx",
        ]
    );
}

#[test]
fn what_cannot_be_loaded_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let lonely = library(Some("libonnxruntime.so.1"), &["libnosuch.so.9"]);
    let text = refused(&folder, vec![file(&folder, "libonnxruntime.so.1.2", &lonely)]);
    assert!(
        text.starts_with("failed to find libnosuch.so.9, which libonnxruntime.so.1.2 needs, in /"),
        "{text}"
    );
    let twice =
        [runtime(&folder), file(&folder, "libonnxruntime.so.2", &library(Some("libonnxruntime.so"), &[]))];
    assert!(refused(&folder, twice.to_vec()).ends_with("both are libonnxruntime.so and they differ"));
    let other = file(&folder, "libonnxruntime_c.so", &library(Some("libonnxruntime_c.so"), &[]));
    assert!(refused(&folder, vec![other]).contains("failed to find libonnxruntime.so among"));
    let mut arm = library(Some("libonnxruntime.so.1"), &[]);
    arm[18] = 183;
    assert!(refused(&folder, vec![file(&folder, "arm.so", &arm)]).ends_with("it is not for x86-64"));
    let text = refused(&folder, vec![file(&folder, "text.so", b"text")]);
    assert!(text.contains("failed to use text.so") && text.contains("it is no program or library"), "{text}");
}

#[test]
fn a_program_that_loads_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(&folder, "program", &library(None, &[]));
    let error = layout(&parts(&folder, vec![runtime(&folder)]), &program.path).unwrap_err();
    assert!(error.to_string().ends_with("it is not dynamically linked"), "{error}");
}

#[test]
fn the_key_follows_every_file_and_every_option() {
    let folder = tempfile::tempdir().unwrap();
    let one = layout(&parts(&folder, vec![runtime(&folder)]), Path::new("/bin/true")).unwrap();
    let of = |layout: &Layout| key(layout, "4.5 -b 128K");
    let mut other = one.clone();
    other.get_mut(IMAGE).unwrap().sha256 = "0".repeat(64);
    let mut moved = one.clone();
    let image = moved.remove(IMAGE).unwrap();
    moved.insert("picture".into(), image);
    let keys = [of(&one), of(&other), of(&moved), key(&one, "4.6 -b 128K")];
    let different: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!(different.len(), keys.len());
    assert_eq!(of(&one), of(&one.clone()));
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_same_files_give_the_same_disk() {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let parts = parts(&folder, vec![runtime(&folder)]);
    let build = |name: &str| {
        let cache = Cache::open(Some(&folder.path().join(name))).unwrap();
        build(&parts, Path::new("/bin/true"), &cache, &|_| {}, &stop).unwrap()
    };
    let one = build("one");
    // Neither the originals' modes nor their times show.
    mode(&parts.model.path, 0o600);
    let model = File::options().write(true).open(&parts.model.path).unwrap();
    model.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(7)).unwrap();
    let other = build("other");
    assert_ne!(one.path, other.path);
    assert_eq!((&one.sha256, one.bytes, &one.files), (&other.sha256, other.bytes, &other.files));
    assert_eq!(fs::read(&one.path).unwrap(), fs::read(&other.path).unwrap());
    assert_eq!(build("one"), one);

    assert_eq!(sha256(&fs::read(&one.path).unwrap()), one.sha256);
    // Nor does the time of packing, which a squashfs has behind its magic and its count of inodes.
    let mut begin = [0; 12];
    File::open(&one.path).unwrap().read_exact(&mut begin).unwrap();
    assert_eq!((&begin[..4], &begin[8..]), (b"hsqs".as_slice(), [0; 4].as_slice()));
    let out = folder.path().join("out");
    let mut unpacked = Command::new("unsquashfs");
    unpacked.arg("-quiet").arg("-no-progress").arg("-dest").args([&out, &one.path]);
    assert!(unpacked.stdout(std::process::Stdio::null()).status().unwrap().success());
    for file in &one.files {
        let contents = fs::read(out.join(&file.path)).unwrap();
        assert_eq!((file.bytes, &file.sha256), (contents.len() as u64, &sha256(&contents)), "{}", file.path);
    }
    assert!(Command::new(out.join(PROGRAM)).status().unwrap().success());
    // Nothing but the image and its list is kept.
    assert_eq!(fs::read_dir(one.path.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn what_was_altered_in_the_cache_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let cache = Cache::open(Some(&folder.path().join("cache"))).unwrap();
    let build = |parts: &Parts| build(parts, Path::new("/bin/true"), &cache, &|_| {}, &stop);
    let mut parts = parts(&folder, vec![runtime(&folder)]);
    let disk = build(&parts).unwrap();
    let mut image = fs::read(&disk.path).unwrap();
    image[200] ^= 1;
    fs::write(&disk.path, image).unwrap();
    let error = format!("{:#}", build(&parts).unwrap_err());
    assert!(error.contains("altered after it was built") && error.contains(&disk.sha256), "{error}");

    parts.model = file(&folder, "other.onnx", b"other");
    fs::write(&parts.model.path, b"altered").unwrap();
    let error = format!("{:#}", build(&parts).unwrap_err());
    assert!(error.contains("other.onnx: it was altered") && error.contains(&parts.model.sha256), "{error}");
}
