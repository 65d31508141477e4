//! The cache: finished things under content-addressed names, each published by one rename.
//!
//! A name that exists is complete. Whatever is being made lies under a `.partial-` name, owned by who holds the
//! key's lock; a killed run leaves its partial folder, which the next run throws away. Locks are the kernel's
//! (`flock`), so that they die with their owner.

use std::{
    env,
    fs::{self, File, OpenOptions, TryLockError},
    io::ErrorKind,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::{Event, Events, Interrupted};

/// What is kept; each has its own folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Downloaded files.
    Download,
    /// Bare clones of git repositories. Whole mirrors are fetched again, under their lock.
    Repository,
    /// Pristine source trees.
    Tree,
    /// Source trees with a full build inside.
    Root,
    /// Built kernels.
    Kernel,
    /// Files taken out of downloads or made of them, named by their SHA-256.
    Part,
    /// Disks of workloads.
    Disk,
    /// Built selftests of kernels.
    Selftests,
    /// Where kernels of one origin are built one after another. Such a folder stays; whoever uses it holds its lock.
    Workspace,
    /// Programs that check this project.
    Tool,
    /// Where builds take place. An entry here is never complete: it belongs to who holds its lock.
    Work,
}

impl Kind {
    const ALL: [Self; 11] = [
        Self::Download,
        Self::Repository,
        Self::Tree,
        Self::Root,
        Self::Kernel,
        Self::Part,
        Self::Disk,
        Self::Selftests,
        Self::Workspace,
        Self::Tool,
        Self::Work,
    ];

    fn folder(self) -> &'static str {
        match self {
            Self::Download => "downloads",
            Self::Repository => "repositories",
            Self::Tree => "trees",
            Self::Root => "roots",
            Self::Kernel => "kernels",
            Self::Part => "parts",
            Self::Disk => "disks",
            Self::Selftests => "selftests",
            Self::Workspace => "workspaces",
            Self::Tool => "tools",
            Self::Work => "work",
        }
    }
}

const PARTIAL: &str = ".partial-";
const LOCK_POLL: Duration = Duration::from_millis(100);

/// A folder of finished things.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// Holds a key of the cache until dropped, and until the last program ends that was given a share of it.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What [`Cache::produce`] gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Produced {
    /// The complete entry.
    pub path: PathBuf,
    /// Whether this call made it.
    pub fresh: bool,
}

impl Cache {
    /// Opens (and makes) the cache: `path`, or `$MTHP_CACHE_DIR`, or `mthp-regress` in the XDG cache folder.
    /// What killed runs left is thrown away in the background.
    ///
    /// # Errors
    /// When no place for it is known or it cannot be made.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let root =
            locate(path, |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))?;
        for folder in Kind::ALL.map(Kind::folder).into_iter().chain(["locks", "logs", "trash"]) {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).map_err(|error| writing(error, &folder))?;
        }
        let root = root.canonicalize().with_context(|| format!("failed to find {}", root.display()))?;
        // Backup tools leave a folder with this file out: https://bford.info/cachedir/
        let tag = root.join("CACHEDIR.TAG");
        if !tag.exists() {
            fs::write(&tag, "Signature: 8a477f597d28d172789f06886806bc55\n")
                .map_err(|error| writing(error, &tag))?;
        }
        let cache = Self { root };
        cache.sweep();
        Ok(cache)
    }

    /// The cache's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where build logs are kept.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// A folder of a run's own notes, made; what lies in it is never an entry.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn notes(&self, name: &str) -> Result<PathBuf> {
        let folder = self.root.join("notes").join(name);
        fs::create_dir_all(&folder).map_err(|error| writing(error, &folder))?;
        Ok(folder)
    }

    /// Where an entry lies once it is complete.
    #[must_use]
    pub fn entry(&self, kind: Kind, key: &str) -> PathBuf {
        self.root.join(kind.folder()).join(key)
    }

    /// A complete entry, if it is there.
    #[must_use]
    pub fn find(&self, kind: Kind, key: &str) -> Option<PathBuf> {
        let path = self.entry(kind, key);
        path.symlink_metadata().is_ok().then_some(path)
    }

    /// Takes a key's lock, waiting for another run that holds it; `what` names it in the event.
    ///
    /// # Errors
    /// When the lock's file cannot be made or locked, or the stop flag is raised ([`Interrupted`]).
    pub fn lock(
        &self,
        kind: Kind,
        key: &str,
        what: &str,
        events: &Events<'_>,
        stop: &AtomicBool,
    ) -> Result<Lock> {
        let (file, path) = self.lock_file(kind, key)?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { file }),
                Err(TryLockError::WouldBlock) => {
                    if !told {
                        events(Event::WaitingForLock(what.to_owned()));
                        told = true;
                    }
                    if stop.load(Ordering::Relaxed) {
                        return Err(Interrupted.into());
                    }
                    thread::sleep(LOCK_POLL);
                }
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("failed to lock {}", path.display()));
                }
            }
        }
    }

    /// Finds an entry, or makes it: `make` fills a path that does not exist yet (as a file or a folder), which
    /// then becomes the entry by one rename. Two runs at once make it once.
    ///
    /// # Errors
    /// What `make` fails with, and what goes wrong around it; nothing is left then.
    pub fn produce(
        &self,
        kind: Kind,
        key: &str,
        what: &str,
        events: &Events<'_>,
        stop: &AtomicBool,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Produced> {
        if let Some(path) = self.find(kind, key) {
            return Ok(Produced { path, fresh: false });
        }
        let _lock = self.lock(kind, key, what, events, stop)?;
        if let Some(path) = self.find(kind, key) {
            return Ok(Produced { path, fresh: false });
        }
        let partial = self.root.join(kind.folder()).join(format!("{PARTIAL}{key}"));
        // Whoever left it is dead: its lock is ours.
        self.discard(&partial)?;
        let path = self.entry(kind, key);
        let made = make(&partial).and_then(|()| publish(kind, &partial, &path));
        if let Err(error) = made {
            // The error at hand matters more than one of cleaning up; the next run cleans up too.
            let _ = self.discard(&partial);
            return Err(error);
        }
        Ok(Produced { path, fresh: true })
    }

    /// Gets a file or folder out of the way at once; it is deleted in the background.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub fn discard(&self, path: &Path) -> Result<()> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let unique = format!("{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let mut trash = self.root.join("trash").join(&unique);
        if trash.symlink_metadata().is_ok() {
            // A process of the same number, in another container or before a reboot.
            trash.set_file_name(format!("{unique}-{:x}", nanos()));
        }
        match fs::rename(path, &trash) {
            Ok(()) => {
                thread::spawn(move || remove(&trash));
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).with_context(|| format!("failed to remove {}", path.display())),
        }
    }

    fn lock_file(&self, kind: Kind, key: &str) -> Result<(File, PathBuf)> {
        // Lock files stay: deleting one while another run opens it would give two runs "the" lock.
        let path = self.root.join("locks").join(format!("{}-{key}", kind.folder()));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| writing(error, &path))?;
        Ok((file, path))
    }

    /// Throws away what killed runs left: trash, and partial entries that nobody holds.
    fn sweep(&self) {
        for kind in Kind::ALL {
            for name in names(&self.root.join(kind.folder())) {
                let Some(key) = name.strip_prefix(PARTIAL).or((kind == Kind::Work).then_some(&name)) else {
                    continue;
                };
                if let Ok((file, _)) = self.lock_file(kind, key)
                    && file.try_lock().is_ok()
                {
                    let _ = self.discard(&self.root.join(kind.folder()).join(&name));
                }
            }
        }
        let trash = self.root.join("trash");
        let left = names(&trash);
        if !left.is_empty() {
            // Two runs may delete the same at once; what one misses the other removes.
            thread::spawn(move || left.iter().for_each(|name| remove(&trash.join(name))));
        }
    }
}

