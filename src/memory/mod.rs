//! The budget of host memory, and the buffers that reserve their memory from it.
//!
//! `limits.host_memory` limits the memory that the process itself allocates: anonymous, shared and pinned pages. Every
//! allocation that can grow with the graph comes from a [`Budget`], so the limit holds by construction. [`own_bytes`]
//! are set aside for the rest (stacks, the allocator's lists, small tables). Clean pages of mapped files do not count.
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

/// Minimum and maximum number of bytes set aside for the process itself. Between the two, it is `limits.host_memory`
/// divided by `BASE_PART`. With a small limit only small graphs fit, and their tables are small: a graph of 500
/// vertices takes 1.2 MiB in total with two threads.
const BASE: RangeInclusive<u64> = 13 << 18..=24 << 20;
const BASE_PART: u64 = 4;
/// Maximum number of bytes set aside for each thread: its stack and its share of the allocator's free lists.
pub const PER_THREAD: u64 = 1 << 20;
/// Minimum number of bytes set aside for each thread. Between the minimum and the maximum, all threads together get the
/// limit divided by `THREADS_PART`. The measured need was 60 KiB a thread.
const LEAST_PER_THREAD: u64 = 128 << 10;
const THREADS_PART: u64 = 16;

/// Returns the bytes that are set aside for the process and its `threads` threads if the memory limit is `limit` bytes.
/// A larger limit never leaves less for the rest.
pub fn own_bytes(limit: u64, threads: usize) -> u64 {
    let threads = threads.max(1) as u64;
    let each = (limit / THREADS_PART / threads).clamp(LEAST_PER_THREAD, PER_THREAD);
    (limit / BASE_PART).clamp(*BASE.start(), *BASE.end()) + threads * each
}

/// Returns the smallest memory limit that is enough, in bytes. `needed` takes a limit and returns the bytes needed
/// under it; its result must not fall as the limit grows.
pub fn smallest_limit(needed: impl Fn(u64) -> u64) -> u64 {
    let mut limit = needed(0);
    loop {
        match needed(limit) {
            more if more > limit => limit = more,
            _ => return limit,
        }
    }
}

/// Returns the smallest memory limit, in bytes, that leaves `free` bytes after setting memory aside for the process and
/// `threads` threads.
pub fn limit_leaving(free: u64, threads: usize) -> u64 {
    smallest_limit(|limit| own_bytes(limit, threads).saturating_add(free))
}

/// Rounds `bytes` up to whole MiB and formats them, for messages that ask for a larger limit.
pub fn at_least(bytes: u64) -> String {
    size::exact(bytes.next_multiple_of(1 << 20))
}

/// Budget of host memory, limited by `limits.host_memory`. Clones share one account of the reserved bytes.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: u64,
    threads: usize,
    used: AtomicU64,
}

impl Budget {
    /// Makes a budget of `limit` bytes, and sets memory aside for the process and `threads` threads.
    ///
    /// # Errors
    /// [`Error::Limit`] if `limit` is smaller than the memory to set aside.
    pub fn new(limit: u64, threads: usize) -> Result<Self> {
        let budget = Budget(Arc::new(Account { limit, threads, used: AtomicU64::new(0) }));
        budget.take(own_bytes(limit, threads), "the process itself")?;
        Ok(budget)
    }

    /// Returns the limit of the budget in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the number of bytes that are not reserved.
    pub fn free(&self) -> u64 {
        self.0.limit.saturating_sub(self.0.used.load(Ordering::Relaxed))
    }

    /// Returns the free bytes for a caller that is about to take all free memory. `taken` is the memory that the
    /// process uses now, in bytes. If `taken` exceeds all reservations, for example because of a GPU driver, the excess
    /// does not count as free.
    pub fn free_excluding(&self, taken: u64) -> u64 {
        self.limit().saturating_sub(self.0.used.load(Ordering::Relaxed).max(taken))
    }

    /// Reserves `bytes` bytes until the result is dropped.
    ///
    /// # Errors
    /// [`Error::Limit`], which names a limit that is enough for everything reserved now and these bytes.
    pub fn reserve(&self, bytes: u64, purpose: &str) -> Result<Reservation> {
        self.take(bytes, purpose)?;
        Ok(Reservation { budget: self.clone(), bytes })
    }

    /// Allocates a zeroed buffer of `len` elements, on huge pages if the system provides them.
    ///
    /// # Errors
    /// [`Error::Limit`] if it does not fit the budget, or the system has no memory for it.
    pub fn zeroed<T: Plain>(&self, len: usize, purpose: &str) -> Result<Buffer<T>> {
        Buffer::map(len, self.reserve((len * size_of::<T>()) as u64, purpose)?, purpose)
    }

    /// Returns the error for a mapping of `bytes` bytes for which the system refused address space.
    fn no_addresses(&self, bytes: usize, purpose: &str, e: &std::io::Error) -> Error {
        Error::addresses(bytes as u64, purpose, self.limit(), addresses_left(), e)
    }

    /// Maps addresses for `len` elements without reserving memory. The caller must reserve the memory that it touches.
    ///
    /// # Errors
    /// [`Error::Limit`] if the system gives no more addresses.
    pub fn addresses<T: Plain>(&self, len: usize, purpose: &str) -> Result<Buffer<T>> {
        Buffer::map(len, self.reserve(0, purpose)?, purpose)
    }

