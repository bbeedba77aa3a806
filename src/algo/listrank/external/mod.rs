//! List ranking of lists that fit no memory, by files.
//!
//! The elements are cut into bins of consecutive ones that fit memory. In a first phase the bins are eliminated, from the last to the second:
//! each chain of links through the bin becomes one link past it, with the number of its steps. Then bin 0 holds one path, which is ranked. In a
//! second phase each bin learns the ranks ahead of its chains from lower bins, so that ranks come in the order of the elements.
//!
//! A link lies in the file of the higher of the bins of its two elements. An eliminated bin leaves, for each element, its chain and the steps
//! to the chain's end, and for each chain the element ahead of it: these requests are in the order of their bins, and the answers in the order
//! of the requests. All is noted in a journal after each bin, so that a killed ranking goes on there.
//!
//! # Source
//! One-by-one cleaning: J. F. Sibeyn, "From parallel to external list ranking", MPI-I-97-1-021, 1997. It is a form of the contraction of Y.-J.
//! Chiang et al., "External-memory graph algorithms", SODA 1995, whose independent sets are here the chains of a bin.

mod bin;
mod chains;
mod files;
pub mod permutation;
mod ranks;
mod scatter;
mod sizes;
mod state;
#[cfg(test)]
mod tests;
mod work;

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::algo::listrank::index::Index;
use crate::algo::listrank::rounds::Rounds;
use crate::error::{At, Error, Result};
use crate::memory::Budget;

pub use sizes::{Sizes, disk, least_memory, memory, volume};
pub use work::{Scan, Visit};

use bin::Bin;
use state::Kept;
use work::Work;

/// Receiver of ranks: it is called with the first index and the ranks of consecutive elements, in ascending order.
pub type Sink<'a, I> = dyn FnMut(u64, &[I]) -> Result<()> + 'a;

/// Mistakes of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// No element ends the list.
    NoEnd,
    /// More than one element ends the list: the first two.
    Ends([u64; 2]),
    /// Elements have one successor.
    Shared {
        /// The smallest such successor.
        successor: u64,
        /// The first two elements with it.
        elements: [u64; 2],
    },
    /// Elements lie on a cycle.
    Cycle {
        /// One of them.
        element: u64,
    },
}

/// Result of a ranking that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The first element; `None` for an empty list.
    pub head: Option<u64>,
    /// Bytes read from files of the ranking's own in this run.
    pub bytes_read: u64,
    /// Bytes written to them in this run.
    pub bytes_written: u64,
    /// Number of bins.
    pub bins: u64,
    /// Number of rounds that an earlier run had finished: the scan, bins eliminated, bins ranked.
    pub resumed_rounds: u64,
}

/// End of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All ranks are in files, and can be [handed over](hand_over).
    Ranked(Found),
    /// The list is none.
    Bad(Bad),
}

/// The means of a ranking, which the caller lends.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Folder for its files, which is made if it is missing and holds nothing else. [`disk`] bounds what is in it.
    pub folder: &'a Path,
    /// Key of the input: files of another are not used.
    pub key: u64,
    /// Number of threads.
    pub threads: usize,
    /// Memory: [`Sizes::memory`] must be free.
    pub budget: &'a Budget,
    /// Asked between pieces of work by all threads; an error ends the ranking, which the same call carries on later.
    pub go_on: &'a (dyn Fn() -> Result<()> + Sync),
    /// Told bytes as they are read and written, about [`volume`] in all.
    pub moved: &'a (dyn Fn(u64) + Sync),
    /// Told each round of this call.
    pub rounds: &'a Rounds,
}

/// Ranks the list of `sizes.n` elements that `scan` reads, with numbers of type `I`; there must be at least two more of them than elements.
/// Ranks, the numbers of successors, stay in files until [`hand_over`]. A later call with the same key and sizes goes on behind the last finished round; one with
/// others begins anew. The files are left to be removed by the caller.
///
/// # Errors
/// Those of the scan and of `go_on`; [`crate::error::Error::Limit`], [`crate::error::Error::DiskFull`],
/// [`crate::error::Error::Io`], [`crate::error::Error::Corrupt`] for a file that was lost, and for a wrong list where an earlier run left files: they may be damaged. Without
/// such files a wrong list is no error but [`Outcome::Bad`].
pub fn rank<I: Index>(scan: Scan<'_>, sizes: Sizes, means: &Means<'_>) -> Result<Outcome> {
    let Means { folder, key, .. } = *means;
    let work = Work::new(sizes, means);
    let mut kept = Kept::open(folder, key, &sizes, size_of::<I>() as u64)?;
    if sizes.n > 0
        && let Some(bad) = rank_bins::<I>(scan, &mut kept, &work)?
    {
        if kept.found > 0 {
            // A list that is none is so from the beginning, too.
            return Err(Error::corrupt(folder, At::File, "no list, by files that an earlier run left"));
        }
        return match bad {
            Some(bad) => Ok(Outcome::Bad(bad)),
            None => scatter::find_shared(scan, &work),
        };
    }
    let [bytes_read, bytes_written] = work.bytes.map(|bytes| bytes.load(Ordering::Relaxed));
    let head = kept.now.head;
    Ok(Outcome::Ranked(Found { head, bytes_read, bytes_written, bins: sizes.bins, resumed_rounds: kept.found }))
}

/// Hands the ranks over that [`rank`] left in files.
///
/// # Errors
/// Those of the sink and of `go_on`; [`crate::error::Error::Limit`], [`crate::error::Error::Io`],
/// [`crate::error::Error::Corrupt`] for a file that was lost.
pub fn hand_over<I: Index>(sizes: Sizes, means: &Means<'_>, sink: &mut Sink<'_, I>) -> Result<()> {
    let work = Work::new(sizes, means);
    (0..sizes.bins).filter(|&bin| sizes.len(bin) > 0).try_for_each(|bin| ranks::read_back(bin, &work, sink))
}

/// Goes through all rounds that are left. Returns what is wrong with the list, if anything; `Some(None)` stands for two elements with one
/// successor, of which no more is known.
fn rank_bins<I: Index>(scan: Scan<'_>, kept: &mut Kept, work: &Work<'_>) -> Result<Option<Option<Bad>>> {
    let (rounds, sizes) = (work.rounds, &work.sizes);
    if !kept.now.scanned
        && let Some(bad) = rounds.time("scan", sizes.n, || scatter::scatter::<I>(scan, kept, work))?
    {
        return Ok(Some(Some(bad)));
    }
    let mut arrays = Bin::<I>::new(work)?;
    while kept.now.left > 1 {
        let bin = kept.now.left - 1;
        let eliminated =
            rounds.time("eliminate", sizes.len(bin), || chains::eliminate(bin, &mut arrays, kept, work))?;
        if let Some(bad) = eliminated {
            return Ok(Some(bad));
        }
    }
    if kept.now.ranked == 0
        && let Some(bad) = rounds.time("rank", sizes.len(0), || ranks::rank_first(&mut arrays, kept, work))?
    {
        return Ok(Some(bad));
    }
    while kept.now.ranked < sizes.bins {
        let bin = kept.now.ranked;
        rounds.time("rank", sizes.len(bin), || ranks::rank_next(bin, &mut arrays, kept, work))?;
    }
    Ok(None)
}
