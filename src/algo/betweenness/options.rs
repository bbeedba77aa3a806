//! The options of `[betweenness]`.

use crate::algo::searches;
use crate::algo::searches::options::{MOST_ROOTS, SEED};
use crate::algo::sources::{SOURCES, Sources};
use crate::jobfile::{AnyKey, Diagnostics, Key, Section};
use serde::{Deserialize, Serialize};

/// Divisor of the scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalise {
    /// No division: a score is the sum of the dependencies of all sources.
    #[default]
    None,
    /// The largest score, as in the GAP Benchmark Suite.
    Largest,
    /// (n - 1)(n - 2), the number of ordered pairs of other vertices.
    Pairs,
}

const NORMALISE: Key<Normalise> = Key::choice(
    "normalise",
    &[("none", Normalise::None), ("largest", Normalise::Largest), ("pairs", Normalise::Pairs)],
    "divides scores by nothing, by the largest score, or by (n - 1)(n - 2) for n vertices",
);

/// Number of drawn sources if a table names neither roots nor sources, as in the GAP Benchmark Suite.
const DRAWN: u32 = 4;

/// The key `roots` of the table `[betweenness]`.
const ROOTS: Key<u32> = Key::new(
    "roots",
    ("a whole number from 1 to 65536", "4"),
    "number of sources, drawn among the vertices that have an edge (a loop is none), each once",
    || DRAWN,
    |field, diagnostics| field.integer(1..=MOST_ROOTS, diagnostics),
);

/// All keys of the table `[betweenness]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&ROOTS, &SEED, &SOURCES, &NORMALISE];

/// Options of betweenness centrality.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Betweenness {
    /// Number of random sources, or 0 if the table names sources.
    pub roots: u32,
    /// Seed of the random sources.
    pub seed: u64,
    /// Sources that the table names, by their ids in the input.
    pub sources: Sources,
    /// Divisor of the scores.
    pub normalise: Normalise,
}

impl Betweenness {
    /// Parses the table `[betweenness]`, and reports mistakes to `diagnostics`.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Betweenness> {
        let seed = SEED.read(table, diagnostics);
        let (roots, sources) = searches::Options::origins(&ROOTS, table, diagnostics);
        let normalise = NORMALISE.read(table, diagnostics);
        Some(Betweenness { roots: roots?, seed: seed?, sources: sources?, normalise: normalise? })
    }

    /// Returns the number of sources. It is an upper bound for random ones, because a small graph may have fewer
    /// vertices.
    pub(super) fn count(&self) -> u64 {
        self.searches().count()
    }

    /// Returns the sources as a table of searches names them.
    pub(super) fn searches(&self) -> searches::Options {
        let Betweenness { roots, seed, sources, .. } = self.clone();
        searches::Options { roots, seed, sources, validate: false, write: false, graph500: false }
    }
}
