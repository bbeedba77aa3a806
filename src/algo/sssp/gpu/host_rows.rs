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

/// Approximate number of row entries that a thread copies at a time. One thread copies a longer row.
const PIECE: usize = 1 << 20;

/// Adjacency rows in pinned host memory, with statistics of their weights.
pub(super) struct HostRows {
    /// All edges, row by row. Each is a 64-bit word with the neighbour in the lower half and the weight in the upper
    /// half.
    pub rows: Pinned,
    /// The smallest weight and the largest weight, as they are stored, and the sum of all weights.
    pub weights: (u32, u32, f64),
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
    let rows = layout.rows() as u32;
    let [lower, upper] = halves.map(|half| half.rows(0..rows));
    let (mut parts, mut first, mut length) = (Vec::new(), 0, 0);
    for ((row, lower), (_, upper)) in lower.zip(upper) {
        length += lower.len() + upper.len();
        if length >= PIECE || row + 1 == rows {
            let (here, later) = rest.split_at_mut(length);
            parts.push((first..row + 1, here));
            (rest, first, length) = (later, row + 1, 0);
        }
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
