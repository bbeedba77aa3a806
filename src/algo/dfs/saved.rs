//! The checkpoint of a depth-first search: its counters, the records of all vertices, and the stack.

use super::walk::DfsWalk;
use crate::error::Result;
use crate::memory::bytes_of;
use crate::store::checkpoint::{Checkpoint, Saved};

/// Number of equal units in which the progress of a search is reported.
pub(super) const UNITS: u64 = 1000;

/// Counters of a depth-first search that are stored neither in the records of vertices nor on the stack.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DfsCounters {
    /// The next vertex at which a tree of a forest may begin. All vertices before it are in a tree already.
    pub next_root: u32,
    /// Number of trees so far.
    pub trees: u32,
    /// Time spent on the search so far, in seconds.
    pub seconds: f64,
}

/// Saves the state of a search to its checkpoint, between two calls of [`DfsWalk::advance`].
///
/// # Errors
/// [`crate::Error::DiskFull`], [`crate::Error::Io`].
pub(super) fn save(checkpoint: &mut Checkpoint, walk: &DfsWalk, counters: DfsCounters) -> Result<()> {
    let DfsCounters { next_root, trees, seconds } = counters;
    let head = [walk.tree.reached, walk.tree.left, next_root, trees].map(u64::from);
    let head = [&head[..], &[seconds.to_bits()]].concat();
    let sections = [bytes_of(&head), bytes_of(walk.tree.numbers()), bytes_of(walk.stack())];
    checkpoint.save(done(walk), UNITS, &sections)
}

/// Returns how many of the [`UNITS`] progress units a search has completed.
pub(super) fn done(walk: &DfsWalk) -> u64 {
    u64::from(walk.tree.left) * UNITS / u64::from(walk.tree.vertices()).max(1)
}

/// Loads the state of a search from a checkpoint into `walk`. Returns the counters of the search.
///
/// # Errors
/// [`crate::Error::Corrupt`] if the checkpoint is not of a depth-first search of this graph.
pub(super) fn load(saved: &Saved, walk: &mut DfsWalk) -> Result<DfsCounters> {
    let wrong = || saved.other("not a depth-first search of this graph");
    let &[reached, left, next_root, trees, seconds] = saved.words(0)? else { return Err(wrong()) };
    let (records, stack) = (saved.words_u32(1)?, saved.words(2)?);
    let numbers = walk.tree.numbers_mut();
    if records.len() != numbers.len() {
        return Err(wrong());
    }
    numbers.copy_from_slice(records);
    (walk.tree.reached, walk.tree.left) = (reached as u32, left as u32);
    if !walk.resume(stack) {
        return Err(wrong());
    }
    Ok(DfsCounters { next_root: next_root as u32, trees: trees as u32, seconds: f64::from_bits(seconds) })
}

/// Returns a text for `verify` that says how many vertices the search in a checkpoint has reached and finished.
///
/// # Errors
/// [`crate::Error::Corrupt`] if the checkpoint is not of a depth-first search.
pub(super) fn describe(saved: &Saved) -> Result<String> {
    match saved.words(0)? {
        [reached, left, ..] => Ok(format!("{reached} vertices reached, {left} left")),
        _ => Err(saved.other("not a depth-first search")),
    }
}
