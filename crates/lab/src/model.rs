//! The cost model of a run: the plugin that counts, the machines that are modelled, and the account of a boot.

mod picture;
mod plugin;
mod symbol;

use std::{
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use mthp_cachemodel::{LatencySpec, Machine};
use mthp_cost::{Asked, Latencies};
use mthp_judge::suite::Suite;
use mthp_kernel::BadInput;
use mthp_record::{
    boot::Side,
    cost::{Account, is_modelled},
    result::{Outcome, TestResult},
};
use mthp_vm::{plan::Plugin, qemu::Qemu};

use crate::{event::Events, project::Project};

pub(crate) use plugin::Plugins;

/// The kernel's function that goes from one task to the next.
const SWITCH: &str = "__switch_to_asm";
/// The most bytes of an account: the suite's own have less than 1 MB.
const MOST: u64 = 64 << 20;

/// Whether the regions of a suite's tests are modelled.
#[derive(Clone, Debug, Default)]
pub enum Model {
    /// The suite asks for no machine.
    #[default]
    Unasked,
    /// They are, for these machines.
    Ready(Arc<Ready>),
    /// The QEMU at hand cannot: why. The tests that are made for the model are skipped.
    Missing(String),
}

/// What modelling takes.
#[derive(Debug)]
pub struct Ready {
    plugin: PathBuf,
    machines: Vec<Modelled>,
}

/// A machine that is modelled.
#[derive(Clone, Debug)]
pub(crate) struct Modelled {
    pub(crate) name: String,
    file: PathBuf,
    pub(crate) machine: Machine,
}

impl Model {
    /// What modelling a suite's tests takes: the plugin is built and tried with the QEMU at hand.
    ///
    /// # Errors
    /// When a machine's file is malformed (the error names its line), or the plugin cannot be built.
    pub(crate) fn of(
        project: &Project,
        qemu: &Qemu,
        plugins: &Plugins,
        suite: &Suite,
        events: &Events<'_>,
    ) -> Result<Self> {
        if suite.machines.is_empty() {
            return Ok(Self::Unasked);
        }
        let machines =
            suite.machines.iter().map(|name| Modelled::read(project, name)).collect::<Result<_>>()?;
        Ok(match plugins.file(project, qemu, events)? {
            Ok(plugin) => Self::Ready(Arc::new(Ready { plugin, machines })),
            Err(why) => Self::Missing(why),
        })
    }

    /// Will the regions be modelled?
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }

    /// What QEMU needs to model a boot of `vmlinux` with that nonce, whose account goes to `account`. An account that
    /// lies there, of an earlier run, is removed.
    ///
    /// # Errors
    /// When the kernel does not tell where it switches tasks, or what lies there cannot be removed.
    pub(crate) fn plugin(&self, vmlinux: &Path, account: &Path, nonce: u64) -> Result<Option<Plugin>> {
        let Self::Ready(ready) = self else { return Ok(None) };
        match fs::remove_file(account) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("failed to remove {}", account.display()))?;
            }
            _ => {}
        }
        let machines = ready.machines.iter().map(|it| format!("machine={}:{}", it.name, it.file.display()));
        let mut arguments: Vec<String> = machines.collect();
        arguments.push(format!("out={}", account.display()));
        arguments.push(format!("switch={:x}", symbol::address(vmlinux, SWITCH)?));
        arguments.push(format!("nonce={nonce:x}"));
        Ok(Some(Plugin { file: ready.plugin.clone(), arguments }))
    }

    /// Gives a boot's tests what was counted for them. Where there is no account that can be used, they end in an error.
    /// `nonce` is that of a boot that the plugin watched.
    pub(crate) fn settle(&self, nonce: Option<u64>, account: &Path, tests: &mut [TestResult]) {
        match self {
            Self::Unasked => {}
            Self::Missing(why) => {
                for test in tests.iter_mut().filter(|test| is_modelled(&test.name)) {
                    test.outcome = Outcome::NotApplicable { reason: why.clone() };
                    test.checks.clear();
                    test.metrics.clear();
                    test.agreements.clear();
                }
            }
            Self::Ready(ready) => {
                let Some(nonce) = nonce else { return };
                let machines: Vec<_> = ready.machines.iter().map(|it| (&*it.name, it.latencies())).collect();
                let asked = Asked { nonce, machines: &machines };
                let attached = read(account).and_then(|account| {
                    mthp_cost::attach(&account, asked, tests).map_err(|fault| fault.to_string())
                });
                if let Err(why) = attached {
                    mthp_cost::refuse(&why, tests);
                }
            }
        }
    }
}

impl Modelled {
    fn read(project: &Project, name: &str) -> Result<Self> {
        let file = project.machine(name)?;
        let text = fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
        let machine = Machine::parse(&text)
            .map_err(|error| BadInput(format!("failed to read the machine {}: {error}", file.display())))?;
        if machine.name != name {
            let said = &machine.name;
            return Err(
                BadInput(format!("failed to read {}: it calls itself {said:?}", file.display())).into()
            );
        }
        Ok(Self { name: name.to_owned(), file, machine })
    }

    fn latencies(&self) -> Latencies {
        let &LatencySpec { l1, l2, l3, memory, stlb, walk_reference, .. } = &self.machine.latency;
        Latencies { l1, l2, l3, memory, stlb, walk_reference }
    }
}

/// The name of a boot's account in the report's folder.
pub(crate) fn account_name(side: Side, index: u32) -> String {
    format!("account-{side}-{index}.json")
}

/// The account that the plugin left, if it came to the end of the boot; or why there is none.
fn read(path: &Path) -> Result<Account, String> {
    let failed =
        |error: &dyn Display| format!("failed to read the emulator's account {}: {error}", path.display());
    let text = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("the emulator left no account; what it said is beside the console, in qemu-….stderr"
                .to_owned());
        }
        Err(error) => return Err(failed(&error)),
        Ok(file) if file.len() > MOST => return Err(failed(&format!("it has {} bytes", file.len()))),
        Ok(_) => fs::read(path).map_err(|error| failed(&error))?,
    };
    serde_json::from_slice(&text).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests;
