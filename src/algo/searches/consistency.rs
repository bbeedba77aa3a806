//! Checks the stored results of a job, for all search algorithms. Reported statistics are checked for consistency,
//! without result columns or edges. Trees are checked if both their columns and the edges are available.

use super::graph500::{self, Fields, Graph500Size, SearchSample};
use super::results::{SearchDetails, SearchOutput, SourceDetails, SourceFigures, Speed};
use super::{SearchTable, SearchTask};
use crate::algo::{Results, Verdict};
use crate::error::{Error, Result};
use crate::graph::ids::InputId;
use crate::prepare::prepared::InputInfo;
use std::collections::HashSet;

/// Largest relative difference at which two quotients count as equal.
const TOLERANCE: f64 = 1e-9;

/// The result of each source, with the statistics of its search.
type Sources<'s, T> = [(&'s <T as SearchTask>::SourceOutput, &'s <T as SearchTask>::SourceDetails)];

/// Checks the numbers that a job reports: first those of each source, then the totals over all sources. Returns a
/// sentence about the result of the checks.
///
/// # Errors
/// [`Error::Validation`] for the first impossible or inconsistent number.
pub fn check<T: SearchTask>(
    table: &T,
    info: &InputInfo,
    (output, details): (&SearchOutput<T::SourceOutput>, &SearchDetails<T::SourceDetails>),
    sources: &Sources<'_, T>,
) -> Result<String> {
    for &(source, details) in sources {
        is_possible(T::figures(source), details.speed(), info).and_then(|()| T::check_source(source, details))?;
    }
    check_totals(table, info, (output, details))?;
    let edges = sources.iter().map(|(source, _)| u128::from(T::figures(source).edges)).sum::<u128>();
    Ok(format!("the figures of {} agree: {edges} edges in all", sources.len()))
}

/// Checks that the numbers that a job reports about a source are possible for this input.
fn is_possible(figures: SourceFigures, Speed { seconds, teps }: Speed, info: &InputInfo) -> Result<()> {
    let SourceFigures { source, reached, edges, .. } = figures;
    let vertices = info.connected.max(1);
    require(source, (1..=vertices).contains(&reached), || {
        format!("{reached} vertices reached, of {vertices} that have edges")
    })?;
    let all = info.edges - info.loops;
    require(source, (reached - 1..=all).contains(&edges), || {
        format!("{edges} edges, but {reached} vertices were reached and the input has {all} edges")
    })?;
    let expected = Speed::of(edges, seconds).teps;
    require(source, are_close(teps, expected), || {
        format!("{teps} edges a second, but {edges} edges in {seconds} s make {expected}")
    })
}

/// Checks that the results are for the sources that the table requests, and that the reported means and statistics
/// follow from the numbers of these sources.
fn check_totals<T: SearchTask>(
    table: &T,
    info: &InputInfo,
    (output, details): (&SearchOutput<T::SourceOutput>, &SearchDetails<T::SourceDetails>),
) -> Result<()> {
    let (options, validated, reported_mean) = (table.options(), output.validated, details.harmonic_mean_teps);
    let wrong = |what: String| Err(Error::Validation(what));
    let figures: Vec<SourceFigures> = output.sources.iter().map(T::figures).collect();
    let sources: Vec<InputId> = figures.iter().map(|of| of.source).collect();
    let are_asked = match options.origins.roots {
        0 => sources == options.origins.sources.0,
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
    let with_edges = figures.iter().zip(&details.sources).filter(|(of, _)| of.edges > 0);
    let samples: Vec<SearchSample> = with_edges
        .map(|(of, details)| SearchSample { seconds: details.speed().seconds, edges: of.edges, validate: 0.0 })
        .collect();
    let mean = graph500::harmonic_mean_teps(&samples);
    if !are_close(reported_mean, mean) {
        return wrong(format!("the harmonic mean is {reported_mean} edges a second, but these sources give {mean}"));
    }
    let Some(reported) = &details.graph500 else { return Ok(()) };
    let (ranks, construction) = (reported.get("num_mpi_processes"), reported.get("construction_time"));
    let size = Graph500Size {
        construction: construction.unwrap_or(0.0),
        ..Graph500Size::of(info, ranks.unwrap_or(1.0) as u64)
    };
    let fields = Fields::new(T::KERNEL, size, &samples);
    // The report contains the time of checking trees in only one field, so it can't be compared with another.
    let fields = fields.iter().flat_map(Fields::iter).filter(|(name, _)| !name.ends_with("_validate"));
    for (name, value) in fields {
        if !reported.get(name).is_some_and(|reported| are_close(reported, value)) {
            return wrong(format!("{name} is {:?}, but these sources give {value}", reported.get(name)));
        }
    }
    Ok(())
}

/// Pairs the result of each source with the statistics of its search.
///
/// # Errors
/// [`Error::Validation`] if the numbers of results and of statistics differ.
pub fn sources<'t, S, D>(output: &'t SearchOutput<S>, details: &'t SearchDetails<D>) -> Result<Vec<(&'t S, &'t D)>> {
    match output.sources.len() == details.sources.len() {
        true => Ok(output.sources.iter().zip(&details.sources).collect()),
        false => Err(Error::Validation("the manifest does not report how each search went".into())),
    }
}

/// Returns true if the reported number equals `number` up to rounding.
fn are_close(reported: f64, number: f64) -> bool {
    (reported - number).abs() <= TOLERANCE * number.abs()
}

/// Checks the trees that the searches of a table found, if their result columns and the edges are available. Otherwise
/// records in `verdict` why they are not checked. Without sources there are no trees to check.
///
/// # Errors
/// Errors of `verdict`, and [`Error::Stopped`]. A wrong tree is recorded in `verdict`.
pub fn check_trees<T: SearchTask>(
    table: &T,
    results: &Results<'_>,
    sources: &Sources<'_, T>,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let (name, write) = (<T as SearchTable>::NAME, table.options().write);
    match &results.edges {
        _ if sources.is_empty() => verdict.note("trees", Ok("none, as no vertex has an edge".into())),
        _ if write && !results.done => verdict.skip("trees", "none is written yet: the job is not done"),
        _ if !write => verdict.skip(
            "trees",
            format!("none was written, because [{name}] has write = false; the run itself checks them (validate)"),
        ),
        Err(why) => verdict.skip("trees", format!("{why}; so they were not checked")),
        Ok(edges) => verdict.note("trees", table.verify_trees(edges, results, sources)),
    }
}

/// Creates the error for a wrong number or column of `source`. `what` says what is wrong.
pub fn differs(source: InputId, what: &str) -> Error {
    Error::Validation(format!("source {source}: {what}"))
}

/// Returns an error about `source` if `is_met` is false. Calls `otherwise` for the text that says what is wrong.
///
/// # Errors
/// [`crate::Error::Validation`] if `is_met` is false.
pub fn require(source: InputId, is_met: bool, otherwise: impl Fn() -> String) -> Result<()> {
    if is_met { Ok(()) } else { Err(differs(source, &otherwise())) }
}
