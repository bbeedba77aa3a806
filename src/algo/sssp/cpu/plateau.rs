//! The parents of vertices that only edges lead to which add nothing: steps over plateaus of one distance, from the vertices of these that have a
//! parent.

use super::arithmetic::Arithmetic;
use crate::algo::sssp::search::NONE;
use crate::error::Result;
use crate::graph::direction::Way;
use crate::process::signals;

/// Vertices between two looks at signals.
const STRIDE: usize = 1 << 12;

/// Calls the last argument with the vertices at the other ends of those edges of a vertex of one way that add nothing to its distance.
pub type Flat<'f> = &'f dyn Fn(u32, Way, &mut dyn FnMut(u32));

/// Bytes for each vertex that gets a parent here: itself, with its parent, and in the step after.
pub const BYTES: u64 = 24;

/// Gives parents to the vertices `without`. `leads` is true for a vertex that a shortest path may lead through.
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
    // The first step is from whoever had a parent before.
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (number, &v) in without.iter().enumerate() {
        if number.is_multiple_of(STRIDE) {
            signals::check()?;
        }
        // Who has one edge has its parent at the other end, and leads nowhere, unless it is the root.
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
        // The smallest of those who claim a vertex comes first.
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
