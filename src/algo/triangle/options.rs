//! The options of `[triangle]`.

use crate::jobfile::{AnyKey, Key};
use serde::{Deserialize, Serialize};

/// Options of triangle counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Triangle {
    /// Whether to count triangles per vertex as well, and write `out/triangles`, `out/degree` and `out/clustering`.
    pub per_vertex: bool,
}

/// The key `per_vertex` of the table `[triangle]`.
pub(super) const PER_VERTEX: Key<bool> =
    Key::flag("per_vertex", "also counts triangles of each vertex, and writes these, degrees and clustering");

/// All keys of the table `[triangle]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&PER_VERTEX];
