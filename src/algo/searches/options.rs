//! The keys that tables of searches share: where to search from, and what to do with what was found.

use crate::algo::Sources;
use crate::jobfile::{Diagnostics, Section};
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

impl Options {
    /// Keys that say where to search from, of which a table has one.
    pub const ORIGINS: [&str; 2] = ["roots", "sources"];

    /// Reads them from a table. Returns `None` where something is wrong, which `diagnostics` then has.
    pub fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Options> {
        let flag = |key: &str, otherwise: bool, diagnostics: &mut Diagnostics| {
            table.get(key).map_or(Some(otherwise), |field| field.boolean(diagnostics))
        };
        let validate = flag("validate", true, diagnostics);
        let write = flag("write", false, diagnostics);
        let seed = table.get("seed").map_or(Some(1), |field| field.integer::<u64>(0..=u64::MAX, diagnostics));
        let roots = match table.get("roots") {
            Some(field) if table.get("sources").is_some() => {
                field.error("a table has roots or sources, not both", diagnostics);
                None
            }
            Some(field) => field.integer::<u32>(1..=MOST_ROOTS, diagnostics),
            None => Some(if table.get("sources").is_some() { 0 } else { ROOTS }),
        };
        let sources = Sources::parse(table, diagnostics);
        let graph500 = flag("graph500", false, diagnostics);
        if let (Some(true), Some(field), Some(_)) = (graph500, table.get("graph500"), table.get("sources")) {
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
