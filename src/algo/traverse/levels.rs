//! The trait [`Levels`]: the vertices of one rank in a level-synchronous search. There is an implementation for CPUs
//! and one for GPUs.

use super::search::{StepTimes, Traffic};
use crate::error::Result;
use std::ops::Range;
use std::time::Instant;

/// Maximum number of received pairs (a vertex and its proposed parent) that a rank processes at a time.
pub const BATCH: usize = 1 << 16;

/// Size of a frontier, or of the part of a frontier that one rank owns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Number of vertices in the frontier.
    pub vertices: u64,
    /// Number of entries in the adjacency rows of the frontier's vertices.
    pub edges: u64,
}

/// The vertices that a rank owns, and their state in a level-synchronous search.
///
/// A *candidate* is a neighbour of the frontier, found along one edge. Prefix sums of degrees give each candidate of a
/// level an index. A *piece* is a range of these indices, whose candidates are expanded at once. A *pair* encodes a
/// candidate in a 64-bit word: the key of the neighbour
/// ([`VertexOwnership::key`](crate::algo::searches::ranks::VertexOwnership::key)) in the upper half, its parent in the
/// lower half.
pub trait Levels {
    /// Resets the state for a new search. The frontier becomes `root` if this rank owns it, and empty otherwise.
    /// Returns the frontier's size.
    ///
    /// # Errors
    /// Errors of the device.
    fn begin(&mut self, root: u32) -> Result<Frontier>;

    /// Begins the step to the next level. `all` is the size of the frontier on all ranks together.
    ///
    /// # Errors
    /// Errors of the device.
    fn step(&mut self, all: Frontier) -> Result<()>;

    /// Expands a piece (a range of candidates, which are neighbours of the frontier). Writes the candidates to `pairs`,
    /// which must be large enough for all of them. Returns for each rank the range of its candidates in `pairs`. The
    /// range of this rank is empty if the rank has already claimed its own vertices. All ranges are empty if ranks read
    /// pairs directly from each other ([`Self::pulls`]).
    ///
    /// # Errors
    /// Errors of the device.
    fn expand(&mut self, piece: Range<u64>, pairs: &mut [u64], steps: &mut StepTimes) -> Result<Vec<Range<usize>>>;

    /// Claims the vertices in `pairs`, all of which this rank owns: marks them as reached and sets their parents.
    /// Vertices that were reached before the step do not change. If a vertex has several candidates, the smallest
    /// parent wins.
    ///
    /// # Errors
    /// Errors of the device.
    fn take(&mut self, pairs: &[u64], steps: &mut StepTimes) -> Result<()>;

    /// Ends the step: the newly reached vertices become the frontier. Returns the size of the frontier, and the traffic
    /// of the step.
    ///
    /// # Errors
    /// Errors of the device.
    fn advance(&mut self, steps: &mut StepTimes) -> Result<(Frontier, Traffic)>;

    /// Returns the parents of the vertices that this rank owns, in order.
    ///
    /// # Errors
    /// Errors of the device.
    fn parents(&mut self) -> Result<&[u32]>;

    /// Returns the maximum number of candidates (neighbours of the frontier) that can be expanded at once.
    fn piece_capacity(&self) -> u64;

    /// Returns the required capacity of the host buffer, in pairs (a vertex and its proposed parent), if `piece`
    /// candidates are expanded at once.
    fn host_pairs(&self, piece: u64) -> u64 {
        piece
    }

    /// Returns true if the vertices are in GPU memory and are expanded by the GPU.
    fn is_on_gpu(&self) -> bool {
        false
    }

    /// Returns true if ranks read pairs directly from each other's memory, with [`Self::pull`].
    fn pulls(&self) -> bool {
        false
    }

    /// Waits until all work that was started is complete. Afterwards other ranks may read this rank's pairs, and this
    /// rank has read all pairs that it needs from them.
    ///
    /// # Errors
    /// Errors of the device.
    fn synchronize(&mut self, _: &mut StepTimes) -> Result<()> {
        Ok(())
    }

    /// Starts to read pairs (a vertex and its proposed parent) from the memory of other ranks, and to claim the
    /// vertices in them that this rank owns.
    ///
    /// # Errors
    /// Errors of the device.
    fn pull(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Encodes the key of a vertex and its proposed parent as a pair, in one 64-bit word.
#[inline(always)]
pub fn pair(key: u32, parent: u32) -> u64 {
    u64::from(key) << 32 | u64::from(parent)
}

/// Adds the seconds since `started` to `step`, and then sets `started` to the current time.
pub fn lap(started: &mut Instant, step: &mut f64) {
    let now = Instant::now();
    *step += (now - *started).as_secs_f64();
    *started = now;
}
