//! Memory that rounds hold, against what their links take by a plan: shared memory by the system's list of mappings, and that of messages by
//! an allocator that counts.

#![allow(unsafe_code)] // counts what the system's allocator gives

use gpugraph::internals::comm::{Comm, Rounds};
use gpugraph::internals::error::Result;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes of lists by rank and by piece, which no plan counts.
const LISTS: u64 = 64 << 10;

struct Counting;
static HELD: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size() as i64, Ordering::Relaxed) + layout.size() as i64;
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller promises what this needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes of shared memory of this program that this process has mapped.
fn mapped() -> u64 {
    // Line by line: the list as a whole is longer than short links.
    let maps = BufReader::new(File::open("/proc/self/maps").expect("mappings")).lines();
    let of = |line: String| {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        Some(u64::from_str_radix(to, 16).ok()? - u64::from_str_radix(from, 16).ok()?)
    };
    maps.map(|line| line.expect("a line")).filter(|line| line.contains("/dev/shm/gpugraph-")).filter_map(of).sum()
}

/// Bytes of that memory that this process has touched.
fn touched() -> u64 {
    let (mut ours, mut kib) = (false, 0);
    for line in BufReader::new(File::open("/proc/self/smaps").expect("mappings")).lines() {
        let line = line.expect("a line");
        match line.strip_prefix("Rss:") {
            Some(size) if ours => kib += size.trim().trim_end_matches(" kB").parse::<u64>().expect("a size"),
            _ if line.split(' ').next().is_some_and(|range| range.contains('-')) => {
                ours = line.contains("/dev/shm/gpugraph-")
            }
            _ => {}
        }
    }
    kib << 10
}

pub fn bounded(comm: &Comm) -> Result<()> {
    let (rank, ranks) = (comm.rank(), comm.ranks());
    let words = vec![rank as u64; 300_000];
    for link in [0, 10_000, 1 << 20, 3 << 20] {
        let (mapped_before, held) = (mapped(), HELD.load(Ordering::Relaxed));
        MOST.store(held, Ordering::Relaxed);
        let mut rounds = comm.rounds(link);
        let shared = mapped() - mapped_before;
        let mut count = 0;
        rounds.exchange(&vec![words.as_slice(); ranks], |from, words| {
            // Memory that is not read does not count.
            count += words.iter().filter(|&&word| word == from as u64).count();
            Ok(())
        })?;
        assert_eq!(count, words.len() * ranks);
        let by_links = touched();
        rounds.any(rank == 0)?;
        let in_all = touched();
        drop(rounds);
        assert_eq!(mapped(), mapped_before, "it stays mapped");
        let own = (MOST.load(Ordering::Relaxed) - held) as u64;
        let (most, each) = (Rounds::bytes(link, ranks, 1), Rounds::bytes(link, ranks, ranks));
        let (long, links) = (link >= 1 << 20, 2 * (ranks as u64 - 1) * link as u64);
        let what = format!("{link}: {shared} shared, {by_links} touched by links of {links}, {in_all} of {most}");
        if shared > 0 {
            assert!(own <= LISTS && (!long || shared > ranks as u64 * links / 20 * 9), "{own} of its own, {what}");
            // With a page that is touched, the system maps pages next to it that other ranks have.
            let most = most + LISTS * ranks as u64;
            assert!(shared <= ranks as u64 * most && in_all <= most, "{what}");
            assert!(!long || link > 1 << 20 || by_links > links / 10 * 9, "{what}");
        } else {
            assert!(own <= each + LISTS && (!long || own > each / 10 * 9), "{link}: {own} of its own of {each}");
        }
        println!("shared {}", shared > 0);
    }
    Ok(())
}
