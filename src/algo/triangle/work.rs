//! Estimates the work of triangle counting from the degrees of a graph.
//!
//! The estimate assumes a random graph with these degrees. Vertices of degrees `d` and `e` are neighbours with
//! probability `1 - exp(-d e / ends)`, where `ends` is the sum of all degrees. Repeated edges count once. For Kronecker
//! graphs of 2^16 to 2^22 vertices with 8 to 64 edges per vertex, estimates of edges and wedges are right within 2 %,
//! and those of triangles within 5 %. Graphs in which neighbours of a vertex are often neighbours of each other, such
//! as meshes, have more triangles than estimated.

use crate::algo::triangle::cpu::count::HUBS;
use crate::graph::order::DegreeRuns;

/// Number of vertices of highest degree that are estimated one by one; other vertices are estimated in groups.
const SINGLE: u64 = 64;
/// Ratio of the first id of a group to its number of vertices, for groups of several vertices.
const WIDTH: u64 = 16;
/// Maximum number of 512-bit chunks in a row of the bit matrix of hubs.
const CHUNKS: f64 = 32.0;

/// Estimated work of counting the triangles of a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ExpectedWork {
    /// Number of vertices that have an edge.
    pub(super) vertices: f64,
    /// Number of distinct edges.
    pub(super) edges: f64,
    /// Number of edges whose endpoint with the smaller id is a hub (one of the vertices of highest degree).
    pub(super) hub_edges: f64,
    /// Number of 512-bit words that are tested for wedges between hubs.
    pub(super) chunks: f64,
    /// Number of wedges (paths of two edges) that are tested.
    pub(super) wedges: f64,
    /// Number of wedges that are tested one by one instead of 512 at a time.
    pub(super) lookups: f64,
    /// Number of triangles.
    pub(super) triangles: f64,
}

/// Consecutive vertices of similar degree, whose work is estimated together.
#[derive(Debug, Clone, Copy)]
struct Group {
    count: f64,
    degree: f64,
    hubs: bool,
}

impl ExpectedWork {
    /// Estimates the work for a graph whose vertices have the degrees `runs`.
    pub(super) fn of(runs: &DegreeRuns) -> ExpectedWork {
        let groups = groups(runs);
        let ends: f64 = groups.iter().map(|group| group.count * group.degree).sum::<f64>().max(1.0);
        // The row of a vertex in group `c` has neighbours in all earlier groups, and on average in half of group `c`.
        let before = |c: usize, b: usize| if b == c { 0.5 } else { 1.0 };
        let chance = |c: usize, b: usize| 1.0 - (-groups[c].degree * groups[b].degree / ends).exp();
        let rows: Vec<Vec<f64>> = (0..groups.len())
            .map(|c| (0..=c).map(|b| chance(c, b) * before(c, b) * groups[b].count).collect())
            .collect();
        let mut work = ExpectedWork::default();
        for (c, row) in rows.iter().enumerate() {
            let count = groups[c].count;
            let all: f64 = row.iter().sum();
            let hubs: f64 = row.iter().zip(&groups).filter(|(_, b)| b.hubs).map(|(entries, _)| entries).sum();
            work.vertices += count;
            work.edges += count * all;
            work.hub_edges += count * hubs;
            work.chunks += count * hubs * hubs.min(CHUNKS) / 2.0;
            work.wedges += count * all * all / 2.0;
            work.lookups += count * (all * all - hubs * hubs) / 2.0;
            // Triangles whose larger corners are in groups `c` and `b`. Each neighbour `a` of `b` is a neighbour of `c`
            // with the probability `chance_of`.
            for (b, &entries) in row.iter().enumerate() {
                let closed: f64 =
                    rows[b].iter().enumerate().map(|(a, &thirds)| thirds * chance_of(row, &groups, c, a)).sum();
                work.triangles += count * entries * closed;
            }
        }
        work
    }
}

/// Returns the probability that a vertex of group `c` has a certain vertex of group `a` as a neighbour. `row` contains
/// for each group the expected number of entries in the row of a vertex of group `c`.
fn chance_of(row: &[f64], groups: &[Group], c: usize, a: usize) -> f64 {
    row[a] / groups[a].count * if a == c { 2.0 } else { 1.0 }
}

