//! How the figures of a plan were obtained.

use serde::Serialize;

/// How the figures of a plan were obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Upper bounds from `input.expect`; the input itself is not available here.
    Expected,
    /// Upper bounds from the input's size and samples of it.
    Size,
    /// The degrees that ingest found.
    Degrees,
    /// The graph that another job stored.
    Prepared,
    /// The length of a list.
    Length,
}
