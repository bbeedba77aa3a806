//! All units of a graph, in an order that keeps fronts in hand while their partners pass.

use super::count::PairCount;
use crate::error::Result;
use crate::graph::catalogue::Catalogue;
use std::collections::HashSet;
use std::ops::{AddAssign, Range};

/// Number of units of a graph of `blocks` blocks: every pair of a front and a partner not before it.
pub fn units(blocks: usize) -> u64 {
    blocks as u64 * (blocks as u64 + 1) / 2
}

/// The number of a unit. It depends on the two blocks alone.
pub fn unit(front: usize, partner: usize) -> u64 {
    units(partner) + front as u64
}

/// What counts fronts against their partners: a processor or a GPU.
pub trait Backend {
    /// How many blocks it takes in hand as fronts at once, the first of them `first`.
    fn fronts(&self, graph: &Catalogue, first: usize) -> usize;

    /// Counts every unit of `work` that is wanted, and tells each count as soon as all that belongs to it is done.
    ///
    /// # Errors
    /// A stop, a lost device, or what `found` returned.
    fn count(&mut self, work: &Work<'_>, found: Found<'_>) -> Result<()>;
}

/// Some fronts and all partners not before them.
pub struct Work<'a> {
    /// The graph.
    pub graph: &'a Catalogue,
    /// Blocks that are fronts.
    pub fronts: Range<usize>,
    done: &'a HashSet<u64>,
}

impl Work<'_> {
    /// Whether the unit of these two is to be counted.
    pub fn wants(&self, front: usize, partner: usize) -> bool {
        front <= partner && !self.done.contains(&unit(front, partner))
    }

    /// Whether any unit of these partners is.
    pub fn wants_any(&self, mut partners: impl Iterator<Item = usize>) -> bool {
        partners.any(|partner| self.fronts.clone().any(|front| self.wants(front, partner)))
    }
}

/// Called with the numbers and counts of units that were finished together.
pub type Found<'a> = &'a mut dyn FnMut(&[(u64, PairCount)]) -> Result<()>;

/// Triangles and probes of many units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

/// Counts all units that are not `done`.
///
/// # Errors
/// Those of the backend and of `found`.
pub fn run(graph: &Catalogue, done: &HashSet<u64>, backend: &mut dyn Backend, found: Found<'_>) -> Result<()> {
    let mut first = 0;
    while first < graph.len() {
        let fronts = first..graph.len().min(first + backend.fronts(graph, first).max(1));
        first = fronts.end;
        let work = Work { graph, fronts, done };
        if work.wants_any(work.fronts.start..graph.len()) {
            backend.count(&work, found)?;
        }
    }
    Ok(())
}
