//! Runs one trial of ranking a list that does not fit in memory. The list is contracted by passes over files. If the
//! trial is killed, a later run resumes from these files.

use crate::algo::listrank::ListRank;
use crate::algo::listrank::external::permutation::PowerSums;
use crate::algo::listrank::external::{self, BinSizes, Contraction};
use crate::algo::listrank::index::Index;
use crate::algo::listrank::output::{ListRankDetails, ListRankOutput, Phases, Ranked};
use crate::algo::listrank::rounds::Rounds;
use crate::algo::listrank::write::Ranks;
use crate::algo::{Run, Trial};
use crate::error::{At, Error, Result};
use crate::formats::Signals;
use crate::list::{List, Visit};
use crate::process::signals;
use std::time::Instant;

/// Name in reports of the method that ranks a list with files.
pub(super) const METHOD: &str = "contraction";

/// Returns the size of an index in bytes (4 or 8) for ranking a list of `length` elements with files. The index type
/// must have two more values than there are elements, because contraction uses two values as marks.
pub(super) fn width(length: u64) -> u64 {
    if length < u64::from(u32::MAX) - 1 { 4 } else { 8 }
}

/// Ranks a list, and stores intermediate data in files in the trial's folder. If files of an earlier run are damaged,
/// removes them and ranks the list from the beginning.
///
/// # Errors
/// [`Error::Input`] if the input is not a list, [`Error::Limit`], disk errors; [`crate::Error::Stopped`].
pub(super) fn rank<I: Index>(table: &ListRank, list: &List, run: &mut Run<'_>, sizes: BinSizes) -> Result<Ranked> {
    match run_or_resume::<I>(table, list, run, sizes) {
        // The files of an earlier run are damaged.
        Err(e @ Error::Corrupt { .. }) => {
            tracing::warn!("{e}: ranking from the beginning");
            run.units.remove_files()?;
            run_or_resume::<I>(table, list, run, sizes)
        }
        other => other,
    }
}

fn run_or_resume<I: Index>(table: &ListRank, list: &List, run: &mut Run<'_>, sizes: BinSizes) -> Result<Ranked> {
    let started = Instant::now();
    let folder = run.units.files()?;
    let progress = run.progress;
    let volume = u128::from(external::volume(list.length, size_of::<I>() as u64).max(1));
    let rounds = Rounds::default();
    let work = Contraction {
        sizes,
        rounds: &rounds,
        folder: &folder,
        key: run.units.key,
        threads: run.threads,
        budget: run.budget,
        check_cancelled: &signals::check,
        moved: &|bytes| progress.advance((u128::from(bytes) * u128::from(list.length) / volume) as u64),
        bytes: Default::default(),
    };
    let (threads, budget) = (run.threads, run.budget);
    let scan = |visit: Visit<'_>| {
        let _reading = budget.reserve(list.source.scratch_bytes(threads), "reading the list")?;
        list.source.scan(0..list.length, threads, &Signals, visit)
    };
    let found = match external::rank::<I>(&scan, &work)? {
        Ok(found) => found,
        Err(fault) => {
            run.units.remove_files()?;
            let _reading = budget.reserve(list.source.scratch_bytes(threads), "reading the list")?;
            return Err(fault.error(list, threads)?);
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    let mut ranks = Ranks::begin(run, table.order, list.length)?;
    let mut sums = PowerSums::default();
    external::hand_over::<I>(&work, &mut |_, piece| {
        sums.add(piece, run.threads)?;
        ranks.push(piece, |rank| rank.wide(), run.threads, &|_| ())
    })?;
    // Files to which threads append have no checksums. Checking that the ranks are a permutation finds damage to them.
    if sums != PowerSums::of_all(list.length) {
        return Err(Error::corrupt(folder, At::File, "files of bins whose ranks do not form one path"));
    }
    let checksum = ranks.end(run)?;
    let phases = Phases { rank: seconds, ..Phases::default() };
    let details = ListRankDetails { method: METHOD.into(), bytes: found.bytes, phases, rounds: rounds.take() };
    Ok(Trial { output: ListRankOutput { length: list.length, head: found.head, checksum }, details, seconds })
}
