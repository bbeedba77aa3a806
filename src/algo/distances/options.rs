//! The options of `[distances]`.

use crate::algo::searches;
use crate::algo::searches::options::{DRAWN, SEED};
use crate::algo::sources::{SOURCES, Sources};
use crate::jobfile::{AnyKey, Diagnostics, Section};
use serde::{Deserialize, Serialize};

/// All keys of the table `[distances]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&DRAWN, &SEED, &SOURCES];

/// Options of distances from many sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// Number of random sources, or 0 if the table names sources.
    pub roots: u32,
    /// Seed of the random sources.
    pub seed: u64,
    /// Sources that the table names, by their ids in the input.
    pub sources: Sources,
}

impl Distances {
    /// Parses the table `[distances]`, and reports mistakes to `diagnostics`.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Distances> {
        let seed = SEED.read(table, diagnostics);
        let (roots, sources) = searches::Options::origins(&DRAWN, table, diagnostics);
        Some(Distances { roots: roots?, seed: seed?, sources: sources? })
    }

    /// Returns the number of sources. It is an upper bound for random ones, because a small graph may have fewer
    /// vertices.
    pub(super) fn count(&self) -> u64 {
        self.searches().count()
    }

    /// Returns the sources as a table of searches names them.
    pub(super) fn searches(&self) -> searches::Options {
        let Distances { roots, seed, sources } = self.clone();
        searches::Options { roots, seed, sources, validate: false, write: false, graph500: false }
    }
}
