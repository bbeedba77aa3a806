//! Shared memory segment of all ranks of one machine. It is a file in /dev/shm that is unlinked as soon as all ranks
//! have mapped it. The segment is divided into one partition per rank. Each rank allocates the pages of its own
//! partition, so that they are on its NUMA node.
#![allow(unsafe_code)] // maps memory that other processes write to

use crate::comm::Combine;
use crate::comm::mpi::Ranks;
use crate::process::backoff::Backoff;
use crate::store::os;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const FOLDER: &str = "/dev/shm";
const PREFIX: &str = "gpugraph-";
/// Age above which an unlocked shared-memory file in /dev/shm can't belong to a running job. Rank 0 locks its file as
/// soon as it has created it.
const STALE_AGE: Duration = Duration::from_secs(60);
/// Size in bytes of the area at the start of the shared memory, before the first rank's partition. It contains the
/// words that [`SharedSegment::word`] returns.
pub(super) const HEAD: usize = 4096;
pub(super) const PAGE: usize = 4096;
/// Index of the shared word that counts the ranks that have arrived at the barrier.
const ARRIVED: usize = 0;
/// Index of the shared word that counts how often all ranks have passed the barrier.
const GENERATION: usize = 1;

/// Shared memory segment of all ranks of a machine, mapped into this process.
pub(super) struct SharedSegment {
    base: *mut u8,
    bytes: usize,
    part: usize,
    ranks: usize,
}

// SAFETY: all access is by atomics, or by views whose caller promises that nothing else accesses the range.
unsafe impl Send for SharedSegment {}
// SAFETY: as above.
unsafe impl Sync for SharedSegment {}

impl SharedSegment {
    /// Creates a shared memory segment with a zeroed partition of at least `part` bytes for each rank. Each partition
    /// begins at a page. Returns `None` on all ranks if they are on several machines or one of them can't map the
    /// memory. Collective.
    pub(super) fn open(ranks: &Ranks, part: usize) -> Option<SharedSegment> {
        if ranks.position().nodes > 1 {
            return None;
        }
        let count = ranks.position().ranks;
        let part = part.checked_next_multiple_of(PAGE)?;
        let bytes = part.checked_mul(count)?.checked_add(HEAD)?;
        let made = (ranks.position().rank == 0).then(|| create(bytes)).flatten();
        let name = made.as_ref().map_or(Vec::new(), |(path, _)| path.to_string_lossy().into_owned().into_bytes());
        let name = ranks.broadcast(name);
        if name.is_empty() {
            return None;
        }
        let path = PathBuf::from(String::from_utf8_lossy(&name).into_owned());
        let file = match made {
            Some((_, file)) => Some(file),
            None => OpenOptions::new().read(true).write(true).open(&path).ok(),
        };
        let segment =
            file.as_ref().and_then(|file| SharedSegment::map(file, bytes, part, ranks.position().rank, count));
        let mut all = [u64::from(segment.is_some())];
        ranks.combine(Combine::Min, &mut all);
        if ranks.position().rank == 0 {
            // The file is still open, so its lock has kept other jobs from removing it.
            let _ = std::fs::remove_file(&path);
        }
        segment.filter(|_| all[0] == 1)
    }

    fn map(file: &File, bytes: usize, part: usize, rank: usize, ranks: usize) -> Option<SharedSegment> {
        let (from, len) = if rank == 0 { (0, HEAD + part) } else { (HEAD + rank * part, part) };
        // SAFETY: no memory is passed. Without this call, a page that can't be allocated would raise SIGBUS on its
        // first use.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, from as libc::off_t, len as libc::off_t) } != 0 {
            return None;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses, of a file of that length, which the mapping
        // keeps alive without a name.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        (base != libc::MAP_FAILED).then(|| SharedSegment { base: base.cast(), bytes, part, ranks })
    }

    /// Creates a shared memory segment for a test whose ranks are threads of this process. Returns (rank, mapping) for
    /// each rank.
    #[cfg(test)]
    pub(super) fn within<const RANKS: usize>(part: usize) -> [(usize, SharedSegment); RANKS] {
        let part = part.next_multiple_of(PAGE);
        let (path, file) = create(HEAD + RANKS * part).expect("/dev/shm has some KiB");
        std::fs::remove_file(path).expect("removed");
        let map = |rank| SharedSegment::map(&file, HEAD + RANKS * part, part, rank, RANKS).expect("mapped");
        std::array::from_fn(|rank| (rank, map(rank)))
    }

