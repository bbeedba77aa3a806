//! The process's address space, which `ulimit -v` limits, and the allocator settings that depend on it.
#![allow(unsafe_code)] // sets parameters of the C library's allocator

/// Size of a memory page in bytes.
const PAGE: u64 = 4096;

/// Returns the number of bytes of address space that `ulimit -v` leaves to this process; `None` if there is no limit.
pub fn addresses_left() -> Option<u64> {
    let (limit, _) = rlimit::Resource::AS.get().ok().filter(|&(soft, _)| soft != rlimit::INFINITY)?;
    let used = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = used.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * PAGE))
}

/// Size in bytes from which the C library's allocator uses a separate memory mapping for an allocation. It is also the
/// maximum number of freed bytes that the allocator retains at the end of its heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_BYTES: libc::c_int = 1 << 20;

/// Makes the allocator return freed memory to the kernel. By default, glibc may retain up to 64 MiB per arena after a
/// large allocation was freed, and no reservation covers that. If `ulimit -v` limits the address space, all threads
/// share one arena. An arena per thread would take 64 MiB of addresses each, and the remaining address space would
/// depend on which threads allocate.
pub fn set_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets parameters of the allocator, before any other thread has started.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, TRIM_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_BYTES);
        if addresses_left().is_some() {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}

/// Returns the freed memory in all arenas of the allocator to the kernel. Call it after a library has freed much
/// memory.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator locks its arenas itself.
    unsafe {
        libc::malloc_trim(0);
    }
}
