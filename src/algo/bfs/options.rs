//! The options of `[bfs]`.

use crate::algo::searches::Options;
use crate::jobfile::{Diagnostics, Section};
use serde::{Deserialize, Serialize};

/// Largest alpha and beta.
const MOST_SWITCH: u32 = 1_000_000_000;

/// Breadth-first search: where to search from, and what to do with the trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bfs {
    /// Where to search from, and what to do with what was found.
    #[serde(flatten)]
    pub options: Options,
    /// Turns bottom-up. The device decides if it is not given.
    pub alpha: Option<f64>,
    /// Turns top-down again.
    pub beta: Option<f64>,
}

impl Bfs {
    /// Reads the table.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Bfs> {
        let options = Options::parse(table, diagnostics);
        let switch = |key: &str, diagnostics: &mut Diagnostics| match table.get(key) {
            Some(field) => field.positive(MOST_SWITCH, diagnostics).map(Some),
            None => Some(None),
        };
        let (alpha, beta) = (switch("alpha", diagnostics), switch("beta", diagnostics));
        Some(Bfs { options: options?, alpha: alpha?, beta: beta? })
    }
}
