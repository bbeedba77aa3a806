//! Counts the vertices and edges that the header of an output file declares.

use crate::error::{At, Error, Result};
use crate::formats::{Halves, Input, LargestId, Watch, WeightType};

/// The numbers that the header of an output file declares.
#[derive(Clone, Copy)]
pub(super) struct HeaderCounts {
    pub vertices: u64,
    pub edges: u64,
    /// Type of the weights; `None` if the edges have none or the pass did not look for it.
    pub weights: Option<WeightType>,
    pub halves: Halves,
}

/// Counts the edges and finds the largest id, in one pass.
pub(super) fn count(input: &Input, threads: usize, watch: &dyn Watch) -> Result<HeaderCounts> {
    let mut visitors = vec![LargestId::default(); threads];
    let scan = input.scan(&mut visitors, watch)?;
    let largest = visitors.iter().filter_map(|visitor| visitor.0).max();
    let counted = match largest.map(|id| id.checked_add(1)) {
        None => 0,
        Some(Some(vertices)) => vertices,
        Some(None) => {
            let remedy = "choose a format without a header, such as u64";
            return Err(Error::input(input.name(), At::File, "ids below 2^64 - 1", "that id", remedy));
        }
    };
    let vertices = counted.max(scan.declared_vertices.unwrap_or(0));
    Ok(HeaderCounts { vertices, edges: scan.edges, weights: scan.weights, halves: scan.halves })
}
