//! Results of searches by levels.

use super::task::{LevelFigures, LevelTask};
use super::verify::{self, SourceChecked};
use crate::algo::searches::agreement::{self, Reported};
use crate::algo::searches::figures::{Level, LevelDetails};
use crate::algo::searches::results::{SearchDetails, SearchOutput, SourceDetails};
use crate::algo::searches::sentences::{self, Farthest, Reach};
use crate::algo::searches::{self, SearchTask};
use crate::algo::{Results, StoredUnits, Verdict};
use crate::chart::Figure;
use crate::error::{Error, Result};
use crate::graph::ids::InputId;
use serde::{Deserialize, Serialize};

/// The result of a table of searches by levels.
pub type LevelOutput = SearchOutput<SourceOutput>;

/// The result of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceOutput {
    /// The source's id in the input.
    pub source: InputId,
    /// Number of reached vertices, including the source.
    pub reached: u64,
    /// Largest level of a reached vertex.
    pub depth: u64,
    /// Edges of the input between reached vertices. Repeats count, loops do not. In a directed graph, distinct edges
    /// that leave reached vertices.
    pub edges: u64,
}

/// Describes the searches in sentences.
pub fn sentences_of(output: &LevelOutput) -> Vec<String> {
    let reach =
        |of: &SourceOutput| Reach { source: of.source, reached: of.reached, farthest: Farthest::Steps(of.depth) };
    sentences::of_searches(&output.sources.iter().map(reach).collect::<Vec<_>>())
}

/// Returns charts of the searches.
pub fn figures_of<D: LevelDetails>(output: &LevelOutput, details: &SearchDetails<D>) -> Vec<Figure> {
    searches::figures::of_levels(output, details, |source| source.source.to_string())
}

/// Checks the records of a table's journal against the result, if there is one.
///
/// # Errors
/// [`Error::Validation`], which says what is wrong.
pub fn verify_units<T: LevelTask>(units: &StoredUnits<'_>, output: Option<&LevelOutput>) -> Result<String> {
    let sources = output.map(|output| output.sources.as_slice());
    searches::verify_units(units, sources, |searched: &<T as LevelTask>::Searched, edges, output: &SourceOutput| {
        let (reached, depth) = searched.reached_and_depth();
        let found = (reached, depth, edges);
        if found != (output.reached, output.depth, output.edges) {
            let what = format!("(reached, depth, edges) {found:?}, which differs from the result of {}", output.source);
            return Err(Error::Validation(what));
        }
        Ok(())
    })
}

/// Checks the result of a table, and the columns if it wrote them. Mistakes go to `verdict`.
///
/// # Errors
/// Errors of `verdict`, and a stop.
pub fn verify_trial<T: LevelTask>(
    table: &T,
    results: &Results<'_>,
    (output, details): (&LevelOutput, &SearchDetails<<T as LevelTask>::SourceDetails>),
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let reported = Reported::of(LevelTask::options(table), <T as SearchTask>::KERNEL, output, details);
    match sources(output, details) {
        Ok(sources) => verify::verify(T::NAME, &reported, results, &sources, verdict),
        Err(e) => verdict.note("searches", Err(e)),
    }
}

/// Returns the figures of all sources, as a job reports them.
fn sources<D: LevelDetails>(output: &LevelOutput, details: &SearchDetails<D>) -> Result<Vec<SourceChecked>> {
    let source = |(output, details): (&SourceOutput, &D)| {
        let SourceOutput { source, reached, depth, edges } = *output;
        let frontiers = details.levels().iter().map(Level::frontier).collect();
        SourceChecked { source, reached, depth, edges, speed: SourceDetails::speed(details), frontiers }
    };
    Ok(agreement::sources(output, details)?.map(source).collect())
}
