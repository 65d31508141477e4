//! What the VM tests share: one laboratory a process, and one boot a kernel, whoever asks for it.

pub mod expected;
pub mod history;
pub mod inference;
pub mod shared;
