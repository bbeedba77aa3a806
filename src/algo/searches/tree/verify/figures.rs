//! Checks the figures of searches against each other. This needs neither columns nor edges.

use super::SourceChecked;
use crate::algo::searches::agreement::{self, Reported, SourceFigures, holds};
use crate::error::Result;
use crate::prepare::prepared::InputInfo;

/// Checks the figures of all sources.
///
/// # Errors
/// [`crate::Error::Validation`] for the first impossible figure.
pub(super) fn agree(reported: &Reported<'_>, info: &InputInfo, found: &[SourceChecked]) -> Result<String> {
    let figures = |found: &SourceChecked| {
        let SourceChecked { source, reached, edges, speed, .. } = *found;
        SourceFigures { source, reached, edges, speed }
    };
    agreement::agree(reported, info, found, figures, of_source)
}

fn of_source(found: &SourceChecked) -> Result<()> {
    let SourceChecked { source, reached, depth, ref frontiers, .. } = *found;
    holds(source, depth < reached, || format!("depth {depth} with {reached} vertices"))?;
    let levels = frontiers.len() as u64;
    holds(source, levels <= depth + 1, || format!("{levels} levels, and depth {depth}"))?;
    holds(source, frontiers.first().is_none_or(|&first| first == 1) && !frontiers.contains(&0), || {
        "a level without vertices, or a first one that is not the source alone".to_owned()
    })?;
    let sum = frontiers.iter().sum::<u64>();
    // A report has only the first levels of a deep tree.
    let is_sum = if levels == depth + 1 { sum == reached } else { sum <= reached };
    holds(source, is_sum, || format!("{sum} vertices in its levels, {reached} reached"))
}
