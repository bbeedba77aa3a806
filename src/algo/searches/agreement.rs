//! Checks of what searches of any kind found: of figures against each other, which takes neither columns nor edges, and of trees where both are there.

use super::Options;
use super::graph500::{Block, Kernel, Sample, Size, harmonic_mean_teps};
use crate::algo::{EdgeSource, Results, Verdict};
use crate::error::{Error, Result};
use crate::graph::ids::InputId;
use crate::prepare::prepared::InputInfo;
use serde_json::Value;
use std::collections::HashSet;

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
        holds(source, are_close(Some(teps), if seconds > 0.0 { expected } else { 0.0 }), || {
            format!("{teps} edges a second, {edges} in {seconds} s are {expected}")
        })
    }
}

/// A table of searches, and what a job reports of all its searches together.
pub struct Reported<'a> {
    /// The keys that all tables of searches share.
    pub options: &'a Options,
    /// The kernel of Graph500 that a search is.
    pub kernel: Kernel,
    /// True if the job reports that it checked the trees.
    pub validated: bool,
    /// How the searches went, as the manifest has it.
    pub how: &'a Value,
}

impl Reported<'_> {
    /// Checks that the sources are those of the table, and that reported means and statistics follow from the `figures` of each source.
    ///
    /// # Errors
    /// [`crate::Error::Validation`].
    pub fn agree(&self, info: &InputInfo, figures: &[SourceFigures]) -> Result<()> {
        let Reported { options, kernel, validated, how } = *self;
        let wrong = |what: String| Err(Error::Validation(what));
        let sources: Vec<InputId> = figures.iter().map(|of| of.source).collect();
        let are_asked = match options.roots {
            0 => sources == options.sources.0,
            roots => {
                let distinct = sources.iter().collect::<HashSet<_>>().len() as u64;
                sources.len() as u64 == distinct && distinct == info.connected.min(roots.into())
            }
        };
        if !are_asked {
            return wrong(format!("{} sources, which are not those that the table asks for", sources.len()));
        }
        if validated != options.validate {
            return wrong(format!("validated {validated}, where the table says {}", options.validate));
        }
        let with_edges = figures.iter().filter(|of| of.edges > 0);
        let sample = |of: &SourceFigures| Sample { seconds: of.seconds, edges: of.edges, validate: 0.0 };
        let samples: Vec<Sample> = with_edges.map(sample).collect();
        let mean = harmonic_mean_teps(&samples);
        if !are_close(how["harmonic_mean_teps"].as_f64(), mean) {
            return wrong(format!(
                "harmonic mean of {} edges a second, of these sources it is {mean}",
                how["harmonic_mean_teps"]
            ));
        }
        let Some(told) = how["graph500"].as_object() else { return Ok(()) };
        let number = |key: &str| told.get(key).and_then(Value::as_f64);
        let (ranks, construction) = (number("num_mpi_processes"), number("construction_time"));
        let size = Size { construction: construction.unwrap_or(0.0), ..Size::of(info, ranks.unwrap_or(1.0) as u64) };
        let fields = Block::new(kernel, size, &samples).map(|block| block.fields());
        // Only these fields have the time of checks, so there is nothing to compare it with.
        let fields =
            fields.iter().filter_map(Value::as_object).flatten().filter(|(key, _)| !key.ends_with("_validate"));
        for (key, value) in fields {
            if !are_close(number(key), value.as_f64().unwrap_or(0.0)) {
                return wrong(format!("{key} {:?}, by these sources it is {value}", number(key)));
            }
        }
        Ok(())
    }
}

/// Returns true if a number is reported and equals `number`, apart from rounding.
fn are_close(told: Option<f64>, number: f64) -> bool {
    told.is_some_and(|told| (told - number).abs() <= TOLERANCE * number.abs())
}

/// Checks trees by `check` against the edges of the input, if the table `algorithm` wrote them (`write`) and the edges are there; else says why not.
/// Without sources there are no trees, and nothing to check.
///
/// # Errors
/// Those of telling, and a stop; what is wrong goes to `verdict`.
pub fn check_trees(
    algorithm: &str,
    write: bool,
    results: &Results<'_>,
    verdict: &mut Verdict<'_>,
    sources: usize,
    check: impl FnOnce(&EdgeSource<'_>) -> Result<String>,
) -> Result<()> {
    match &results.edges {
        _ if sources == 0 => verdict.note("trees", Ok("none, as no vertex has an edge".into())),
        _ if write && !results.done => verdict.skip("trees", "none is written yet: the job is not done"),
        _ if !write => verdict.skip(
            "trees",
            format!("none was written, as [{algorithm}] write = false: the run itself is what checked them (validate)"),
        ),
        Err(why) => verdict.skip("trees", format!("{why}; so they were not checked")),
        Ok(edges) => verdict.note("trees", check(edges)),
    }
}

/// Returns the error of a wrong figure or column of a source; `what` says what is wrong.
pub fn differs(source: InputId, what: &str) -> Error {
    Error::Validation(format!("source {source}: {what}"))
}

/// Checks that something holds of what is told of a source, or says what is told.
///
/// # Errors
/// [`crate::Error::Validation`] if it does not hold.
pub fn holds(source: InputId, holds: bool, otherwise: impl Fn() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(differs(source, &otherwise())) }
}
