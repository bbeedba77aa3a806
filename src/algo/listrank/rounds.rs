//! The rounds of a list ranking with their sizes and times, for the report.

use crate::error::Result;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Instant;

/// A round of list ranking: a pass over all elements, or over all links between sublists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Name of the round, such as a walk or a jump.
    pub step: Cow<'static, str>,
    /// Number of elements, or of links between sublists, that the round processes.
    pub elements: u64,
    /// Duration of the round in seconds.
    pub seconds: f64,
}

/// The rounds of a trial of list ranking, in the order in which they ended.
#[derive(Debug, Default)]
pub struct Rounds(Mutex<Vec<Round>>);

impl Rounds {
    /// Runs a round by calling `work`. If `work` succeeds, records the round and its duration.
    ///
    /// # Errors
    /// Errors of `work`.
    pub fn time<T>(&self, step: &'static str, elements: u64, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let value = work()?;
        let round = Round { step: step.into(), elements, seconds: started.elapsed().as_secs_f64() };
        self.0.lock().push(round);
        Ok(value)
    }

    /// Returns the recorded rounds and removes them.
    pub fn take(&self) -> Vec<Round> {
        std::mem::take(&mut self.0.lock())
    }
}
