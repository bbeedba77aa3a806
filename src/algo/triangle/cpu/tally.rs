//! Adds up the triangles that are found, in total or per vertex. A triangle `a < b < c` is found as a wedge: row `c`
//! has the entries `a` and `b`. It is closed if row `b` has the entry `a`. [`super::edges`] adds up triangles per edge.

use crate::algo::triangle::cpu::hubs::{CHUNK_IDS, HubBits, RowBits};
use crate::algo::triangle::cpu::probe::{Marks, Prober, is_marked, mark};
use crate::algo::triangle::cpu::tile::TileEntry;
use crate::algo::triangle::cpu::wedges::row_at;
use crate::graph::csr::Block;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The hubs of one front block that are entries of a row `c`. They are the middle corners `b` of wedges `a < b < c`.
#[derive(Debug, Clone, Copy)]
pub struct HubEntries<'a> {
    /// Id of vertex `c`, whose row is in the partner block.
    pub c: u32,
    /// Ids of the hubs, ascending.
    pub middles: &'a [u32],
    /// Index of the front block that contains the rows of these hubs.
    pub front: usize,
    /// Index of the first of these hubs in the partner block's array of entries.
    pub start: usize,
}

/// Rows `b` and `c` of wedges `a < b < c`. The head of row `c` is the part before its entry `b`.
#[derive(Debug, Clone, Copy)]
pub struct RowPair<'a> {
    /// Id of vertex `b`, whose row is in the front block.
    pub b: u32,
    /// Index of the front block that contains row `b`.
    pub front: usize,
    /// Index of the first entry of row `b` in the front block's array of entries.
    pub row: usize,
    /// Entry `b` of row `c`.
    pub entry: TileEntry,
    /// The partner block, which contains row `c`.
    pub partner: Block<'a>,
}

impl RowPair<'_> {
    /// Returns the id of vertex `c`, which is found by a binary search.
    #[inline]
    fn c(&self) -> u32 {
        row_at(self.partner, self.entry.start)
    }
}

/// Indices of a vertex `a` in row `b` and in row `c` of a triangle `a < b < c`.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// Index of `a` in row `b`.
    pub in_row: usize,
    /// Index of `a` in row `c`.
    pub in_head: usize,
}

/// Adds up the triangles (closed wedges) that a thread finds: in total, per vertex or per edge.
pub trait Tally: Send {
    /// Whether the tally needs the index of a hub in its row, which is computed from [`HubBits::before`].
    const PLACES: bool = false;

    /// Counts the triangles `a < b < c` of one row `c` with `a` in `bits` and `b` in `entries`. Returns their number.
    fn hub_rows(&mut self, prober: Prober, hubs: &HubBits, bits: &RowBits, entries: HubEntries<'_>) -> u64;

    /// Called after the last call of [`Self::hub_rows`] for a row `c`. `row` contains the hubs in row `c`, and `start`
    /// is the index of the first in the partner block's array of entries.
    #[inline]
    fn end_hub_row(&mut self, _row: &[u32], _start: usize) {}

    /// Sets the bits of `ids` in the bitmap `marks`. `ids` must ascend, and all bits of `marks` must be clear.
    #[inline]
    fn mark(&mut self, marks: &mut Marks, ids: &[u32]) {
        mark(marks, ids);
    }

    /// Looks up the ids of `stream` in the bitmap `marks`. Each id found is a triangle. Returns their number. If
    /// `is_row` is true, `stream` is row `b` of the pair, and the head of row `c` is marked. Otherwise `stream` is the
    /// head of row `c`, and row `b` is marked.
    fn marked(&mut self, prober: Prober, marks: &Marks, stream: &[u32], is_row: bool, pair: &RowPair<'_>) -> u64;

    /// Adds the triangle of vertex `a` and of the vertices `b` and `c` of `pair`. `places` contains the indices of `a`
    /// in rows `b` and `c`.
    fn triangle(&mut self, a: u32, places: Places, pair: &RowPair<'_>);

    /// Called after all wedges of a pair of rows have been tested, with the number of triangles found.
    fn closed(&mut self, triangles: u64, pair: &RowPair<'_>);

    /// Called after the last pair of rows with the same row `b`, if row `b` was marked. Row `b` begins at index `row`
    /// of the entries of front block `front`. Its first `marked` entries were marked.
    #[inline]
    fn end_row(&mut self, _front: usize, _row: usize, _marked: usize) {}
}

/// Counts only the total number of triangles.
#[derive(Debug, Clone, Copy)]
pub struct Total;

impl Tally for Total {
    #[inline]
    fn hub_rows(&mut self, prober: Prober, hubs: &HubBits, bits: &RowBits, entries: HubEntries<'_>) -> u64 {
        prober.hub_rows(hubs, bits, entries.middles)
    }

    #[inline]
    fn marked(&mut self, prober: Prober, marks: &Marks, stream: &[u32], _: bool, _: &RowPair<'_>) -> u64 {
        prober.count_marked(marks, stream)
    }

    #[inline]
    fn triangle(&mut self, _: u32, _: Places, _: &RowPair<'_>) {}

    #[inline]
    fn closed(&mut self, _: u64, _: &RowPair<'_>) {}
}

/// Adds each triangle to the counters of its three corners. Hubs are corners so often that threads would contend for
/// their counters. So each thread has its own counters for hubs, which are added to the shared counters when the tally
/// is dropped.
#[derive(Debug)]
pub struct Corners<'a> {
    shared: &'a [AtomicU64],
    hubs: Vec<u64>,
}

impl<'a> Corners<'a> {
    /// Creates a tally that adds to the counters `shared`, indexed by vertex id. Counts of ids below `hubs` are added
    /// only when the tally is dropped.
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
    fn hub_rows(&mut self, _: Prober, hubs: &HubBits, bits: &RowBits, entries: HubEntries<'_>) -> u64 {
        let mut of_c = 0;
        for &b in entries.middles {
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
            self.add(entries.c, of_c);
        }
        of_c
    }

    fn marked(&mut self, _: Prober, marks: &Marks, stream: &[u32], _: bool, _: &RowPair<'_>) -> u64 {
        let mut closed = 0;
        for &a in stream {
            if is_marked(marks, a) {
                self.add(a, 1);
                closed += 1;
            }
        }
        closed
    }

    fn triangle(&mut self, a: u32, _: Places, _: &RowPair<'_>) {
        self.add(a, 1);
    }

    fn closed(&mut self, triangles: u64, pair: &RowPair<'_>) {
        if triangles > 0 {
            self.add(pair.b, triangles);
            self.add(pair.c(), triangles);
        }
    }
}
