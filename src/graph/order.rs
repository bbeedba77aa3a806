//! The degree order of vertices: vertices by descending degree, hubs first.

use super::bins::{Bin, Bins};

/// Degree sequence of a graph: runs of vertices of equal degree, in descending order of degree. A degree counts every
/// edge of the vertex in the input, including duplicates and excluding self-loops. Isolated vertices are left out. The
/// list of runs is short, because `r` different degrees need at least r²/4 edges.
///
/// Edges are oriented by this order, from lower to higher degree. So no row of a graph with m edges is longer than
/// √(2m) (Chiba and Nishizeki 1985; Schank and Wagner 2005; Latapy 2008).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DegreeRuns(Vec<(u32, u32)>);

impl DegreeRuns {
    /// Makes runs from pairs of (degree, number of vertices). Degrees must descend strictly.
    pub fn new(runs: Vec<(u32, u32)>) -> Self {
        debug_assert!(runs.windows(2).all(|w| w[0].0 > w[1].0), "degrees fall");
        DegreeRuns(runs)
    }

    /// Returns the number of vertices that are not isolated.
    pub fn vertices(&self) -> u64 {
        self.0.iter().map(|&(_, count)| u64::from(count)).sum()
    }

    /// Returns the largest degree of a vertex, counting duplicate edges.
    pub fn largest(&self) -> u32 {
        self.0.first().map_or(0, |&(degree, _)| degree)
    }

    /// Returns the histogram of vertices by degree, in ascending order of degree.
    pub fn bins(&self) -> Vec<Bin> {
        let mut bins = Bins::default();
        self.0.iter().for_each(|&(degree, count)| bins.add(degree, count.into()));
        bins.finish()
    }

    /// Returns an upper bound on the length of any row of the oriented graph: at most the degree, and at most `v` for
    /// vertex `v`, because only `v` vertices have smaller ids.
    pub fn longest_row(&self) -> u64 {
        self.iter().map(|(degree, _, end)| u64::from(degree).min(end.saturating_sub(1))).max().unwrap_or(0)
    }

    /// Iterates over the runs in order, as (degree, first vertex, exclusive end of the vertices).
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        let mut start = 0;
        self.0.iter().map(move |&(degree, count)| {
            let first = start;
            start += u64::from(count);
            (degree, first, start)
        })
    }
}
