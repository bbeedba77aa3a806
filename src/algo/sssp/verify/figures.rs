//! Checks the figures of searches against each other. This needs neither columns nor edges.

use super::SourceChecked;
use crate::algo::searches::agreement::{self, Reported, SourceFigures, holds};
use crate::algo::sssp::distances::Distance;
use crate::algo::sssp::output::SourceOutput;
use crate::error::Result;
use crate::prepare::prepared::InputInfo;

/// Checks the figures of all sources.
///
/// # Errors
/// [`crate::Error::Validation`] for the first impossible figure.
pub(super) fn agree(reported: &Reported<'_>, info: &InputInfo, found: &[SourceChecked]) -> Result<String> {
    let figures = |found: &SourceChecked| {
        let SourceOutput { source, reached, edges, .. } = found.output;
        SourceFigures { source, reached, edges, speed: found.speed }
    };
    agreement::agree(reported, info, found, figures, of_source)
}

fn of_source(reported: &SourceChecked) -> Result<()> {
    let found = &reported.output;
    let (source, reached) = (found.source, found.reached);
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
