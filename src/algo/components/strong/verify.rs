//! Checks the result by computing the components again. The check reads the distinct edges of the input, identifies
//! vertices by input ids, and runs one depth-first search (Tarjan: Depth-first search and linear graph algorithms,
//! 1972).

use crate::algo::components::output::ComponentsOutput;
use crate::algo::components::verify::compare_rows;
use crate::algo::verify::edge_list::EdgeList;
use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::Result;
use crate::graph::direction::EdgeDirection::Out;
use crate::memory::Buffer;
use crate::process::signals;
use crate::results::read::READING;

/// Memory in bytes per id: the index of its next edge, its visit number, its low point, and an entry on the path and
/// on the stack.
const ID_BYTES: u64 = 24;
/// Visit number of a vertex whose component is known.
const DONE: u32 = u32::MAX;
/// Number of vertices between two checks for signals.
const STRIDE: usize = 1 << 16;

/// Returns an error if free memory is too small for the check. The error says how much memory the check takes.
pub(in crate::algo::components) fn check_room(
    edges: &EdgeSource<'_>,
    results: &Results<'_>,
) -> std::result::Result<(), String> {
    let ids = ID_BYTES * (results.info.ids + 1) + 4 * results.info.connected;
    EdgeList::check_room(edges, results, (1, 1, ids))
}

/// Finds the components again, and compares sizes and the column. Returns a sentence about the result of the check.
///
/// # Errors
/// [`crate::Error::Validation`] if anything differs; [`crate::Error::Limit`]; read errors; [`crate::Error::Stopped`].
pub(in crate::algo::components) fn compare(
    output: &ComponentsOutput,
    edges: &EdgeSource<'_>,
    results: &Results<'_>,
) -> Result<String> {
    let _reserved = results.budget.reserve(READING + EdgeList::batch_bytes(results.threads), "edges and a column")?;
    let ids = Ids::open(results)?;
    let list = EdgeList::of_rows(Out, edges, &ids, results)?;
    let smallest = smallest_of_components(&list, results)?;
    drop(list);
    compare_rows(output, &smallest, &ids, (edges, results))
}

/// Returns, for each row of a result column, the smallest row in its strongly connected component.
fn smallest_of_components(list: &EdgeList, results: &Results<'_>) -> Result<Buffer<u32>> {
    let (rows, budget) = (results.info.ids as usize, results.budget);
    let mut next = list.starts(rows, budget)?;
    let buffer = || -> Result<Buffer<u32>> { budget.zeroed(rows, "components to verify by (16 bytes for each id)") };
    // Visit numbers begin at 1. Once the component of a vertex is known, `low` contains the smallest row of the
    // component.
    let (mut numbers, mut low, mut path, mut stack) = (buffer()?, buffer()?, buffer()?, buffer()?);
    let (mut number, mut length, mut height) = (0, 0, 0);
    for first in 0..rows {
        if first % STRIDE == 0 {
            signals::check()?;
        }
        if numbers[first] != 0 {
            continue;
        }
        let mut found = Some(first);
        loop {
            if let Some(v) = found.take() {
                number += 1;
                (numbers[v], low[v]) = (number, number);
                (path[length], stack[height]) = (v as u32, v as u32);
                (length, height) = (length + 1, height + 1);
            }
            let Some(&v) = path[..length].last() else { break };
            let v = v as usize;
            while let Some(&edge) = list.edges().get(next[v] as usize).filter(|&&edge| edge >> 32 == v as u64) {
                let w = edge as u32 as usize;
                if numbers[w] == 0 {
                    found = Some(w);
                    break;
                }
                next[v] += 1;
                if numbers[w] != DONE {
                    low[v] = low[v].min(numbers[w]).min(low[w]);
                }
            }
            if found.is_some() {
                continue;
            }
            length -= 1;
            if low[v] == numbers[v] {
                let below = stack[..height].iter().rposition(|&w| w as usize == v).unwrap_or(0);
                let members = &stack[below..height];
                let smallest = members.iter().copied().min().unwrap_or(0);
                members.iter().for_each(|&w| (numbers[w as usize], low[w as usize]) = (DONE, smallest));
                height = below;
            }
        }
    }
    Ok(low)
}
