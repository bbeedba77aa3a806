//! A pass over the edges of an input that signals can stop.

use crate::error::Result;
pub use crate::formats::EdgeVisitor;
use crate::formats::{self, Input, Scan, Signals};

/// Calls `edge` with the raw ids of the ends of every edge of an input, on several threads. Each of `states` belongs to
/// one thread. Returns the states, and the statistics of the pass.
///
/// # Errors
/// Errors of reading and of `edge`; [`crate::Error::Stopped`].
pub fn each_edge<S: Send>(
    input: &Input,
    states: Vec<S>,
    edge: impl Fn(&mut S, [u64; 2]) -> Result<()> + Sync,
) -> Result<(Vec<S>, Scan)> {
    formats::each_edge(input, states, &Signals, edge)
}
