//! The options of `[triangle]`.

use crate::jobfile::{Diagnostics, Section};
use serde::{Deserialize, Serialize};

/// Triangle counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Triangle {
    /// Also count per vertex, and write `out/triangles`, `out/degree` and `out/clustering`.
    pub per_vertex: bool,
}

impl Triangle {
    /// Reads the table.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Triangle> {
        let per_vertex = table.get("per_vertex").map_or(Some(false), |field| field.boolean(diagnostics))?;
        Some(Triangle { per_vertex })
    }
}
