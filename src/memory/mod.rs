//! The budget of host memory, and the buffers that reserve their memory from it.
//!
//! `limits.host_memory` limits the memory that the process itself allocates: anonymous, shared and pinned pages. Every
//! allocation that can grow with the graph reserves its bytes from a [`Budget`]. [`own_bytes`] are set aside for
//! everything else (stacks, the allocator's free lists, small tables). Clean pages of mapped files do not count.
#![allow(unsafe_code)] // anonymous mappings: the allocator offers neither huge pages nor growth in place

mod bytes;
pub(crate) mod pages;
mod process;
mod space;

use crate::error::{Error, Result};
use crate::size;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub use bytes::{Number, byte_cells, bytes_of, bytes_of_mut, cells, numbers_of, plain, word_cells};
pub use pages::{discard, move_pages, populate, random_access, usual_access, will_need};
pub use process::Process;
pub use space::{addresses_left, give_back, set_allocator};

/// Bounds on the number of bytes set aside for the process itself: `limits.host_memory` / `BASE_PART` is clamped to
/// this range. The lower bound is enough because only small graphs fit a small limit: a graph of 500 vertices needs
/// 1.2 MiB in total with two threads.
const BASE: RangeInclusive<u64> = 13 << 18..=24 << 20;
const BASE_PART: u64 = 4;
/// Maximum number of bytes set aside for each thread: its stack and its part of the allocator's free lists.
pub const PER_THREAD: u64 = 1 << 20;
/// Minimum number of bytes set aside for each thread. Between the minimum and the maximum, the number is the memory
/// limit / `THREADS_PART` / number of threads. The measured need was 60 KiB per thread.
const LEAST_PER_THREAD: u64 = 128 << 10;
const THREADS_PART: u64 = 16;

/// Returns the number of bytes set aside for the process and its `threads` threads under a memory limit of `limit`
/// bytes. The remainder, `limit` minus this number, never shrinks as the limit grows.
pub fn own_bytes(limit: u64, threads: usize) -> u64 {
    let threads = threads.max(1) as u64;
    let each = (limit / THREADS_PART / threads).clamp(LEAST_PER_THREAD, PER_THREAD);
    (limit / BASE_PART).clamp(*BASE.start(), *BASE.end()) + threads * each
}

/// Returns the smallest memory limit, in bytes, that is enough. `needed` is called with a limit, and must return the
/// number of bytes that are needed under this limit. This number must not decrease as the limit grows.
pub fn smallest_limit(needed: impl Fn(u64) -> u64) -> u64 {
    let mut limit = needed(0);
    loop {
        match needed(limit) {
            more if more > limit => limit = more,
            _ => return limit,
        }
    }
}

/// Returns the smallest memory limit, in bytes, of which `free` bytes remain after [`own_bytes`] are set aside for
/// `threads` threads.
pub fn limit_leaving(free: u64, threads: usize) -> u64 {
    smallest_limit(|limit| own_bytes(limit, threads).saturating_add(free))
}

/// Rounds `bytes` up to whole MiB and formats the result, for messages that ask for a larger limit.
pub fn at_least(bytes: u64) -> String {
    size::exact(bytes.next_multiple_of(1 << 20))
}

/// Budget of host memory, limited by `limits.host_memory`. All clones share one counter of reserved bytes.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: u64,
    threads: usize,
    used: AtomicU64,
}

impl Budget {
    /// Creates a budget of `limit` bytes, and reserves [`own_bytes`] for the process and `threads` threads.
    ///
    /// # Errors
    /// [`Error::Limit`] if `limit` is smaller than [`own_bytes`].
    pub fn new(limit: u64, threads: usize) -> Result<Self> {
        let budget = Budget(Arc::new(Account { limit, threads, used: AtomicU64::new(0) }));
        budget.take(own_bytes(limit, threads), "the process itself")?;
        Ok(budget)
    }

    /// Returns the limit of the budget in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the number of bytes of the budget that are not reserved.
    pub fn free(&self) -> u64 {
        self.0.limit.saturating_sub(self.0.used.load(Ordering::Relaxed))
    }

