//! Writes the columns of a source, `distance` and `parent`, in the order of the input's ids.

use super::distances::Distances;
use super::search::NONE;
use crate::algo::searches::Root;
use crate::error::Result;
use crate::graph::ids::Vertex;
use crate::prepare::input_ids::InputIds;
use crate::results::{Columns, Output};
use std::collections::BTreeMap;

/// Value of the parent of an unreached vertex.
const UNREACHED: i64 = -1;

/// Writes the columns of one source. Returns the written files by their paths in the workdir.
///
/// # Errors
/// [`crate::Error::DiskFull`], [`crate::Error::Io`], a stop.
pub fn write(
    columns: &mut Columns<'_>,
    root: Root,
    (distances, parents): (&Distances, &[u32]),
    ids: &InputIds,
) -> Result<BTreeMap<String, Output>> {
    let own = root.vertex.is_none();
    match distances {
        Distances::Whole(of) => {
            columns.put_of_source(root.id, "distance", u64::MAX, own.then_some(0), |v| of[v.index()])?;
        }
        Distances::Decimal(of) => {
            columns.put_of_source(root.id, "distance", f32::INFINITY, own.then_some(0.0), |v| of[v.index()])?;
        }
    }
    let parent = |v: Vertex| match parents[v.index()] {
        NONE => UNREACHED,
        parent => ids.of(Vertex(parent)).0 as i64,
    };
    columns.put_of_source(root.id, "parent", UNREACHED, own.then_some(root.id.0 as i64), parent)?;
    Ok(columns.of_source(root.id))
}