/// Divides the vertices into groups, which become larger at higher ids. The last hub is the end of a group.
fn groups(runs: &DegreeRuns) -> Vec<Group> {
    let all = runs.vertices();
    let mut runs = runs.iter().peekable();
    let mut groups = Vec::new();
    let mut start = 0;
    while start < all {
        let width = if start < SINGLE { 1 } else { start / WIDTH };
        let hubs = start < u64::from(HUBS);
        let end = (start + width).min(if hubs { u64::from(HUBS) } else { all }).min(all);
        let (mut at, mut ends) = (start, 0.0);
        while at < end {
            let Some(&(degree, _, run_end)) = runs.peek() else { break };
            let upto = end.min(run_end);
            ends += f64::from(degree) * (upto - at) as f64;
            at = upto;
            if upto == run_end {
                runs.next();
            }
        }
        let count = (end - start) as f64;
        groups.push(Group { count, degree: ends / count, hubs });
        start = end;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::triangle::units;
    use crate::formats::EdgeGenerator;
    use crate::generate::Generator;
    use crate::graph::direction::Direction;
    use crate::graph::layout::Layout;
    use crate::graph::likely;

    #[track_caller]
    fn close(what: &str, found: f64, expected: f64, by: f64) {
        assert!((found / expected - 1.0).abs() < by, "{what}: {found}, expected {expected}");
    }

    /// Checks that repeated edges do not add to the estimate for a complete graph.
    #[test]
    fn a_complete_graph_has_the_work_of_a_complete_graph() {
        for n in [10u32, 100, 1000] {
            let n_ = f64::from(n);
            let work = ExpectedWork::of(&DegreeRuns::new(vec![(1000 * n, n)]));
            close("edges", work.edges, n_ * n_ / 2.0, 0.1);
            close("wedges", work.wedges, n_.powi(3) / 6.0, 0.1);
            close("triangles", work.triangles, n_.powi(3) / 6.0, 0.2);
            assert_eq!(work.lookups, 0.0, "all are hubs");
        }
    }

    /// Checks the estimates for a graph whose edges have uniformly random endpoints.
    #[test]
    fn a_uniform_graph_has_the_expected_work() {
        let (n, d) = (1u32 << 20, 32u32);
        let work = ExpectedWork::of(&DegreeRuns::new(vec![(d, n)]));
        let (n, d) = (f64::from(n), f64::from(d));
        close("edges", work.edges, n * d / 2.0, 0.01);
        close("wedges", work.wedges, n * d * d / 6.0, 0.02);
        close("triangles", work.triangles, d.powi(3) / 6.0, 0.05);
        assert!(work.hub_edges < 0.05 * work.edges);
    }

    #[test]
    fn a_graph_without_vertices_has_no_work() {
        assert_eq!(ExpectedWork::of(&DegreeRuns::default()), ExpectedWork::default());
    }

    /// Counts the degrees of a generated graph.
    fn counted(generator: &Generator, scale: u32) -> DegreeRuns {
        let mut degrees = vec![0u32; 1 << scale];
        let mut edges = vec![[0u64; 2]; generator.edges() as usize];
        generator.fill(0, &mut edges);
        for [u, v] in edges {
            if u != v {
                degrees[u as usize] += 1;
                degrees[v as usize] += 1;
            }
        }
        let mut counts = std::collections::BTreeMap::new();
        degrees.into_iter().filter(|&d| d > 0).for_each(|d| *counts.entry(d).or_insert(0) += 1);
        DegreeRuns::new(counts.into_iter().rev().collect())
    }

    /// Checks estimates of the number of units and of the work. Estimates from the size of a graph must be within a
    /// factor of two of estimates from its degrees.
    #[test]
    fn blocks_and_work_of_generated_graphs_follow_from_their_size() {
        for (scale, edge_factor) in [(10, 16.0), (13, 30.0), (15, 3.0), (16, 8.0), (16, 16.0), (16, 64.0), (17, 20.0)] {
            let kronecker = Generator::kronecker(scale, edge_factor, 3).unwrap();
            let uniform = Generator::uniform(scale, edge_factor, 3).unwrap();
            for (generator, zero) in [(kronecker, likely::GRAPH500), (uniform, likely::EVEN)] {
                let edges = generator.edges();
                let (is, said) = (counted(&generator, scale), likely::degrees(edges, 1 << scale, zero));
                let units = |runs: &DegreeRuns, edges| {
                    units::total(Layout::new(runs, edges, Direction::Undirected).blocks()) as f64
                };
                let within_two = |what: &str, said: f64, is: f64| {
                    assert!(
                        (0.5..=2.0).contains(&(said / is)),
                        "{what} at {scale} x {edge_factor}, {zero}: {said}, is {is}"
                    );
                };
                within_two("units", units(&said, edges - 1), units(&is, edges - 1));
                let (is, said) = (ExpectedWork::of(&is), ExpectedWork::of(&said));
                within_two("vertices", said.vertices, is.vertices);
                within_two("wedges", said.wedges, is.wedges);
                within_two("triangles", said.triangles, is.triangles);
                within_two("looks", said.lookups.max(1e5), is.lookups.max(1e5));
            }
        }
    }
}
