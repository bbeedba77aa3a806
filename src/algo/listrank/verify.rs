//! Checks list ranks against successors in one pass over both, with only a buffer per thread in memory.
//!
//! Ranks are correct if three conditions are met. The tail has rank 0. The rank of any other element is one more than
//! the rank of its successor. No two elements have the same successor. Then the head has rank N - 1, where N is the
//! number of elements. The conditions are met if two multisets of pairs are the same. The first contains (successor of
//! i, rank of i minus 1) for all elements i except the tail. The second contains (j, rank of j) for all elements j
//! except the head. For each multiset, 128-bit hashes of all pairs are added up, with a new random key in each run.
//! Then the two sums are compared. Different multisets have equal sums with a probability of 2^-128, and the order of
//! the elements does not matter.

use crate::algo::listrank::options::{ListRank, RankOrder};
use crate::algo::listrank::output::ListRankOutput;
use crate::algo::listrank::write::Checksum;
use crate::algo::{ListResults, Verdict};
use crate::error::{Error, Result};
use crate::formats::Signals;
use crate::list::List;
use crate::results::{RowId, column};
use parking_lot::Mutex;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Verifies the ranks that a job wrote.
///
/// # Errors
/// Errors of reporting; [`crate::Error::Stopped`]. Wrong ranks are reported to `verdict`.
pub(super) fn verify(
    table: &ListRank,
    results: &ListResults<'_>,
    found: &ListRankOutput,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let list = match &results.list {
        Ok(list) => list,
        Err(why) => return verdict.skip("listrank", why.clone()),
    };
    if !results.done {
        return verdict.skip("listrank", "no rank is written yet: the job is not done");
    }
    let file = results.outputs.keys().find(|name| name.starts_with("out/rank."));
    let file = file.ok_or_else(|| Error::Validation("there is no file of ranks".into()));
    verdict.note("listrank", file.and_then(|file| check(table, list, &results.workdir.join(file), found)))
}

/// State of the pass over all successors and ranks of a list.
struct RankPass<R> {
    ranks: R,
    next: u64,
    key: u64,
    /// Sum of the hashes of all pairs (successor, rank - 1), minus the sum of the hashes of all pairs (element, rank),
    /// modulo 2^128. It is zero at the end if the ranks are correct.
    difference: u128,
    checksum: Checksum,
    head: Option<u64>,
    tails: u64,
}

fn check(table: &ListRank, list: &List, file: &Path, found: &ListRankOutput) -> Result<String> {
    let n = list.length;
    let wrong = |what: String| Err(Error::Validation(format!("{}: {what}", file.display())));
    if found.length != n {
        return wrong(format!("{} elements were ranked, the list has {n}", found.length));
    }
    let pass = RankPass {
        ranks: column::<i64>(file, ["id", "rank"], n, RowId::Number)?,
        next: 0,
        // The key is random, so that no program that writes ranks can predict the hashes.
        key: RandomState::new().hash_one(n),
        difference: 0,
        checksum: Checksum::at(0),
        head: None,
        tails: 0,
    };
    let pass = Mutex::new(pass);
    // One thread reads the elements in order, because the ranks are read in order.
    list.source.scan(0..n, 1, &Signals, &|first, successors| {
        let mut pass = pass.lock();
        pass.take(table.order, n, first, successors, file)
    })?;
    let mut pass = pass.into_inner();
    if let Some(more) = pass.ranks.next() {
        more?;
    }
    if let Some(head) = pass.head {
        // The second sum lacks the pair of the head, because the head is no element's successor.
        pass.difference = pass.difference.wrapping_add(pass.hash(head, n - 1));
    }
    if (pass.tails, pass.head.is_some()) != (u64::from(n > 0), n > 0) || pass.difference != 0 {
        return wrong("some element's rank is not one more than that of its successor".into());
    }
    if pass.head != found.head || pass.checksum.sum() != found.checksum {
        let sum = pass.checksum.sum();
        return wrong(format!(
            "head {:?} and checksum {sum}, where {:?} and {} were reported",
            pass.head, found.head, found.checksum
        ));
    }
    Ok(format!("{n} ranks, each one more than that of its successor; one head, one tail; checksum {}", found.checksum))
}

impl<R: Iterator<Item = Result<i64>>> RankPass<R> {
    /// Checks the ranks of consecutive elements, from element `first` on, against their `successors`.
    fn take(&mut self, order: RankOrder, n: u64, first: u64, successors: &[i64], file: &Path) -> Result<()> {
        let wrong = |what: String| Err(Error::Validation(format!("{}: {what}", file.display())));
        if first != self.next {
            return Err(Error::internal("verify ranks", "elements came out of order"));
        }
        for &successor in successors {
            let i = self.next;
            let Some(rank) = self.ranks.next().transpose()? else {
                return wrong(format!("{i} ranks, the list has {n} elements"));
            };
            let Some(shown) = u64::try_from(rank).ok().filter(|&rank| rank < n) else {
                return wrong(format!("the rank of element {i} is {rank}, of {n} elements"));
            };
            self.checksum.add(shown);
            let rank = if order == RankOrder::Successors { shown } else { n - 1 - shown };
            if rank == n - 1 && self.head.replace(i).is_some() {
                return wrong(format!("two heads, the second is element {i}"));
            }
            self.difference = self.difference.wrapping_sub(self.hash(i, rank));
            match u64::try_from(successor) {
                Ok(_) if rank == 0 => return wrong(format!("element {i} has rank 0 and a successor")),
                Ok(successor) => self.difference = self.difference.wrapping_add(self.hash(successor, rank - 1)),
                Err(_) if rank == 0 => self.tails += 1,
                Err(_) => return wrong(format!("element {i} has rank {rank} and no successor")),
            }
            self.next += 1;
        }
        Ok(())
    }

    fn hash(&self, element: u64, rank: u64) -> u128 {
        let pair = (u128::from(element) << 64 | u128::from(rank)).to_le_bytes();
        xxh3_128_with_seed(&pair, self.key)
    }
}
