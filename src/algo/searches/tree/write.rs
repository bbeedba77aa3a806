//! Writes the result columns of a source, `parent` and `level`, in the order of the input ids.

use crate::algo::searches::NONE;
use crate::algo::searches::Root;
use crate::algo::searches::tree::levels::{Tree, levels};
use crate::error::Result;
use crate::graph::ids::Vertex;
use crate::memory::Budget;
use crate::prepare::input_ids::InputIds;
use crate::results::{Columns, Output};
use std::collections::BTreeMap;

/// Value that the columns `parent` and `level` contain for an unreached vertex.
const UNREACHED: i64 = -1;

/// Returns the host memory in bytes for writing the result columns: for the ids of vertices and for the levels of a
/// tree.
pub fn bytes(vertices: u64) -> u64 {
    InputIds::bytes(vertices) + 4 * vertices
}

/// Writes the columns `parent` and `level` of a tree. `ids` maps vertices to input ids. Returns the written files,
/// keyed by their paths in the workdir.
///
/// # Errors
/// [`crate::Error::DiskFull`], [`crate::Error::Io`], [`crate::Error::Limit`], [`crate::Error::Stopped`].
pub(super) fn write(
    columns: &mut Columns<'_>,
    root: Root,
    parents: &[u32],
    ids: &InputIds,
    (threads, budget): (usize, &Budget),
) -> Result<BTreeMap<String, Output>> {
    put_parents(columns, root, parents, ids)?;
    let levels = root.vertex.map(|root| levels(Tree { root: Vertex(root), parents }, threads, budget)).transpose()?;
    let level = |v: Vertex| match levels.as_ref().map(|levels| levels[v.index()]) {
        Some(NONE) | None => UNREACHED as i32,
        Some(level) => level as i32,
    };
    columns.put_of_source(root.id, "level", UNREACHED as i32, root.vertex.is_none().then_some(0), level)?;
    columns.finish_source(root.id)
}

/// Writes the column `parent` of a source. `ids` maps vertices to input ids.
///
/// # Errors
/// [`crate::Error::DiskFull`], [`crate::Error::Io`], [`crate::Error::Stopped`].
pub fn put_parents(columns: &mut Columns<'_>, root: Root, parents: &[u32], ids: &InputIds) -> Result<()> {
    let parent = |v: Vertex| match parents[v.index()] {
        NONE => UNREACHED,
        parent => ids.number(Vertex(parent)) as i64,
    };
    let own = root.vertex.is_none().then_some(ids.number_of(root.id) as i64);
    columns.put_of_source(root.id, "parent", UNREACHED, own, parent)
}
