//! Records of the journal: what was found from each source, and which trees were checked.

use crate::algo::bfs::search::Searched;
use crate::algo::bfs::task::Found;
use crate::error::{Error, Result};
use crate::results::Output;
use crate::store::journal::Record;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Units of the second kind begin here: they say that the tree of a source was checked.
const CHECKED: u64 = 1 << 32;

/// The unit of what the energy of all searches was.
const ENERGY: u64 = u64::MAX;

/// A source that was searched from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceDone {
    /// The search.
    pub searched: Searched,
    /// Edges of what it reached; see [`crate::algo::bfs::task::SourceFound::edges`].
    pub edges: u64,
    /// The columns that were written of it, by their paths in the workdir.
    pub outputs: BTreeMap<String, Output>,
}

/// The records of a source in a journal.
#[derive(Debug, Clone, Default)]
pub struct SourceState {
    /// The search, if it is done.
    pub done: Option<SourceDone>,
    /// Seconds that checking the tree took, if that is done.
    pub checked: Option<f64>,
}

/// Returns the record of a search from source number `source`.
///
/// # Errors
/// None in practice: numbers and names can be written as JSON.
pub fn of_search(source: usize, done: &SourceDone) -> Result<Record> {
    let result = serde_json::to_vec(done).map_err(|e| Error::internal("note a search", e))?;
    Ok(Record { unit: source as u64, result: result.into_boxed_slice() })
}

/// Returns the record of a check of the tree of source number `source`.
pub fn of_check(source: usize, seconds: f64) -> Record {
    Record::of_words(CHECKED + source as u64, &[seconds.to_bits()])
}

/// Returns the record of the energy of all searches, as the report has it.
pub fn of_energy(energy: &Value) -> Record {
    Record { unit: ENERGY, result: energy.to_string().into_bytes().into_boxed_slice() }
}

/// Reads the record of energy.
pub fn energy(records: &[Record]) -> Option<Value> {
    let record = records.iter().find(|record| record.unit == ENERGY)?;
    serde_json::from_slice(&record.result).ok()
}

/// Reads the records of `sources` sources. What can't be read is done anew.
pub fn read(records: &[Record], sources: usize) -> Vec<SourceState> {
    let mut states = vec![SourceState::default(); sources];
    for record in records.iter().filter(|record| record.unit != ENERGY) {
        let place = (record.unit % CHECKED) as usize;
        let Some(state) = states.get_mut(place) else { continue };
        match record.unit < CHECKED {
            true => state.done = serde_json::from_slice(&record.result).ok(),
            false => state.checked = record.words::<1>().map(|[bits]| f64::from_bits(bits)),
        }
    }
    states
}

/// Checks the records of a journal against the result, if there is one; says what it found.
///
/// # Errors
/// [`Error::Validation`] with what is wrong.
pub fn verify(records: &[Record], found: Option<&Found>) -> Result<String> {
    let searches: Vec<&Record> = records.iter().filter(|record| record.unit < CHECKED).collect();
    for record in &searches {
        let unit = record.unit;
        let done: SourceDone = serde_json::from_slice(&record.result)
            .map_err(|e| Error::Validation(format!("unit {unit} is the record of no search: {e}")))?;
        let Some(source) = found.and_then(|found| found.sources.get(unit as usize)) else { continue };
        let said = (done.searched.reached, done.searched.depth, done.edges);
        if said != (source.reached, source.depth, source.edges) {
            let what =
                format!("unit {unit} has (reached, depth, edges) {said:?}, the result of {} others", source.source);
            return Err(Error::Validation(what));
        }
    }
    let checks = records.iter().filter(|record| (CHECKED..ENERGY).contains(&record.unit)).count();
    Ok(format!("{} searches, {checks} trees checked", searches.len()))
}
