//! The options of `[triangle]`.

use crate::jobfile::{AnyKey, Diagnostics, Key, Section};
use serde::{Deserialize, Serialize};

/// Options of triangle counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Triangle {
    /// Whether to count per vertex, too, and write `out/triangles`, `out/degree` and `out/clustering`.
    pub per_vertex: bool,
}

/// The key `per_vertex`.
const PER_VERTEX: Key<bool> =
    Key::flag("per_vertex", "also counts triangles of each vertex, and writes these, degrees and clustering");

/// All keys of the table.
pub(super) const KEYS: &[&dyn AnyKey] = &[&PER_VERTEX];

impl Triangle {
    /// Parses the table `[triangle]`, and reports mistakes to `diagnostics`.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Triangle> {
        Some(Triangle { per_vertex: PER_VERTEX.read(table, diagnostics)? })
    }
}
