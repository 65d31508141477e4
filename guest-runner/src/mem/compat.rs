//! Maps by 32-bit system calls, which a 64-bit program can make too.

use std::{arch::asm, io};

use nix::libc;

use super::{Area, Reserved};

/// `mmap2` among the 32-bit system calls of x86.
const MMAP2: i32 = 192;

/// Takes `len` bytes of the 32-bit address space where the kernel likes.
///
/// # Errors
/// The kernel's.
pub fn reserve(len: usize) -> io::Result<Reserved> {
    Ok(Reserved { start: mmap(len, libc::PROT_NONE)?, len })
}

/// Maps `len` bytes of private anonymous memory where the kernel likes.
///
/// # Errors
/// The kernel's.
pub fn map(len: usize) -> io::Result<Area> {
    Ok(Area { start: mmap(len, libc::PROT_READ | libc::PROT_WRITE)?, len })
}

fn mmap(len: usize, protection: i32) -> io::Result<usize> {
    let len = u32::try_from(len).map_err(io::Error::other)?;
    let answer: i32;
    // SAFETY: the call takes plain numbers, and without MAP_FIXED no mapping is replaced. The first argument (ebx)
    // and the last (ebp) are 0; both registers are the compiler's and get their values back. The kernel may clear
    // the registers that 32-bit programs do not have.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "xor ebx, ebx",
            "xor ebp, ebp",
            "int 0x80",
            "pop rbp",
            "pop rbx",
            inlateout("eax") MMAP2 => answer,
            in("ecx") len,
            in("edx") protection,
            in("esi") libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            in("edi") -1,
            lateout("r8") _,
            lateout("r9") _,
            lateout("r10") _,
            lateout("r11") _,
        );
    }
    // The last page of addresses stands for error numbers.
    if (-4095..0).contains(&answer) {
        return Err(io::Error::from_raw_os_error(-answer));
    }
    Ok(std::ptr::with_exposed_provenance::<u8>(answer.cast_unsigned() as usize).addr())
}
