//! The result of weakly or strongly connected components.

use crate::chart::Figure;
use crate::results::about::About;
use serde::{Deserialize, Serialize};

/// Result columns of `[components]`.
pub(super) const COLUMNS: &[About] =
    &[About::new("component", "smallest id of a vertex in the component", "-1: no vertex")];

/// Maximum number of components whose sizes are listed.
const LARGEST: usize = 10;

/// Number of components, and their sizes in vertices. An isolated vertex is a component, too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ComponentsOutput {
    /// Whether the components are strongly connected instead of weakly connected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strong: bool,
    /// Number of components.
    pub components: u64,
    /// Sizes of the largest components, in vertices, in descending order.
    pub largest: Vec<u64>,
    /// Histogram of component sizes: element `i` is the number of components of 2^i to 2^(i+1) - 1 vertices. The last
    /// element counts the largest component.
    pub by_size: Vec<u64>,
}

impl ComponentsOutput {
    /// Adds `components` components of `size` vertices each to the result.
    pub(in crate::algo) fn add(&mut self, size: u64, components: u64) {
        if components == 0 {
            return;
        }
        let power = size.ilog2() as usize;
        self.by_size.resize(self.by_size.len().max(power + 1), 0);
        self.by_size[power] += components;
        self.components += components;
        let at = self.largest.partition_point(|&larger| larger >= size);
        for _ in 0..components.min((LARGEST - at) as u64) {
            self.largest.insert(at, size);
        }
        self.largest.truncate(LARGEST);
    }
}

/// Returns a chart of the histogram `by_size`: the number of `groups` (components or communities) of 2^i to 2^(i+1) - 1
/// vertices.
pub(in crate::algo) fn size_figure(groups: &str, by_size: &[u64]) -> Figure {
    let of = |(power, &count): (u32, &u64)| (2f64.powi(power as i32), 2f64.powi(power as i32 + 1) - 1.0, count as f64);
    let bins: Vec<_> = (0..).zip(by_size).map(of).filter(|&(_, _, count)| count > 0.0).collect();
    let caption = format!("How many {groups} have how many vertices, both by logarithm.");
    Figure::distribution(&format!("Size of {groups}"), &caption, groups, "vertices", &bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counted_by_powers_of_two_and_the_largest_are_listed() {
        let mut output = ComponentsOutput::default();
        [(3, 1), (1, 1_000_000), (900, 1), (2, 8), (4, 1), (2, 1), (1, 3)]
            .into_iter()
            .for_each(|(size, components)| output.add(size, components));
        assert_eq!(output.largest, [900, 4, 3, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(output.by_size, [1_000_003, 10, 1, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(output.components, 1_000_015);
    }
}