    /// Returns word `number` (0 to 63) of the words that all ranks share. Each word is initially zero, and has its own
    /// cache line.
    pub(super) fn word(&self, number: usize) -> &AtomicU64 {
        let at = number * 64;
        assert!(at < HEAD, "the head of a segment has 64 words");
        // SAFETY: within the mapping, at a multiple of 64 bytes, and only used as an atomic.
        unsafe { &*self.base.add(at).cast::<AtomicU64>() }
    }

    /// Returns a view of the `len` numbers that start at byte offset `at` in rank `rank`'s partition of the shared
    /// memory.
    ///
    /// # Safety
    /// While the view exists, no rank may write to these numbers, unless they are atomic. `T` must be a number, or
    /// atomic.
    pub(super) unsafe fn view<T>(&self, rank: usize, at: usize, len: usize) -> &[T] {
        let from = self.address::<T>(rank, at, len);
        // SAFETY: within the mapping and aligned, as `address` has checked; the caller promises the rest.
        unsafe { std::slice::from_raw_parts(from, len) }
    }

    /// Returns a writable view of the `len` numbers that start at byte offset `at` in rank `rank`'s partition of the
    /// shared memory.
    ///
    /// # Safety
    /// While the view exists, nothing else, in this rank or another, may read or write these numbers. `T` must be a
    /// number.
    #[allow(clippy::mut_from_ref)] // the protocol between processes, not the borrow checker, determines who may write
    pub(super) unsafe fn view_mut<T>(&self, rank: usize, at: usize, len: usize) -> &mut [T] {
        let from = self.address::<T>(rank, at, len);
        // SAFETY: within the mapping and aligned, as `address` has checked; the caller promises the rest.
        unsafe { std::slice::from_raw_parts_mut(from, len) }
    }

    /// Returns a view of the `len` numbers that start at byte offset `at` of the shared memory, counted from the start
    /// of the first rank's partition. Partitions are stored in the order of ranks.
    ///
    /// # Safety
    /// `T` must be atomic, and so must the numbers of all other views of these bytes.
    pub(super) unsafe fn whole<T>(&self, at: usize, len: usize) -> &[T] {
        let fits = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(at));
        let fits = fits.is_some_and(|end| end <= self.part * self.ranks) && at.is_multiple_of(align_of::<T>());
        assert!(fits, "no such place in a segment");
        // SAFETY: within the mapping and aligned; the caller promises the rest.
        unsafe { std::slice::from_raw_parts(self.base.add(HEAD + at).cast(), len) }
    }

    fn address<T>(&self, rank: usize, at: usize, len: usize) -> *mut T {
        let fits =
            len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(at)).is_some_and(|end| end <= self.part);
        assert!(rank < self.ranks && fits && at.is_multiple_of(align_of::<T>()), "no such place in a segment");
        // SAFETY: within the mapping.
        unsafe { self.base.add(HEAD + rank * self.part + at).cast() }
    }

    /// Waits until every rank has called this function. Afterwards a rank sees what other ranks wrote before their
    /// calls.
    pub(super) fn barrier(&self) {
        let generation = self.word(GENERATION).load(Ordering::Acquire);
        if self.word(ARRIVED).fetch_add(1, Ordering::AcqRel) + 1 == self.ranks as u64 {
            self.word(ARRIVED).store(0, Ordering::Relaxed);
            self.word(GENERATION).store(generation + 1, Ordering::Release);
            return;
        }
        let mut backoff = Backoff::default();
        // If another rank has exited, this loop runs until the launcher ends this rank, or forever.
        while self.word(GENERATION).load(Ordering::Acquire) == generation {
            backoff.take();
        }
    }
}

