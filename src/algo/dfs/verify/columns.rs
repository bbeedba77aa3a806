//! Reads the columns of a depth-first search. Vertices are given by their index in the order of vertices.

use super::wrong;
use crate::algo::Results;
use crate::algo::searches::places::Places;
use crate::error::Result;
use crate::prepare::relabel::ISOLATED;
use crate::process::signals;

/// Number of column rows that are read between two cancellation checks.
const STRIDE: u64 = 1 << 20;

/// The columns that a depth-first search has written.
pub(super) struct DfsColumns<'a> {
    pub places: &'a Places,
    pub results: &'a Results<'a>,
    /// Row index of the source in the columns, if it has no edges.
    pub own: Option<u64>,
}

impl DfsColumns<'_> {
    /// Calls `each` with every vertex that has an edge, given by its index in the order of vertices, and with its value
    /// in the column `name`. A source without edges must have the value `own`, and other vertices without edges the
    /// value -1.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] if the column has another length, if a vertex without edges has another value, or
    /// if `each` returns false; read errors.
    pub fn each(&self, name: &str, own: i64, mut each: impl FnMut(u32, i64) -> bool) -> Result<()> {
        let of_rows = self.places.of_rows()?;
        let column = self.results.column(&format!("out/dfs/{name}"), &self.places.ids, -1i64)?;
        for (value, row) in column.zip(0u64..) {
            let value = value?;
            let place = of_rows.get(row as usize).copied().filter(|&place| place != ISOLATED);
            let fits = match place {
                Some(place) => each(place, value),
                None => value == if self.own == Some(row) { own } else { -1 },
            };
            if !fits {
                let but = if place.is_none() { "no edge, and " } else { "" };
                return Err(wrong(&format!("vertex {} has {but}{name} {value}", self.places.ids.id(row))));
            }
            if row % STRIDE == 0 {
                signals::check()?;
            }
        }
        Ok(())
    }

    /// Returns the vertex whose id is the value `number` of a column, as an index in the order of vertices; `None` if
    /// the vertex has no edge. `reached` says whether the value belongs to a reached vertex. Only then can -1 be an id.
    pub fn place(&self, number: i64, reached: bool) -> Option<u32> {
        let row = self.places.ids.row_of(self.places.ids.named(number, reached)?)?;
        let place = self.places.of_rows().ok()?.get(row as usize).copied();
        place.filter(|&place| place != ISOLATED)
    }
}
