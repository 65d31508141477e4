//! Sealed files in memory.

use anyhow::{Context, Result};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{
        PAGE,
        outcome::{DONE, outcome},
        seal,
    },
    needs::Need,
};

/// What a seal forbids, and what it does not.
pub const TESTS: &[Test] = &[
    Test {
        name: "memfd/write-sealed",
        contract: "F_SEAL_WRITE(2const): only new shared, writable mappings of the file fail, with EPERM",
        needs: &[],
        randomised: false,
        run: write_sealed,
    },
    Test {
        name: "memfd/exec-sealed",
        contract: "F_SEAL_WRITE(2const): setting it fails with EBUSY while a writable, shared mapping exists",
        needs: &[Need::ExecutableMemfd],
        randomised: false,
        run: exec_sealed,
    },
];

fn write_sealed(findings: &mut Findings) -> Result<()> {
    let (to_read, to_write) = isolated(|| {
        let file = seal::file(PAGE).context("failed to create a memfd")?;
        seal::add(&file, seal::WRITE).context("failed to seal a memfd")?;
        let map = |writable| outcome(&seal::map_shared(&file, PAGE, writable));
        Ok((map(false), map(true)))
    })?;
    findings.check(
        "mapped-to-be-read",
        "a file that is sealed against writing can be mapped shared to be read",
        to_read,
        DONE.to_owned(),
    );
    findings.check(
        "not-mapped-to-be-written",
        "a file that is sealed against writing cannot be mapped shared to be written",
        to_write,
        "EPERM".to_owned(),
    );
    Ok(())
}

fn exec_sealed(findings: &mut Findings) -> Result<()> {
    let (write, exec) = isolated(|| {
        let file = seal::executable_file(PAGE).context("failed to create an executable memfd")?;
        seal::map_shared(&file, PAGE, true).context("failed to map a memfd")?;
        let write = outcome(&seal::add(&file, seal::WRITE));
        Ok((write, outcome(&seal::add(&file, seal::EXEC))))
    })?;
    findings.check(
        "write-seal-refused",
        "a file with a writable, shared map cannot be sealed against writing",
        write,
        "EBUSY".to_owned(),
    );
    findings.check(
        "exec-seal-refused",
        "F_SEAL_EXEC of an executable file seals it against writing too, and is refused alike",
        exec,
        "EBUSY".to_owned(),
    );
    Ok(())
}
