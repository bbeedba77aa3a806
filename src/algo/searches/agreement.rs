//! Figures of searches of any kind against each other, which takes neither columns nor edges.

use super::differs;
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::prepare::prepared::InputInfo;

/// Relative difference of quotients that are the same.
const TOLERANCE: f64 = 1e-9;

/// Figures of the search from one source that all kinds of searches have.
pub struct Told {
    /// The source.
    pub source: InputId,
    /// Vertices reached, the source included.
    pub reached: u64,
    /// Edges by which it is measured.
    pub edges: u64,
    /// Seconds of the search.
    pub seconds: f64,
    /// Edges by seconds.
    pub teps: f64,
}

impl Told {
    /// Checks that they can be those of a search of this input.
    ///
    /// # Errors
    /// [`crate::Error::Validation`].
    pub fn agree(&self, info: &InputInfo) -> Result<()> {
        let Told { source, reached, edges, seconds, teps } = *self;
        let vertices = info.connected.max(1);
        holds(source, (1..=vertices).contains(&reached), || {
            format!("{reached} vertices reached, of {vertices} that have edges")
        })?;
        let all = info.edges - info.loops;
        holds(source, (reached - 1..=all).contains(&edges), || {
            format!("{edges} edges, where {reached} vertices were reached and the input has {all}")
        })?;
        let expected = edges as f64 / seconds;
        holds(source, !expected.is_finite() || (teps - expected).abs() <= TOLERANCE * expected, || {
            format!("{teps} edges a second, {edges} in {seconds} s are {expected}")
        })
    }
}

/// Checks that something holds of what is told of a source, or says what is told.
///
/// # Errors
/// [`crate::Error::Validation`] if it does not hold.
pub fn holds(source: InputId, holds: bool, otherwise: impl Fn() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(differs(source, &otherwise())) }
}
