//! Address space that the system lets this process use, which `ulimit -v` bounds.
#![allow(unsafe_code)] // the C library is told how many arenas it may have

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Returns the bytes of address space that `ulimit -v` leaves this process; `None` without a bound.
pub fn addresses_left() -> Option<u64> {
    let (limit, _) = rlimit::Resource::AS.get().ok().filter(|&(soft, _)| soft != rlimit::INFINITY)?;
    let used = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = used.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * PAGE))
}

/// Has all threads share one arena of the allocator if `ulimit -v` bounds addresses: glibc takes 64 MiB of them for the arena of each
/// thread, and the rest would depend on which thread allocates first.
pub fn share_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if addresses_left().is_some() {
        // SAFETY: sets a number of the allocator's; it is called before there are other threads.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}
