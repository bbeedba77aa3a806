//! The options of label propagation, from the job-file table `[cdlp]`.

use crate::jobfile::Key;
use serde::{Deserialize, Serialize};

/// Maximum number of iterations that a job may request.
const MOST: u64 = 1_000_000;

/// Options of label propagation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cdlp {
    /// Maximum number of iterations. The computation ends earlier if no label changes.
    pub iterations: u64,
}

/// The key `iterations` of the table `[cdlp]`.
pub(super) const ITERATIONS: Key<u64> = Key::new(
    "iterations",
    ("a whole number above 0", "10"),
    "number of rounds in which every vertex takes the most frequent label of its neighbours",
    || 10,
    |field, diagnostics| field.integer(1..=MOST, diagnostics),
);
