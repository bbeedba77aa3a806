//! Results of a table of searches, as the manifest and the report have them.

use super::graph500::Fields;
use crate::algo::energy::Energy;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// The result of all searches of a table: the same in every trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchOutput<S> {
    /// The result of each source.
    pub sources: Vec<S>,
    /// True if every tree was checked.
    pub validated: bool,
}

/// How all searches of a table went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchDetails<D> {
    /// How the search from each source went.
    pub sources: Vec<D>,
    /// Harmonic mean of traversed edges a second.
    pub harmonic_mean_teps: f64,
    /// The figures of Graph500, of drawn roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph500: Option<Fields>,
    /// The energy of all searches, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
}

/// Speed of one search.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speed {
    /// Seconds.
    pub seconds: f64,
    /// Traversed edges a second; 0 for a search that took no time.
    pub teps: f64,
}

impl Speed {
    /// Returns the speed of a search that traversed `edges` edges in `seconds` seconds.
    pub fn of(edges: u64, seconds: f64) -> Speed {
        Speed { seconds, teps: if seconds > 0.0 { edges as f64 / seconds } else { 0.0 } }
    }
}

/// How one search went.
pub trait SourceDetails: Debug + Serialize + DeserializeOwned {
    /// Returns its speed.
    fn speed(&self) -> Speed;
}
