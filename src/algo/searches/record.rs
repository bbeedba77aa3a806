//! Journal records of a trial: the result of each source, the checks of trees, and the energy.

use super::SearchTask;
use super::results::Speed;
use crate::algo::energy::Energy;
use crate::algo::{StoredUnits, UnitsContent};
use crate::error::{Error, Result};
use crate::results::Output;
use crate::store::journal::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Id of the journal record that says that the tree of source 0 was checked. For other sources, the index of the source
/// is added.
const CHECKED: u64 = 1 << 32;

/// Id of the journal record that contains the energy of all searches.
const ENERGY: u64 = u64::MAX;

/// A finished search from one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinishedSource<S> {
    /// Results and statistics of the search.
    pub searched: S,
    /// Number of edges that the search traversed, from which its speed is computed.
    pub edges: u64,
    /// Result columns that were written for the source, keyed by their paths in the workdir.
    pub outputs: BTreeMap<String, Output>,
}

/// State of one source according to the journal.
#[derive(Debug, Clone)]
pub struct SourceState<S> {
    /// The finished search, or `None` if it is not finished.
    pub done: Option<FinishedSource<S>>,
    /// Duration of the check of the source's tree in seconds, or `None` if the tree was not checked.
    pub checked: Option<f64>,
}

impl<S> Default for SourceState<S> {
    fn default() -> SourceState<S> {
        SourceState { done: None, checked: None }
    }
}

/// Creates the journal record of the search from the source with index `source`.
///
/// # Errors
/// None in practice: numbers and names can be written as JSON.
pub fn of_search<S: Serialize>(source: usize, done: &FinishedSource<S>) -> Result<Record> {
    as_json(source as u64, done)
}

/// Creates the journal record that says that the tree of the source with index `source` was checked in `seconds`
/// seconds.
pub fn of_check(source: usize, seconds: f64) -> Record {
    Record::of_words(CHECKED + source as u64, &[seconds.to_bits()])
}

/// Creates the journal record of the energy of all searches.
///
/// # Errors
/// None in practice: numbers can be written as JSON.
pub fn of_energy(energy: &Energy) -> Result<Record> {
    as_json(ENERGY, energy)
}

fn as_json(unit: u64, noted: &impl Serialize) -> Result<Record> {
    let result = serde_json::to_vec(noted).map_err(|e| Error::internal("note a search", e))?;
    Ok(Record { unit, result: result.into_boxed_slice() })
}

/// Returns the energy of all searches from the records of a journal, or `None` if they do not contain it.
pub fn energy(records: &[Record]) -> Option<Energy> {
    let record = records.iter().find(|record| record.unit == ENERGY)?;
    serde_json::from_slice(&record.result).ok()
}

/// Returns the state of each of `sources` sources according to the records of a journal. If the record of a search
/// can't be read, the search counts as unfinished.
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

/// Checks that all records of a journal can be read, and compares them with the results of `sources`, if any. Returns a
/// sentence that summarises the journal.
///
/// # Errors
/// [`Error::Validation`] for a wrong record.
pub fn verify_units<T: SearchTask>(units: &StoredUnits<'_>, sources: Option<&[T::SourceOutput]>) -> Result<String> {
    let wrong = |what: String| Error::Validation(format!("{}: {what}", units.path.display()));
    let UnitsContent::Records(records) = units.content else {
        return Err(wrong("this is a checkpoint, but searches have none".into()));
    };
    let searches: Vec<&Record> = records.iter().filter(|record| record.unit < CHECKED).collect();
    for record in &searches {
        let unit = record.unit;
        let FinishedSource { searched, edges, .. } = serde_json::from_slice::<FinishedSource<T::Stats>>(&record.result)
            .map_err(|e| wrong(format!("unit {unit} is not the record of a search: {e}")))?;
        let Some(source) = sources.and_then(|sources| sources.get(unit as usize)) else { continue };
        let id = T::figures(source).source;
        let found = T::shown(&T::results(id, edges, searched, Speed::default(), 0).0);
        if found != T::shown(source) {
            return Err(wrong(format!("unit {unit} has {found}, which differs from the result of {id}")));
        }
    }
    let checks = records.iter().filter(|record| (CHECKED..ENERGY).contains(&record.unit)).count();
    Ok(format!("{} searches, {checks} trees checked", searches.len()))
}
