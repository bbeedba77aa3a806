//! Compares the statistics that a job reports about a source with the result columns of the source.

use super::columns::PathColumns;
use crate::algo::Results;
use crate::algo::searches::differs;
use crate::algo::searches::places::Places;
use crate::algo::sssp::output::SsspSource;
use crate::algo::sssp::path::{MOST_REPORTED, Path};
use crate::algo::sssp::search::NONE;
use crate::algo::sssp::validate::{PathFigures, PathTree};
use crate::error::Result;
use crate::graph::direction::Direction;
use crate::graph::ids::InputId;

/// Checks the statistics that a job reports about one source. `counted` is the number of input edges that leave reached
/// vertices or, in an undirected graph, the number of edges with both ends reached. It is `None` if edges were not
/// counted. `may_leave` says whether an edge may lead from a reached vertex to an unreached one, because a sum may have
/// overflowed.
///
/// # Errors
/// [`crate::Error::Validation`] if any of them is wrong.
pub(super) fn compare(
    found: &SsspSource,
    tree: PathTree<'_>,
    figures: PathFigures,
    (counted, may_leave): (Option<u64>, bool),
    places: &Places,
    results: &Results<'_>,
) -> Result<()> {
    if (figures.reached, figures.max_distance) != (found.reached, found.max_distance) {
        let what = format!(
            "its columns have {} vertices and a largest distance of {}, the job reports {} and {}",
            figures.reached, figures.max_distance, found.reached, found.max_distance
        );
        return Err(differs(found.source, &what));
    }
    let edges = match results.info.direction {
        Direction::Undirected => {
            // Both ends of an edge are reached, or neither, unless a floating-point sum overflowed to infinity.
            let ends = places.degrees().iter().map(|(degree, first, end)| {
                let reached = tree.parents[first as usize..end as usize].iter().filter(|&&parent| parent != NONE);
                u64::from(degree) * reached.count() as u64
            });
            let edges = ends.sum::<u64>() / 2;
            match counted {
                Some(counted) => counted..=counted,
                None if may_leave => 0..=edges,
                None => edges..=edges,
            }
        }
        Direction::Directed => match counted {
            // The reported number counts repeated edges once.
            Some(leaving) => {
                let repeats = (results.info.edges - results.info.loops).saturating_sub(results.stored.edges);
                leaving.saturating_sub(repeats)..=leaving
            }
            None => found.edges..=found.edges,
        },
    };
    if !edges.contains(&found.edges) {
        let what = format!("{} edges have a reached end, the job reports {}", edges.start(), found.edges);
        return Err(differs(found.source, &what));
    }
    match found.path.as_ref().filter(|path| !is_path(path, tree, places)) {
        None => Ok(()),
        Some(path) => Err(differs(found.source, &format!("the path to {} is not that of its columns", path.target))),
    }
}

/// Returns true if a reported path is the path in `tree` to its target, and its length is the distance of the target.
fn is_path(path: &Path, tree: PathTree<'_>, places: &Places) -> bool {
    let place = |id: InputId| {
        let row = places.ids.row_of(id)?;
        places.of_rows().ok()?.get(row as usize).copied().filter(|&place| (place as usize) < tree.parents.len())
    };
    // A target without an edge is unreached.
    let target = place(path.target).and_then(|target| Some((target, tree.distances.of(target)?)));
    let Some((mut at, length)) = target else { return *path == Path::none(path.target) };
    let Some(reported) = path.vertices.iter().map(|&id| place(id)).collect::<Option<Vec<u32>>>() else { return false };
    // The loop terminates, because an earlier check made sure that parents lead to the root.
    let mut edges = 0;
    let mut above = at;
    while above != tree.root.0 {
        (above, edges) = (tree.parents[above as usize], edges + 1);
    }
    if (path.length, path.edges, reported.len() as u64) != (Some(length), edges, (edges + 1).min(MOST_REPORTED as u64))
    {
        return false;
    }
    // The report contains only the first vertices of a long path.
    for _ in reported.len() as u64..edges + 1 {
        at = tree.parents[at as usize];
    }
    reported.iter().rev().all(|&vertex| {
        let is_it = vertex == at;
        at = tree.parents[at as usize];
        is_it
    })
}

/// Checks the statistics that a job reports about a source without an edge. Such a source reaches only itself.
///
/// # Errors
/// [`crate::Error::Validation`] if the source seems to have reached another vertex.
pub(super) fn check_isolated(reported: &SsspSource, columns: &PathColumns) -> Result<()> {
    let SsspSource { source, reached, edges, ref path, .. } = *reported;
    let is_path = |path: &Path| match path.target == source {
        true => (path.edges, &path.vertices[..]) == (0, &[source]),
        false => *path == Path::none(path.target),
    };
    let is_alone = (reached, edges) == (1, 0) && path.as_ref().is_none_or(is_path) && columns.are_empty();
    if is_alone { Ok(()) } else { Err(differs(source, "it has no edge but reached other vertices")) }
}
