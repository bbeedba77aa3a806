//! Verifies the number of comparisons: merges the rows for each edge of the input step by step, and counts the
//! comparisons.

use crate::algo::edges::each_edge;
use crate::algo::triangle::output::Comparisons;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::formats::Input;
use crate::process::signals;
use crate::process::threads::pool;
use rayon::prelude::*;

/// Maximum number of edges in the input. Larger inputs are not verified.
const MOST: u64 = 1 << 22;
/// Maximum number of merge steps, which take about a minute. Counts with more steps are not verified.
const MOST_STEPS: u128 = 1 << 34;
/// Memory in bytes per edge of the input: the endpoints in a list that may have grown to twice its size, the endpoints
/// in a second list, two ids in a list that may have grown as well, and the edge in two orders of vertices.
const EDGE: u64 = 2 * 16 + 16 + 2 * 16 + 2 * 8;
/// Number of edges that a thread processes between two checks for signals.
const PART: usize = 1 << 10;

/// Returns the input if its rows can be merged in acceptable time and memory. Otherwise returns a sentence that says
/// why comparisons are not verified.
pub(super) fn input<'a>(results: &'a Results<'_>, found: &Comparisons) -> std::result::Result<&'a Input, String> {
    let (edges, steps) = (results.info.edges, found.input_order.saturating_add(found.degree_order));
    match &results.edges {
        Err(why) => Err(format!("{why}; so comparisons were not checked")),
        Ok(EdgeSource::Blocks(_)) => Err("only the input has the degrees; so comparisons were not checked".into()),
        Ok(EdgeSource::Input(_)) if edges > MOST || steps > MOST_STEPS => Err(format!(
            "merging the rows of {edges} edges in {steps} steps takes too long; so comparisons were not checked"
        )),
        Ok(EdgeSource::Input(input)) => {
            results.check_room(EDGE * edges + input.scratch_bytes(results.threads)).map(|()| *input)
        }
    }
}

/// Counts the comparisons again by merging rows, and compares the numbers with `found`. Returns a sentence about the
/// result.
///
/// # Errors
/// [`Error::Validation`] if a number differs; read errors; [`Error::Stopped`].
pub(super) fn compare(input: &Input, results: &Results<'_>, found: &Comparisons) -> Result<String> {
    let threads = results.threads.max(1);
    let _reserved = results.budget.reserve(EDGE * results.info.edges + input.scratch_bytes(threads), "merging rows")?;
    let pool = pool("merge", threads)?;
    let (lists, _) = each_edge(input, vec![Vec::new(); threads], |edges, ends| {
        edges.push(ends);
        Ok(())
    })?;
    let counted = pool.install(|| count(lists.concat()))?;
    if counted != *found {
        return Err(Error::Validation(format!("{counted:?} by merging rows of the input, the job has {found:?}")));
    }
    let Comparisons { input_order, degree_order, .. } = counted;
    Ok(format!("{input_order} by id and {degree_order} by degree, by merging the rows of each edge of the input"))
}

fn count(mut edges: Vec<[u64; 2]>) -> Result<Comparisons> {
    let mut ids: Vec<u64> = edges.iter().flatten().copied().collect();
    ids.par_sort_unstable();
    ids.dedup();
    // From here on a vertex is represented by its index in `ids`.
    edges.par_iter_mut().flatten().for_each(|id| *id = ids.partition_point(|other| other < id) as u64);
    let mut degrees = vec![0u64; ids.len()];
    edges.iter().flatten().for_each(|&v| degrees[v as usize] += 1);
    drop(ids);
    let by_id: Vec<u32> = (0..degrees.len() as u32).collect();
    let mut order = by_id.clone();
    order.sort_by_key(|&v| degrees[v as usize]);
    let mut by_degree = by_id.clone();
    (0..).zip(order).for_each(|(place, v)| by_degree[v as usize] = place);
    Ok(Comparisons::new(steps(&edges, &by_id)?, steps(&edges, &by_degree)?))
}

/// Returns the number of comparisons of all merges, if vertices are ordered by their positions `places`.
fn steps(edges: &[[u64; 2]], places: &[u32]) -> Result<u128> {
    let place = |v: u64| places[v as usize];
    let sorted = edges.iter().filter(|[u, v]| u != v).map(|&[u, v]| [place(u).min(place(v)), place(u).max(place(v))]);
    let mut sorted: Vec<[u32; 2]> = sorted.collect();
    sorted.par_sort_unstable();
    sorted.dedup();
    let first = |v: u32| sorted.partition_point(|&[u, _]| u < v);
    let merged = sorted.par_chunks(PART).enumerate().map(|(part, edges)| {
        signals::check()?;
        let of_edge = |(at, &[u, v]): (usize, &[u32; 2])| {
            merge(&sorted[part * PART + at + 1..first(u + 1)], &sorted[first(v)..first(v + 1)])
        };
        Ok(edges.iter().enumerate().map(of_edge).sum::<u128>())
    });
    merged.sum()
}

/// Returns the number of comparisons that merging two sorted rows takes.
fn merge(a: &[[u32; 2]], b: &[[u32; 2]]) -> u128 {
    let are_apart = |a: &[[u32; 2]], b: &[[u32; 2]]| a.last().zip(b.first()).is_none_or(|(a, b)| a[1] < b[1]);
    if are_apart(a, b) || are_apart(b, a) {
        return 0;
    }
    let (mut i, mut j, mut steps) = (0, 0, 0);
    while let (Some([_, of_a]), Some([_, of_b])) = (a.get(i), b.get(j)) {
        (i, j, steps) = (i + usize::from(of_a <= of_b), j + usize::from(of_b <= of_a), steps + 1);
    }
    steps
}
