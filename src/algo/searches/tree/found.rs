//! The result of searches that go level by level, as the manifest and the report have it.

use super::task::{LevelFigures, LevelTask};
use super::verify::{self, SourceChecked};
use crate::algo::searches;
use crate::algo::searches::agreement::Reported;
use crate::algo::searches::graph500::Kernel;
use crate::algo::{Results, StoredUnits, Verdict};
use crate::error::{Error, Result};
use crate::graph::ids::InputId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The fields of a table's results that are the same for every trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The result of each source.
    pub sources: Vec<SourceFound>,
    /// True if every tree was checked.
    pub validated: bool,
}

/// The result of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFound {
    /// Its id in the input.
    pub source: InputId,
    /// Vertices reached, the source included.
    pub reached: u64,
    /// The level of those farthest from it.
    pub depth: u64,
    /// Edges of the input between vertices that are reached: repeats count, loops do not. Of a directed graph, the distinct edges that leave
    /// vertices that are reached.
    pub edges: u64,
}

/// Checks the records of a table's journal against the results, if there are any.
///
/// # Errors
/// [`Error::Validation`] with what is wrong.
pub fn agree_units<T: LevelTask>(units: &StoredUnits<'_>, found: Option<&Value>) -> Result<String> {
    let sources = found.and_then(|found| found["sources"].as_array());
    searches::verify_units(units, sources.map(Vec::as_slice), |searched: &T::Searched, edges, source| {
        let found: SourceFound = serde_json::from_value(source.clone())
            .map_err(|e| Error::Validation(format!("no result of a search by levels: {e}")))?;
        let (reached, depth) = searched.reached_and_depth();
        let said = (reached, depth, edges);
        if said != (found.reached, found.depth, found.edges) {
            let what = format!("(reached, depth, edges) {said:?}, the result of {} others", found.source);
            return Err(Error::Validation(what));
        }
        Ok(())
    })
}

/// Checks the results of a table, and the columns that it wrote, as the manifest has them.
///
/// # Errors
/// Those of [`verify::verify`].
pub fn verify_found(
    table: &impl LevelTask,
    results: &Results<'_>,
    found: &Value,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    let read = serde_json::from_value(found.clone())
        .map_err(|e| Error::Validation(format!("the manifest's result is none of a search by levels: {e}")));
    let read = read.and_then(|found: Found| Ok((told(&found, results.how)?, found.validated)));
    match read {
        Ok((sources, validated)) => {
            let (options, how) = (table.options(), results.how);
            let told = Reported { options, kernel: Kernel::Bfs, validated, how };
            verify::verify(table.algorithm().name(), &told, results, &sources, verdict)
        }
        Err(e) => verdict.note("searches", Err(e)),
    }
}

/// Returns the figures of all sources that a job tells.
fn told(found: &Found, how: &Value) -> Result<Vec<SourceChecked>> {
    let none = || Error::Validation("the manifest does not tell how searches went".into());
    let sources = how["sources"].as_array().filter(|how| how.len() == found.sources.len()).ok_or_else(none)?;
    let source = |(found, how): (&SourceFound, &Value)| {
        let number = |key: &str| how[key].as_f64().ok_or_else(none);
        let levels = how["levels"].as_array().ok_or_else(none)?;
        let frontiers =
            levels.iter().map(|level| level["frontier"].as_u64().ok_or_else(none)).collect::<Result<_>>()?;
        let SourceFound { source, reached, depth, edges } = *found;
        Ok(SourceChecked {
            source,
            reached,
            depth,
            edges,
            seconds: number("seconds")?,
            teps: number("teps")?,
            frontiers,
        })
    };
    found.sources.iter().zip(sources).map(source).collect()
}
