//! Edges to compute on, and triangles counted the slow way.

use std::collections::BTreeSet;

/// A random number generator for tests: SplitMix64.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }
}

/// A random multigraph with hubs, loops and repeats.
pub fn random_edges(vertices: u64, edges: usize, seed: u64) -> Vec<[u64; 2]> {
    let mut dice = Dice(seed);
    let end = |dice: &mut Dice| {
        let range = if dice.below(3) == 0 { (vertices / 16).max(1) } else { vertices };
        dice.below(range)
    };
    (0..edges).map(|_| [end(&mut dice), end(&mut dice)]).collect()
}

/// Triangles in all, and per vertex, counted the slow way: sets of neighbours.
pub fn oracle(vertices: usize, edges: &[[u64; 2]]) -> (u64, Vec<u64>) {
    let mut neighbours = vec![BTreeSet::new(); vertices];
    for &[u, v] in edges.iter().filter(|[u, v]| u != v) {
        neighbours[u as usize].insert(v);
        neighbours[v as usize].insert(u);
    }
    let mut corners = vec![0; vertices];
    let mut triangles = 0;
    for u in 0..vertices as u64 {
        for &v in neighbours[u as usize].range(u + 1..) {
            for &w in neighbours[v as usize].range(v + 1..) {
                if neighbours[u as usize].contains(&w) {
                    triangles += 1;
                    [u, v, w].into_iter().for_each(|x| corners[x as usize] += 1);
                }
            }
        }
    }
    (triangles, corners)
}

/// All pairs below `n`.
pub fn complete(n: u64) -> Vec<[u64; 2]> {
    (0..n).flat_map(|v| (0..v).map(move |u| [u, v])).collect()
}

/// A ⊗ B for edges of undirected loop-free A and B, B on `n` vertices: every pair of edges gives two.
pub fn product(a: &[[u64; 2]], b: &[[u64; 2]], n: u64) -> Vec<[u64; 2]> {
    let pairs = a.iter().flat_map(|&[u, v]| b.iter().map(move |&[x, y]| (u, v, x, y)));
    pairs.flat_map(|(u, v, x, y)| [[u * n + x, v * n + y], [u * n + y, v * n + x]]).collect()
}
