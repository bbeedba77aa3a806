//! Options of the table `[bfs]` in a job file.

use crate::algo::searches::Options;
use crate::algo::searches::options::{DRAWN, GRAPH500, SEED, VALIDATE, WRITE};
use crate::algo::sources::SOURCES;
use crate::jobfile::{AnyKey, Key};
use serde::{Deserialize, Serialize};

/// Maximum value of the keys `alpha` and `beta`.
const MOST_SWITCH: u32 = 1_000_000_000;

/// Options of a table `[bfs]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bfs {
    /// Options that all search tables share: the sources, and whether to check and to write the trees.
    #[serde(flatten)]
    pub options: Options,
    /// Threshold for changing to bottom-up steps ([`Switch::alpha`](super::search::Switch::alpha)). The default
    /// depends on the device.
    pub alpha: Option<f64>,
    /// Threshold for changing back to top-down steps ([`Switch::beta`](super::search::Switch::beta)). The default
    /// depends on the device.
    pub beta: Option<f64>,
}

/// The key `alpha` of the table `[bfs]`.
pub(super) const ALPHA: Key<Option<f64>> = Key::new(
    "alpha",
    ("a number above 0", "by device: 30 with rows in memory, 8 with rows on a disk, 64 on a GPU"),
    "switches to bottom-up when the frontier has more than 1/alpha of the remaining edges",
    || None,
    |field, diagnostics| field.positive(MOST_SWITCH, diagnostics).map(Some),
);

/// The key `beta` of the table `[bfs]`.
pub(super) const BETA: Key<Option<f64>> = Key::new(
    "beta",
    ("a number above 0", "1000 on every device"),
    "switches back to top-down when the frontier has fewer than 1/beta of the vertices",
    || None,
    |field, diagnostics| field.positive(MOST_SWITCH, diagnostics).map(Some),
);

/// All keys of the table `[bfs]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&DRAWN, &SEED, &SOURCES, &VALIDATE, &WRITE, &GRAPH500, &ALPHA, &BETA];
