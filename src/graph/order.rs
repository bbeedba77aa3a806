//! The order of vertices: by descending degree, hubs first.

/// Vertices in their new order as runs of equal degree, degrees descending. Degrees are those of the input: every
/// endpoint counts, repeats included, loops not. Isolated vertices are left out. The table stays small: `r` different
/// degrees need at least r²/4 edges.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DegreeRuns(Vec<(u32, u32)>);

impl DegreeRuns {
    /// From (degree, number of vertices), degrees strictly descending.
    pub fn new(runs: Vec<(u32, u32)>) -> Self {
        debug_assert!(runs.windows(2).all(|w| w[0].0 > w[1].0), "degrees fall");
        DegreeRuns(runs)
    }

    /// Number of vertices, isolated ones left out.
    pub fn vertices(&self) -> u64 {
        self.0.iter().map(|&(_, count)| u64::from(count)).sum()
    }

    /// Most neighbours, repeats included, that any vertex has.
    pub fn largest(&self) -> u32 {
        self.0.first().map_or(0, |&(degree, _)| degree)
    }

    /// Entries of the longest row of the oriented graph, at most: vertex `v` has `v` smaller ones.
    pub fn longest_row(&self) -> u64 {
        self.iter().map(|(degree, _, end)| u64::from(degree).min(end.saturating_sub(1))).max().unwrap_or(0)
    }

    /// (degree, first vertex, one past the last vertex) of each run, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        let mut start = 0;
        self.0.iter().map(move |&(degree, count)| {
            let first = start;
            start += u64::from(count);
            (degree, first, start)
        })
    }
}
