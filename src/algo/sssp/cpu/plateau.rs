//! The parents of vertices that only edges lead to which add nothing: steps over plateaus of one distance, from the vertices of these that have a
//! parent.

use super::Sorted;
use super::arithmetic::Arithmetic;
use super::rows::{neighbour, weight};
use crate::algo::sssp::search::NONE;

/// Gives parents to the vertices `without`.
pub fn settle<A: Arithmetic>(graph: &Sorted, sums: &[A::Cell], without: Vec<u32>, parents: &mut [u32]) {
    let sum_of = |v: u32| A::load(&sums[v as usize]);
    // The ends of edges that add nothing come first in a row.
    let flat =
        |row: &'_ [u64], sum: A::Sum| row.iter().take_while(move |&&entry| A::add(sum, weight(entry)) == sum).count();
    // The first step is from whoever had a parent before.
    let mut found: Vec<(u32, u32)> = Vec::new();
    for &v in &without {
        let (sum, row) = (sum_of(v), graph.into().row(v));
        // Who has one edge has its parent at the other end, and leads nowhere, unless it is the root.
        let leads = |u: u32| u < graph.tails || parents[u as usize] == u;
        let on_it = |u: &u32| sum_of(*u) == sum && leads(*u) && parents[*u as usize] != NONE;
        let first = row[..flat(row, sum)].iter().map(|&entry| neighbour(entry)).filter(on_it).min();
        found.extend(first.map(|parent| (v, parent)));
    }
    while !found.is_empty() {
        let step: Vec<u32> = found.iter().map(|&(v, _)| v).collect();
        found.drain(..).for_each(|(v, parent)| parents[v as usize] = parent);
        let mut claims: Vec<(u32, u32)> = Vec::new();
        for &u in &step {
            let (sum, row) = (sum_of(u), graph.out.row(u));
            let waits = |v: &u32| sum_of(*v) == sum && parents[*v as usize] == NONE;
            claims.extend(row[..flat(row, sum)].iter().map(|&entry| neighbour(entry)).filter(waits).map(|v| (v, u)));
        }
        // The smallest of those who claim a vertex comes first.
        claims.sort_unstable();
        claims.dedup_by_key(|&mut (v, _)| v);
        found = claims;
    }
}
