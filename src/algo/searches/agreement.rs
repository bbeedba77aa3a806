//! Checks that all kinds of searches share: of figures against each other, which needs neither columns nor edges, and
//! of trees if the columns and the edges are available.

use super::Options;
use super::graph500::{self, Block, Fields, Kernel, Sample, Size};
use super::results::{SearchDetails, SearchOutput, SourceDetails, Speed};
use crate::algo::{EdgeSource, Results, Verdict};
use crate::error::{Error, Result};
use crate::graph::ids::InputId;
use crate::prepare::prepared::InputInfo;
use std::collections::HashSet;

/// Largest relative difference of two quotients that count as equal.
const TOLERANCE: f64 = 1e-9;

/// Figures of the search from one source that every kind of search has.
pub struct SourceFigures {
    /// The source.
    pub source: InputId,
    /// Number of reached vertices, including the source.
    pub reached: u64,
    /// Number of edges by which the speed is measured.
    pub edges: u64,
    /// The speed of the search.
    pub speed: Speed,
}

impl SourceFigures {
    /// Checks that the figures are possible for a search of this input.
    ///
    /// # Errors
    /// [`crate::Error::Validation`].
    pub fn agree(&self, info: &InputInfo) -> Result<()> {
        let SourceFigures { source, reached, edges, speed: Speed { seconds, teps } } = *self;
        let vertices = info.connected.max(1);
        holds(source, (1..=vertices).contains(&reached), || {
            format!("{reached} vertices reached, of {vertices} that have edges")
        })?;
        let all = info.edges - info.loops;
        holds(source, (reached - 1..=all).contains(&edges), || {
            format!("{edges} edges, but {reached} vertices were reached and the input has {all} edges")
        })?;
        let expected = Speed::of(edges, seconds).teps;
        holds(source, are_close(teps, expected), || {
            format!("{teps} edges a second, but {edges} edges in {seconds} s make {expected}")
        })
    }
}

/// A table of searches, and what a job reports of all its searches together.
pub struct Reported<'a> {
    /// The keys that all tables of searches share.
    pub options: &'a Options,
    /// The kernel of Graph500 to which a search belongs.
    pub kernel: Kernel,
    /// True if the job reports that it checked the trees.
    pub validated: bool,
    /// The harmonic mean of speeds that the job reports.
    pub harmonic_mean_teps: f64,
    /// The figures of Graph500 that the job reports.
    pub graph500: Option<&'a Fields>,
}

impl<'a> Reported<'a> {
    /// Returns what a job with these options reports about all its searches.
    pub fn of<S, D>(
        options: &'a Options,
        kernel: Kernel,
        output: &SearchOutput<S>,
        details: &'a SearchDetails<D>,
    ) -> Reported<'a> {
        let SearchDetails { harmonic_mean_teps, ref graph500, .. } = *details;
        Reported { options, kernel, validated: output.validated, harmonic_mean_teps, graph500: graph500.as_ref() }
    }

    /// Checks that the sources are those of the table, and that reported means and statistics follow from the `figures` of each source.
    ///
    /// # Errors
    /// [`crate::Error::Validation`].
    pub fn agree(&self, info: &InputInfo, figures: &[SourceFigures]) -> Result<()> {
        let Reported { options, kernel, validated, harmonic_mean_teps, graph500 } = *self;
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
            return wrong(format!("{} sources, which are not the sources of the table", sources.len()));
        }
        if validated != options.validate {
            return wrong(format!("validated {validated}, but the table says {}", options.validate));
        }
        let with_edges = figures.iter().filter(|of| of.edges > 0);
        let sample = |of: &SourceFigures| Sample { seconds: of.speed.seconds, edges: of.edges, validate: 0.0 };
        let samples: Vec<Sample> = with_edges.map(sample).collect();
        let mean = graph500::harmonic_mean_teps(&samples);
        if !are_close(harmonic_mean_teps, mean) {
            return wrong(format!(
                "the harmonic mean is {harmonic_mean_teps} edges a second, but these sources give {mean}"
            ));
        }
        let Some(reported) = graph500 else { return Ok(()) };
        let (ranks, construction) = (reported.get("num_mpi_processes"), reported.get("construction_time"));
        let size = Size { construction: construction.unwrap_or(0.0), ..Size::of(info, ranks.unwrap_or(1.0) as u64) };
        let fields = Block::new(kernel, size, &samples).map(|block| block.fields());
        // The time of checks occurs only in these fields, so there is nothing to compare it with.
        let fields = fields.iter().flat_map(Fields::iter).filter(|(name, _)| !name.ends_with("_validate"));
        for (name, value) in fields {
            if !reported.get(name).is_some_and(|reported| are_close(reported, value)) {
                return wrong(format!("{name} is {:?}, but these sources give {value}", reported.get(name)));
            }
        }
        Ok(())
    }
}

/// Checks the figures of all sources, each by itself and together. `figures` returns those that every kind of search
/// has, and `of_source` checks the others of a source.
///
/// # Errors
/// [`crate::Error::Validation`] for the first impossible figure.
pub fn agree<S>(
    reported: &Reported<'_>,
    info: &InputInfo,
    found: &[S],
    figures: impl Fn(&S) -> SourceFigures,
    of_source: impl Fn(&S) -> Result<()>,
) -> Result<String> {
    let all: Vec<SourceFigures> = found.iter().map(figures).collect();
    found.iter().zip(&all).try_for_each(|(found, figures)| figures.agree(info).and_then(|()| of_source(found)))?;
    reported.agree(info, &all)?;
    let edges = all.iter().map(|source| u128::from(source.edges)).sum::<u128>();
    Ok(format!("the figures of {} agree: {edges} edges in all", found.len()))
}

/// Returns the result of each source with the details of its search.
///
/// # Errors
/// [`Error::Validation`] if their numbers differ.
pub fn sources<'t, S, D: SourceDetails>(
    output: &'t SearchOutput<S>,
    details: &'t SearchDetails<D>,
) -> Result<impl Iterator<Item = (&'t S, &'t D)>> {
    match output.sources.len() == details.sources.len() {
        true => Ok(output.sources.iter().zip(&details.sources)),
        false => Err(Error::Validation("the manifest does not report how each search went".into())),
    }
}

/// Returns true if a reported number equals `number`, apart from rounding.
fn are_close(reported: f64, number: f64) -> bool {
    (reported - number).abs() <= TOLERANCE * number.abs()
}

/// Checks trees by calling `check` with the edges, if the table `algorithm` wrote columns (`write`) and the edges are
/// available. Otherwise `verdict` gets the reason why trees were not checked. Without sources there are no trees to
/// check.
///
/// # Errors
/// Errors of `verdict`, and a stop. Mistakes go to `verdict`.
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
            format!("none was written, because [{algorithm}] has write = false; the run itself checks them (validate)"),
        ),
        Err(why) => verdict.skip("trees", format!("{why}; so they were not checked")),
        Ok(edges) => verdict.note("trees", check(edges)),
    }
}

/// Makes the error for a wrong figure or column of a source. `what` says what is wrong.
pub fn differs(source: InputId, what: &str) -> Error {
    Error::Validation(format!("source {source}: {what}"))
}

/// Returns an error with the text of `otherwise` if `holds` is false.
///
/// # Errors
/// [`crate::Error::Validation`] if it does not hold.
pub fn holds(source: InputId, holds: bool, otherwise: impl Fn() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(differs(source, &otherwise())) }
}
