//! Iterates over all units of a graph. A unit is a pair of blocks: a front block, which stays resident, and a partner
//! block, which streams past it.
//!
//! Front blocks are counted in groups. All ranks keep the same group resident, and divide the partner blocks among
//! them. A backend divides the work into items and lists them in the same order on every rank. [`WorkSource`] hands
//! out each item to one rank. An item may cover only part of a unit, so counts are reported in [`Part`]s.

use crate::error::Result;
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ops::{AddAssign, Range};

/// Returns the number of units of a graph with `blocks` blocks: pairs of a front block and the same or a later partner
/// block.
pub fn total(blocks: usize) -> u64 {
    blocks as u64 * (blocks as u64 + 1) / 2
}

/// Returns the id of the unit (pair of blocks) of `front` and `partner`. It depends only on these two blocks.
pub fn number(front: usize, partner: usize) -> u64 {
    total(partner) + front as u64
}

/// Returns the front block and the partner block of the unit with id `unit`.
pub fn blocks_of(unit: u64) -> (u64, u64) {
    // Finds the largest partner whose first unit is not after this one. The square root may be off by one.
    let mut partner = ((2.0 * unit as f64 + 0.25).sqrt() - 0.5) as u64;
    while total(partner as usize + 1) <= unit {
        partner += 1;
    }
    while total(partner as usize) > unit {
        partner -= 1;
    }
    (unit - total(partner as usize), partner)
}

/// A device (CPU or GPU) that counts triangles. A triangle is counted for the front block with the row of its middle
/// corner, and the partner block with the row of its largest corner.
pub trait Backend {
    /// Returns the number of blocks, beginning with block `first`, that the backend can keep resident as front
    /// blocks. The number is the same on every rank.
    fn fronts(&self, graph: &BlockStore, first: usize) -> usize;

    /// Counts the items of `work` that this rank gets, and passes the count of each finished part to `found`.
    ///
    /// # Errors
    /// A request to stop, a lost device, errors of [`WorkSource`] and of `found`.
    fn count(&mut self, work: &Work<'_>, found: ReportParts<'_>) -> Result<()>;
}

/// A group of resident front blocks. Each of them is counted with all partner blocks from itself on.
pub struct Work<'a> {
    /// The blocks of the graph.
    pub graph: &'a BlockStore,
    /// Indices of the front blocks.
    pub fronts: Range<usize>,
    done: &'a HashSet<u64>,
    /// Hands out the work items to ranks.
    pub work_source: &'a dyn WorkSource,
}

impl Work<'_> {
    /// Returns true if the pair of blocks `front` and `partner` still has to be counted.
    pub fn wants(&self, front: usize, partner: usize) -> bool {
        front <= partner && !self.done.contains(&number(front, partner))
    }

    /// Returns true if any front block still has to be counted with any of these partner blocks.
    pub fn wants_any(&self, mut partners: impl Iterator<Item = usize>) -> bool {
        partners.any(|partner| self.fronts.clone().any(|front| self.wants(front, partner)))
    }

    /// Claims the next work item for this rank, and returns its index in a list of items. If all items are taken,
    /// returns an index beyond the end of the list, so the caller must compare the index with the number of items. The
    /// group of fronts that begins with row `row` has two lists of items, and `list` (0 or 1) selects one. From item 0
    /// on, every `whole` consecutive items cover complete units.
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

    /// Returns the index of the next item of `list`: 0 in the first call by any rank, 1 in the second, and so on. If
    /// ranks stop only at barriers and a stop was requested, indices are returned up to the next multiple of `whole`,
    /// so that no unit is left partly counted. After that, every call returns `u64::MAX`.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`], unless the stop waits for other ranks.
    fn next(&self, list: u64, whole: u64) -> Result<u64>;

    /// Checks that the count has not ended early. Called repeatedly while a thread waits for other ranks.
    ///
    /// # Errors
    /// An error with the reason why the count has ended. The caller must then stop waiting, because other ranks may
    /// never answer.
    fn check_running(&self) -> Result<()> {
        Ok(())
    }
}

/// Numbers of triangles, tested wedges and links of a pair of blocks, or of a part of the pair. The numbers of a whole
/// pair depend only on the graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairCount {
    /// Number of triangles with the row of the middle corner in the front and the row of the largest corner in the
    /// partner.
    pub triangles: u64,
    /// Number of wedges tested: for each entry `b` of a partner row such that row `b` is in the front, the number of
    /// entries `a` before `b` in the partner row.
    ///
    /// Neither count overflows, because blocks and rows have fewer than 2³² entries.
    pub probes: u64,
    /// Number of directed edges in these triangles, or 0 if links are not counted. An edge counts once for each
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

/// Part of a unit (a pair of blocks), with its counts: a range of rows of the front block, paired with a range of
/// rows of the partner block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Index of the front block.
    pub front: usize,
    /// Index of the partner block.
    pub partner: usize,
    /// Number of front rows in this part times the number of partner rows in it. A unit is complete when these
    /// products of its parts add up to the product for both blocks.
    pub pairs: u64,
    /// Numbers of triangles, tested wedges and links in the part.
    pub count: PairCount,
}

/// Callback that is called with one or more finished parts of units, which include their counts.
pub type ReportParts<'a> = &'a mut dyn FnMut(&[Part]) -> Result<()>;

/// Cancellation check, which is polled during counting. It must return the cause if counting must stop (such as the
/// name of a POSIX signal), or `None` to continue.
pub type Stop<'a> = &'a (dyn Fn() -> Option<&'static str> + Sync);

/// Sums of units (pairs of blocks) that are only partly counted.
#[derive(Debug, Default)]
pub struct PartialUnits(HashMap<u64, (u64, PairCount)>);

impl PartialUnits {
    /// Adds the count of a part. If the part completes its unit, returns the unit's id and count.
    pub fn add(&mut self, graph: &BlockStore, part: &Part) -> Option<(u64, PairCount)> {
        let rows = |block: usize| graph.layout.block(block).len() as u64;
        let (all, number) = (rows(part.front) * rows(part.partner), number(part.front, part.partner));
        if part.pairs == all {
            return Some((number, part.count));
        }
        let (pairs, sum) = self.0.entry(number).or_default();
        *pairs += part.pairs;
        *sum += part.count;
        // More pairs than the unit has would be a bug. Such a unit never becomes complete.
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

/// Triangles, tested wedges (probes) and links of many units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Number of triangles.
    pub triangles: u128,
    /// Number of wedges tested.
    pub probes: u128,
    /// Number of directed edges in the triangles, or 0 if links are not counted.
    pub links: u128,
}

impl Sum {
    /// Returns the expected sum of the counters of all vertices. Each triangle counts at its three corners, and each
    /// link once.
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
