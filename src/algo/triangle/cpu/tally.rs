//! Adds up the triangles that are found, in total or per vertex. A triangle `a < b < c` is a closed wedge: row `c` has
//! the entries `a` and `b`, and row `b` has the entry `a`.

use crate::algo::triangle::cpu::hubs::{CHUNK_IDS, HubBits, RowBits};
use crate::algo::triangle::cpu::probe::{Marks, Prober, is_marked};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Adds up the triangles (closed wedges) that a thread finds. Every method returns how many it found.
pub trait Tally: Send {
    /// Counts the triangles `a < b < c` of row `c` whose `a` is in `bits` and whose `b` is in `middles`, an ascending
    /// list of hubs.
    fn hub_rows(&mut self, prober: Prober, hubs: &HubBits, bits: &RowBits, middles: &[u32], c: u32) -> u64;

    /// Counts the triangles `a < b < c` for each `a` in `head` whose bit is set in `marks`. `c` is a closure, because
    /// finding the id takes a search that many calls do not need.
    fn marked(&mut self, prober: Prober, marks: &Marks, head: &[u32], b: u32, c: impl Fn() -> u32) -> u64;

    /// Counts the triangle `a`, `b`, `c`.
    fn triangle(&mut self, a: u32, b: u32, c: u32) -> u64;
}

/// The tally that counts only the total number of triangles.
#[derive(Debug, Clone, Copy)]
pub struct Total;

impl Tally for Total {
    #[inline]
    fn hub_rows(&mut self, prober: Prober, hubs: &HubBits, bits: &RowBits, middles: &[u32], _: u32) -> u64 {
        prober.hub_rows(hubs, bits, middles)
    }

    #[inline]
    fn marked(&mut self, prober: Prober, marks: &Marks, head: &[u32], _: u32, _: impl Fn() -> u32) -> u64 {
        prober.count_marked(marks, head)
    }

    #[inline]
    fn triangle(&mut self, _: u32, _: u32, _: u32) -> u64 {
        1
    }
}

/// The tally that adds each triangle to the counters of its three corners. Hubs are corners so often that threads would
/// contend for their counters. So each thread has its own counters for hubs, which are added to the shared counters
/// when the tally is dropped.
#[derive(Debug)]
pub struct Corners<'a> {
    shared: &'a [AtomicU64],
    hubs: Vec<u64>,
}

impl<'a> Corners<'a> {
    /// Creates a tally that counts into `shared`, indexed by id. Counts of ids below `hubs` are kept separately until
    /// the end.
    pub fn new(shared: &'a [AtomicU64], hubs: u32) -> Corners<'a> {
        Corners { shared, hubs: vec![0; hubs as usize] }
    }

    /// Adds `triangles` to the counter of `corner`.
    #[inline]
    pub(super) fn add(&mut self, corner: u32, triangles: u64) {
        match self.hubs.get_mut(corner as usize) {
            Some(count) => *count += triangles,
            None => _ = self.shared[corner as usize].fetch_add(triangles, Relaxed),
        }
    }
}

impl Drop for Corners<'_> {
    fn drop(&mut self) {
        for (shared, &count) in self.shared.iter().zip(&self.hubs) {
            if count > 0 {
                shared.fetch_add(count, Relaxed);
            }
        }
    }
}

impl Tally for Corners<'_> {
    fn hub_rows(&mut self, _: Prober, hubs: &HubBits, bits: &RowBits, middles: &[u32], c: u32) -> u64 {
        let mut of_c = 0;
        for &b in middles {
            let row = hubs.row(b);
            let mut of_b = 0;
            for (&place, chunk) in bits.places.iter().zip(&bits.chunks) {
                let Some(partner) = row.get(usize::from(place)) else { break };
                for (word, (x, y)) in partner.0.iter().zip(&chunk.0).enumerate() {
                    let mut both = x & y;
                    while both != 0 {
                        self.add(u32::from(place) * CHUNK_IDS + word as u32 * 64 + both.trailing_zeros(), 1);
                        both &= both - 1;
                        of_b += 1;
                    }
                }
            }
            if of_b > 0 {
                self.add(b, of_b);
                of_c += of_b;
            }
        }
        if of_c > 0 {
            self.add(c, of_c);
        }
        of_c
    }

    fn marked(&mut self, _: Prober, marks: &Marks, head: &[u32], b: u32, c: impl Fn() -> u32) -> u64 {
        let mut closed = 0;
        for &a in head {
            if is_marked(marks, a) {
                self.add(a, 1);
                closed += 1;
            }
        }
        if closed > 0 {
            self.add(b, closed);
            self.add(c(), closed);
        }
        closed
    }

    fn triangle(&mut self, a: u32, b: u32, c: u32) -> u64 {
        self.add(a, 1);
        self.add(b, 1);
        self.add(c, 1);
        1
    }
}
