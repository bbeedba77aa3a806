//! Figures of searches against each other, which takes neither columns nor edges.

use super::SourceChecked;
use crate::algo::searches::differs;
use crate::algo::sssp::distances::Distance;
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::prepare::prepared::InputInfo;

/// Relative difference of quotients that are the same.
const TOLERANCE: f64 = 1e-9;

/// Checks the figures of all sources.
///
/// # Errors
/// [`crate::Error::Validation`] for the first that can't be.
pub(super) fn agree(info: &InputInfo, found: &[SourceChecked]) -> Result<String> {
    found.iter().try_for_each(|told| of_source(info, told))?;
    let edges = found.iter().map(|told| u128::from(told.found.edges)).sum::<u128>();
    Ok(format!("the figures of {} agree: {edges} edges in all", found.len()))
}

fn of_source(info: &InputInfo, told: &SourceChecked) -> Result<()> {
    let SourceChecked { ref found, seconds, teps } = *told;
    let (source, reached, edges) = (found.source, found.reached, found.edges);
    let vertices = info.connected.max(1);
    holds(source, (1..=vertices).contains(&reached), || {
        format!("{reached} vertices reached, of {vertices} that have edges")
    })?;
    let is_zero = match found.max_distance {
        Distance::Whole(most) => most == 0,
        Distance::Decimal(most) => most == 0.0,
    };
    holds(source, reached > 1 || is_zero, || format!("distance {} of the source alone", found.max_distance))?;
    let all = info.edges - info.loops;
    holds(source, (reached - 1..=all).contains(&edges), || {
        format!("{edges} edges, where {reached} vertices were reached and the input has {all}")
    })?;
    let expected = edges as f64 / seconds;
    holds(source, !expected.is_finite() || (teps - expected).abs() <= TOLERANCE * expected, || {
        format!("{teps} edges a second, {edges} in {seconds} s are {expected}")
    })?;
    let Some(path) = &found.path else { return Ok(()) };
    let is_path = match path.length {
        Some(length) => length <= found.max_distance && path.edges < reached && path.vertices.first() == Some(&source),
        None => path.vertices.is_empty(),
    };
    holds(source, is_path, || format!("a path to {} that can't be: {path}", path.target))
}

fn holds(source: InputId, holds: bool, otherwise: impl Fn() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(differs(source, &otherwise())) }
}
