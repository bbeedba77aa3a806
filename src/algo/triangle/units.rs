//! Iterates over all units of a graph. A unit is a pair of blocks of rows: a front block, which stays in memory, and a
//! partner block, which is read meanwhile.
//!
//! The front blocks are divided into groups, which are counted one after another. All ranks keep the same group in
//! memory, and divide the partner blocks among themselves. A backend divides the work into items, and lists them in the
//! same order on every rank. [`WorkSource`] hands out each item to one rank. An item may cover only part of a unit, so
//! counts are reported in [`Part`]s.

use crate::error::Result;
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ops::{AddAssign, Range};

/// Returns the number of units of a graph with `blocks` blocks. A unit is a pair of a front block and the same or a
/// later block as partner block.
pub fn total(blocks: usize) -> u64 {
    blocks as u64 * (blocks as u64 + 1) / 2
}

/// Returns the id of the unit (pair of blocks) of `front` and `partner`. The id does not depend on the number of
/// blocks.
pub fn number(front: usize, partner: usize) -> u64 {
    total(partner) + front as u64
}

/// Returns the front block and the partner block of the unit with id `unit`.
pub fn blocks_of(unit: u64) -> (u64, u64) {
    // Finds the largest partner block whose first unit has this id or a smaller one. The square root may be off by one.
    let mut partner = ((2.0 * unit as f64 + 0.25).sqrt() - 0.5) as u64;
    while total(partner as usize + 1) <= unit {
        partner += 1;
    }
    while total(partner as usize) > unit {
        partner -= 1;
    }
    (unit - total(partner as usize), partner)
}

/// A device (CPU or GPU) that counts triangles by pairs of blocks. The front block of a triangle contains the row of
/// its middle corner, and the partner block the row of its largest corner.
pub trait Backend {
    /// Returns how many blocks, from block `first` on, the backend can keep resident as front blocks. The number is the
    /// same on every rank.
    fn fronts(&self, graph: &BlockStore, first: usize) -> usize;

    /// Counts the work items that this rank gets, and calls `found` with the counts of finished parts of units.
    ///
    /// # Errors
    /// A request to stop, a lost device, errors of [`WorkSource`] and of `found`.
    fn count(&mut self, work: &Work<'_>, found: ReportParts<'_>) -> Result<()>;
}

/// The work on a group of resident front blocks. Each front block is counted with itself and all later blocks.
pub struct Work<'a> {
    /// The blocks of the graph.
    pub graph: &'a BlockStore,
    /// Indices of the front blocks in the graph.
    pub fronts: Range<usize>,
    done: &'a HashSet<u64>,
    /// Hands out the work items to ranks.
    pub work_source: &'a dyn WorkSource,
}

impl Work<'_> {
    /// Returns true if the unit (pair of blocks) of `front` and `partner` still has to be counted.
    pub fn wants(&self, front: usize, partner: usize) -> bool {
        front <= partner && !self.done.contains(&number(front, partner))
    }

    /// Returns true if any front block still has to be counted with any of the blocks `partners`.
    pub fn wants_any(&self, mut partners: impl Iterator<Item = usize>) -> bool {
        partners.any(|partner| self.fronts.clone().any(|front| self.wants(front, partner)))
    }

    /// Claims the next work item for this rank, and returns its index in a list of items. If all items are taken,
    /// returns an index beyond the end of the list, so the caller must compare the index with the number of items. For
    /// the front blocks from row `row` on there are two lists, and `list` (0 or 1) selects one. From item 0 on, every
    /// `whole` consecutive items cover complete units.
    ///
    /// # Errors
    /// Errors of [`WorkSource::next`].
    pub fn next(&self, row: u32, list: u64, whole: usize) -> Result<usize> {
        debug_assert!(list < 2);
        self.work_source.next(2 * u64::from(row) + list, whole as u64).map(|item| item as usize)
    }
}

/// Hands out work items to ranks, so that each item is counted once.
pub trait WorkSource: Sync {
    /// Returns the number of ranks that share the items. With a single rank, items should be as large as possible.
    fn ranks(&self) -> usize;

    /// Returns the index of the next item of list `list`: 0 in the first call by any rank, 1 in the second, and so on.
    /// If ranks stop only at barriers and a stop was requested, returns indices up to the next multiple of `whole`, so
    /// that no unit is left partly counted, and `u64::MAX` after that.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`], unless ranks stop only at barriers.
    fn next(&self, list: u64, whole: u64) -> Result<u64>;

