//! Memory that rounds hold, against what their shape tells a plan: shared memory by the system's list of mappings, and that of messages by
//! an allocator that counts.

#![allow(unsafe_code)] // counts what the system's allocator gives

use gpugraph::internals::comm::{Comm, RoundShape, Sum};
use gpugraph::internals::error::Result;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes of lists by rank and by piece, which no shape counts.
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
    let mut values = vec![rank as u64; 300_000];
    let shapes = [(0, 0), (10_000, 5_000), (1 << 20, 1 << 20), (3 << 20, 4 << 20)];
    for shape in shapes.map(|(link, reduction)| RoundShape { link, reduction }) {
        let (mapped_before, held) = (mapped(), HELD.load(Ordering::Relaxed));
        MOST.store(held, Ordering::Relaxed);
        let mut rounds = comm.rounds(shape);
        let shared = mapped() - mapped_before;
        let mut count = 0;
        rounds.exchange(&vec![words.as_slice(); ranks], |from, words| {
            // Memory that is not read does not count.
            count += words.iter().filter(|&&word| word == from as u64).count();
            Ok(())
        })?;
        assert_eq!(count, words.len() * ranks);
        let (by_links, link) = (touched(), shape.link as u64);
        rounds.all_reduce(Sum, &mut values)?;
        rounds.any(rank == 0)?;
        let in_all = touched();
        drop(rounds);
        assert_eq!(mapped(), mapped_before, "it stays mapped");
        let own = (MOST.load(Ordering::Relaxed) - held) as u64;
        let (together, each) = (shape.bytes(ranks, 1), shape.bytes(ranks, ranks));
        let what = format!("{shape:?}: {shared} shared of {together}, {own} of its own of {each}");
        let long = shape.link >= 1 << 20;
        if shared > 0 {
            assert!(shared <= together && own <= LISTS && (!long || shared > together / 10 * 9), "{what}");
            // Pages at the ends of links belong to links of others, too.
            let (links, most) = (2 * (ranks as u64 - 1) * link, shape.rank_bytes(ranks, 1) + LISTS);
            let what = format!("{shape:?}: {by_links} touched by links of {links}, {in_all} in all of {most}");
            assert!(in_all <= most && (!long || link > 1 << 20 || by_links > links / 10 * 9), "{what}");
        } else {
            assert!(own <= each + LISTS && (!long || own > each / 10 * 9), "{what}");
        }
        println!("shared {}", shared > 0);
    }
    Ok(())
}
