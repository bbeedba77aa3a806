//! Breadth-first search by the threads of a process, with adjacency rows in memory or in mapped files.
//!
//! | file | contents |
//! |---|---|
//! | `walk` | a search from level to level |
//! | `frontier` | the last level, and the choice of the next step's direction |
//! | `top_down`, `bottom_up` | a step in either direction |
//! | `read_ahead` | read-ahead of rows on a disk before a top-down step processes them |
//! | `heads` | the first neighbours of the rank's vertices, in one array |
//! | `graph`, `arrays` | the graph, and the arrays and bitmaps that all threads use |
//!
//! One bitmap contains the vertices reached before the last step, and another the vertices reached after it. The
//! frontier is the difference of the two. A top-down step needs the frontier as a list, which it writes first.
//!
//! A single process owns all vertices. With several ranks, each rank finds the parents of the vertices that it owns,
//! but has bitmaps of all vertices. After each step, ranks send each other the vertices that they reached
//! (`super::ranks`).

mod arrays;
mod bottom_up;
pub(super) mod frontier;
pub(super) mod graph;
mod heads;
mod read_ahead;
pub(super) mod top_down;
mod walk;

use self::arrays::BfsArrays;
use self::graph::{CpuGraph, Hubs};
use self::heads::Heads;
use self::walk::BfsWalk;
use super::ranks::exchange::ClaimExchange;
use super::search::{BfsStats, NONE, Search, Switch};
use crate::algo::bits::{Lookup, ones};
use crate::algo::searches::EngineInput;
use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::team::{of_cores, team};
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::ids::Vertex;
use crate::memory::cells;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Number of row entries in a graph below which one thread searches alone, because it finishes before other threads
/// could start.
const FEW: u64 = 1 << 12;

/// A graph, or the part of it that a rank owns, prepared for searches by the threads of this process.
pub struct CpuSearch<'a> {
    graph: CpuGraph<'a>,
    arrays: BfsArrays,
    switch: Switch,
    threads: usize,
    lookup: Lookup,
    /// Number of entries in all rows of out-edges.
    entries: u64,
}

/// Thresholds at which a search changes direction, if rows are in memory. Bottom-up steps pay off from these thresholds
/// on, as measurements on Graph500 graphs with two and with sixteen cores show.
pub const IN_MEMORY: Switch = Switch { alpha: 30.0, beta: 1000.0 };
/// Thresholds at which a search changes direction, if rows are on a disk. A top-down step reads whole rows from the
/// disk, while a bottom-up step reads few rows.
pub const ON_DISK: Switch = Switch { alpha: 8.0, beta: 1000.0 };

/// Returns the host memory of a rank, in bytes, as `[maximum, minimum]`: the most that searches by `threads` threads
/// use, and the least that they need, not counting parents. `entries` is the number of row entries in the graph.
pub fn bytes(own: VertexOwnership, entries: u64, threads: usize) -> [u64; 2] {
    let [first, more] = heads::bytes(own.len() as u64);
    let fewest = first + arrays::bytes(own, entries, threads);
    [fewest + more, fewest]
}

impl<'a> CpuSearch<'a> {
    /// Prepares to search a graph. `own` describes the vertices that this rank owns. `on_disk` says whether adjacency
    /// rows are read from the disk when they are accessed.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if [`bytes()`] does not fit; errors of the graph.
    pub fn new(
        EngineInput { graph, degrees, run, spare }: EngineInput<'a, '_>,
        own: VertexOwnership,
        switch: Switch,
        on_disk: bool,
    ) -> Result<CpuSearch<'a>> {
        let (direction, mut rows) = (graph.info.direction, Adjacency::new(&graph.block_store, graph.upper()?));
        let entries = degrees.iter().map(|&degree| u64::from(degree)).sum::<u64>() >> direction.shift();
        let threads = if entries < FEW { 1 } else { of_cores(run.threads) };
        let hubs = Hubs::of(degrees, direction, own);
        let arrays = BfsArrays::new(own, hubs, threads, run.budget)?;
        let heads = Heads::of(&rows, direction, own, spare, run.budget)?;
        if on_disk {
            rows.expect_random_access();
        }
        let graph = CpuGraph { rows, direction, own, heads, degrees, on_disk, hubs };
        Ok(CpuSearch { graph, arrays, switch, threads, lookup: Lookup::detect(), entries })
    }

    /// Searches from `root`, together with the other ranks if there are any. Writes the parents of the vertices that
    /// this rank owns to `parents`. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of the exchange; [`crate::Error::Stopped`].
    pub fn search_with(
        &mut self,
        Vertex(root): Vertex,
        exchange: Option<&mut ClaimExchange>,
        parents: &mut [u32],
    ) -> Result<BfsStats> {
        let own = self.graph.own;
        self.arrays.begin(&self.graph, root);
        if own.has(root) {
            parents[own.local_index(root)] = root;
        }
        let walk = BfsWalk::new(self, exchange);
        let cells = cells(parents);
        team(self.threads, &|thread| walk.run(thread, root, cells))?;
        let (searched, bits) = walk.into_searched();
        self.mark_unreached(bits, parents);
        Ok(searched)
    }

    /// Writes [`NONE`] as the parent of each unreached vertex that this rank owns. `bits` is the index of the bitmap of
    /// all reached vertices.
    fn mark_unreached(&self, bits: usize, parents: &mut [u32]) {
        let bits = self.arrays.bits(bits);
        for (at, parents) in parents.chunks_mut(64).enumerate() {
            let missing = !bits[self.graph.own.word(at)].load(Relaxed);
            ones(missing).for_each(|bit| parents[bit as usize] = NONE);
        }
    }
}

impl Search<[u32], BfsStats> for CpuSearch<'_> {
    fn search(&mut self, root: Vertex, parents: &mut [u32]) -> Result<BfsStats> {
        let started = Instant::now();
        let mut searched = self.search_with(root, None, parents)?;
        searched.seconds = started.elapsed().as_secs_f64();
        Ok(searched)
    }
}
