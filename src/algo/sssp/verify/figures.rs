//! Checks the figures of searches against each other. This needs neither columns nor edges.

use super::SourceChecked;
use crate::algo::searches::agreement::{Reported, SourceFigures, holds};
use crate::algo::sssp::distances::Distance;
use crate::algo::sssp::output::SourceOutput;
use crate::error::Result;
use crate::prepare::prepared::InputInfo;

/// Checks the figures of all sources.
///
/// # Errors
/// [`crate::Error::Validation`] for the first impossible figure.
pub(super) fn agree(told: &Reported<'_>, info: &InputInfo, found: &[SourceChecked]) -> Result<String> {
    found.iter().try_for_each(|told| of_source(info, told))?;
    told.agree(info, &found.iter().map(figures).collect::<Vec<_>>())?;
    let edges = found.iter().map(|told| u128::from(told.output.edges)).sum::<u128>();
    Ok(format!("the figures of {} agree: {edges} edges in all", found.len()))
}

fn figures(told: &SourceChecked) -> SourceFigures {
    let SourceOutput { source, reached, edges, .. } = told.output;
    SourceFigures { source, reached, edges, speed: told.speed }
}

fn of_source(info: &InputInfo, told: &SourceChecked) -> Result<()> {
    let found = &told.output;
    let (source, reached) = (found.source, found.reached);
    figures(told).agree(info)?;
    let is_zero = match found.max_distance {
        Distance::Whole(most) => most == 0,
        Distance::Decimal(most) => most == 0.0,
    };
    holds(source, reached > 1 || is_zero, || format!("distance {} of the source alone", found.max_distance))?;
    let Some(path) = &found.path else { return Ok(()) };
    let is_path = match path.length {
        Some(length) => length <= found.max_distance && path.edges < reached && path.vertices.first() == Some(&source),
        None => path.vertices.is_empty(),
    };
    holds(source, is_path, || format!("a path to {} that can't be: {path}", path.target))
}
