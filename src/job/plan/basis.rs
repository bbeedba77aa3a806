//! The source of a plan's figures.

use serde::Serialize;

/// The source of a plan's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Bounds from what the job file says of an input that is not here.
    Expected,
    /// Bounds from the input's size and a look at some of it.
    Size,
    /// The degrees, as ingest found them.
    Degrees,
    /// The stored graph of another job.
    Prepared,
    /// The length of a list.
    Length,
}
