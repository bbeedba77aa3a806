//! The options of betweenness centrality, from the job-file table `[betweenness]`.

use crate::algo::searches::Origins;
use crate::algo::searches::options::{MOST_ROOTS, SEED};
use crate::algo::sources::SOURCES;
use crate::jobfile::{AnyKey, Key};
use serde::{Deserialize, Serialize};

/// Normalisation: choice of the number by which scores are divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalise {
    /// Scores are not divided: the score of a vertex is the sum of the dependencies of all sources on it.
    #[default]
    None,
    /// Scores are divided by the largest score, as in the GAP Benchmark Suite.
    Largest,
    /// Scores are divided by (n - 1)(n - 2), the number of ordered pairs of other vertices, where n is the number of
    /// vertices.
    Pairs,
}

/// The key `normalise` of the table `[betweenness]`.
pub(super) const NORMALISE: Key<Normalise> = Key::choice(
    "normalise",
    &[("none", Normalise::None), ("largest", Normalise::Largest), ("pairs", Normalise::Pairs)],
    "divides scores by nothing, by the largest score, or by (n - 1)(n - 2) for n vertices",
);

/// Number of random sources if the table `[betweenness]` has neither `roots` nor `sources`, as in the GAP Benchmark
/// Suite.
const DRAWN: u32 = 4;

/// The key `roots` of the table `[betweenness]`.
pub(super) const ROOTS: Key<u32> = Key::new(
    "roots",
    ("a whole number from 1 to 65536", "4"),
    "number of distinct sources, drawn at random from the vertices with an edge other than a self-loop",
    || DRAWN,
    |field, diagnostics| field.integer(1..=MOST_ROOTS, diagnostics),
);

/// All keys of the table `[betweenness]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&ROOTS, &SEED, &SOURCES, &NORMALISE];

/// Options of betweenness centrality.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Betweenness {
    /// The sources: how they are chosen.
    #[serde(flatten)]
    pub origins: Origins,
    /// Choice of the number by which scores are divided.
    pub normalise: Normalise,
}
