//! Records of the journal: what was found from each source, and which trees were checked.

use crate::algo::energy::Energy;
use crate::algo::{StoredUnits, UnitsContent};
use crate::error::{Error, Result};
use crate::results::Output;
use crate::store::journal::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Units of the second kind begin here: they say that the tree of a source was checked.
const CHECKED: u64 = 1 << 32;

/// The unit of what the energy of all searches was.
const ENERGY: u64 = u64::MAX;

/// A source that was searched from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceDone<S> {
    /// The search.
    pub searched: S,
    /// Edges of what it reached, by which it is measured.
    pub edges: u64,
    /// The columns that were written of it, by their paths in the workdir.
    pub outputs: BTreeMap<String, Output>,
}

/// The records of a source in a journal.
#[derive(Debug, Clone)]
pub struct SourceState<S> {
    /// The search, if it is done.
    pub done: Option<SourceDone<S>>,
    /// Seconds that checking the tree took, if that is done.
    pub checked: Option<f64>,
}

impl<S> Default for SourceState<S> {
    fn default() -> SourceState<S> {
        SourceState { done: None, checked: None }
    }
}

/// Returns the record of a search from source number `source`.
///
/// # Errors
/// None in practice: numbers and names can be written as JSON.
pub fn of_search<S: Serialize>(source: usize, done: &SourceDone<S>) -> Result<Record> {
    let result = serde_json::to_vec(done).map_err(|e| Error::internal("note a search", e))?;
    Ok(Record { unit: source as u64, result: result.into_boxed_slice() })
}

/// Returns the record of a check of the tree of source number `source`.
pub fn of_check(source: usize, seconds: f64) -> Record {
    Record::of_words(CHECKED + source as u64, &[seconds.to_bits()])
}

/// Returns the record of the energy of all searches.
///
/// # Errors
/// None in practice: numbers can be written as JSON.
pub fn of_energy(energy: &Energy) -> Result<Record> {
    let result = serde_json::to_vec(energy).map_err(|e| Error::internal("note the energy of searches", e))?;
    Ok(Record { unit: ENERGY, result: result.into_boxed_slice() })
}

/// Reads the record of energy.
pub fn energy(records: &[Record]) -> Option<Energy> {
    let record = records.iter().find(|record| record.unit == ENERGY)?;
    serde_json::from_slice(&record.result).ok()
}

/// Reads the records of `sources` sources. What can't be read is done anew.
pub fn read<S: DeserializeOwned>(records: &[Record], sources: usize) -> Vec<SourceState<S>> {
    let mut states: Vec<_> = (0..sources).map(|_| SourceState::default()).collect();
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

/// Checks the records of a journal against the results, if there are any: `agrees` compares a search, with its edges, to the result of its source,
/// and says what differs. Says what it found.
///
/// # Errors
/// [`Error::Validation`] with what is wrong.
pub fn verify_units<S: DeserializeOwned, O>(
    units: &StoredUnits<'_>,
    sources: Option<&[O]>,
    agrees: impl Fn(&S, u64, &O) -> Result<()>,
) -> Result<String> {
    let UnitsContent::Records(records) = units.content else {
        return Err(Error::Validation(format!("{}: a checkpoint, where searches have none", units.path.display())));
    };
    let wrong = |what: String| Error::Validation(format!("{}: {what}", units.path.display()));
    let searches: Vec<&Record> = records.iter().filter(|record| record.unit < CHECKED).collect();
    for record in &searches {
        let unit = record.unit;
        let done: SourceDone<S> = serde_json::from_slice(&record.result)
            .map_err(|e| wrong(format!("unit {unit} is the record of no search: {e}")))?;
        let Some(source) = sources.and_then(|sources| sources.get(unit as usize)) else { continue };
        agrees(&done.searched, done.edges, source).map_err(|e| match e {
            Error::Validation(what) => wrong(format!("unit {unit} has {what}")),
            other => other,
        })?;
    }
    let checks = records.iter().filter(|record| (CHECKED..ENERGY).contains(&record.unit)).count();
    Ok(format!("{} searches, {checks} trees checked", searches.len()))
}
