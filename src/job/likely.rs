//! The degrees that a graph likely has of which only the size is known.

use crate::graph::order::DegreeRuns;

/// How unevenly the ends of a Graph500 graph fall: each bit of an id is 0 with this chance.
pub(super) const GRAPH500: f64 = 0.76;
/// The same where both ends of every edge are drawn evenly.
pub(super) const EVEN: f64 = 0.5;

/// Returns the degrees of a graph of `edges` edges between `ids` ids, each bit of which is 0 with the chance `zero` at
/// an edge's end: degrees are then products of chances, `log2(ids) + 1` different ones, times what is drawn.
pub(super) fn degrees(edges: u64, ids: u64, zero: f64) -> DegreeRuns {
    let ids = ids.clamp(2, u64::from(u32::MAX)) as f64;
    let bits = ids.log2().ceil();
    // Where ids are no power of two, as many fewer of each kind.
    let part = ids / bits.exp2();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    let mut kinds = part;
    for ones in 0..=bits as i32 {
        let zeros = bits as i32 - ones;
        let drawn = 2.0 * edges as f64 / part * zero.powi(zeros) * (1.0 - zero).powi(ones);
        let connected = 1.0 - (-drawn).exp();
        let degree = (drawn / connected.max(1e-300)).round().clamp(1.0, f64::from(u32::MAX)) as u32;
        let count = (kinds * connected).round() as u32;
        kinds *= f64::from(zeros) / f64::from(ones + 1);
        match runs.last_mut() {
            _ if count == 0 => {}
            Some((last, more)) if *last <= degree => *more = more.saturating_add(count),
            _ => runs.push((degree, count)),
        }
    }
    DegreeRuns::new(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::triangle::driver;
    use crate::generate::Generator;
    use crate::graph::layout::Layout;
    use crate::job::work::Work;

    /// Degrees of what the generators make, counted.
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

    /// Units of counting and work, before degrees are known, within a factor of two of what the degrees then say.
    #[test]
    fn blocks_and_work_of_generated_graphs_are_told_from_their_size() {
        for (scale, edge_factor) in [(10, 16.0), (13, 30.0), (15, 3.0), (16, 8.0), (16, 16.0), (16, 64.0), (17, 20.0)] {
            let kronecker = Generator::kronecker(scale, edge_factor, 3).unwrap();
            let uniform = Generator::uniform(scale, edge_factor, 3).unwrap();
            for (generator, zero) in [(kronecker, GRAPH500), (uniform, EVEN)] {
                let edges = generator.edges();
                let (is, said) = (counted(&generator, scale), degrees(edges, 1 << scale, zero));
                let units = |runs: &DegreeRuns, edges| driver::units(Layout::new(runs, edges).blocks()) as f64;
                let close = |what: &str, said: f64, is: f64| {
                    assert!(
                        (0.5..=2.0).contains(&(said / is)),
                        "{what} at {scale} x {edge_factor}, {zero}: {said}, is {is}"
                    );
                };
                close("units", units(&said, edges - 1), units(&is, edges - 1));
                let (is, said) = (Work::of(&is), Work::of(&said));
                close("vertices", said.vertices, is.vertices);
                close("wedges", said.wedges, is.wedges);
                close("triangles", said.triangles, is.triangles);
                close("looks", said.lookups.max(1e5), is.lookups.max(1e5));
            }
        }
    }

    #[test]
    fn there_are_no_more_vertices_and_ends_than_there_can_be() {
        for (edges, ids) in
            [(0, 0), (1, 2), (5, 1 << 20), (1 << 40, u64::from(u32::MAX)), (1000, 3), (u64::MAX >> 8, 7)]
        {
            for zero in [EVEN, GRAPH500, 0.95] {
                let runs = degrees(edges, ids, zero);
                assert!(runs.vertices() <= ids.max(2) + 40, "{edges} edges, {ids} ids: {}", runs.vertices());
            }
        }
    }
}
