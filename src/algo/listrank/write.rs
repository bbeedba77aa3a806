//! Writes the column of list ranks in the order of elements, and computes its checksum.

use crate::algo::Run;
use crate::algo::listrank::options::RankOrder;
use crate::algo::listrank::output::ListRankOutput;
use crate::algo::team::{Parts, team};
use crate::error::Result;
use crate::process::signals;
use crate::results::Column;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of elements whose checksum a thread computes at a time.
const PART: usize = 1 << 16;

/// Checksum of ranks: the sum of `rank(i) * (i mod 1000003 + 1)` over all elements `i`, modulo 2^64.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checksum {
    sum: u64,
    factor: u64,
}

impl Checksum {
    /// The number 1000003 in the definition of the checksum.
    const FACTORS: u64 = 1_000_003;

    /// Starts a checksum of the ranks from element `first` on.
    pub fn at(first: u64) -> Checksum {
        Checksum { sum: 0, factor: first % Self::FACTORS }
    }

    /// Adds the rank of the next element.
    #[inline]
    pub fn add(&mut self, rank: u64) {
        self.factor = if self.factor == Self::FACTORS { 1 } else { self.factor + 1 };
        self.sum = self.sum.wrapping_add(rank.wrapping_mul(self.factor));
    }

    /// Returns the checksum of the ranks that were added.
    pub fn sum(self) -> u64 {
        self.sum
    }
}

/// The column `rank` of a list, to which ranks are appended.
pub struct Ranks {
    /// The column file, which only MPI rank 0 has, and only in the last trial.
    column: Option<Column<i64>>,
    order: RankOrder,
    length: u64,
    /// Number of ranks that were appended.
    pushed: u64,
    /// Checksum of the ranks that were appended.
    sum: u64,
}

impl Ranks {
    /// Begins the rank column of a list of `length` elements. It is written only in the last trial, by MPI rank 0.
    ///
    /// # Errors
    /// Disk errors.
    pub fn begin(run: &Run<'_>, order: RankOrder, length: u64) -> Result<Ranks> {
        let writes = run.is_last && run.comm.is_leader();
        let column = writes.then(|| run.columns.begin("rank", length)).transpose()?;
        Ok(Ranks { column, order, length, pushed: 0, sum: 0 })
    }

    /// Appends the ranks of the next elements with `threads` threads. `successors` contains for each element the number
    /// of elements after it, and `wide` converts that number to `u64`. Calls `written` after each chunk, with its
    /// number of elements.
    ///
    /// # Errors
    /// Disk errors; [`crate::Error::Stopped`].
    pub fn push<N: Sync>(
        &mut self,
        successors: &[N],
        wide: impl Fn(&N) -> u64 + Sync,
        threads: usize,
        written: &(dyn Fn(u64) + Sync),
    ) -> Result<()> {
        let Ranks { order, length, pushed, .. } = *self;
        let rank = |behind: &N| if order == RankOrder::Successors { wide(behind) } else { length - 1 - wide(behind) };
        let rank = &rank;
        let sum = AtomicU64::new(self.sum);
        let summed = |part: Range<usize>| {
            let mut checksum = Checksum::at(pushed + part.start as u64);
            let successors = &successors[part];
            successors.iter().for_each(|behind| checksum.add(rank(behind)));
            sum.fetch_add(checksum.sum(), Relaxed);
            written(successors.len() as u64);
            successors
        };
        match &mut self.column {
            Some(column) => {
                let rows = successors.len() as u64;
                let ranks = |rows: Range<u64>| {
                    let successors = summed(rows.start as usize..rows.end as usize);
                    successors.iter().map(move |behind| rank(behind) as i64)
                };
                column.push(rows, threads, ranks)?;
            }
            None => {
                let parts = Parts::new(successors.len(), PART);
                let add = |part| {
                    summed(part);
                    signals::check()
                };
                team(threads.min(successors.len().div_ceil(PART)), &|_| parts.each(add))?;
            }
        }
        self.sum = sum.into_inner();
        self.pushed += successors.len() as u64;
        Ok(())
    }

    /// Writes the ranks of all elements of a list. `successors` contains for each element the number of elements after
    /// it. Returns the result of the ranking. Only MPI rank 0 may call this.
    ///
    /// # Errors
    /// Disk errors; [`crate::Error::Stopped`].
    pub fn write_all<N: Sync>(
        run: &mut Run<'_>,
        order: RankOrder,
        head: Option<u64>,
        successors: &[N],
        wide: impl Fn(&N) -> u64 + Sync,
    ) -> Result<ListRankOutput> {
        let (length, progress) = (successors.len() as u64, run.progress);
        let mut ranks = Ranks::begin(run, order, length)?;
        ranks.push(successors, wide, run.threads, &|elements| progress.advance(elements))?;
        Ok(ListRankOutput { length, head, checksum: ranks.end(run)? })
    }

    /// Finishes the column and returns the checksum.
    ///
    /// # Errors
    /// Disk errors.
    pub fn end(self, run: &mut Run<'_>) -> Result<u64> {
        self.column.map(|column| run.columns.end(column)).transpose()?;
        Ok(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_can_start_at_any_element() {
        let ranks: Vec<u64> = (0..2_100_000).map(|i| (u64::MAX / 3) ^ (i * 7)).collect();
        let plain = |from: usize| {
            ranks[from..]
                .iter()
                .zip(from as u64..)
                .fold(0_u64, |sum, (rank, i)| sum.wrapping_add(rank.wrapping_mul(i % 1_000_003 + 1)))
        };
        for from in [0, 1, 1_000_002, 1_000_003, 1_000_004, 2_000_006] {
            let mut checksum = Checksum::at(from as u64);
            ranks[from..].iter().for_each(|&rank| checksum.add(rank));
            assert_eq!(checksum.sum(), plain(from), "{from}");
        }
    }
}
