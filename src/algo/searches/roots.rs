//! Chooses the roots of searches: the sources that a table names, or random vertices that have an edge.

use super::Origins;
use crate::error::Result;
use crate::generate::random;
use crate::graph::ids::{DenseId, InputId, Vertex};
use crate::prepare::input_ids::IdList;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Id of the random number stream from which roots are drawn. It is the same for all search algorithms, because
/// Graph500 uses the same roots for both kernels.
const PURPOSE: u64 = 0x0062_6673;

/// A vertex to search from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Input id of the vertex.
    pub id: InputId,
    /// The vertex (its position in the order of vertices), or `None` if it has no edge. A search from it then reaches
    /// only the vertex itself.
    pub vertex: Option<u32>,
}

/// Returns the roots of a table: the sources that it names, or the requested number of distinct random vertices. Random
/// roots have an edge that is not a self-loop. If the graph has too few such vertices, all of them are roots.
///
/// # Errors
/// [`crate::Error::Input`] for a source that is not in the graph; [`crate::Error::Corrupt`] and [`crate::Error::Io`]
/// from reading the order of vertices and the ids.
pub fn of(origins: &Origins, graph: &Graph) -> Result<Vec<Root>> {
    if origins.roots == 0 {
        let vertices = origins.sources.vertices(graph)?;
        let root = |(&id, vertex): (&InputId, Option<Vertex>)| Root { id, vertex: vertex.map(|vertex| vertex.0) };
        return Ok(origins.sources.0.iter().zip(vertices).map(root).collect());
    }
    let drawn = draw(origins.seed, graph.info.connected, u64::from(origins.roots));
    let order = order::map(&graph.folder, graph.info.content)?;
    // A bitmap of vertices rules out nearly all ids quickly.
    let mut bits = vec![0u64; graph.info.connected.div_ceil(64) as usize];
    drawn.iter().for_each(|&vertex| bits[vertex as usize / 64] |= 1 << (vertex % 64));
    let is_drawn = |vertex: u32| bits.get(vertex as usize / 64).is_some_and(|word| word >> (vertex % 64) & 1 == 1);
    let found = order.ids()?.par_iter().with_min_len(1 << 16).enumerate().filter(|&(_, &vertex)| is_drawn(vertex));
    let found: Vec<(usize, u32)> = found.map(|(dense, &vertex)| (dense, vertex)).collect();
    let list = IdList::open(graph)?;
    let id = |(dense, vertex): (usize, u32)| (vertex, list.of(DenseId(dense as u32)));
    let ids: HashMap<u32, InputId> = found.into_iter().map(id).collect();
    let root = |vertex| Root { id: ids.get(&vertex).copied().unwrap_or(InputId::Number(0)), vertex: Some(vertex) };
    Ok(drawn.into_iter().map(root).collect())
}

/// Draws `wanted` distinct random numbers below `vertices`, or all of these numbers if there are fewer. The numbers and
/// their order depend only on `seed`.
fn draw(seed: u64, vertices: u64, wanted: u64) -> Vec<u32> {
    let key = random::key(seed, PURPOSE);
    let wanted = wanted.min(vertices);
    // A 64-bit random number is scaled to the range. The bias is at most 2^-32.
    let number = |counter| ((u128::from(random::number(key, counter)) * u128::from(vertices)) >> 64) as u32;
    if wanted * 2 > vertices {
        let mut all: Vec<u32> = (0..vertices as u32).collect();
        all.sort_by_key(|&vertex| random::number(key, vertex.into()));
        all.truncate(wanted as usize);
        return all;
    }
    let mut seen = HashSet::new();
    (0..).map(number).filter(|&vertex| seen.insert(vertex)).take(wanted as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::draw;
    use std::collections::HashSet;

    #[test]
    fn roots_are_distinct_and_follow_from_the_seed() {
        for (vertices, wanted) in [(0, 64), (1, 64), (64, 64), (100, 64), (1000, 64), (u64::from(u32::MAX), 1000)] {
            let roots = draw(1, vertices, wanted);
            assert_eq!(roots.len() as u64, wanted.min(vertices));
            assert_eq!(roots.iter().collect::<HashSet<_>>().len(), roots.len());
            assert!(roots.iter().all(|&root| u64::from(root) < vertices));
            assert_eq!(roots, draw(1, vertices, wanted));
            assert!(vertices < 2 || roots != draw(2, vertices, wanted));
        }
    }

    #[test]
    fn every_vertex_is_as_likely_as_any_other() {
        let mut drawn = [0; 10];
        (0..2000).for_each(|seed| draw(seed, 10, 3).into_iter().for_each(|root| drawn[root as usize] += 1));
        assert!(drawn.iter().all(|count| (480..720).contains(count)), "{drawn:?}");
    }
}
