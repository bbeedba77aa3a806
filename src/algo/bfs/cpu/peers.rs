//! The other ranks of a search, as the threads of one know them.

use crate::algo::bfs::cpu::shared::{Graph, Queue};
use crate::algo::bfs::cpu::top_down::Claims;
use crate::error::Result;
use std::sync::atomic::AtomicU64;

/// The exchange between the ranks of a search. One thread of each rank calls it, while the others wait.
///
/// Between two steps every rank has the bits of all vertices that any rank reached, those of other ranks in both sets.
pub trait Peers: Sync {
    /// Tells the owners of vertices that these are claimed, and adds own vertices that other ranks claim to `claims.next`. Collective.
    ///
    /// # Errors
    /// Those of the exchange: the search has failed on all ranks.
    fn tell_claims(&self, claims: &Claims<'_>) -> Result<()>;

    /// Tells all ranks which vertices a step reached, and sets the bits of those that other ranks reached; `long` gets those of them whose rows
    /// are shared. Returns the sums over all ranks. Collective.
    ///
    /// # Errors
    /// Those of the exchange: the search has failed on all ranks.
    fn tell_reached(&self, reached: &Reached<'_>, long: &mut Vec<u32>) -> Result<Sums>;
}

/// Sums over the vertices of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Vertices that it reached.
    pub vertices: u64,
    /// Edges that leave these.
    pub edges: u64,
    /// Entries looked at.
    pub checked: u64,
}

/// The own vertices that a step reached.
pub struct Reached<'s> {
    /// The graph.
    pub graph: &'s Graph<'s>,
    /// Their sums.
    pub sums: Sums,
    /// The bits of the vertices that were reached before it.
    pub before: &'s [AtomicU64],
    /// The bits of all that are reached now.
    pub now: &'s [AtomicU64],
    /// Their list, after a step top-down.
    pub list: Option<&'s Queue>,
}
