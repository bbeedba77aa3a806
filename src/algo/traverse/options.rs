//! Options of the table `[traverse]` in a job file.

use crate::algo::searches::Options;
use crate::algo::searches::options::{DRAWN, SEED, VALIDATE, WRITE};
use crate::algo::searches::ranks::OwnerRule;
use crate::algo::sources::SOURCES;
use crate::jobfile::{AnyKey, Key};
use serde::{Deserialize, Serialize};

/// Options of a table `[traverse]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traverse {
    /// Options that all search tables share: the sources, and whether to check and to write the trees.
    #[serde(flatten)]
    pub options: Options,
    /// Strategy: the method of the step from one level to the next. All strategies find the same trees.
    pub strategy: Strategy,
    /// Rule that assigns an owner (an MPI rank) to each vertex.
    pub owner: OwnerRule,
}

/// Strategy: the method of the step from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The method of the literature: ranks sort candidates (neighbours of the frontier) and drop repeats before they
    /// send them.
    #[default]
    SortUnique,
    /// The simple method, for comparison: ranks claim vertices by atomic operations, and send all candidates, including
    /// repeats.
    Atomic,
    /// The fastest method: the search runs on the engines of `[bfs]`.
    Auto,
}

/// All strategies with their names in job files and reports.
const STRATEGIES: [(&str, Strategy); 3] =
    [("sort-unique", Strategy::SortUnique), ("atomic", Strategy::Atomic), ("auto", Strategy::Auto)];

impl Strategy {
    /// Returns the strategy's name in job files and reports.
    pub(crate) fn name(self) -> &'static str {
        STRATEGIES.iter().find(|(_, strategy)| *strategy == self).map_or("", |(name, _)| name)
    }
}

/// The key `strategy` of the table `[traverse]`.
pub(super) const STRATEGY: Key<Strategy> =
    Key::choice("strategy", &STRATEGIES, "how candidates become the next level; all strategies find the same trees");

/// The key `owner` of the table `[traverse]`.
pub(super) const OWNER: Key<OwnerRule> = Key::choice("owner", &OwnerRule::ALL, "rule that assigns vertices to ranks");

/// All keys of the table `[traverse]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&DRAWN, &SEED, &SOURCES, &VALIDATE, &WRITE, &STRATEGY, &OWNER];
