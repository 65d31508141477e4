//! The cost model of a run: the plugin that counts, the machines that are modelled, and the account of a boot.

mod picture;
mod plugin;
mod symbol;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use mthp_cachemodel::{LatencySpec, Machine};
use mthp_cost::Latencies;
use mthp_judge::suite::Suite;
use mthp_kernel::BadInput;
use mthp_record::{
    boot::{BootRecord, Side},
    cost::{Account, is_modelled},
    result::Outcome,
};
use mthp_vm::{
    plan::{BootPlan, Plugin},
    qemu::Qemu,
};

use crate::{event::Events, project::Project};

pub(crate) use plugin::Plugins;

/// The kernel's function that goes from one task to the next.
const SWITCH: &str = "__switch_to_asm";

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

    /// What QEMU needs to model a boot of `vmlinux`, whose account goes to `account`.
    ///
    /// # Errors
    /// When the kernel does not tell where it switches tasks.
    pub(crate) fn plugin(&self, vmlinux: &Path, account: &Path) -> Result<Option<Plugin>> {
        let Self::Ready(ready) = self else { return Ok(None) };
        let machines = ready.machines.iter().map(|it| format!("machine={}:{}", it.name, it.file.display()));
        let mut arguments: Vec<String> = machines.collect();
        arguments.push(format!("out={}", account.display()));
        arguments.push(format!("switch={:x}", symbol::address(vmlinux, SWITCH)?));
        Ok(Some(Plugin { file: ready.plugin.clone(), arguments }))
    }

    /// Gives a boot's tests what was counted for them.
    ///
    /// # Errors
    /// When the account cannot be read.
    pub(crate) fn settle(&self, plan: &BootPlan, account: &Path, record: &mut BootRecord) -> Result<()> {
        match self {
            Self::Unasked => {}
            Self::Missing(why) => {
                for test in record.tests.iter_mut().filter(|test| is_modelled(&test.name)) {
                    test.outcome = Outcome::NotApplicable { reason: why.clone() };
                    test.checks.clear();
                    test.metrics.clear();
                    test.agreements.clear();
                }
            }
            Self::Ready(_) if plan.plugin.is_none() => {}
            Self::Ready(ready) => {
                let attached = match read(account)? {
                    None => Err("the emulator left no account".to_owned()),
                    Some(account) => {
                        mthp_cost::attach(&account, |name| ready.latencies(name), &mut record.tests)
                            .map_err(|fault| fault.to_string())
                    }
                };
                if let Err(why) = attached {
                    mthp_cost::metrics::refuse(&why, &mut record.tests);
                }
            }
        }
        Ok(())
    }
}

impl Ready {
    fn latencies(&self, machine: &str) -> Option<Latencies> {
        let spec = &self.machines.iter().find(|it| it.name == machine)?.machine.latency;
        let &LatencySpec { l1, l2, l3, memory, stlb, walk_reference, .. } = spec;
        Some(Latencies { l1, l2, l3, memory, stlb, walk_reference })
    }
}

impl Modelled {
    fn read(project: &Project, name: &str) -> Result<Self> {
        let file = project.machine(name)?;
        let text = fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
        let machine = Machine::parse(&text)
            .map_err(|error| BadInput(format!("failed to read the machine {}: {error}", file.display())))?;
        Ok(Self { name: name.to_owned(), file, machine })
    }
}

/// The name of a boot's account in the report's folder.
pub(crate) fn account_name(side: Side, index: u32) -> String {
    format!("account-{side}-{index}.json")
}

/// The account that the plugin left, if it came to the end of the boot.
fn read(path: &Path) -> Result<Option<Account>> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.with_context(|| format!("failed to read {}", path.display()))?,
    };
    serde_json::from_slice(&text)
        .map(Some)
        .with_context(|| format!("failed to understand {}", path.display()))
}

#[cfg(test)]
mod tests {
    use mthp_cachemodel::Kind;

    use super::*;

    #[test]
    fn no_gate_rules_what_no_cpu_is() {
        let project = Project::here().unwrap();
        let (suite, _) = project.suite("cost").unwrap();
        for name in &suite.machines {
            let modelled = Modelled::read(&project, name).unwrap();
            for metric in ["l2.misses", "l3.misses", "dtlb.misses", "walks"] {
                let metric = format!("{metric}[{name}]");
                let ruled = suite.gates.iter().any(|gate| gate.rules("cost/stencil-24x4632KiB", &metric));
                assert_eq!(ruled, modelled.machine.kind == Kind::Cpu, "{metric}");
            }
        }
    }
}
