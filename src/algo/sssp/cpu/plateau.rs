//! Finds the parents of vertices that are reached only by edges that add nothing. It steps over plateaus of equal
//! distance, beginning at vertices that have a parent.

use super::arithmetic::Arithmetic;
use crate::algo::sssp::search::NONE;
use crate::error::Result;
use crate::graph::direction::Way;
use crate::process::signals;

/// Number of vertices between two checks for signals.
const STRIDE: usize = 1 << 12;

/// Calls the last argument with the other ends of those edges of a vertex, in one direction, that add nothing to its
/// distance.
pub type Flat<'f> = &'f dyn Fn(u32, Way, &mut dyn FnMut(u32));

/// Bytes for each vertex that gets a parent here: the vertex with its parent, and its place in the next step.
pub const BYTES: u64 = 24;

/// Gives parents to the vertices in `without`. `leads` returns true for a vertex that a shortest path may lead through.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub fn settle<A: Arithmetic>(
    sums: &[A::Cell],
    without: &[u32],
    parents: &mut [u32],
    flat: Flat<'_>,
    leads: &dyn Fn(u32) -> bool,
) -> Result<()> {
    let sum_of = |v: u32| A::load(&sums[v as usize]);
    // The first step begins at vertices that already had a parent.
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (number, &v) in without.iter().enumerate() {
        if number.is_multiple_of(STRIDE) {
            signals::check()?;
        }
        // A vertex with a single edge has its parent at the other end, and no path leads on from it, unless it is the
        // root.
        let leads = |u: u32| leads(u) || parents[u as usize] == u;
        let mut first = NONE;
        flat(v, Way::In, &mut |u| {
            if u < first && sum_of(u) == sum_of(v) && leads(u) && parents[u as usize] != NONE {
                first = u;
            }
        });
        found.extend((first != NONE).then_some((v, first)));
    }
    let mut step: Vec<u32> = found.iter().map(|&(v, _)| v).collect();
    found.into_iter().for_each(|(v, parent)| parents[v as usize] = parent);
    while !step.is_empty() {
        // Vertices are sorted so that the smallest of several candidates becomes the parent.
        step.sort_unstable();
        let mut next = Vec::new();
        for (number, &u) in step.iter().enumerate() {
            if number.is_multiple_of(STRIDE) {
                signals::check()?;
            }
            flat(u, Way::Out, &mut |v| {
                if sum_of(v) == sum_of(u) && parents[v as usize] == NONE {
                    parents[v as usize] = u;
                    next.push(v);
                }
            });
        }
        step = next;
    }
    Ok(())
}