fn nanos() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

fn remove(path: &Path) {
    // What cannot be deleted now is tried again when the cache is next opened.
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// Makes a finished partial entry the entry: its contents reach the disk first, then its name.
fn publish(kind: Kind, partial: &Path, path: &Path) -> Result<()> {
    let sync = |path: &Path| -> Result<()> {
        let file = File::open(path).with_context(|| format!("failed to open {}", path.display()))?;
        file.sync_all().map_err(|error| writing(error, path))
    };
    if matches!(kind, Kind::Kernel | Kind::Download | Kind::Disk) || !partial.is_dir() {
        // A few files, one by one: syncfs would wait for the build's objects too, which nobody keeps.
        for name in names(partial) {
            sync(&partial.join(name))?;
        }
        sync(partial)?;
    } else {
        let folder = File::open(partial).with_context(|| format!("failed to open {}", partial.display()))?;
        nix::unistd::syncfs(&folder).map_err(|errno| writing(errno.into(), partial))?;
    }
    fs::rename(partial, path).map_err(|error| writing(error, path))?;
    if let Some(parent) = path.parent() {
        sync(parent)?;
    }
    Ok(())
}

fn locate(path: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    if let Some(path) = path {
        return Ok(path.to_owned());
    }
    if let Some(path) = variable("MTHP_CACHE_DIR") {
        return Ok(path);
    }
    // The XDG rule: a relative path is to be ignored.
    if let Some(path) = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
        return Ok(path.join("mthp-regress"));
    }
    match variable("HOME") {
        Some(home) => Ok(home.join(".cache/mthp-regress")),
        None => bail!(
            "failed to find a place for the cache: HOME is not set; give --cache-dir or set MTHP_CACHE_DIR"
        ),
    }
}

/// An error of writing, which says so when the disk is full.
#[must_use]
pub fn writing(error: std::io::Error, path: &Path) -> anyhow::Error {
    let full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    let hint = if full { " (the disk is full; --cache-dir or MTHP_CACHE_DIR move the cache)" } else { "" };
    anyhow::Error::new(error).context(format!("failed to write {}{hint}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_then_the_variable_then_xdg_then_home() {
        let all = |name: &str| Some(PathBuf::from(format!("/{name}")));
        assert_eq!(locate(Some(Path::new("x")), all).unwrap(), Path::new("x"));
        assert_eq!(locate(None, all).unwrap(), Path::new("/MTHP_CACHE_DIR"));
        let xdg = |name: &str| (name != "MTHP_CACHE_DIR").then(|| PathBuf::from(format!("/{name}")));
        assert_eq!(locate(None, xdg).unwrap(), Path::new("/XDG_CACHE_HOME/mthp-regress"));
        let relative = |name: &str| match name {
            "XDG_CACHE_HOME" => Some(PathBuf::from("relative")),
            "HOME" => Some(PathBuf::from("/home/me")),
            _ => None,
        };
        assert_eq!(locate(None, relative).unwrap(), Path::new("/home/me/.cache/mthp-regress"));
        assert!(locate(None, |_| None).is_err());
    }

    #[test]
    fn a_full_disk_is_named() {
        let error = writing(std::io::Error::from(ErrorKind::StorageFull), Path::new("/x"));
        assert!(format!("{error:#}").contains("the disk is full"), "{error:#}");
    }
}
