//! Changes that no test can see. Some give the same image as before, some another one.

use std::path::Path;

use anyhow::{Context, Result};
use mthp_kernel::PatchSeries;
use mthp_lab::Project;

use super::change::{Change, Edit};

/// A change, and whether the image differs with it.
#[derive(Clone, Debug)]
pub(super) struct Harmless {
    pub subject: String,
    pub change: Change,
    pub changes_image: bool,
}

/// A file, a text that it has once, and what is put in its place.
type Row = (&'static str, &'static str, &'static str);

/// Comments, of as many lines as before: line numbers are in the image.
const COMMENTS: &[Row] = &[
    ("mm/gup.c", "Either a PTE-mapped or a PMD-mapped THP.", "A THP, mapped by PTEs or by a PMD."),
    ("fs/exec.c", "Avoid a pathological bprm->p.", "A pathological bprm->p is of no use."),
    (
        "mm/mprotect.c",
        "Don't touch entries that are not even readable.",
        "Entries that cannot be read stay as they are.",
    ),
    (
        "kernel/fork.c",
        "Clear stale pointers from reused stack.",
        "A reused stack has stale pointers: clear them.",
    ),
    ("mm/memfd.c", "Allow huge page size encoding in flags.", "The flags may hold the size of huge pages."),
    ("fs/pipe.c", "Insert it into the buffer array", "Put it into the array of buffers"),
    ("mm/mmap.c", "Always allow shrinking brk.", "Shrinking brk is always allowed."),
    (
        "ipc/shm.c",
        "This is called by fork, once for every shm attach.",
        "Called by fork for every shm attach.",
    ),
    ("mm/mremap.c", "Skip if the addresses are already aligned.", "Nothing to do for aligned addresses."),
    (
        "fs/proc/task_mmu.c",
        "VMA permissions should satisfy query flags",
        "The VMA permits what the query asks for",
    ),
    ("mm/vma.c", "Actually perform the VMA merge operation.", "Merge, now that everything is checked."),
    (
        "kernel/signal.c",
        "Only allow kernel generated signals to this kthread",
        "This kthread heeds the kernel's signals only",
    ),
    (
        "mm/mlock.c",
        "As above, this is a little surprising, but possible",
        "As surprising as above, and as possible",
    ),
    (
        "mm/rmap.c",
        "Don't bother if the parent process has no anon_vma here.",
        "Without an anon_vma of the parent, do nothing.",
    ),
    (
        "mm/interval_tree.c",
        "Insert node immediately after prev in the interval tree",
        "Put node right behind prev",
    ),
    ("mm/util.c", "Changing an anonymous vma with this is illegal", "This must not change an anonymous vma"),
    ("fs/seq_file.c", "Don't assume ki_pos is where we left it", "ki_pos may be elsewhere by now"),
    (
        "mm/userfaultfd.c",
        "Make sure that the dst range is fully within dst_vma.",
        "The dst range must lie within dst_vma.",
    ),
    ("kernel/exit.c", "Can drop and reacquire tasklist_lock", "May drop and retake tasklist_lock"),
    ("fs/splice.c", "Folio is ok after all, we are done", "The folio is fine after all"),
    (
        "mm/pagewalk.c",
        "Note: Offset from the mapped page, not the folio start.",
        "An offset from the mapped page, not the folio.",
    ),
];

/// Texts that are read and not built.
const DOCUMENTS: &[Row] = &[
    (
        "Documentation/admin-guide/mm/ksm.rst",
        "KSM is a memory-saving de-duplication feature",
        "KSM saves memory by de-duplication",
    ),
    (
        "Documentation/filesystems/tmpfs.rst",
        "is a file system which keeps all of its files",
        "is a file system that keeps its files",
    ),
    (
        "Documentation/mm/overcommit-accounting.rst",
        "supports the following overcommit handling modes",
        "handles overcommit in these modes",
    ),
    (
        "Documentation/admin-guide/mm/pagemap.rst",
        "is a new (as of 2.6.25) set of interfaces",
        "is a set of interfaces",
    ),
];

/// Drivers and more that the suite's configuration leaves out.
const UNBUILT: &[Row] = &[
    (
        "drivers/net/ethernet/intel/e1000/e1000_main.c",
        "Just clear the power down bit to wake the phy back up",
        "Wake the phy up",
    ),
    (
        "net/ipv4/tcp.c",
        "Store TCP splice context information in read_descriptor_t.",
        "What splice needs is in read_descriptor_t.",
    ),
    ("fs/ext4/super.c", "We default to EFSCORRUPTED error...", "By default it is EFSCORRUPTED."),
    ("drivers/usb/core/hub.c", "Now that we've got PEL, calculate SEL.", "With PEL known, calculate SEL."),
];

/// Lines of the log.
const MESSAGES: &[Row] = &[
    ("mm/slub.c", "SLUB: HWalign=%d, Order=%u-%u,", "SLUB: align=%d, orders=%u-%u,"),
    ("kernel/pid.c", "pid_max: default: %u minimum: %u\\n", "pid_max: %u, at least %u\\n"),
    ("mm/mm_init.c", "Zone ranges:\\n", "Ranges of zones:\\n"),
    (
        "fs/squashfs/super.c",
        "version 4.0 (2009/01/31) Phillip Lougher",
        "version 4.0 of 2009/01/31, Phillip Lougher",
    ),
    ("mm/page_alloc.c", "Policy zone: %s\\n", "The zone of policies: %s\\n"),
    ("block/elevator.c", "io scheduler %s registered\\n", "io scheduler %s is known\\n"),
    (
        "mm/swapfile.c",
        "Swap area shorter than signature indicates",
        "Swap area is shorter than its signature says",
    ),
    ("drivers/base/devtmpfs.c", "pr_info(\"initialized\\n\");", "pr_info(\"ready\\n\");"),
    ("mm/hugetlb.c", "HugeTLB: Invalid hugepages parameter %s\\n", "HugeTLB: hugepages=%s is malformed\\n"),
    ("kernel/irq/spurious.c", "IRQ lockup detection disabled\\n", "no detection of IRQ lockups\\n"),
    ("mm/vmstat.c", "\"enable numa statistics\\n\"", "\"numa statistics are on\\n\""),
    ("mm/percpu.c", "limit reached, disable warning\\n", "limit reached, no more warnings\\n"),
    ("mm/workingset.c", "workingset: timestamp_bits=%d", "workingset: bits=%d"),
    ("kernel/rcu/srcutree.c", "Hierarchical SRCU implementation.\\n", "SRCU is hierarchical.\\n"),
    ("fs/namespace.c", "VFS: Mount too revealing\\n", "VFS: the mount reveals too much\\n"),
    ("mm/memory-tiers.c", "Demotion targets for Node %d: null\\n", "No demotion targets for Node %d\\n"),
    ("fs/file_table.c", "VFS: file-max limit %lu reached\\n", "VFS: the limit of %lu files is reached\\n"),
    (
        "kernel/softirq.c",
        "Attempt to kill tasklet from interrupt\\n",
        "A tasklet is not killed from an interrupt\\n",
    ),
    ("kernel/dma/swiotlb.c", "area num %d.\\n", "%d areas.\\n"),
    (
        "block/blk-core.c",
        "Trying to write to read-only block-device %pg",
        "Writing to the read-only block device %pg",
    ),
];

/// A part of a function made a function.
const FUNCTIONS: &[(&str, [Row; 2])] = &[
    (
        "mm: mincore: count pages in a function",
        [
            (
                "mm/mincore.c",
                "SYSCALL_DEFINE3(mincore,",
                "static noinline unsigned long pages_of(size_t len)\n{\n\treturn (len >> PAGE_SHIFT) + (offset_in_page(len) != 0);\n}\n\nSYSCALL_DEFINE3(mincore,",
            ),
            (
                "mm/mincore.c",
                "\tpages = len >> PAGE_SHIFT;\n\tpages += (offset_in_page(len)) != 0;\n",
                "\tpages = pages_of(len);\n",
            ),
        ],
    ),
    (
        "fs: cmdline: print in a function",
        [
            (
                "fs/proc/cmdline.c",
                "static int cmdline_proc_show(",
                "static noinline void print_cmdline(struct seq_file *m)\n{\n\tseq_puts(m, saved_command_line);\n\tseq_putc(m, '\\n');\n}\n\nstatic int cmdline_proc_show(",
            ),
            (
                "fs/proc/cmdline.c",
                "{\n\tseq_puts(m, saved_command_line);\n\tseq_putc(m, '\\n');\n\treturn 0;",
                "{\n\tprint_cmdline(m);\n\treturn 0;",
            ),
        ],
    ),
    (
        "mm: mseal: look for holes in a function",
        [
            (
                "mm/mseal.c",
                "static int check_mm_seal(",
                "static noinline bool hole_before(struct vm_area_struct *vma, unsigned long at)\n{\n\treturn vma->vm_start > at;\n}\n\nstatic int check_mm_seal(",
            ),
            ("mm/mseal.c", "\t\tif (vma->vm_start > nstart)\n", "\t\tif (hole_before(vma, nstart))\n"),
        ],
    ),
    (
        "fs: drop_caches: drop pages in a function",
        [
            (
                "fs/drop_caches.c",
                "int drop_caches_sysctl_handler(",
                "static noinline void drop_pages(void)\n{\n\tlru_add_drain_all();\n\titerate_supers(drop_pagecache_sb, NULL);\n}\n\nint drop_caches_sysctl_handler(",
            ),
            (
                "fs/drop_caches.c",
                "{\n\t\t\tlru_add_drain_all();\n\t\t\titerate_supers(drop_pagecache_sb, NULL);\n",
                "{\n\t\t\tdrop_pages();\n",
            ),
        ],
    ),
];

/// The shipped harmless patches that give the same image; all others give another one.
const SAME_IMAGE: [&str; 4] = ["docs-transhuge", "mm-braces", "mm-comment", "mm-rename-local"];

/// They rewrite lines that bugs of the corpus are in.
const IN_THE_WAY: [&str; 2] = ["mm-else-return", "mm-extract-helper"];

/// All of them, the sorts mixed, in an order that stays.
pub(super) fn all(project: &Project) -> Result<Vec<Harmless>> {
    let mut patches = Vec::new();
    for (name, path) in project.harmless()? {
        if !IN_THE_WAY.contains(&name.as_str()) {
            patches.push(patch(&name, &path)?);
        }
    }
    let sorts = [
        rows(COMMENTS, "reword a comment", false),
        rows(MESSAGES, "reword a message", true),
        patches,
        rows(UNBUILT, "reword a comment", false),
        FUNCTIONS.iter().map(|(subject, rows)| edits((*subject).to_owned(), rows, true)).collect(),
        rows(DOCUMENTS, "shorten a sentence", false),
    ];
    Ok(mixed(sorts.into()))
}

/// One of each sort in turn, as long as there are any.
fn mixed<T>(sorts: Vec<Vec<T>>) -> Vec<T> {
    let mut sorts: Vec<_> = sorts.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(sorts.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

fn patch(name: &str, path: &Path) -> Result<Harmless> {
    let series = PatchSeries::read(path, false)?;
    let subject = series.patches.first().context("a patch without a patch")?.subject.clone();
    Ok(Harmless { subject, change: Change::Patch(series), changes_image: !SAME_IMAGE.contains(&name) })
}

fn rows(rows: &[Row], what: &str, changes_image: bool) -> Vec<Harmless> {
    rows.iter().map(|row| edits(format!("{}: {what}", place(row.0)), &[*row], changes_image)).collect()
}

fn edits(subject: String, rows: &[Row], changes_image: bool) -> Harmless {
    let edits = rows.iter().map(|&(file, from, to)| Edit { file, from, to }).collect();
    Harmless { subject, change: Change::Edits(edits), changes_image }
}

/// `mm: gup` of `mm/gup.c`.
fn place(file: &str) -> String {
    let (folder, name) = file.split_once('/').unwrap_or(("", file));
    let name = name.rsplit('/').next().unwrap_or(name);
    format!("{folder}: {}", name.split_once('.').map_or(name, |(stem, _)| stem))
}
