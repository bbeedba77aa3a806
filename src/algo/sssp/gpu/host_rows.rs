//! Weighted adjacency rows in pinned host memory. Kernels read them over the bus if they do not fit GPU memory.
#![allow(unsafe_code)] // bytes that are seen as words

use super::Weights;
use crate::error::Result;
use crate::gpu::{Pinned, Workspace};
use crate::graph::block_store::BlockStore;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::ids::{RawId, Vertex};
use crate::memory::Budget;
use crate::process::signals;
use rayon::prelude::*;
use std::ops::Range;

/// Number of row entries that a thread copies at a time. A longer row is copied by one thread.
const PIECE: u64 = 1 << 20;

/// Adjacency rows in pinned host memory, with statistics of their weights.
pub(super) struct HostRows {
    /// All edges, row by row. Each is a 64-bit word with the neighbour in the lower half and the weight in the upper
    /// half.
    pub rows: Pinned,
    /// The smallest weight and the largest weight, as they are stored, and the sum of all weights.
    pub weights: (u32, u32, f64),
}

/// Returns the number of entries before row `row` in a half of the adjacency. `firsts` has the number of entries before
/// each block.
fn entries_before(half: &BlockStore, firsts: &[u64], row: u64) -> u64 {
    if half.is_empty() {
        return 0;
    }
    if row >= half.layout.rows() {
        return half.edges();
    }
    let b = half.layout.block_of(row as u32);
    let block = half.block(b);
    firsts[b] + u64::from(block.offsets[(row as u32 - block.first_row) as usize])
}

/// Divides all rows into ranges of about [`PIECE`] entries. Returns each range and its number of entries.
fn pieces(halves: [&BlockStore; 2], rows: u64) -> Vec<(Range<u32>, u64)> {
    let firsts = halves.map(|half| {
        let mut before = 0;
        let firsts = (0..half.len()).map(|b| {
            let first = before;
            before += half.size(b).entries;
            first
        });
        firsts.collect::<Vec<u64>>()
    });
    let start =
        |row: u64| halves.iter().zip(&firsts).map(|(half, firsts)| entries_before(half, firsts, row)).sum::<u64>();
    let (mut pieces, mut from, mut begin) = (Vec::new(), 0, 0);
    while from < rows {
        // Find the last row that ends within [`PIECE`] entries, but take at least one row.
        let (mut low, mut high) = (from + 1, rows);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if start(middle) - begin <= PIECE { low = middle } else { high = middle - 1 }
        }
        let end = start(low);
        pieces.push((from as u32..low as u32, end - begin));
        (from, begin) = (low, end);
    }
    pieces
}

/// Copies the rows of both halves to pinned memory, joined into whole rows that are sorted by ascending weight.
///
/// # Errors
/// [`crate::Error::Limit`]; [`crate::Error::Lost`]; [`crate::Error::Stopped`].
pub(super) fn pin(
    workspace: &Workspace,
    halves: [&BlockStore; 2],
    weights: &Weights<'_>,
    budget: &Budget,
) -> Result<HostRows> {
    let layout = &halves[0].layout;
    let direction = layout.direction();
    let entries: u64 = halves.iter().map(|half| half.edges()).sum();
    let mut pinned = Pinned::new(&workspace.device, (8 * entries as usize).max(8), budget)?;
    // SAFETY: any bytes are valid numbers. Pinned memory starts at a page boundary.
    let (_, mut rest, _) = unsafe { pinned.bytes_mut().align_to_mut::<u64>() };
    let mut parts = Vec::new();
    for (rows, entries) in pieces(halves, layout.rows()) {
        let (here, later) = rest.split_at_mut(entries as usize);
        rest = later;
        parts.push((rows, here));
    }
    let scale = weights.scale();
    let fill = |(rows, mut to): (Range<u32>, &mut [u64])| -> Result<(u32, u32, f64)> {
        signals::check()?;
        let (mut least, mut most, mut sum) = (u32::MAX, 0, 0.0);
        for row in rows {
            let mut filled = 0;
            each(halves, direction, weights, row, |neighbour, weight| {
                (least, most) = (least.min(weight), most.max(weight));
                sum += scale.number(weight);
                to[filled] = u64::from(weight) << 32 | u64::from(neighbour);
                filled += 1;
            });
            let (own, later) = to.split_at_mut(filled);
            own.sort_unstable();
            to = later;
        }
        Ok((least, most, sum))
    };
    let join = |a: (u32, u32, f64), b: (u32, u32, f64)| Ok((a.0.min(b.0), a.1.max(b.1), a.2 + b.2));
    let weights = parts.into_par_iter().map(fill).try_reduce(|| (u32::MAX, 0, 0.0), join)?;
    Ok(HostRows { rows: pinned, weights })
}

/// Calls `put` with each neighbour in row `row`, and with the weight of the edge to it.
fn each(
    halves: [&BlockStore; 2],
    direction: Direction,
    weights: &Weights<'_>,
    row: u32,
    mut put: impl FnMut(u32, u32),
) {
    match weights {
        Weights::Stored(_) => {
            for half in halves.iter().filter(|half| !half.is_empty()) {
                let (neighbours, weights) = half.weighted_row(row);
                neighbours.iter().zip(weights).for_each(|(&u, &weight)| put(u, weight));
            }
        }
        Weights::Drawn(drawn, id) => {
            let v = direction.vertex(row);
            let own = RawId(id(Vertex(v)));
            let inward = direction == Direction::Directed && row == direction.row(v, EdgeDirection::In);
            for &u in halves.iter().filter(|half| !half.is_empty()).flat_map(|half| half.row(row)) {
                let other = RawId(id(Vertex(u)));
                let (tail, head) = if inward { (other, own) } else { (own, other) };
                put(u, drawn.of(direction, tail, head));
            }
        }
    }
}