    fn take(&self, bytes: u64, purpose: &str) -> Result<()> {
        let account = &self.0;
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= account.limit);
        account.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map(drop).map_err(|used| {
            // A larger limit also sets more memory aside for the process.
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

/// Bytes reserved from a [`Budget`], freed on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Reservation {
    /// Adds `more` bytes to the reservation.
    ///
    /// # Errors
    /// [`Error::Limit`]; the reservation is then unchanged.
    pub fn grow(&mut self, more: u64, purpose: &str) -> Result<()> {
        self.budget.take(more, purpose)?;
        self.bytes += more;
        Ok(())
    }

    /// Returns the number of reserved bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Splits `bytes` bytes (or all, if there are fewer) off into a separate reservation.
    pub fn split(&mut self, bytes: u64) -> Reservation {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Reservation { budget: self.budget.clone(), bytes }
    }

    /// Gives `bytes` bytes (or all, if there are fewer) back to the budget.
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

/// Types for which every bit pattern, all zeros included, is a valid value.
///
/// # Safety
/// The type must have no padding, no invalid bit pattern and no drop glue.
pub unsafe trait Plain: 'static {}
// SAFETY: integers, atomic integers and arrays of them.
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

/// Prefetches `slice[index]` into the second-level cache. An index out of range does no harm.
///
/// It does not use the first level. With tables larger than the shared cache a core waits for cache lines in flight,
/// and the first level's few fill buffers limit their number. (A random look-up in 64 MB took 8.9 ns with the first
/// level and 5.0 ns with the second.)
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    prefetch_to::<2, T>(slice, index);
}

/// Prefetches `slice[index]` into the first-level cache, for elements that are used a few steps later. An index out of
/// range does no harm.
#[inline(always)]
pub fn prefetch_near<T>(slice: &[T], index: usize) {
    prefetch_to::<1, T>(slice, index);
}

/// Prefetches `slice[index]` into the cache of level `LEVEL`, which is 1 or 2.
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

/// Buffer of elements in an anonymous memory mapping. Elements are zero until they are written. Pages that were never
/// touched take no memory.
#[derive(Debug)]
pub struct Buffer<T> {
    start: *mut libc::c_void,
    len: usize,
    mapped: usize,
    reservation: Reservation,
    element: PhantomData<T>,
}

// SAFETY: the buffer owns its pages like a Vec; sharing and sending are as safe as for its elements.
unsafe impl<T: Send> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Buffer<T> {}

/// Size of a memory page in bytes.
const PAGE: usize = 4096;
/// Bytes of a huge page. A huge page begins at a multiple of its size.
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

    /// Lengthens the buffer to `len` elements; the new elements are zero. The buffer may move.
    ///
    /// # Errors
    /// [`Error::Limit`]; the buffer is then unchanged.
    pub fn grow(&mut self, len: usize, purpose: &str) -> Result<()> {
        if len <= self.len {
            return Ok(());
        }
        let more = ((len - self.len) * size_of::<T>()) as u64;
        self.reservation.grow(more, purpose)?;
        let mapped = (len * size_of::<T>()).next_multiple_of(PAGE);
        if mapped > self.mapped {
            // SAFETY: start and mapped describe this buffer's own mapping, `&mut self` rules out borrows of it, and it moves to a fresh
            // region of that size.
            let moved = region(mapped, libc::PROT_NONE).and_then(|place| unsafe {
                let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                // Make the system call directly. UCX, which many MPI libraries load, replaces the C library's mremap by
                // a version that ignores the address.
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

    /// Shortens the buffer to `len` elements, and frees the reservation of the other elements.
    pub fn shorten(&mut self, len: usize) {
        if len < self.len {
            self.reservation.shrink(((self.len - len) * size_of::<T>()) as u64);
            self.len = len;
        }
    }

    /// Asks for huge pages, because the TLB limits random access over 4 KiB pages. A refusal only costs speed and is
    /// ignored.
    fn ask_for_huge_pages(&self) {
        // SAFETY: advice on this buffer's own mapping.
        unsafe { libc::madvise(self.start, self.mapped, libc::MADV_HUGEPAGE) };
    }
}

/// Maps `bytes` bytes (whole pages) of fresh memory. The address is a multiple of [`HUGE`] if there are at least that
/// many bytes.
fn region(bytes: usize, protection: libc::c_int) -> std::io::Result<*mut libc::c_void> {
    let spare = if bytes >= HUGE { HUGE } else { 0 };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh private mapping at an address of the kernel's choice touches no existing memory; only its own first and last pages
    // are unmapped again.
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
    /// Converts the buffer to plain integers. No other thread may use it any more.
    pub fn into_plain(self) -> Buffer<u32> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so the reservation is moved out exactly once; AtomicU32 has u32's layout.
        let reservation = unsafe { std::ptr::read(&this.reservation) };
        Buffer { start: this.start, len: this.len, mapped: this.mapped, reservation, element: PhantomData }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds at least `len` elements, page-aligned, zero or written; T is Plain by construction.
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
