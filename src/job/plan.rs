//! What a job will need, before it runs.

use super::graph::Facts;
use crate::graph::layout::Layout;
use crate::graph::stored;
use crate::prepare::order;

/// Bytes of the files of a prepared graph, at most.
pub fn store_bytes(facts: &Facts, layout: &Layout) -> u64 {
    let files = 128 * (layout.blocks() as u64 + 2);
    let blocks: u64 = (0..layout.blocks()).map(|b| stored::body_bytes(layout.block(b).len() as u64, 0)).sum();
    let order = order::body_bytes(facts.ids, facts.runs);
    files + blocks + 4 * facts.distinct_at_most + order + 4 * facts.connected
}
