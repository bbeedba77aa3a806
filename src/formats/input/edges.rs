//! A pass over the edges of an input by several threads, each with its own state.

use crate::error::Result;
use crate::formats::{Edges, Input, Scan, Visitor, Watch};

/// Visitor that calls a function for each edge that one thread reads.
pub struct EdgeVisitor<S, F> {
    /// State of the thread that uses the visitor.
    pub state: S,
    /// Function that is called with the state and the ids of the two ends of each edge.
    pub edge: F,
}

impl<S: Send, F: Fn(&mut S, [u64; 2]) -> Result<()> + Send> Visitor for EdgeVisitor<S, F> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        let EdgeVisitor { state, edge } = self;
        edges.try_each(|u, v| edge(state, [u, v]))
    }
}

/// Calls `edge` with the raw ids of the two ends of every edge of an input, on one thread per element of `states`.
/// Each thread passes its own state. Returns the states, and the result of the scan.
///
/// # Errors
/// Errors of reading, of `edge` and of `watch`.
pub fn each_edge<S: Send>(
    input: &Input,
    states: Vec<S>,
    watch: &dyn Watch,
    edge: impl Fn(&mut S, [u64; 2]) -> Result<()> + Sync,
) -> Result<(Vec<S>, Scan)> {
    let mut visitors: Vec<_> = states.into_iter().map(|state| EdgeVisitor { state, edge: &edge }).collect();
    let scan = input.scan(&mut visitors, watch)?;
    Ok((visitors.into_iter().map(|visitor| visitor.state).collect(), scan))
}
