//! What a test needs of the guest. Where it is missing the test is "not applicable", never a pass.

use std::{fs, path::Path};

use crate::{
    mem::{lock, pagemap, seal, uffd::Userfaultfd},
    proc, thp,
};

/// The number of pages in the hugetlb pool.
pub const HUGETLB_POOL: &str = "/proc/sys/vm/nr_hugepages";

/// One thing a test needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// THP compiled in and on, with PMD-sized pages of 2 MiB.
    Thp,
    /// So much memory, in MiB of `MemTotal`.
    MemoryMib(i64),
    /// A file system the kernel knows.
    FileSystem(&'static str),
    /// The mTHP size in KiB.
    MthpKib(u64),
    /// A THP setting under its folder in sysfs.
    ThpSetting(&'static str),
    /// So many NUMA nodes with memory.
    Nodes(usize),
    /// A pool of huge pages (hugetlb), of the default size.
    HugetlbPool,
    /// Filters of system calls.
    Seccomp,
    /// The scan of `/proc/PID/pagemap`.
    PagemapScan,
    /// userfaultfd with these features.
    Userfaultfd(u64),
    /// Memory that the kernel may drop whenever it likes.
    Droppable,
    /// Files in memory that say whether they are executable.
    ExecutableMemfd,
    /// A file or folder that comes with a feature, and what that feature is.
    Path(&'static str, &'static str),
}

impl Need {
    /// What is missing, or `None`.
    pub fn unmet(self) -> Option<String> {
        match self {
            Self::Thp if !thp::available() => {
                Some("transparent huge pages are not compiled in, or off for lack of memory".to_owned())
            }
            Self::Thp => {
                let size = proc::number(Path::new(thp::ROOT).join("hpage_pmd_size")).unwrap_or(0);
                (size != 2 << 20).then(|| format!("PMD-sized pages are {size} bytes, not 2 MiB"))
            }
            Self::MemoryMib(mib) => {
                let total = proc::kib("/proc/meminfo", "MemTotal:").unwrap_or(0) / 1024;
                (total < mib).then(|| format!("the guest has {total} MiB of memory, not {mib}"))
            }
            Self::FileSystem(name) => {
                let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
                (!lists(&known, name)).then(|| format!("the kernel has no file system {name}"))
            }
            Self::MthpKib(kib) => (!thp::size_dir(kib).join("stats").is_dir())
                .then(|| format!("the kernel has no mTHP of {kib} KiB with statistics")),
            Self::ThpSetting(name) => (!Path::new(thp::ROOT).join(name).exists())
                .then(|| format!("the kernel has no THP setting {name}")),
            Self::Nodes(count) => {
                let nodes = fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_default();
                let found = members(&nodes);
                (found < count).then(|| format!("the guest has {found} NUMA nodes with memory, not {count}"))
            }
            Self::Seccomp => {
                let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
                (!status.contains("Seccomp_filters:"))
                    .then(|| "the kernel has no seccomp filters, by which a program is watched".to_owned())
            }
            Self::PagemapScan => {
                (!pagemap::can_scan()).then(|| "the kernel's pagemap knows no scan (PAGEMAP_SCAN)".to_owned())
            }
            Self::Userfaultfd(features) => Userfaultfd::open(features).err().map(|error| {
                format!("the kernel has no userfaultfd with the features {features:#x}: {error}")
            }),
            Self::Droppable => lock::map_droppable(4096)
                .and_then(|area| area.unmap().map_err(std::io::Error::other))
                .err()
                .map(|error| format!("the kernel has no droppable memory: {error}")),
            Self::ExecutableMemfd => seal::executable_file(0)
                .err()
                .map(|error| format!("the kernel knows no executable files in memory: {error}")),
            Self::Path(path, what) => {
                (!Path::new(path).exists()).then(|| format!("the kernel has no {what}: {path} is missing"))
            }
            Self::HugetlbPool => (!Path::new(HUGETLB_POOL).exists())
                .then(|| "the kernel has no hugetlb pool, which takes memory without filling it".to_owned()),
        }
    }
}

/// How many numbers a list like `0-1,4` names.
fn members(list: &str) -> usize {
    list.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            (last + 1).checked_sub(first)
        })
        .sum()
}

fn lists(filesystems: &str, name: &str) -> bool {
    filesystems.lines().any(|line| line.split_whitespace().next_back() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_listed_by_its_whole_name() {
        let text = "nodev\tsysfs\nnodev\toverlay\n\text4\n";
        assert!(lists(text, "overlay"));
        assert!(lists(text, "ext4"));
        assert!(!lists(text, "ext"));
        assert!(!lists(text, "nodev"));
    }

    #[test]
    fn a_list_of_nodes_is_counted() {
        assert_eq!(members("0-1\n"), 2);
        assert_eq!(members("0,2-4"), 4);
        assert_eq!(members("0"), 1);
        assert_eq!(members("\n"), 0);
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(Need::FileSystem("nofs").unmet().unwrap().contains("nofs"));
        assert_eq!(Need::MemoryMib(1).unmet(), None);
    }
}
