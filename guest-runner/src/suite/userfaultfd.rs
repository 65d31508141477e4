//! userfaultfd: which ranges it takes, what it answers, and what it leaves behind.

use std::{ops::Range, os::fd::AsFd, thread};

use anyhow::{Context, Result};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{
        self, Kind, PAGE,
        discard::discard,
        outcome::{DONE, outcome},
        over,
        pagemap::{ENTRY_UFFD_WP, Pagemap},
        uffd::{EVENT_REMOVE, FLAG_WP, Mode, Userfaultfd},
    },
    needs::Need,
};

/// Registering, copying, moving.
pub const TESTS: &[Test] = &[
    Test {
        name: "userfaultfd/low-range",
        contract: "UFFDIO_REGISTER(2const): a page-aligned range of anonymous memory can be registered",
        needs: &[Need::Userfaultfd(0)],
        randomised: false,
        run: low_range,
    },
    Test {
        name: "userfaultfd/copy-while-changing",
        contract: "UFFDIO_COPY(2const): the copy field is set to the number of bytes copied or a negated error",
        needs: &[Need::Userfaultfd(EVENT_REMOVE)],
        randomised: false,
        run: copy_while_changing,
    },
    Test {
        name: "userfaultfd/moved-area",
        contract: "0cef0bb836e3: what mremap takes out of userfaultfd's watch has no write-protected pages",
        needs: &[Need::Userfaultfd(FLAG_WP)],
        randomised: false,
        run: moved_area,
    },
];

fn low_range(findings: &mut Findings) -> Result<()> {
    let (usual, lowest) = isolated(|| {
        let uffd = Userfaultfd::open(0).context("failed to open a userfaultfd")?;
        let area = mem::map(Kind::Private, PAGE)?;
        let lowest = over::map_lowest(PAGE).context("failed to map the lowest page")?;
        let register = |range: Range<usize>| outcome(&uffd.register(&range, Mode::Missing));
        Ok((register(area.range()), register(lowest.range())))
    })?;
    findings.check(
        "usual-registered",
        "anonymous memory where the kernel placed it can be registered",
        usual,
        DONE.to_owned(),
    );
    findings.check(
        "lowest-registered",
        "anonymous memory below vm.mmap_min_addr, once mapped, can be registered",
        lowest,
        DONE.to_owned(),
    );
    Ok(())
}

/// No count, and no error number.
const UNTOUCHED: i64 = 0x5555;

fn copy_while_changing(findings: &mut Findings) -> Result<()> {
    let (result, field) = isolated(|| {
        let uffd = Userfaultfd::open(EVENT_REMOVE).context("failed to open a userfaultfd")?;
        let source = mem::map(Kind::Private, PAGE)?;
        source.touch();
        let area = mem::map(Kind::Private, 2 * PAGE)?;
        uffd.register(&area.range(), Mode::Missing).context("failed to watch an area")?;
        let first = area.start()..area.start() + PAGE;
        thread::scope(|scope| {
            // It waits until its message is taken; until then the address space is changing.
            let remover = scope.spawn(|| discard(&area, PAGE, PAGE));
            let mut ready = [PollFd::new(uffd.as_fd(), PollFlags::POLLIN)];
            poll(&mut ready, PollTimeout::NONE).context("failed to wait for a message of userfaultfd")?;
            let copied = uffd.copy(&first, &source, UNTOUCHED);
            uffd.take_message()?;
            remover.join().map_err(|_| anyhow::anyhow!("the remover panicked"))??;
            let (result, field) = copied?;
            Ok((outcome(&result), field))
        })
    })?;
    findings.check(
        "copy-refused",
        "while the address space is changing nothing is copied",
        result,
        "EAGAIN".to_owned(),
    );
    findings.check(
        "copy-field",
        "a refused copy puts the negated error into its copy field",
        field,
        -i64::from(nix::libc::EAGAIN),
    );
    Ok(())
}

fn moved_area(findings: &mut Findings) -> Result<()> {
    let (before, after) = isolated(|| {
        let uffd = Userfaultfd::open(FLAG_WP).context("failed to open a userfaultfd")?;
        let pagemap = Pagemap::open()?;
        let area = mem::map(Kind::Private, 4 * PAGE)?;
        area.touch();
        uffd.register(&area.range(), Mode::WriteProtect).context("failed to watch an area")?;
        uffd.write_protect(&area.range())?;
        let protected = |range: Range<usize>| -> Result<i64> {
            let mut count = 0;
            for address in range.step_by(PAGE) {
                count += i64::from(pagemap.entry(address)? & ENTRY_UFFD_WP != 0);
            }
            Ok(count)
        };
        let before = protected(area.range())?;
        let moved =
            over::move_over(area, mem::map(Kind::Private, 4 * PAGE)?).context("failed to move an area")?;
        Ok((before, protected(moved.range())?))
    })?;
    findings.check(
        "protected-before",
        "pages of a watched area are write-protected when asked for (pages)",
        before,
        4,
    );
    findings.check(
        "free-after",
        "no page of an area that was moved out of the watch is write-protected (pages)",
        after,
        0,
    );
    Ok(())
}