    /// Returns the number of free bytes for a caller that will reserve all of them. `taken` is the memory in bytes
    /// that the process uses now. If it exceeds all reservations, for example because of a GPU driver, the excess does
    /// not count as free.
    pub fn free_excluding(&self, taken: u64) -> u64 {
        self.limit().saturating_sub(self.0.used.load(Ordering::Relaxed).max(taken))
    }

    /// Reserves `bytes` bytes until the returned reservation is dropped. `purpose` appears in the error message.
    ///
    /// # Errors
    /// [`Error::Limit`], which names a limit that is enough for all current reservations and this one.
    pub fn reserve(&self, bytes: u64, purpose: &str) -> Result<Reservation> {
        self.take(bytes, purpose)?;
        Ok(Reservation { budget: self.clone(), bytes })
    }

    /// Allocates a zeroed buffer of `len` elements, on huge pages if the kernel provides them.
    ///
    /// # Errors
    /// [`Error::Limit`] if it does not fit the budget, or the kernel refuses the mapping.
    pub fn zeroed<T: Plain>(&self, len: usize, purpose: &str) -> Result<Buffer<T>> {
        Buffer::map(len, self.reserve((len * size_of::<T>()) as u64, purpose)?, purpose)
    }

    /// Returns the error for a mapping of `bytes` bytes that the kernel refused for lack of address space.
    fn no_addresses(&self, bytes: usize, purpose: &str, e: &std::io::Error) -> Error {
        Error::addresses(bytes as u64, purpose, self.limit(), addresses_left(), e)
    }

    /// Maps address space for `len` elements, but reserves no memory. The caller must reserve the memory it touches.
    ///
    /// # Errors
    /// [`Error::Limit`] if the kernel refuses the address space.
    pub fn addresses<T: Plain>(&self, len: usize, purpose: &str) -> Result<Buffer<T>> {
        Buffer::map(len, self.reserve(0, purpose)?, purpose)
    }

    fn take(&self, bytes: u64, purpose: &str) -> Result<()> {
        let account = &self.0;
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= account.limit);
        account.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map(drop).map_err(|used| {
            // A larger limit also increases the bytes set aside for the process.
            let other_bytes = used.saturating_add(bytes).saturating_sub(own_bytes(account.limit, account.threads));
            self.too_small(limit_leaving(other_bytes, account.threads), purpose)
        })
    }

    /// Returns the error that says that `purpose` needs a memory limit of at least `needed` bytes.
    pub fn too_small(&self, needed: u64, purpose: &str) -> Error {
        let (given, needed) = (size::show(self.limit()), at_least(needed));
        Error::Limit { limit: "host_memory", given, needed, purpose: purpose.to_owned() }
    }
}

/// A number of bytes reserved from a [`Budget`]. Dropping it returns them to the budget.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Reservation {
    /// Reserves `more` additional bytes of the budget.
    ///
    /// # Errors
    /// [`Error::Limit`] if too few bytes are free; the reservation is then unchanged.
    pub fn grow(&mut self, more: u64, purpose: &str) -> Result<()> {
        self.budget.take(more, purpose)?;
        self.bytes += more;
        Ok(())
    }

    /// Returns the number of bytes that this reservation holds.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Splits `bytes` bytes off into a separate reservation, or all bytes if there are fewer.
    pub fn split(&mut self, bytes: u64) -> Reservation {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Reservation { budget: self.budget.clone(), bytes }
    }

    /// Returns `bytes` bytes to the budget, or all bytes if there are fewer.
    pub fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.budget.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Types for which every bit pattern is a valid value.
///
/// # Safety
/// The type must have no padding, no invalid bit pattern and no drop glue.
pub unsafe trait Plain: 'static {}
// SAFETY: integers, atomic integers and arrays of them have no padding and no invalid bit pattern.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: all bit patterns are numbers, infinities or NaN.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl Plain for i64 {}
// SAFETY: as above.
unsafe impl Plain for f64 {}
// SAFETY: as above.
unsafe impl Plain for AtomicU32 {}
// SAFETY: as above.
unsafe impl Plain for AtomicU64 {}

/// Prefetches `slice[index]` into the second-level cache. An index out of range is ignored.
///
/// The first level is not used: with tables larger than the shared cache, the number of cache lines in flight limits
/// the speed, and the first level has few line fill buffers. (A random look-up in 64 MB took 8.9 ns with the first
/// level and 5.0 ns with the second.)
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    prefetch_to::<2, T>(slice, index);
}

