//! A rank's part of a search level by level, for CPUs and GPUs.

use super::search::{Sent, StepTimes};
use crate::error::Result;
use std::ops::Range;
use std::time::Instant;

/// Number of pairs of other ranks that a rank processes at a time.
pub const BATCH: usize = 1 << 16;

/// A frontier, or a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Number of vertices.
    pub vertices: u64,
    /// Number of entries of their rows.
    pub edges: u64,
}

/// The own vertices of a rank and their state.
///
/// A *piece* is a part of the candidates of a level. Candidates are the entries of the frontier's rows, numbered by the
/// prefix sums of degrees. A pair has the key of a vertex (`super::owner`) in the upper half and a parent in the lower
/// half.
pub trait Levels {
    /// Forgets earlier searches. The frontier becomes `root` if this rank owns it, otherwise empty; returns the
    /// frontier.
    ///
    /// # Errors
    /// Errors of the device.
    fn begin(&mut self, root: u32) -> Result<Frontier>;

    /// Starts the step from a level whose frontier on all ranks together is `all`.
    ///
    /// # Errors
    /// Errors of the device.
    fn step(&mut self, all: Frontier) -> Result<()>;

    /// Expands a piece: writes its candidates to `pairs`, which has room for all of them, and returns the range for
    /// each rank. This rank's range is empty if it has already claimed its own vertices. All ranges are empty if the
    /// ranks pull.
    ///
    /// # Errors
    /// Errors of the device.
    fn expand(&mut self, piece: Range<u64>, pairs: &mut [u64], steps: &mut StepTimes) -> Result<Vec<Range<usize>>>;

    /// Claims own vertices: each vertex that is not reached yet keeps its smallest parent.
    ///
    /// # Errors
    /// Errors of the device.
    fn take(&mut self, pairs: &[u64], steps: &mut StepTimes) -> Result<()>;

    /// Makes the newly reached vertices the frontier. Returns it, and the traffic of the step.
    ///
    /// # Errors
    /// Errors of the device.
    fn advance(&mut self, steps: &mut StepTimes) -> Result<(Frontier, Sent)>;

    /// Returns the parents of the own vertices, by place.
    ///
    /// # Errors
    /// Errors of the device.
    fn parents(&mut self) -> Result<&[u32]>;

    /// Returns the maximum number of entries of a piece.
    fn room(&self) -> u64;

    /// Returns how many pairs of a piece of `piece` entries are copied to the host.
    fn host_pairs(&self, piece: u64) -> u64 {
        piece
    }

    /// Returns true if a GPU computes.
    fn is_on_gpu(&self) -> bool {
        false
    }

    /// Returns true if every rank reads pairs directly from the ranks that expanded them, with [`Self::pull`].
    fn pulls(&self) -> bool {
        false
    }

    /// Waits until all work started is done. Then other ranks may use its results, and this rank no longer reads theirs.
    ///
    /// # Errors
    /// Errors of the device.
    fn settle(&mut self, _: &mut StepTimes) -> Result<()> {
        Ok(())
    }

    /// Starts to claim own vertices by the pairs that other ranks have expanded.
    ///
    /// # Errors
    /// Errors of the device.
    fn pull(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Encodes a key and a parent as a pair.
#[inline(always)]
pub fn pair(key: u32, parent: u32) -> u64 {
    u64::from(key) << 32 | u64::from(parent)
}

/// Adds the seconds since `started` to `step`, and resets `started`.
pub fn lap(started: &mut Instant, step: &mut f64) {
    let now = Instant::now();
    *step += (now - *started).as_secs_f64();
    *started = now;
}
