//! What can be wrong with a patch.

use std::fmt;

/// Which patch of a series an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Its number, from 1, in the order of application.
    pub number: usize,
    /// How many there are.
    pub total: usize,
    /// The patch's name.
    pub name: String,
    /// The patch's subject.
    pub subject: String,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "patch {} of {} ({}", self.number, self.total, self.name)?;
        if self.subject != self.name {
            write!(f, ", \"{}\"", self.subject)?;
        }
        f.write_str(")")
    }
}

impl Position {
    fn rest(&self) -> String {
        match self.total - self.number.min(self.total) {
            0 => String::new(),
            1 => format!("; patch {} was not tried", self.total),
            _ => format!("; patches {} to {} were not tried", self.number + 1, self.total),
        }
    }
}

/// Why a patch cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchError {
    /// It holds no diff at all, or is not complete.
    NotAPatch {
        /// The file.
        name: String,
        /// What is the matter.
        why: String,
    },
    /// It looks like a diff, and breaks off or contradicts itself.
    Malformed {
        /// The file.
        name: String,
        /// The line of the patch.
        line: usize,
        /// What is the matter.
        why: String,
    },
    /// It changes a binary file.
    Binary {
        /// The patch.
        name: String,
        /// The file in the tree.
        file: String,
    },
    /// It reaches outside the tree.
    Outside {
        /// The patch.
        name: String,
        /// The path in question.
        file: String,
        /// How it does.
        why: String,
    },
    /// It does not apply.
    Rejected {
        /// Which patch.
        patch: Position,
        /// Which file.
        file: String,
        /// Which hunk, or what else, and how.
        why: String,
    },
    /// The tree has it already.
    AlreadyApplied {
        /// Which patch.
        patch: Position,
    },
    /// It cannot be taken out, since the tree does not have it.
    NotInTree {
        /// Which patch.
        patch: Position,
    },
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPatch { name, why } => write!(f, "failed to read the patch {name}: {why}"),
            Self::Malformed { name, line, why } => {
                write!(f, "failed to read the patch {name}: line {line}: {why}")
            }
            Self::Binary { name, file } => {
                write!(
                    f,
                    "failed to use the patch {name}: it changes {file} as a binary file, which is not supported"
                )
            }
            Self::Outside { name, file, why } => {
                write!(f, "failed to use the patch {name}: it reaches outside the tree: {file}: {why}")
            }
            Self::Rejected { patch, file, why } => {
                write!(f, "failed to apply {patch}: {file}: {why}{}", patch.rest())
            }
            Self::AlreadyApplied { patch } => {
                write!(f, "failed to apply {patch}: it is already in the tree{}", patch.rest())
            }
            Self::NotInTree { patch } => {
                write!(f, "failed to revert {patch}: it is not in the tree{}", patch.rest())
            }
        }
    }
}

impl std::error::Error for PatchError {}