/// Prefetches `slice[index]` into the first-level cache, for elements that are used a few steps later. An index out of
/// range is ignored.
#[inline(always)]
pub fn prefetch_near<T>(slice: &[T], index: usize) {
    prefetch_to::<1, T>(slice, index);
}

/// Prefetches `slice[index]` into the cache of level `LEVEL`, 1 or 2.
#[inline(always)]
fn prefetch_to<const LEVEL: u8, T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is a hint and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index).cast();
        if LEVEL == 1 {
            _mm_prefetch::<_MM_HINT_T0>(address)
        } else {
            _mm_prefetch::<_MM_HINT_T1>(address)
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Buffer of elements in an anonymous memory mapping. Elements are zero until they are written. Untouched pages use no
/// physical memory.
#[derive(Debug)]
pub struct Buffer<T> {
    start: *mut libc::c_void,
    len: usize,
    mapped: usize,
    reservation: Reservation,
    element: PhantomData<T>,
}

// SAFETY: the buffer owns its pages like a Vec, so it may be sent and shared if its elements may.
unsafe impl<T: Send> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Buffer<T> {}

/// Size of a memory page in bytes.
const PAGE: usize = 4096;
/// Size of a huge page in bytes. A huge page begins at a multiple of its size.
pub const HUGE: usize = 2 << 20;

impl<T: Plain> Buffer<T> {
    fn map(len: usize, reservation: Reservation, purpose: &str) -> Result<Self> {
        let bytes = len * size_of::<T>();
        let mapped = bytes.max(1).next_multiple_of(PAGE);
        let start = region(mapped, libc::PROT_READ | libc::PROT_WRITE)
            .map_err(|e| reservation.budget.no_addresses(bytes, purpose, &e))?;
        let buffer = Buffer { start, len, mapped, reservation, element: PhantomData };
        buffer.ask_for_huge_pages();
        Ok(buffer)
    }

    /// Lengthens the buffer to `len` elements; the new elements are zero. The buffer's address may change.
    ///
    /// # Errors
    /// [`Error::Limit`] if the new elements do not fit the budget or the kernel refuses the mapping.
    pub fn grow(&mut self, len: usize, purpose: &str) -> Result<()> {
        if len <= self.len {
            return Ok(());
        }
        let more = ((len - self.len) * size_of::<T>()) as u64;
        self.reservation.grow(more, purpose)?;
        let mapped = (len * size_of::<T>()).next_multiple_of(PAGE);
        if mapped > self.mapped {
            // SAFETY: `start` and `mapped` describe this buffer's own mapping, and `&mut self` rules out borrows of
            // it. It moves to a fresh region of `mapped` bytes.
            let moved = region(mapped, libc::PROT_NONE).and_then(|place| unsafe {
                let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                // Make the system call directly. UCX, which many MPI libraries load, replaces the C library's mremap
                // by a version that ignores the address.
                let start = libc::syscall(libc::SYS_mremap, self.start, self.mapped, mapped, flags, place);
                if start == -1 { Err(std::io::Error::last_os_error()) } else { Ok(start as *mut libc::c_void) }
            });
            let start = moved.map_err(|e| self.reservation.budget.no_addresses(mapped, purpose, &e))?;
            (self.start, self.mapped) = (start, mapped);
            self.ask_for_huge_pages();
        }
        self.len = len;
        Ok(())
    }

    /// Shortens the buffer to `len` elements, and returns the reserved bytes of the other elements to the budget.
    pub fn shorten(&mut self, len: usize) {
        if len < self.len {
            self.reservation.shrink(((self.len - len) * size_of::<T>()) as u64);
            self.len = len;
        }
    }

    /// Asks for huge pages, because TLB misses slow down random access over 4 KiB pages. A refusal costs only speed
    /// and is ignored.
    fn ask_for_huge_pages(&self) {
        // SAFETY: only advises the kernel on this buffer's own mapping.
        unsafe { libc::madvise(self.start, self.mapped, libc::MADV_HUGEPAGE) };
    }
}

/// Maps `bytes` bytes (whole pages) of fresh memory. If `bytes` is at least [`HUGE`], the address is a multiple of
/// [`HUGE`].
fn region(bytes: usize, protection: libc::c_int) -> std::io::Result<*mut libc::c_void> {
    let spare = if bytes >= HUGE { HUGE } else { 0 };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh private mapping at an address of the kernel's choice touches no existing memory. Only pages at
    // its own start and end are unmapped again.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), bytes + spare, protection, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let before = if spare == 0 { 0 } else { start.align_offset(HUGE) };
        let place = start.byte_add(before);
        if before > 0 {
            libc::munmap(start, before);
        }
        if spare > before {
            libc::munmap(place.byte_add(bytes), spare - before);
        }
        Ok(place)
    }
}

