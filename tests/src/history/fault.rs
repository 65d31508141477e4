//! Faults that have nothing to do with the culprit.

use super::{
    Kind,
    change::{Change, Edit},
};

/// What a commit breaks until another mends it. Each lies in a file of which little else is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A name that is not declared.
    DoesNotCompile,
    /// A function that is declared and called, but nowhere defined.
    DoesNotLink,
    /// A symbol that the configuration asks for has another name.
    LacksSymbol,
    /// A BUG in start-up code.
    PanicsAtBoot,
    /// An endless loop in start-up code, interrupts off.
    HangsAtBoot,
    /// A BUG where userfaultfd registers a range, and where a tmpfs is mounted with `huge=within_size`.
    PanicsElsewhere,
}

impl Fault {
    /// What the commit that brings it in is.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::DoesNotCompile | Self::DoesNotLink | Self::LacksSymbol => Kind::Unbuildable,
            Self::PanicsAtBoot | Self::HangsAtBoot => Kind::Unbootable,
            Self::PanicsElsewhere => Kind::PanicsElsewhere,
        }
    }

    pub(super) fn subject(self) -> &'static str {
        match self {
            Self::DoesNotCompile => "fs: loadavg: shorten a name",
            Self::DoesNotLink => "lib: errseq: give a function a better name",
            Self::LacksSymbol => "mm: Kconfig: give a symbol a better name",
            Self::PanicsAtBoot => "mm: compaction: make sure that user space runs",
            Self::HangsAtBoot => "mm: compaction: wait for the first node",
            Self::PanicsElsewhere => "mm: shmem, userfaultfd: add sanity checks",
        }
    }

    pub(super) fn change(self) -> Change {
        Change::Edits(self.edits().into_iter().map(|(file, from, to)| Edit { file, from, to }).collect())
    }

    fn edits(self) -> Vec<(&'static str, &'static str, &'static str)> {
        match self {
            Self::DoesNotCompile => {
                vec![(
                    "fs/proc/loadavg.c",
                    "get_avenrun(avnrun, FIXED_1/200, 0);",
                    "get_avenrun(avn, FIXED_1/200, 0);",
                )]
            }
            Self::DoesNotLink => vec![(
                "lib/errseq.c",
                "int errseq_check_and_advance(errseq_t *eseq, errseq_t *since)\n",
                "int errseq_check_and_move(errseq_t *eseq, errseq_t *since);\n\
                 int errseq_check_and_move(errseq_t *eseq, errseq_t *since)\n",
            )],
            Self::LacksSymbol => {
                vec![("mm/Kconfig", "config READ_ONLY_THP_FOR_FS\n", "config READ_ONLY_THP_FOR_FILES\n")]
            }
            Self::PanicsAtBoot => vec![(
                "mm/compaction.c",
                "\tfor_each_node_state(nid, N_MEMORY)\n\t\tkcompactd_run(nid);\n\tregister",
                "\tfor_each_node_state(nid, N_MEMORY)\n\t\tkcompactd_run(nid);\n\
                 \tBUG_ON(system_state < SYSTEM_RUNNING);\n\tregister",
            )],
            Self::HangsAtBoot => vec![(
                "mm/compaction.c",
                "\tregister_sysctl_init(\"vm\", vm_compaction);\n",
                "\tregister_sysctl_init(\"vm\", vm_compaction);\n\
                 \tlocal_irq_disable();\n\twhile (node_online(first_online_node))\n\t\tcpu_relax();\n",
            )],
            Self::PanicsElsewhere => vec![
                (
                    "mm/shmem.c",
                    "\t\tctx->huge = result.uint_32;\n",
                    "\t\tctx->huge = result.uint_32;\n\t\tBUG_ON(ctx->huge == SHMEM_HUGE_WITHIN_SIZE);\n",
                ),
                (
                    "fs/userfaultfd.c",
                    "\tuser_uffdio_register = (struct uffdio_register __user *) arg;\n",
                    "\tuser_uffdio_register = (struct uffdio_register __user *) arg;\n\
                     \tBUG_ON(user_uffdio_register);\n",
                ),
            ],
        }
    }
}
