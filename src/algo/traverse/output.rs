//! Details of `[traverse]` searches, for the report.

use super::search::{Level, RankTimes, Searched, Steps};
use crate::algo::searches::figures::{self, LevelDetails};
use crate::algo::searches::results::{SourceDetails, Speed};
use serde::{Deserialize, Serialize};

/// Details of the search from one source, as in [`Searched`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraverseDetails {
    /// Duration in seconds.
    pub seconds: f64,
    /// Traversed edges per second.
    pub teps: f64,
    /// Compute seconds of the rank that computed longest.
    pub compute_seconds: f64,
    /// Exchange seconds of the same rank, including waiting.
    pub communication_seconds: f64,
    /// The waiting part of `communication_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_seconds: Option<f64>,
    /// Number of row entries checked.
    pub expanded: u64,
    /// Number of candidates that were dropped as repeats before anything was sent.
    pub pruned: u64,
    /// Number of bytes that ranks sent to others.
    pub sent_bytes: u64,
    /// Number of bytes that ranks would have sent without pruning.
    pub unpruned_bytes: u64,
    /// The first levels in order.
    pub levels: Vec<Level>,
    /// Seconds by step, as the mean over ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Steps>,
    /// Times of each rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Vec<RankTimes>>,
}

impl TraverseDetails {
    /// Returns the details of a search, with at most `levels` levels.
    pub(super) fn of(searched: Searched, Speed { seconds, teps }: Speed, levels: usize) -> TraverseDetails {
        let Searched { compute_seconds, communication_seconds, expanded, sent, steps, .. } = searched;
        let mut all = searched.levels;
        all.truncate(levels);
        TraverseDetails {
            seconds,
            teps,
            compute_seconds,
            communication_seconds,
            waiting_seconds: steps.map(|_| searched.waiting_seconds),
            expanded,
            pruned: sent.pruned,
            sent_bytes: sent.sent_bytes,
            unpruned_bytes: sent.unpruned_bytes,
            levels: all,
            steps,
            ranks: steps.map(|_| searched.ranks),
        }
    }
}

impl SourceDetails for TraverseDetails {
    fn speed(&self) -> Speed {
        Speed { seconds: self.seconds, teps: self.teps }
    }
}

impl LevelDetails for TraverseDetails {
    type Level = Level;

    fn levels(&self) -> &[Level] {
        &self.levels
    }
}

impl figures::Level for Level {
    fn frontier(&self) -> u64 {
        self.frontier
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        [("expanded", Some(self.expanded)), ("pruned", self.pruned)]
            .into_iter()
            .filter_map(|(name, number)| Some((name, number?)))
            .collect()
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}
