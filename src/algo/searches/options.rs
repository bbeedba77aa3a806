//! The keys that tables of searches share: where to search from, and what to do with what was found.

use crate::algo::sources::{SOURCES, Sources};
use crate::jobfile::{Diagnostics, Key, Section};
use serde::{Deserialize, Serialize};

/// Roots where a table names neither these nor sources, as Graph500 has them.
const ROOTS: u32 = 64;
/// Most roots: each has results of its own.
pub const MOST_ROOTS: u32 = 1 << 16;

/// The values of these keys, which a table has among its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Number of roots that are drawn; 0 if there are sources.
    pub roots: u32,
    /// The seed that they are drawn by.
    pub seed: u64,
    /// Sources by the input's ids.
    pub sources: Sources,
    /// Check what was found.
    pub validate: bool,
    /// Write columns of every source.
    pub write: bool,
    /// Print the block of Graph500's reference code. It is no part of what is computed.
    #[serde(skip)]
    pub graph500: bool,
}

/// `roots`: 0 if the table has sources.
pub const DRAWN: Key<u32> = Key::new(
    "roots",
    ("a whole number from 1 to 65536", "64"),
    "number of sources, drawn among the vertices that have an edge (a loop is none), each once",
    || ROOTS,
    |field, diagnostics| field.integer(1..=MOST_ROOTS, diagnostics),
);

/// `seed`.
pub const SEED: Key<u64> = Key::new(
    "seed",
    ("a whole number", "1"),
    "seed that the roots are drawn by",
    || 1,
    |field, diagnostics| field.integer(0..=u64::MAX, diagnostics),
);

/// `validate`.
pub const VALIDATE: Key<bool> =
    Key::flag_on("validate", "checks each tree by another method than the search; exit 8 if one is wrong");

/// `write`.
pub const WRITE: Key<bool> = Key::flag("write", "writes the columns of each source");

/// `graph500`.
pub const GRAPH500: Key<bool> =
    Key::flag("graph500", "prints the figures of Graph500's reference code; with `roots` alone");

impl Options {
    /// Keys that say where to search from, of which a table has one.
    pub const ORIGINS: [&str; 2] = ["roots", "sources"];

    /// Reads them from a table. Returns `None` where something is wrong, which `diagnostics` then has.
    pub fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Options> {
        let (validate, write) = (VALIDATE.read(table, diagnostics), WRITE.read(table, diagnostics));
        let seed = SEED.read(table, diagnostics);
        let has_sources = SOURCES.field(table).is_some();
        let roots = match DRAWN.field(table) {
            Some(field) if has_sources => {
                field.error("a table has roots or sources, not both", diagnostics);
                None
            }
            None if has_sources => Some(0),
            _ => DRAWN.read(table, diagnostics),
        };
        let sources = SOURCES.read(table, diagnostics);
        let graph500 = GRAPH500.read(table, diagnostics);
        if let (Some(true), Some(field), true) = (graph500, GRAPH500.field(table), has_sources) {
            field.error("Graph500 draws its roots: name roots instead of sources", diagnostics);
            return None;
        }
        Some(Options {
            roots: roots?,
            seed: seed?,
            sources: sources?,
            validate: validate?,
            write: write?,
            graph500: graph500?,
        })
    }

    /// Returns the most sources that a table with these searches from.
    pub fn count(&self) -> u64 {
        u64::from(self.roots) + self.sources.0.len() as u64
    }
}
