//! Checks of what searches of any kind found: of figures against each other, which takes neither columns nor edges, and of trees where both are there.

use super::differs;
use crate::algo::{EdgeSource, Results, Verdict};
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::prepare::prepared::InputInfo;

/// Relative difference of quotients that are the same.
const TOLERANCE: f64 = 1e-9;

/// Figures of the search from one source that all kinds of searches have.
pub struct SourceFigures {
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

impl SourceFigures {
    /// Checks that they can be those of a search of this input.
    ///
    /// # Errors
    /// [`crate::Error::Validation`].
    pub fn agree(&self, info: &InputInfo) -> Result<()> {
        let SourceFigures { source, reached, edges, seconds, teps } = *self;
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

/// Checks trees by `check` against the edges of the input, if the table `algorithm` wrote them (`write`) and the edges are there; else says why not.
///
/// # Errors
/// Those of telling, and a stop; what is wrong goes to `verdict`.
pub fn check_trees(
    algorithm: &str,
    write: bool,
    results: &Results<'_>,
    verdict: &mut Verdict<'_>,
    check: impl FnOnce(&EdgeSource<'_>) -> Result<String>,
) -> Result<()> {
    match &results.edges {
        _ if !write => verdict.skip(
            "trees",
            format!("none was written, as [{algorithm}] write = false: the run itself is what checked them (validate)"),
        ),
        Err(why) => verdict.skip("trees", format!("{why}; so they were not checked")),
        Ok(edges) => verdict.note("trees", check(edges)),
    }
}

/// Checks that something holds of what is told of a source, or says what is told.
///
/// # Errors
/// [`crate::Error::Validation`] if it does not hold.
pub fn holds(source: InputId, holds: bool, otherwise: impl Fn() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(differs(source, &otherwise())) }
}
