//! The result of label propagation.

use crate::algo::components::ComponentsOutput;
use crate::results::about::About;
use serde::{Deserialize, Serialize};

/// Result columns of `[cdlp]`.
pub(super) const COLUMNS: &[About] =
    &[About::new("label", "community of the vertex: the id of a vertex, which need not be in it", "-1: no vertex")];

/// Result of label propagation: the number of iterations, and the communities. A community is a set of vertices with
/// the same label. An isolated vertex is a community by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CdlpOutput {
    /// Number of iterations that were computed. If no label changed in the last of them, later iterations would change
    /// nothing.
    pub iterations: u64,
    /// Number of vertices whose label changed in the last iteration.
    pub changed: u64,
    /// Number of communities.
    pub communities: u64,
    /// Sizes of the largest communities, in vertices, in descending order.
    pub largest: Vec<u64>,
    /// Histogram of community sizes: element `i` is the number of communities of 2^i to 2^(i+1) - 1 vertices. The last
    /// element counts the largest community.
    pub by_size: Vec<u64>,
}

impl CdlpOutput {
    /// Creates the result. `sizes` contains the size of each community in vertices; zeros are ignored. Each of the
    /// `isolated` vertices without edges is another community.
    pub(super) fn new((iterations, changed): (u64, u64), sizes: &[u32], isolated: u64) -> CdlpOutput {
        let mut groups = ComponentsOutput::default();
        sizes.iter().filter(|&&size| size > 0).for_each(|&size| groups.add(size.into(), 1));
        groups.add(1, isolated);
        let ComponentsOutput { components: communities, largest, by_size, .. } = groups;
        CdlpOutput { iterations, changed, communities, largest, by_size }
    }
}
