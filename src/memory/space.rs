//! Address space of this process, which `ulimit -v` limits, and settings of the allocator for it.
#![allow(unsafe_code)] // sets parameters of the C library's allocator

/// Size of a memory page in bytes.
const PAGE: u64 = 4096;

/// Returns the bytes of address space that `ulimit -v` leaves this process; `None` if there is no limit.
pub fn addresses_left() -> Option<u64> {
    let (limit, _) = rlimit::Resource::AS.get().ok().filter(|&(soft, _)| soft != rlimit::INFINITY)?;
    let used = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = used.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * PAGE))
}

/// Size in bytes from which the C library's allocator gives an allocation its own memory mapping. It is also the
/// maximum number of freed bytes that the allocator keeps at the end of each of its arenas.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_BYTES: libc::c_int = 1 << 20;

/// Makes the allocator give freed memory back to the system. By default, glibc keeps up to 64 MiB in each arena after a
/// large allocation was freed, and no reservation covers that. If `ulimit -v` limits addresses, all threads share one
/// arena. With an arena for each thread, which takes 64 MiB of addresses, the addresses left would depend on which
/// thread allocates first.
pub fn set_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: this sets parameters of the allocator, and is called before there are other threads.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, TRIM_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_BYTES);
        if addresses_left().is_some() {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}

/// Gives freed memory of all the allocator's arenas back to the system. Call it after a library has freed much memory.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator locks its arenas by itself.
    unsafe {
        libc::malloc_trim(0);
    }
}
