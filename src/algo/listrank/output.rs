//! The result of ranking a list, and statistics of the ranking.

use crate::algo::Trial;
use crate::algo::listrank::rounds::Round;
use crate::results::about::About;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Columns that list ranking writes.
pub(super) const COLUMNS: &[About] =
    &[About::new("rank", "elements between this one and the end of the list that ranks are counted from", "none")];

/// The result of ranking a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRankOutput {
    /// Number of elements of the list.
    pub length: u64,
    /// The first element, which is no element's successor; `None` for an empty list.
    pub head: Option<u64>,
    /// Sum of `rank(i) * (i mod 1000003 + 1)` over all elements `i`, modulo 2^64. Ranks are counted from the end of the
    /// list that the options select.
    pub checksum: u64,
}

/// Method, times and disk traffic of a ranking.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListRankDetails {
    /// Name of the method by which the list was ranked.
    pub method: Cow<'static, str>,
    /// Number of bytes that ranking read from disk and wrote to disk, without the input and the rank column.
    pub bytes: u64,
    /// Duration of each phase, in seconds.
    pub phases: Phases,
    /// The rounds of the ranking, or with several processes those of MPI rank 0. If a trial was resumed, earlier rounds
    /// are missing.
    pub rounds: Vec<Round>,
}

/// Durations of the phases of a trial, in seconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Phases {
    /// Time to read the list, in seconds. If a GPU ranks the list, this includes copying the list to GPU memory.
    pub read: f64,
    /// Time to check that the successors form a list, in seconds; 0 if reading includes this check.
    pub check: f64,
    /// Time to rank the list, in seconds.
    pub rank: f64,
    /// Time to copy the ranks from a GPU to the host, in seconds.
    pub fetch: f64,
}

/// A trial of list ranking: its result, and its method and times.
pub(super) type Ranked = Trial<ListRankOutput, ListRankDetails>;
