//! Searches by the threads of a process, of rows in memory or in mapped files.
//!
//! | file | holds |
//! |---|---|
//! | `walk` | a search from level to level |
//! | `frontier` | the last level, and how to go on |
//! | `top_down`, `bottom_up` | a step in either direction |
//! | `ahead` | rows on a disk, which are asked for before a step top-down looks at them |
//! | `heads` | the first neighbours of own vertices, side by side |
//! | `shared` | the arrays that all threads use |
//! | `vector` | bits of 64 vertices at once |
//!
//! Two sets of bits hold the vertices that are reached: before the last step and after it. The frontier is what the second has more; for a
//! step top-down it is listed.
//!
//! A process by itself owns all vertices. A rank of several finds the parents of its own ones, and has the bits of all; what it and others
//! reached is told after each step (`super::ranks`).

mod ahead;
mod bottom_up;
pub(super) mod frontier;
mod heads;
pub(super) mod shared;
pub(super) mod top_down;
mod walk;

use self::heads::Heads;
use self::shared::{Arrays, Graph, Hubs, ones};
use self::walk::Walk;
use super::ranks::exchange::Exchange;
use super::search::{NONE, Search, Searched, Switch};
use crate::algo::CpuResources;
use crate::algo::bits::Lookup;
use crate::algo::own::Own;
use crate::algo::team::{of_cores, team};
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::Direction;
use crate::graph::ids::Vertex;
use crate::memory::cells;
use crate::store::map::Mapped;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Entries of all rows below which one thread searches alone: others would hardly have begun when it is done.
const FEW: u64 = 1 << 12;

/// A graph that the threads of this process search, or their part of it.
pub struct CpuSearch<'a> {
    graph: Graph<'a>,
    arrays: Arrays,
    switch: Switch,
    threads: usize,
    lookup: Lookup,
    /// Entries of all rows.
    entries: u64,
}

/// How a search goes on from level to level. All ranks walk alike.
#[derive(Debug, Clone, Copy)]
pub struct WalkOptions {
    /// When the direction changes.
    pub switch: Switch,
    /// True if rows are read from a disk as they are looked at.
    pub on_disk: bool,
}

/// The switches where rows are in memory. On two cores and on sixteen, graphs of Graph500 gain by steps bottom-up as early as that.
pub const IN_MEMORY: Switch = Switch { alpha: 30.0, beta: 1000.0 };
/// The switches where rows are on a disk: a step top-down reads rows whole, one bottom-up hardly any.
pub const ON_DISK: Switch = Switch { alpha: 8.0, beta: 1000.0 };

/// Returns the bytes that searches by `threads` threads of a rank take beside parents, and the fewest that do, of a graph with so many entries in
/// all rows.
pub fn bytes(own: Own, entries: u64, threads: usize) -> [u64; 2] {
    let [first, more] = heads::bytes(own.len() as u64);
    let fewest = first + shared::bytes(own, entries, threads);
    [fewest + more, fewest]
}

impl<'a> CpuSearch<'a> {
    /// Gets ready to search a graph of these rows and degrees, of whose vertices this rank owns `own`.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] where [`bytes()`] do not fit; [`crate::Error::Corrupt`] of the degrees.
    pub fn new(
        rows: Adjacency<'a>,
        direction: Direction,
        own: Own,
        degrees: &'a Mapped,
        WalkOptions { switch, on_disk }: WalkOptions,
        CpuResources { threads, budget, spare }: CpuResources<'_>,
    ) -> Result<CpuSearch<'a>> {
        let degrees = degrees.body_as_u32()?;
        let entries = degrees.iter().map(|&degree| u64::from(degree)).sum::<u64>() >> direction.shift();
        let threads = if entries < FEW { 1 } else { of_cores(threads) };
        let hubs = Hubs::of(degrees, direction, own);
        let arrays = Arrays::new(own, hubs, threads, budget)?;
        let heads = Heads::of(&rows, direction, own, spare, budget)?;
        if on_disk {
            rows.expect_random_access();
        }
        let graph = Graph { rows, direction, own, heads, degrees, on_disk, hubs };
        Ok(CpuSearch { graph, arrays, switch, threads, lookup: Lookup::detect(), entries })
    }

    /// Searches together with the other ranks, if there are any. `parents` are those of the own vertices. Collective.
    ///
    /// # Errors
    /// Those of the exchange, and a stop.
    pub fn search_with(
        &mut self,
        Vertex(root): Vertex,
        exchange: Option<&mut Exchange>,
        parents: &mut [u32],
    ) -> Result<Searched> {
        let own = self.graph.own;
        self.arrays.begin(&self.graph, root);
        if own.has(root) {
            parents[own.place(root)] = root;
        }
        let how = (self.switch, self.entries);
        let walk = Walk::new(&self.graph, &self.arrays, exchange, how, self.threads, self.lookup);
        let cells = cells(parents);
        team(self.threads, &|thread| walk.go(thread, root, cells))?;
        let (searched, bits) = walk.into_searched();
        self.mark_unreached(bits, parents);
        Ok(searched)
    }

    /// Marks the own vertices that were not reached.
    fn mark_unreached(&self, bits: usize, parents: &mut [u32]) {
        let bits = self.arrays.bits(bits);
        for (at, parents) in parents.chunks_mut(64).enumerate() {
            let missing = !bits[self.graph.own.word(at)].load(Relaxed);
            ones(missing).for_each(|bit| parents[bit as usize] = NONE);
        }
    }
}

impl Search for CpuSearch<'_> {
    type Searched = Searched;

    fn search(&mut self, root: Vertex, parents: &mut [u32]) -> Result<Searched> {
        let started = Instant::now();
        let mut searched = self.search_with(root, None, parents)?;
        searched.seconds = started.elapsed().as_secs_f64();
        Ok(searched)
    }
}
