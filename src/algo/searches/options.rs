//! Keys that all search tables in a job file share. They choose the sources, and what is done with the results.

use crate::algo::sources::{SOURCES, Sources};
use crate::graph::ids::InputId;
use crate::jobfile::{Diagnostics, Key, Section};
use serde::{Deserialize, Serialize};

/// Default number of roots, if a table names neither roots nor sources. Graph500 uses the same number.
const ROOTS: u32 = 64;
/// Maximum number of roots of a table. It is limited because each root has separate results.
pub const MOST_ROOTS: u32 = 1 << 16;

/// Values of the keys that determine the sources of a search table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origins {
    /// Number of random roots, or 0 if the table names sources.
    pub roots: u32,
    /// Seed of the random number generator that draws the roots.
    pub seed: u64,
    /// Sources that the table names, as input ids.
    pub sources: Sources,
}

/// Values of the keys that all search tables share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The keys that determine the sources.
    #[serde(flatten)]
    pub origins: Origins,
    /// Whether to check the tree of every search.
    pub validate: bool,
    /// Whether to write the result columns of every source.
    pub write: bool,
    /// Whether to print the statistics block of the Graph500 reference code. It does not affect what is computed.
    #[serde(skip)]
    pub graph500: bool,
}

/// The key `roots`: the number of random roots. Its value is 0 if the table names sources.
pub const DRAWN: Key<u32> = Key::new(
    "roots",
    ("a whole number from 1 to 65536", "64"),
    "number of distinct sources, drawn at random from the vertices with an edge other than a self-loop",
    || ROOTS,
    |field, diagnostics| field.integer(1..=MOST_ROOTS, diagnostics),
);

/// The key `seed`: the seed with which random roots are drawn.
pub const SEED: Key<u64> = Key::new(
    "seed",
    ("a whole number", "1"),
    "seed of the random draw of `roots`",
    || 1,
    |field, diagnostics| field.integer(0..=u64::MAX, diagnostics),
);

/// The key `validate`: whether to check the tree of every search.
pub const VALIDATE: Key<bool> =
    Key::flag_on("validate", "checks each tree by a method other than the search; exit 8 if one is wrong");

/// The key `write`: whether to write result columns.
pub const WRITE: Key<bool> = Key::flag("write", "writes the columns of each source");

/// The key `graph500`: whether to print the statistics block of Graph500.
pub const GRAPH500: Key<bool> =
    Key::flag("graph500", "prints the statistics of Graph500's reference code; excludes `sources`");

impl Origins {
    /// Keys of which a table may contain only one.
    pub const ALTERNATIVES: [&str; 2] = ["roots", "sources"];

    /// Parses the keys that determine the sources of a table. `drawn` is the key for the number of random roots. If
    /// there are mistakes, reports them to `diagnostics` and returns `None`.
    pub fn parse(drawn: &Key<u32>, table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Origins> {
        let seed = SEED.read(table, diagnostics);
        let has_sources = SOURCES.field(table).is_some();
        let roots = match drawn.field(table) {
            Some(field) if has_sources => {
                field.error("a table has roots or sources, not both", diagnostics);
                None
            }
            None if has_sources => Some(0),
            _ => drawn.read(table, diagnostics),
        };
        let sources = SOURCES.read(table, diagnostics);
        Some(Origins { roots: roots?, seed: seed?, sources: sources? })
    }

    /// Returns the number of sources of the table. For random roots it is an upper bound, because a small graph may
    /// have fewer vertices.
    pub fn count(&self) -> u64 {
        u64::from(self.roots) + self.sources.0.len() as u64
    }

    /// Returns true if these key values can select exactly the sources `named`, in this order.
    pub fn may_be(&self, named: &[InputId]) -> bool {
        (self.sources.0.is_empty() || self.sources.0 == named) && named.len() as u64 <= self.count()
    }
}

impl Options {
    /// Parses the keys of a table that all search tables share. If there are mistakes, reports them to `diagnostics`
    /// and returns `None`.
    pub fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Options> {
        let (validate, write) = (VALIDATE.read(table, diagnostics), WRITE.read(table, diagnostics));
        let origins = Origins::parse(&DRAWN, table, diagnostics);
        let graph500 = GRAPH500.read(table, diagnostics);
        if let (Some(true), Some(field), true) = (graph500, GRAPH500.field(table), SOURCES.field(table).is_some()) {
            field.error("Graph500 draws its roots: name roots instead of sources", diagnostics);
            return None;
        }
        Some(Options { origins: origins?, validate: validate?, write: write?, graph500: graph500? })
    }
}
