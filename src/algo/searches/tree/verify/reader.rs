//! Reads the result columns (parents and levels) of one source, and rejects values that no search can have written.

use crate::algo::Results;
use crate::algo::searches::differs;
use crate::algo::searches::places::Places;
use crate::algo::searches::tree::fault::{TreeFault, rule_error};
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::prepare::relabel::ISOLATED;

/// Level that stands for an unreached vertex. It exceeds every level by more than 1.
pub(super) const UNREACHED: u32 = 1 << 31;
/// Parent that stands for a missing parent, of an unreached vertex or of a root.
pub(super) const NOBODY: u32 = ISOLATED;

/// Reads the result columns of a source. Calls `put(vertex, level, parent)` for each vertex that has an edge. Vertices
/// are given as places (positions in the order of vertices). Returns the place of the root, or `None` if the root has
/// no edge.
pub(super) fn read(
    places: &Places,
    results: &Results<'_>,
    (algorithm, source): (&str, InputId),
    put: impl Fn(u32, u32, u32),
) -> Result<Option<u32>> {
    let of_rows = places.of_rows()?;
    let place = |row: u64| of_rows.get(row as usize).copied().filter(|&place| place != ISOLATED);
    let wrong = |fault: TreeFault| fault.of_source(&source.to_string(), &|place| places.name(place));
    let refuse = |rule: u32, what: String| Err(rule_error(&source.to_string(), rule, &what));
    let root = places.ids.row_of(source).ok_or_else(|| differs(source, "no vertex of the input"))?;
    places.each_row(results, (algorithm, source), ("level", -1i32), |row, parent, level| {
        let (name, vertex) = (places.ids.label(row), place(row));
        let parent_id = places.ids.named(parent, level >= 0);
        let is_root = row == root;
        let (level, above) = match (parent_id, u32::try_from(level)) {
            (None, _) if is_root => return Err(wrong(TreeFault::Root { parent: None })),
            (Some(parent), _) if is_root && places.ids.row_of(parent) != Some(root) => {
                return refuse(1, format!("the parent of the root is {parent} and not the root"));
            }
            (Some(_), Ok(0)) if is_root => (0, NOBODY),
            _ if is_root => return refuse(2, format!("the root has level {level}")),
            (None, Err(_)) if (parent, level) == (-1, -1) => (UNREACHED, NOBODY),
            (None, Err(_)) => return refuse(1, format!("vertex {name} has parent {parent} and level {level}")),
            (None, Ok(level)) => return refuse(1, format!("vertex {name} has level {level} and no parent")),
            (Some(parent), Err(_)) => return refuse(1, format!("vertex {name} has parent {parent} and no level")),
            (Some(_), Ok(0)) => return refuse(2, format!("vertex {name} has level 0, and is not the root")),
            (Some(parent), Ok(level)) => match places.ids.row_of(parent).map(place) {
                None => return refuse(1, format!("the parent of vertex {name} is {parent}, which is no vertex")),
                Some(Some(above)) if vertex.is_some() => (level, above),
                _ => return refuse(5, format!("no edge leads to vertex {name} from its parent {parent}")),
            },
        };
        vertex.into_iter().for_each(|vertex| put(vertex, level, above));
        Ok(())
    })?;
    Ok(place(root))
}
