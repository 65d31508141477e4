//! Programs and shared libraries: what each is called, what it needs, and where this machine has it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use goblin::elf::{Elf, header::EM_X86_64};
use mthp_record::workload::RUNTIME;

use super::part;
use crate::{Part, bad_input};

/// glibc's dynamic linker on x86-64; the guest finds it in the disk's folder of libraries.
const INTERPRETER: &str = "ld-linux-x86-64.so.2";

/// Where distributions keep libraries for x86-64.
const FOLDERS: [&str; 7] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
];

/// What the dynamic linker reads of a file.
#[derive(Debug, Default)]
struct Object {
    soname: Option<String>,
    needed: Vec<String>,
    interpreter: Option<PathBuf>,
}

/// All libraries under the names by which they are asked for: the runtime's, and those of this machine that they or
/// the program need.
pub(super) fn libraries(program: &Part, runtime: &[Part]) -> Result<BTreeMap<String, Part>> {
    let own = read(program)?;
    let interpreter = own.interpreter.as_deref().ok_or_else(|| {
        bad_input(format!("failed to use {}: it is not dynamically linked", program.path.display()))
    })?;
    if interpreter.file_name().is_none_or(|name| name != INTERPRETER) {
        return Err(bad_input(format!(
            "failed to use {}: its dynamic linker is {} and not glibc's for x86-64",
            program.path.display(),
            interpreter.display()
        )));
    }

    let mut placed = BTreeMap::new();
    let mut sonames = BTreeSet::new();
    // Each with who needs it.
    let mut wanted: Vec<(String, String)> = needs(program, &own);
    for part in runtime {
        let object = read(part)?;
        place(&mut placed, installed_name(&object, part), part)?;
        wanted.extend(needs(part, &object));
        sonames.extend(object.soname);
    }
    if !placed.contains_key(RUNTIME) {
        return Err(bad_input(format!("failed to find {RUNTIME} among the runtime's libraries")));
    }
    placed.insert(INTERPRETER.to_owned(), part(interpreter)?);

    // The linker's own folder first: it and the C library must be of one build.
    let folders: Vec<PathBuf> = interpreter
        .canonicalize()
        .ok()
        .and_then(|path| Some(path.parent()?.to_owned()))
        .into_iter()
        .chain(FOLDERS.map(PathBuf::from))
        .collect();
    while let Some((name, by)) = wanted.pop() {
        if placed.contains_key(&name) || sonames.contains(&name) {
            continue;
        }
        let found = find(&folders, &name).ok_or_else(|| {
            let folders = shown(&folders);
            bad_input(format!(
                "failed to find {name}, which {by} needs, in {folders}; `files` of [runtime] can leave a library out"
            ))
        })?;
        let part = part(&found)?;
        wanted.extend(needs(&part, &read(&part)?));
        placed.insert(name, part);
    }
    Ok(placed)
}

fn needs(part: &Part, object: &Object) -> Vec<(String, String)> {
    object.needed.iter().map(|name| (name.clone(), part.name.clone())).collect()
}

/// The dynamic linker asks for a library by its soname; ONNX Runtime itself is loaded by a name without a version.
fn installed_name(object: &Object, part: &Part) -> String {
    let name = object.soname.as_ref().unwrap_or(&part.name);
    let main = name == RUNTIME || name.strip_prefix(RUNTIME).is_some_and(|rest| rest.starts_with('.'));
    if main { RUNTIME.to_owned() } else { name.clone() }
}

/// The same file under several names is one; two files of one name are a mistake.
fn place(placed: &mut BTreeMap<String, Part>, name: String, part: &Part) -> Result<()> {
    match placed.get(&name) {
        Some(other) if other.sha256 != part.sha256 => Err(bad_input(format!(
            "failed to use {} and {}: both are {name} and they differ",
            other.name, part.name
        ))),
        Some(_) => Ok(()),
        None => {
            placed.insert(name, part.clone());
            Ok(())
        }
    }
}

fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    // A machine may have the 32-bit library of the same name in /usr/lib.
    folders.iter().map(|folder| folder.join(name)).find(|path| parse_file(path).is_ok())
}

fn shown(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn read(part: &Part) -> Result<Object> {
    parse_file(&part.path).with_context(|| format!("failed to use {} ({})", part.name, part.path.display()))
}

fn parse_file(path: &Path) -> Result<Object> {
    parse(&fs::read(path).with_context(|| format!("failed to read {}", path.display()))?)
}

fn parse(bytes: &[u8]) -> Result<Object> {
    let elf =
        Elf::parse(bytes).map_err(|error| bad_input(format!("it is no program or library: {error}")))?;
    if !elf.is_64 || elf.header.e_machine != EM_X86_64 {
        return Err(bad_input("it is not for x86-64"));
    }
    Ok(Object {
        soname: elf.soname.map(str::to_owned),
        needed: elf.libraries.iter().map(|&name| name.to_owned()).collect(),
        interpreter: elf.interpreter.map(PathBuf::from),
    })
}
