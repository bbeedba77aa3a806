//! Finds the remaining components on one thread by depth-first search (Tarjan: Depth-first search and linear graph
//! algorithms, 1972), with one number per vertex (Pearce: A space-efficient algorithm for finding strongly connected
//! components, 2016).
//!
//! Reads each row once, however long the paths are. On a road network, breadth-first steps have too few vertices for
//! several threads, and the phases read each row several times.

use super::search::Search;
use crate::error::{Error, Result};
use crate::graph::direction::EdgeDirection::Out;
use crate::memory::plain;
use crate::process::signals;

/// Number of a vertex whose component is known.
const DONE: u32 = u32::MAX;
/// Bit that is set in the position of a vertex on the path once the vertex has reached a vertex with a smaller number.
/// The other bits are the index of the next entry of its row. They suffice, because a row has fewer than 2^31 entries.
const LOWERED: u32 = 1 << 31;
/// Number of steps along the path between two checks for signals.
const STRIDE: u32 = 1 << 16;

/// Assigns every live vertex to its component. Needs an index of all rows.
///
/// # Errors
/// [`crate::Error::Stopped`], with some of the components assigned.
pub(super) fn find(search: &mut Search<'_>) -> Result<()> {
    let Search { rows, of, marks, live, list, next, .. } = search;
    let index =
        rows.in_memory().ok_or_else(|| Error::internal("find strong components", "rows that are not in memory"))?;
    let (of, direction) = (plain(of), rows.direction);
    // The number of a vertex is 0 before its visit, then the smallest number that it is known to reach.
    let [numbers, positions] = marks.each_mut().map(|marks| plain(marks));
    numbers.fill(DONE);
    for &mut v in live.vertices() {
        (numbers[v as usize], positions[v as usize]) = (0, 0);
    }
    let (path, waiting) = (list.space(), next.space());
    let (mut depth, mut waits, mut steps) = (0, 0, 0u32);
    for &mut first in live.vertices() {
        let mut found = Some(first).filter(|&v| numbers[v as usize] == 0);
        loop {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STRIDE) {
                signals::check()?;
            }
            if let Some(v) = found.take() {
                numbers[v as usize] = (depth + waits + 1) as u32;
                path[depth] = v;
                depth += 1;
            }
            let Some(&v) = path[..depth].last() else { break };
            let at = v as usize;
            let (mut number, mut position) = (numbers[at], positions[at]);
            let [lower, upper] = index.halves(direction.row(v, Out));
            let begun = (position & !LOWERED) as usize;
            let rest = [lower.get(begun..), Some(&upper[begun.saturating_sub(lower.len())..])];
            'row: for half in rest.into_iter().flatten() {
                for &w in half {
                    let other = numbers[w as usize];
                    if other == 0 {
                        found = Some(w);
                        break 'row;
                    }
                    position += 1;
                    if other < number {
                        number = other;
                        position |= LOWERED;
                    }
                }
            }
            (numbers[at], positions[at]) = (number, position);
            if found.is_some() {
                continue;
            }
            depth -= 1;
            if position & LOWERED != 0 {
                waiting[waits] = v;
                waits += 1;
                continue;
            }
            // No vertex with a smaller number is reached, so the component is complete.
            while let Some(&w) = waiting[..waits].last()
                && numbers[w as usize] >= number
            {
                (numbers[w as usize], of[w as usize]) = (DONE, v);
                waits -= 1;
            }
            (numbers[at], of[at]) = (DONE, v);
        }
    }
    Ok(())
}
