//! The figures of a job against those of its columns.

use super::SourceChecked;
use crate::algo::Results;
use crate::algo::searches::differs;
use crate::algo::searches::places::Places;
use crate::algo::sssp::search::NONE;
use crate::algo::sssp::validate::{Figures, Tree};
use crate::error::Result;
use crate::graph::direction::Direction;

/// Checks what is told of a source. `leaving` edges of the input leave what it reaches, if edges have a direction and were counted.
///
/// # Errors
/// [`crate::Error::Validation`].
pub(super) fn agree(
    told: &SourceChecked,
    tree: Tree<'_>,
    figures: Figures,
    leaving: Option<u64>,
    places: &Places,
    results: &Results<'_>,
) -> Result<()> {
    let found = &told.found;
    if (figures.reached, figures.max_distance) != (found.reached, found.max_distance) {
        let (by_columns, by_job) = ((figures.reached, figures.max_distance), (found.reached, found.max_distance));
        let what = format!(
            "{} vertices and distance {} at most by its columns, the job tells {} and {}",
            by_columns.0, by_columns.1, by_job.0, by_job.1
        );
        return Err(differs(found.source, &what));
    }
    let edges = match results.info.direction {
        Direction::Undirected => {
            // Both ends of an edge are reached, or neither.
            let ends = places.degrees().iter().map(|(degree, first, end)| {
                let reached = tree.parents[first as usize..end as usize].iter().filter(|&&parent| parent != NONE);
                u64::from(degree) * reached.count() as u64
            });
            let edges = ends.sum::<u64>() / 2;
            edges..=edges
        }
        Direction::Directed => {
            // Those that the job tells are distinct.
            let Some(leaving) = leaving else { return Ok(()) };
            let repeats = (results.info.edges - results.info.loops).saturating_sub(results.stored.edges);
            leaving.saturating_sub(repeats)..=leaving
        }
    };
    if !edges.contains(&found.edges) {
        let what = format!("{} edges have an end that is reached, the job tells {}", edges.start(), found.edges);
        return Err(differs(found.source, &what));
    }
    let path = found.path.as_ref().and_then(|path| Some((path, places.ids.row(path.target.0)?)));
    if let Some((path, row)) = path
        && let Some(&place) = places.of_rows()?.get(row as usize)
        && (place as usize) < tree.parents.len()
        && path.length != tree.distances.of(place)
    {
        let what = format!("the path to {} has another length than the distance in its column", path.target);
        return Err(differs(found.source, &what));
    }
    Ok(())
}

/// Checks what is told of a source without an edge.
///
/// # Errors
/// [`crate::Error::Validation`].
pub(super) fn alone(told: &SourceChecked) -> Result<()> {
    let is_alone = told.found.reached == 1 && told.found.edges == 0;
    if is_alone { Ok(()) } else { Err(differs(told.found.source, "it has no edge, and reached others")) }
}
