//! The parents of vertices that only edges lead to which add nothing: steps over plateaus of one distance, from the vertices of these that have a
//! parent.

use super::arithmetic::Arithmetic;
use crate::algo::sssp::search::NONE;
use crate::graph::direction::Way;

/// Gives parents to the vertices `without`. `flat` returns the vertices at the other ends of those edges of a vertex of one way that add nothing to its
/// distance, and `leads` is true for a vertex that a shortest path may lead through.
pub fn settle<A: Arithmetic>(
    sums: &[A::Cell],
    without: &[u32],
    parents: &mut [u32],
    flat: &dyn Fn(u32, Way) -> Vec<u32>,
    leads: &dyn Fn(u32) -> bool,
) {
    let sum_of = |v: u32| A::load(&sums[v as usize]);
    // The first step is from whoever had a parent before.
    let mut found: Vec<(u32, u32)> = Vec::new();
    for &v in without {
        // Who has one edge has its parent at the other end, and leads nowhere, unless it is the root.
        let leads = |u: u32| leads(u) || parents[u as usize] == u;
        let on_it = |u: &u32| sum_of(*u) == sum_of(v) && leads(*u) && parents[*u as usize] != NONE;
        let first = flat(v, Way::In).into_iter().filter(on_it).min();
        found.extend(first.map(|parent| (v, parent)));
    }
    while !found.is_empty() {
        let step: Vec<u32> = found.iter().map(|&(v, _)| v).collect();
        found.drain(..).for_each(|(v, parent)| parents[v as usize] = parent);
        let mut claims: Vec<(u32, u32)> = Vec::new();
        for &u in &step {
            let waits = |v: &u32| sum_of(*v) == sum_of(u) && parents[*v as usize] == NONE;
            claims.extend(flat(u, Way::Out).into_iter().filter(waits).map(|v| (v, u)));
        }
        // The smallest of those who claim a vertex comes first.
        claims.sort_unstable();
        claims.dedup_by_key(|&mut (v, _)| v);
        found = claims;
    }
}
