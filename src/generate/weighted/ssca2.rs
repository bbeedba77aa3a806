//! The graph of SSCA#2 (HPCS Scalable Synthetic Compact Applications #2, version 1), as GTgraph generates it.
//!
//! Vertices form cliques, whose sizes are uniform from 1 to the largest. Two vertices of a clique are joined in both directions, or with
//! some probability in one; each way has from 1 to `parallel` edges. Then, with probability `between` for the distance 1, half of that for
//! 2, a quarter for 4 and so on, each vertex is joined to a random vertex of the clique that the vertex at this distance is of, if that is
//! another. Ids are permuted at the end.
//!
//! Everything is drawn by the numbers of vertices, so that a clique's edges can be made by themselves. Two numbers are kept for each: its
//! first vertex and its first edge.

use super::below;
use crate::generate::permutation::Permutation;
use crate::generate::random::{key, number};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most vertices.
pub(super) const MOST_VERTICES: u64 = 1 << 36;
/// The largest size of cliques that may be asked for.
pub(super) const LARGEST_CLIQUE: u64 = 1 << 16;
/// Most parallel edges that may be asked for.
pub(super) const MOST_PARALLEL: u32 = 1 << 10;

/// The purposes of a seed.
const SIZES: u64 = 6;
const PAIRS: u64 = 7;
const LINKS: u64 = 8;
const HEADS: u64 = 9;
/// Distances of links that a vertex may have.
const DISTANCES: u64 = 64;

/// Parameters of SSCA#2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Number of vertices.
    pub vertices: u64,
    /// The largest size of a clique.
    pub largest_clique: u64,
    /// The probability that two vertices of a clique are joined in one direction alone.
    pub one_way: f64,
    /// The largest number of edges from one vertex to another.
    pub parallel: u32,
    /// The probability that a vertex is joined to the next clique.
    pub between: f64,
}

impl Parameters {
    /// Returns GTgraph's defaults for a number of vertices: cliques up to its third root.
    pub fn of(vertices: u64) -> Parameters {
        let root = (1..=LARGEST_CLIQUE).take_while(|root| root.pow(3) <= vertices).last().unwrap_or(1);
        Parameters { vertices, largest_clique: root, one_way: 0.2, parallel: 3, between: 0.5 }
    }

    pub(super) fn words(&self) -> [u64; 5] {
        let Parameters { vertices, largest_clique, one_way, parallel, between } = *self;
        [vertices, largest_clique, one_way.to_bits(), parallel.into(), between.to_bits()]
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameters { vertices, largest_clique, one_way, parallel, between } = self;
        write!(
            f,
            "ssca2 vertices {vertices} cliques to {largest_clique} one way {one_way} parallel {parallel} between {between}"
        )
    }
}

/// The cliques of a graph.
#[derive(Debug, PartialEq)]
pub(super) struct Cliques {
    parameters: Parameters,
    pairs: u64,
    links: u64,
    heads: u64,
    permutation: Permutation,
    /// The first vertex of each, and the number of vertices.
    first: Vec<u64>,
    /// The first edge of each, and the number of edges.
    edges: Vec<u64>,
}

impl Cliques {
    /// Draws the sizes of cliques, and counts their edges.
    pub fn new(parameters: Parameters, seed: u64) -> Cliques {
        let Parameters { vertices, largest_clique, .. } = parameters;
        let sizes = key(seed, SIZES);
        let mut first = vec![0];
        let mut end = 0;
        for clique in 0.. {
            if end >= vertices {
                break;
            }
            end = vertices.min(end + 1 + below(largest_clique, number(sizes, clique)));
            first.push(end);
        }
        let [pairs, links, heads] = [PAIRS, LINKS, HEADS].map(|purpose| key(seed, purpose));
        let permutation = Permutation::below(vertices, seed);
        let mut cliques = Cliques { parameters, pairs, links, heads, permutation, first, edges: Vec::new() };
        let count = |clique| {
            let mut edges = 0;
            cliques.each(clique, |_, _, copies| edges += copies);
            edges
        };
        let mut edges: Vec<u64> = (0..cliques.first.len() - 1).into_par_iter().map(count).collect();
        let mut before = 0;
        for edges in &mut edges {
            (*edges, before) = (before, before + *edges);
        }
        edges.push(before);
        cliques.edges = edges;
        cliques
    }

    pub fn edges(&self) -> u64 {
        self.edges.last().copied().unwrap_or(0)
    }

    pub fn bytes(&self) -> u64 {
        8 * (self.first.len() + self.edges.len()) as u64
    }

    /// Calls `put` with tail, head and number of the edges that begin in a clique, in order.
    fn each(&self, clique: usize, mut put: impl FnMut(u64, u64, u64)) {
        let Parameters { vertices, one_way, between, parallel, .. } = self.parameters;
        let own = self.first[clique]..self.first[clique + 1];
        // A probability is compared with the upper half of a random number, and numbers of copies follow from pieces of the lower.
        let chance = |probability: f64| (probability * (1u64 << 32) as f64) as u64;
        let copies = |random: u64| 1 + (((random & 0x7fff) * u64::from(parallel)) >> 15);
        let (one_way, between) = (chance(one_way), chance(between));
        for u in own.clone() {
            for v in u + 1..own.end {
                let random = number(self.pairs, u.wrapping_mul(vertices).wrapping_add(v));
                let is_both = random >> 32 >= one_way;
                if is_both || random & 1 == 0 {
                    put(u, v, copies(random >> 1));
                }
                if is_both || random & 1 == 1 {
                    put(v, u, copies(random >> 16));
                }
            }
        }
        for u in own.clone() {
            for power in (0..DISTANCES).take_while(|&power| 1 << power < vertices) {
                let place = u * DISTANCES + power;
                let random = number(self.links, place);
                if random >> 32 >= between >> power {
                    continue;
                }
                let at = (u + (1 << power)) % vertices;
                if !own.contains(&at) {
                    let other = self.first.partition_point(|&first| first <= at) - 1;
                    let (first, end) = (self.first[other], self.first[other + 1]);
                    put(u, first + below(end - first, number(self.heads, place)), copies(random));
                }
            }
        }
    }

    /// Makes the edges from `first_edge` on; `narrow` converts ids to their type.
    pub fn fill<T>(&self, first_edge: u64, out: &mut [[T; 2]], narrow: impl Fn(u64) -> T + Copy) {
        let end_edge = first_edge + out.len() as u64;
        let mut clique = self.edges.partition_point(|&first| first <= first_edge) - 1;
        while clique + 1 < self.edges.len() && self.edges[clique] < end_edge {
            let mut edge = self.edges[clique];
            self.each(clique, |tail, head, copies| {
                let wanted = edge.max(first_edge)..(edge + copies).min(end_edge);
                for number in wanted {
                    let ends = [tail, head].map(|vertex| narrow(self.permutation.within(vertex)));
                    if let Some(slot) = out.get_mut((number - first_edge) as usize) {
                        *slot = ends;
                    }
                }
                edge += copies;
            });
            clique += 1;
        }
    }
}