impl Buffer<AtomicU32> {
    /// Converts a buffer of atomic integers to a buffer of plain integers.
    pub fn into_plain(self) -> Buffer<u32> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so the reservation is moved out once; AtomicU32 has the layout of u32.
        let reservation = unsafe { std::ptr::read(&this.reservation) };
        Buffer { start: this.start, len: this.len, mapped: this.mapped, reservation, element: PhantomData }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is page-aligned and holds `len` elements, zero or written; T is Plain by construction.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.len) }
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.len) }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: unmaps this buffer's own mapping; no borrow outlives it.
        unsafe { libc::munmap(self.start, self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(spare: u64) -> Budget {
        Budget::new(limit_leaving(spare, 1), 1).expect("room for the process")
    }

    #[test]
    fn a_buffer_is_zero_grows_and_gives_back() {
        let budget = budget(1 << 20);
        let mut b = budget.zeroed::<u32>(1000, "a test").expect("fits");
        assert!(b.iter().all(|&x| x == 0));
        b[999] = 7;
        b.grow(200_000, "a test").expect("fits");
        assert_eq!((b[999], b[199_999], b.len()), (7, 0, 200_000));
        assert_eq!(budget.free(), (1 << 20) - 800_000);
        drop(b);
        assert_eq!(budget.free(), 1 << 20);
    }

    #[test]
    fn a_large_buffer_keeps_what_it_held_wherever_it_moves() {
        let budget = budget(1 << 30);
        let mut b = budget.zeroed::<u64>(1000, "a test").expect("fits");
        b.iter_mut().zip(0..).for_each(|(x, i)| *x = i);
        for len in [5000, 1 << 19, (1 << 20) + 17, 1 << 22] {
            b.grow(len, "a test").expect("fits");
            assert_eq!(b.len(), len);
            assert!(b.iter().take(1000).copied().eq(0..1000) && b[1000..].iter().all(|&x| x == 0));
            assert!(len * 8 < HUGE || b.as_ptr().addr().is_multiple_of(HUGE));
        }
        b.shorten(2000);
        assert_eq!((b.len(), budget.free()), (2000, (1 << 30) - 16_000));
    }

    #[test]
    fn a_larger_limit_leaves_more_and_limit_leaving_is_minimal() {
        for threads in [1, 2, 7, 64, 500] {
            let left = |limit: u64| limit.saturating_sub(own_bytes(limit, threads));
            assert!((0..400u64).all(|mib| left(mib << 20) <= left((mib << 20) + (1 << 19))), "{threads}");
            for free in [0, 1, 4096, 5 << 20, (100 << 20) + 17, 7 << 30] {
                let limit = limit_leaving(free, threads);
                assert_eq!(Budget::new(limit, threads).expect("room").free(), free);
                assert!(left(limit - 1) < free.max(1), "{free} beside {threads} threads");
            }
        }
        assert!(limit_leaving(1 << 20, 2) <= 5 << 20, "a small graph");
        assert_eq!(own_bytes(1 << 30, 4), 28 << 20);
    }

    #[test]
    fn an_error_names_a_limit_that_is_enough() {
        let budget = budget(1 << 20);
        let held = budget.reserve(1 << 19, "half").expect("fits");
        let e = budget.zeroed::<u64>(1 << 17, "the rest").expect_err("too much");
        assert_eq!(e.exit_code(), 7);
        let wanted = at_least(limit_leaving((1 << 19) + (1 << 20), 1));
        assert!(e.to_string().contains(&wanted), "{e} should name {wanted}");
        drop(held);
        budget.zeroed::<u64>(1 << 17, "the rest").expect("fits now");
    }
}