impl Drop for SharedSegment {
    fn drop(&mut self) {
        // SAFETY: `map` made the mapping, and all views have ended, because they borrow it. Other ranks have their own
        // mappings.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// Creates the file of a shared memory segment. Returns (path, file), or `None` if the file would need more than half
/// of the free space in /dev/shm, which other programs and MPI itself use, too.
fn create(bytes: usize) -> Option<(PathBuf, File)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    // The environment variable limits the size of the file in bytes. With 0, all data goes through MPI.
    let allowed = std::env::var("GPUGRAPH_SHARED_MEMORY").ok().map_or(Some(u64::MAX), |text| text.trim().parse().ok());
    remove_stale(Path::new(FOLDER), SystemTime::now());
    let free = os::free_bytes(Path::new(FOLDER)).ok()? / 2;
    if bytes as u64 > free.min(allowed.unwrap_or(0)) {
        return None;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(FOLDER).join(format!("{PREFIX}{}-{number}-{since}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path).ok()?;
    if file.try_lock().is_err() || file.set_len(bytes as u64).is_err() {
        let _ = std::fs::remove_file(&path);
        return None;
    }
    Some((path, file))
}

/// Returns true if the file name `name` has the form that [`create`] chooses: a prefix and three numbers. Other files
/// in /dev/shm belong to other programs.
fn is_name(name: &OsStr) -> bool {
    let numbers = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).map(|numbers| numbers.split('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|numbers| numbers.clone().count() == 3 && numbers.clone().all(is_number))
}

/// Removes the shared-memory files of ranks that were killed before they could unlink them. Otherwise the files would
/// occupy memory until the next reboot. Such a file is not locked, because the kernel has released the lock. The
/// process id in its name would not do, because the process may be in another container.
fn remove_stale(folder: &Path, now: SystemTime) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = is_name(&entry.file_name());
        let made = entry.metadata().ok().filter(|file| is_ours && file.is_file()).and_then(|file| file.modified().ok());
        let is_old = made.and_then(|made| now.duration_since(made).ok()).is_some_and(|age| age > STALE_AGE);
        // Opening and removing files of other users fails, which is fine.
        if is_old && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_files_of_ours_that_no_process_uses_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let of_users = [
            "other-1",
            "gpugraph-s29.edgelist",
            "gpugraph-29",
            "gpugraph-1-0-5.u32",
            "gpugraph-1-2-3-4",
            "gpugraph---",
        ];
        let names: Vec<&str> =
            ["gpugraph-1-0-5", "gpugraph-2-0-6", "gpugraph-3-0-7"].into_iter().chain(of_users).collect();
        let now = SystemTime::now();
        for &name in &names {
            let file = File::create(folder.path().join(name)).expect("a file");
            let age = if name == "gpugraph-2-0-6" { STALE_AGE / 2 } else { 2 * STALE_AGE };
            file.set_modified(now - age).expect("another time");
        }
        let used = File::open(folder.path().join("gpugraph-3-0-7")).expect("a file");
        used.lock().expect("a lock");
        // Files that a job creates are recognised by their name.
        let (made, file) = create(PAGE).expect("/dev/shm has some KiB");
        assert!(File::open(&made).expect("open").try_lock().is_err(), "a job locks its file");
        drop(file);
        std::fs::remove_file(&made).expect("removed");
        assert!(made.file_name().is_some_and(is_name), "{}", made.display());
        remove_stale(folder.path(), now);
        let removed: Vec<&&str> = names.iter().filter(|name| !folder.path().join(name).exists()).collect();
        assert_eq!(removed, [&"gpugraph-1-0-5"]);
        drop(used);
        remove_stale(folder.path(), now);
        assert!(!folder.path().join("gpugraph-3-0-7").exists(), "the kernel releases the locks of a killed rank");
    }

    #[test]
    fn a_barrier_lets_nobody_through_before_all_have_come() {
        let segments = SharedSegment::within::<3>(PAGE);
        std::thread::scope(|scope| {
            for (rank, segment) in &segments {
                let rank = *rank;
                scope.spawn(move || {
                    for round in 0..2000u64 {
                        let at = 8 * (round as usize % 2);
                        // SAFETY: a rank writes to its own partition, which others read between two barriers.
                        let own = unsafe { segment.view_mut::<u64>(rank, at, 1) };
                        own[0] = round + rank as u64;
                        segment.barrier();
                        for other in 0..3 {
                            // SAFETY: the next round writes elsewhere, and the one after it follows a barrier.
                            let seen = unsafe { segment.view::<u64>(other, at, 1) };
                            assert_eq!(seen[0], round + other as u64);
                        }
                    }
                });
            }
        });
    }
}
