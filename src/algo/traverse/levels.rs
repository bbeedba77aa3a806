//! A rank's part of a search level by level, whatever computes it.

use super::search::{Sent, Steps};
use crate::error::Result;
use std::ops::Range;
use std::time::Instant;

/// A frontier, or a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Its vertices.
    pub vertices: u64,
    /// Entries of their rows.
    pub edges: u64,
}

/// The own vertices of a rank, and what is known of them.
///
/// A *piece* is a part of the candidates of a level: entries of the rows of its frontier, numbered by the prefix sums of degrees. The key of a vertex
/// (`super::owner`) is in the upper half of a pair, a parent in the lower.
pub trait Levels {
    /// Forgets earlier searches. The frontier is `root`, if it is an own vertex: returns it.
    ///
    /// # Errors
    /// Errors of the device.
    fn begin(&mut self, root: u32) -> Result<Frontier>;

    /// Begins the step from a level whose frontier is `all` on all ranks together.
    ///
    /// # Errors
    /// Errors of the device.
    fn step(&mut self, all: Frontier) -> Result<()>;

    /// Expands a piece: leaves its candidates in `pairs`, which have room for all of them, and returns those that go to each rank. Those of this rank
    /// are empty where it has taken them already, and all where the ranks pull.
    ///
    /// # Errors
    /// Errors of the device.
    fn expand(&mut self, piece: Range<u64>, pairs: &mut [u64], steps: &mut Steps) -> Result<Vec<Range<usize>>>;

    /// Takes pairs of own vertices: of those that are not reached yet, the smallest parent stays.
    ///
    /// # Errors
    /// Errors of the device.
    fn take(&mut self, pairs: &[u64], steps: &mut Steps) -> Result<()>;

    /// Makes the vertices that were reached the frontier: returns it, and what was sent in the step.
    ///
    /// # Errors
    /// Errors of the device.
    fn advance(&mut self, steps: &mut Steps) -> Result<(Frontier, Sent)>;

    /// Returns the parents of the own vertices, by their places.
    ///
    /// # Errors
    /// Errors of the device.
    fn parents(&mut self) -> Result<&[u32]>;

    /// Returns the most entries that a piece may have.
    fn room(&self) -> u64;

    /// Returns the pairs of a piece of so many entries that come to the host.
    fn host_pairs(&self, piece: u64) -> u64 {
        piece
    }

    /// Returns how many pairs of other ranks it likes to take at a time.
    fn batch(&self) -> usize;

    /// Returns true if a GPU computes.
    fn is_on_gpu(&self) -> bool {
        false
    }

    /// Returns true if all ranks take pairs from where those that expanded them have left them, by [`Self::pull`].
    fn pulls(&self) -> bool {
        false
    }

    /// Waits until all that was begun is done, so that other ranks may use it, or nobody uses what is theirs.
    ///
    /// # Errors
    /// Errors of the device.
    fn settle(&mut self, _: &mut Steps) -> Result<()> {
        Ok(())
    }

    /// Begins to take the pairs of own vertices that other ranks have expanded.
    ///
    /// # Errors
    /// Errors of the device.
    fn pull(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Returns a pair.
#[inline(always)]
pub fn pair(key: u32, parent: u32) -> u64 {
    u64::from(key) << 32 | u64::from(parent)
}

/// Adds the seconds since `started` to `step`, and begins anew.
pub fn lap(started: &mut Instant, step: &mut f64) {
    let now = Instant::now();
    *step += (now - *started).as_secs_f64();
    *started = now;
}
