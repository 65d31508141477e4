//! On which NUMA node a page lies, and moving it to another one.

use std::{io, ptr};

use anyhow::{Result, ensure};
use nix::libc;

/// Move pages that only this process maps. From the kernel's `mempolicy.h`; not in libc.
const MPOL_MF_MOVE: i32 = 1 << 1;

/// The node of each page, or a negative error number, as `move_pages(2)` reports them.
///
/// # Errors
/// The kernel's, where it concerns the call as a whole.
pub fn nodes_of(pages: &[usize]) -> Result<Vec<i32>> {
    move_pages(pages, None)
}

/// Moves pages to a node and gives back the status of each: the node where it is now, or a negative error number.
///
/// # Errors
/// The kernel's, where it concerns the call as a whole.
pub fn move_to(pages: &[usize], node: i32) -> Result<Vec<i32>> {
    move_pages(pages, Some(&vec![node; pages.len()]))
}

fn move_pages(pages: &[usize], nodes: Option<&[i32]>) -> Result<Vec<i32>> {
    // A value that is neither a node nor an error: what the kernel leaves out is seen.
    let mut status = vec![i32::MIN; pages.len()];
    let this_process: libc::c_long = 0;
    // SAFETY: the three arrays have as many elements as the call is told, and the kernel writes to `status` alone.
    // Moving a page changes neither its address nor its contents; an address that is not mapped gets an error.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            this_process,
            pages.len(),
            pages.as_ptr(),
            nodes.map_or(ptr::null(), <[i32]>::as_ptr),
            status.as_mut_ptr(),
            libc::c_long::from(MPOL_MF_MOVE),
        )
    };
    // A positive number is that of the pages that could not be moved; their status says why.
    ensure!(result >= 0, "failed to move {} pages: {}", pages.len(), io::Error::last_os_error());
    Ok(status)
}