    /// Checks that the count goes on. A thread calls this repeatedly while it waits for other ranks.
    ///
    /// # Errors
    /// The reason why the count has ended early. The caller must then stop waiting, because other ranks may never
    /// answer.
    fn check_running(&self) -> Result<()> {
        Ok(())
    }
}

/// Numbers of triangles, tested wedges and links in a unit (pair of blocks) or in part of a unit. The numbers of a
/// whole unit depend only on the graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairCount {
    /// Number of triangles whose middle corner has its row in the front block and whose largest corner has its row in
    /// the partner block.
    pub triangles: u64,
    /// Number of wedges tested: for each entry `b` of a row of the partner block such that row `b` is in the front
    /// block, the number of entries `a` before `b`. Neither this number nor the number of triangles overflows, because
    /// blocks and rows have fewer than 2³² entries.
    pub probes: u64,
    /// Number of directed edges in the counted triangles, or 0 if links are not counted. An edge counts once for each
    /// triangle that it is in.
    pub links: u64,
}

impl AddAssign for PairCount {
    fn add_assign(&mut self, other: PairCount) {
        self.triangles += other.triangles;
        self.probes += other.probes;
        self.links += other.links;
    }
}

/// A part of a unit (pair of blocks) with its counts. It consists of a range of rows of the front block and a range of
/// rows of the partner block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Index of the front block.
    pub front: usize,
    /// Index of the partner block.
    pub partner: usize,
    /// Number of the part's rows in the front block times its number of rows in the partner block. A unit is complete
    /// when these products add up to the product for the whole blocks.
    pub pairs: u64,
    /// Numbers of triangles, tested wedges and links in this part.
    pub count: PairCount,
}

/// Callback that receives one or more finished parts of units with their counts.
pub type ReportParts<'a> = &'a mut dyn FnMut(&[Part]) -> Result<()>;

/// Cancellation check that is polled during counting. It returns `None` to continue, or the cause if counting must stop
/// (such as the name of a POSIX signal).
pub type Stop<'a> = &'a (dyn Fn() -> Option<&'static str> + Sync);

/// Units (pairs of blocks) of which some parts are counted, with the sums over these parts.
#[derive(Debug, Default)]
pub struct PartialUnits(HashMap<u64, (u64, PairCount)>);

impl PartialUnits {
    /// Adds the count of a part. If the part completes its unit, returns the id and the count of the unit.
    pub fn add(&mut self, graph: &BlockStore, part: &Part) -> Option<(u64, PairCount)> {
        let rows = |block: usize| graph.layout.block(block).len() as u64;
        let (all, number) = (rows(part.front) * rows(part.partner), number(part.front, part.partner));
        if part.pairs == all {
            return Some((number, part.count));
        }
        let (pairs, sum) = self.0.entry(number).or_default();
        *pairs += part.pairs;
        *sum += part.count;
        // A bug could add more rows than the unit has. Such a unit never becomes complete.
        if *pairs != all {
            return None;
        }
        self.0.remove(&number).map(|(_, count)| (number, count))
    }

    /// Returns true if no unit is partly counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Sums over many units (pairs of blocks).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Number of triangles.
    pub triangles: u128,
    /// Number of wedges tested.
    pub probes: u128,
    /// Number of directed edges in the triangles, or 0 if links are not counted. An edge counts once for each triangle.
    pub links: u128,
}

impl Sum {
    /// Returns the expected sum of the counters of all vertices. A triangle is counted at its three corners, and a link
    /// at one vertex.
    pub fn of_vertices(&self, direction: Direction) -> u128 {
        match direction {
            Direction::Undirected => 3 * self.triangles,
            Direction::Directed => self.links,
        }
    }
}

impl AddAssign<PairCount> for Sum {
    fn add_assign(&mut self, pair: PairCount) {
        self.triangles += u128::from(pair.triangles);
        self.probes += u128::from(pair.probes);
        self.links += u128::from(pair.links);
    }
}

/// Counts all units (pairs of blocks) that are not in `done`. Calls `between` after each group of resident front
/// blocks.
///
/// # Errors
/// Errors of the backend, of `work_source`, of `found` and of `between`.
pub fn run(
    graph: &BlockStore,
    done: &HashSet<u64>,
    backend: &mut dyn Backend,
    work_source: &dyn WorkSource,
    found: ReportParts<'_>,
    between: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let mut first = 0;
    while first < graph.len() {
        let fronts = first..graph.len().min(first + backend.fronts(graph, first).max(1));
        first = fronts.end;
        let work = Work { graph, fronts, done, work_source };
        if work.wants_any(work.fronts.start..graph.len()) {
            backend.count(&work, found)?;
            between()?;
        }
    }
    Ok(())
}
