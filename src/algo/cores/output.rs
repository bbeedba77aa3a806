//! The result of core numbers (`[cores]`).

use crate::results::about::About;
use serde::{Deserialize, Serialize};

/// Result columns of `[cores]`.
pub(super) const COLUMNS: &[About] = &[
    About::new("core", "core number of the vertex", "-1: no vertex"),
    About::new("layer", "1-based layer in which peeling removes the vertex", "-1: no vertex"),
];

/// Statistics of the core numbers of all vertices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoresOutput {
    /// Largest core number.
    pub degeneracy: u64,
    /// Number of vertices with the largest core number.
    pub innermost: u64,
    /// Number of layers: of steps in which peeling removes vertices.
    pub layers: u64,
    /// Histogram of core numbers. Element 0 is the number of vertices with core number 0. Element `i + 1` is the
    /// number of vertices with core numbers from 2^i to 2^(i+1) - 1. The last element counts the largest core number.
    pub by_core: Vec<u64>,
}

impl CoresOutput {
    /// Adds `vertices` vertices with core number `core` to the statistics. Their layers are at most `layer`.
    pub(super) fn add(&mut self, core: u64, layer: u64, vertices: u64) {
        if vertices == 0 {
            return;
        }
        let bin = if core == 0 { 0 } else { 1 + core.ilog2() as usize };
        self.by_core.resize(self.by_core.len().max(bin + 1), 0);
        self.by_core[bin] += vertices;
        if core > self.degeneracy {
            (self.degeneracy, self.innermost) = (core, 0);
        }
        if core == self.degeneracy {
            self.innermost += vertices;
        }
        self.layers = self.layers.max(layer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_counted_by_the_powers_of_two_of_core_numbers() {
        let mut output = CoresOutput::default();
        [(3, 7, 1), (0, 1, 5), (9, 8, 2), (1, 2, 4), (9, 9, 1), (2, 3, 6), (4, 9, 0)]
            .into_iter()
            .for_each(|(core, layer, vertices)| output.add(core, layer, vertices));
        let expected = CoresOutput { degeneracy: 9, innermost: 3, layers: 9, by_core: vec![5, 4, 7, 0, 3] };
        assert_eq!(output, expected);
    }
}
