//! Expected degrees of a random graph, computed from its number of edges and ids.

use super::order::DegreeRuns;

/// Probability that any one bit of an endpoint's id is 0 in a Graph500 graph: A + B = 0.57 + 0.19 (R-MAT: Chakrabarti,
/// Zhan and Faloutsos 2004).
pub const GRAPH500: f64 = 0.76;
/// Probability that any one bit of an endpoint's id is 0 in a graph whose endpoints are drawn uniformly.
pub const EVEN: f64 = 0.5;

/// Returns the expected degrees of a random graph with `edges` edges between `ids` ids. Each bit of an endpoint's id is
/// 0 with probability `zero`. All ids with the same number of zero bits then have the same expected degree, so there
/// are `log2(ids) + 1` different degrees.
pub fn degrees(edges: u64, ids: u64, zero: f64) -> DegreeRuns {
    let ids = ids.clamp(2, u64::from(u32::MAX)) as f64;
    let bits = ids.log2().ceil();
    // If `ids` is not a power of two, there are proportionally fewer ids with each number of zero bits.
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
