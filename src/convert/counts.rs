//! Counts vertices and edges, for the header of an output file.

use crate::error::{At, Error, Result};
use crate::formats::{Halves, Input, LargestId, MOST_VERTICES, Watch, WeightType};

/// Numbers for the header of an output file, and further results of the pass over the edges that found them.
#[derive(Clone, Copy)]
pub(super) struct HeaderCounts {
    /// Number of vertices: the largest id + 1, so up to 2^64.
    pub vertices: u128,
    pub edges: u64,
    /// Type of the weights; `None` if the edges have none or the pass did not determine it.
    pub weights: Option<WeightType>,
    pub halves: Halves,
}

impl HeaderCounts {
    /// Returns an error if there are more vertices than a reader accepts in a header.
    pub fn check(&self, input: &Input) -> Result<()> {
        if self.vertices <= MOST_VERTICES.into() {
            return Ok(());
        }
        let (found, remedy) = (format!("id {}", self.vertices - 1), "choose a format without a header, such as u64");
        Err(Error::input(input.name(), At::File, "ids below 2^63 for a header", found, remedy))
    }
}

/// Counts the edges and finds the largest id in one pass.
pub(super) fn count(input: &Input, threads: usize, watch: &dyn Watch) -> Result<HeaderCounts> {
    let mut visitors = vec![LargestId::default(); threads];
    let scan = input.scan(&mut visitors, watch)?;
    let largest = visitors.iter().filter_map(|visitor| visitor.0).max();
    let counted = largest.map_or(0, |id| u128::from(id) + 1);
    let vertices = counted.max(scan.declared_vertices.unwrap_or(0).into());
    Ok(HeaderCounts { vertices, edges: scan.edges, weights: scan.weights, halves: scan.halves })
}
