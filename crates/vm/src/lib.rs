//! Boots one kernel in one virtual machine and says how that went.
//!
//! Nothing here prints. [`boot::boot`] emits [`boot::Event`]s and gives back a
//! [`BootRecord`](mthp_record::boot::BootRecord); the interface shows what it likes of them. All that comes
//! from a guest is hostile: it is bounded ([`stream`], [`console`]) and made printable ([`text`]) here, so that
//! nothing behind this crate has to think of it.
//!
//! [`machine`], [`console`], [`stream`], [`text`] and [`initramfs`] are pure and tested without a machine.

pub mod accel;
pub mod boot;
pub mod console;
pub mod initramfs;
pub mod machine;
pub mod plan;
mod process;
pub mod qemu;
pub mod stop;
pub mod stream;
pub mod text;
pub mod tsc;
