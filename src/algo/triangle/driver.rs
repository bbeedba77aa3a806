//! All units of a graph, in an order that keeps resident fronts while their partners pass.
//!
//! Ranks have the same resident fronts, one group after the other, and take turns with what passes them: a backend lists its
//! items alike on every rank, and [`Turns`] tells each which one is its own next. An item may be less than a unit, so counts are
//! told in [`Part`]s.

use crate::algo::triangle::cpu::count::PairCount;
use crate::error::Result;
use crate::graph::catalogue::Catalogue;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ops::{AddAssign, Range};

/// Number of units of a graph of `blocks` blocks: every pair of a front and a partner not before it.
pub fn units(blocks: usize) -> u64 {
    blocks as u64 * (blocks as u64 + 1) / 2
}

/// The number of a unit. It depends on the two blocks alone.
pub fn unit(front: usize, partner: usize) -> u64 {
    units(partner) + front as u64
}

/// A backend that counts fronts against their partners: the CPU or a GPU.
pub trait Backend {
    /// Returns how many blocks it holds as fronts at once, the first of them `first`. The same on every rank.
    fn fronts(&self, graph: &Catalogue, first: usize) -> usize;

    /// Counts what of `work` this rank gets the turn for, and tells the count of each part when it is done.
    ///
    /// # Errors
    /// A stop, a lost device, or what the turns or `found` returned.
    fn count(&mut self, work: &Work<'_>, found: Found<'_>) -> Result<()>;
}

/// Some fronts and all partners not before them.
pub struct Work<'a> {
    /// The graph.
    pub graph: &'a Catalogue,
    /// Blocks that are fronts.
    pub fronts: Range<usize>,
    done: &'a HashSet<u64>,
    turns: &'a dyn Turns,
}

impl Work<'_> {
    /// Returns true if the unit of these two is to be counted.
    pub fn wants(&self, front: usize, partner: usize) -> bool {
        front <= partner && !self.done.contains(&unit(front, partner))
    }

    /// Returns true if any unit of these partners is to be counted.
    pub fn wants_any(&self, mut partners: impl Iterator<Item = usize>) -> bool {
        partners.any(|partner| self.fronts.clone().any(|front| self.wants(front, partner)))
    }

    /// Ranks that share the work. With one, items should be as large as they can be.
    pub fn ranks(&self) -> usize {
        self.turns.ranks()
    }

    /// Returns true while a rank that waits for others should go on.
    ///
    /// # Errors
    /// Why not.
    pub fn go_on(&self) -> Result<()> {
        self.turns.go_on()
    }

    /// The next item that no rank has taken yet of one of the two lists of a front that begins with `row`: 0, 1, 2, …, also
    /// beyond its end. Each `whole` items from the first on are whole units together.
    ///
    /// # Errors
    /// Those of the turns.
    pub fn next(&self, row: u32, list: u64, whole: usize) -> Result<usize> {
        debug_assert!(list < 2);
        self.turns.next(2 * u64::from(row) + list, whole as u64).map(|item| item as usize)
    }
}

/// Whose turn it is.
pub trait Turns: Sync {
    /// Ranks that take turns.
    fn ranks(&self) -> usize;

    /// Returns how often this was asked of `list` before, by any rank. Where a stop lets all ranks meet, the largest number of all
    /// from the next multiple of `whole` on, so that no unit is left half counted.
    ///
    /// # Errors
    /// A stop, where it does not wait for others.
    fn next(&self, list: u64, whole: u64) -> Result<u64>;

    /// Returns true while turns are still given.
    ///
    /// # Errors
    /// Why not: without them other ranks may wait for ever.
    fn go_on(&self) -> Result<()> {
        Ok(())
    }
}

/// Triangles and probes of some rows of a front against some rows of a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The blocks.
    pub front: usize,
    /// As above.
    pub partner: usize,
    /// Rows of the one times rows of the other. Those of all parts of a unit sum up to those of its blocks.
    pub pairs: u64,
    /// The count.
    pub count: PairCount,
}

/// Called with parts that were finished together.
pub type Found<'a> = &'a mut dyn FnMut(&[Part]) -> Result<()>;

/// Units of which not all parts were found yet.
#[derive(Debug, Default)]
pub struct Gathering(HashMap<u64, (u64, PairCount)>);

impl Gathering {
    /// Takes a part; its unit and the unit's count, if it was the last.
    pub fn add(&mut self, graph: &Catalogue, part: &Part) -> Option<(u64, PairCount)> {
        let rows = |block: usize| graph.layout.block(block).len() as u64;
        let (all, number) = (rows(part.front) * rows(part.partner), unit(part.front, part.partner));
        if part.pairs == all {
            return Some((number, part.count));
        }
        let (pairs, sum) = self.0.entry(number).or_default();
        *pairs += part.pairs;
        sum.triangles += part.count.triangles;
        sum.probes += part.count.probes;
        // More of them than there are would be a mistake: such a unit is never whole.
        if *pairs != all {
            return None;
        }
        self.0.remove(&number).map(|(_, count)| (number, count))
    }

    /// True if no unit is half done.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Triangles and probes of many units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Triangles.
    pub triangles: u128,
    /// Wedges tested.
    pub probes: u128,
}

impl AddAssign<PairCount> for Sum {
    fn add_assign(&mut self, pair: PairCount) {
        self.triangles += u128::from(pair.triangles);
        self.probes += u128::from(pair.probes);
    }
}

/// Counts all units that are not `done`; `between` is called when all of a group of fronts were counted here.
///
/// # Errors
/// Those of the backend, of the turns, of `found` and of `between`.
pub fn run(
    graph: &Catalogue,
    done: &HashSet<u64>,
    backend: &mut dyn Backend,
    turns: &dyn Turns,
    found: Found<'_>,
    between: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let mut first = 0;
    while first < graph.len() {
        let fronts = first..graph.len().min(first + backend.fronts(graph, first).max(1));
        first = fronts.end;
        let work = Work { graph, fronts, done, turns };
        if work.wants_any(work.fronts.start..graph.len()) {
            backend.count(&work, found)?;
            between()?;
        }
    }
    Ok(())
}
