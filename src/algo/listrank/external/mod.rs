//! External list ranking, for lists that do not fit in memory.
//!
//! The elements are divided into bins, which are ranges of elements that fit in memory. In the first phase the bins are
//! eliminated, from the last to the second. A chain is a path of links within a bin. Each chain is replaced by one link
//! from the element before it to the element after it, whose weight is the number of list steps. Then bin 0 contains a
//! single list, which is ranked. The second phase ranks one bin after another, from bin 0 on. Each bin receives the
//! ranks of the elements after its chains from lower bins. So ranks are computed in the order of elements.
//!
//! A link between two bins is stored in the file of the higher bin. For each element of an eliminated bin, files store
//! the index of its chain and the number of list steps to the element after the chain. For each chain they store a
//! request: the element after the chain, whose rank is needed. Requests are ordered by the bin of that element, and
//! answers are in the order of requests. After each bin the state is recorded in a journal, from which a killed ranking
//! resumes.
//!
//! # Source
//! One-by-one cleaning: J. F. Sibeyn, "From parallel to external list ranking", MPI-I-97-1-021, 1997. It is a form of
//! the contraction of Y.-J. Chiang et al., "External-memory graph algorithms", SODA 1995, with the chains of a bin in
//! place of an independent set.

mod bin;
mod chains;
mod contraction;
mod files;
pub mod permutation;
mod ranks;
mod scatter;
mod sizes;
mod state;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;

use crate::algo::listrank::faults::ListFault;
use crate::algo::listrank::index::Index;
use crate::error::{At, Error, Result};

pub use contraction::{Contraction, ListScan};
pub use sizes::{BinSizes, disk, least_memory, memory, volume};

use bin::BinArrays;
use state::StateJournal;

/// Callback that receives ranks of consecutive elements in ascending order: the index of the first element, and the
/// ranks.
pub type OrderedSink<'a, I> = dyn FnMut(u64, &[I]) -> Result<()> + 'a;

/// Result of a completed ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContractionResult {
    /// The first element of the list; `None` for an empty list.
    pub head: Option<u64>,
    /// Number of bytes that this run read from the ranking's own files and wrote to them.
    pub bytes: u64,
    /// Number of rounds that earlier runs had finished: the scan, eliminated bins and ranked bins.
    pub resumed_rounds: u64,
}

/// Ranks the list that `scan` reads, with indices of type `I`. The type must have at least two more values than there
/// are elements.
///
/// A rank is the number of elements after an element. Ranks stay in files until [`hand_over`]. If an earlier ranking
/// with the same key and sizes was stopped, this one resumes after the last finished round. With another key or other
/// sizes it starts again. The caller removes the files.
///
/// # Errors
/// Errors of the scan and of `check_cancelled`; [`crate::error::Error::Limit`], [`crate::error::Error::DiskFull`],
/// [`crate::error::Error::Io`]; [`crate::error::Error::Corrupt`] if a file was lost. If the input is not a list, that
/// is a [`ListFault`]. But if an earlier run left files, they are probably damaged, and the error is
/// [`crate::error::Error::Corrupt`].
pub fn rank<I: Index>(
    scan: ListScan<'_>,
    work: &Contraction<'_>,
) -> Result<std::result::Result<ContractionResult, ListFault>> {
    let mut kept = StateJournal::open(work, size_of::<I>() as u64)?;
    if work.sizes.shares.length > 0
        && let Some(bad) = rank_bins::<I>(scan, &mut kept)?
    {
        if kept.found > 0 {
            // The earlier run would have found out that the input is not a list, so its files are damaged.
            return Err(Error::corrupt(work.folder, At::File, "the files that an earlier run left do not form a list"));
        }
        return match bad {
            Some(bad) => Ok(Err(bad)),
            None => scatter::find_shared(scan, work).map(Err),
        };
    }
    let bytes = work.bytes.load(Ordering::Relaxed);
    Ok(Ok(ContractionResult { head: kept.now.head, bytes, resumed_rounds: kept.found }))
}

/// Passes the ranks that [`rank`] stored in files to `sink`.
///
/// # Errors
/// Errors of `sink` and of `check_cancelled`; [`crate::error::Error::Limit`], [`crate::error::Error::Io`];
/// [`crate::error::Error::Corrupt`] if a file was lost.
pub fn hand_over<I: Index>(work: &Contraction<'_>, sink: &mut OrderedSink<'_, I>) -> Result<()> {
    let sizes = &work.sizes;
    (0..sizes.bins).filter(|&bin| sizes.len(bin) > 0).try_for_each(|bin| ranks::read_back(bin, work, sink))
}

/// Runs all remaining rounds. If the input is not a list, returns the fault. `Some(None)` means that two elements have
/// the same successor, but it is not known which.
fn rank_bins<I: Index>(scan: ListScan<'_>, kept: &mut StateJournal<'_>) -> Result<Option<Option<ListFault>>> {
    let work = kept.work;
    let (rounds, sizes) = (work.rounds, &work.sizes);
    if !kept.now.scanned
        && let Some(bad) = rounds.time("scan", sizes.shares.length, || scatter::scatter::<I>(scan, kept))?
    {
        return Ok(Some(Some(bad)));
    }
    let mut arrays = BinArrays::<I>::new(work)?;
    while kept.now.left > 1 {
        let bin = kept.now.left - 1;
        let eliminated = rounds.time("eliminate", sizes.len(bin), || chains::eliminate(bin, &mut arrays, kept))?;
        if let Some(bad) = eliminated {
            return Ok(Some(bad));
        }
    }
    if kept.now.ranked == 0
        && let Some(bad) = rounds.time("rank", sizes.len(0), || ranks::rank_first(&mut arrays, kept))?
    {
        return Ok(Some(bad));
    }
    while kept.now.ranked < sizes.bins {
        let bin = kept.now.ranked;
        rounds.time("rank", sizes.len(bin), || ranks::rank_next(bin, &mut arrays, kept))?;
    }
    Ok(None)
}
