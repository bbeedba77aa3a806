//! All units of a graph, in an order that keeps one front in hand while its partners pass.

use super::count::PairCount;
use crate::error::Result;
use crate::graph::catalogue::Catalogue;
use crate::graph::csr::Block;
use std::collections::HashSet;
use std::ops::AddAssign;

/// Number of units of a graph of `blocks` blocks: every pair of a front and a partner not before it.
pub fn units(blocks: usize) -> u64 {
    blocks as u64 * (blocks as u64 + 1) / 2
}

/// The number of a unit. It depends on the two blocks alone.
pub fn unit(front: usize, partner: usize) -> u64 {
    units(partner) + front as u64
}

/// What counts a front against its partners: a processor, later a GPU.
pub trait Backend {
    /// Counts `front` against each of `partners` (with the numbers of their units) and tells each count at once.
    ///
    /// # Errors
    /// A stop, a lost device, or what `found` returned.
    fn count(&mut self, front: Block<'_>, partners: &[(u64, Block<'_>)], found: Found<'_>) -> Result<()>;
}

/// Called with each unit's number and count.
pub type Found<'a> = &'a mut dyn FnMut(u64, PairCount) -> Result<()>;

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
    for front in 0..graph.len() {
        let left: Vec<usize> = (front..graph.len()).filter(|&p| !done.contains(&unit(front, p))).collect();
        if left.is_empty() {
            continue;
        }
        let partners: Vec<_> = left.iter().map(|&p| (unit(front, p), graph.block(p).block())).collect();
        // Units of one front ascend with their partners.
        let number_of = |u: u64| left.binary_search_by_key(&u, |&p| unit(front, p)).ok().map(|at| left[at]);
        backend.count(graph.block(front).block(), &partners, &mut |u, count| {
            // The pages of a partner that is done make room for the next.
            number_of(u).filter(|&p| p != front).iter().for_each(|&p| graph.block(p).release());
            found(u, count)
        })?;
        graph.block(front).release();
    }
    Ok(())
}
