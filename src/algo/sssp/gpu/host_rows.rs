//! Weighted adjacency rows in pinned host memory. If rows do not fit in GPU memory, kernels read these over the bus.
#![allow(unsafe_code)] // bytes that are seen as words

use super::Weights;
use crate::algo::sssp::edges::each_in_row;
use crate::error::Result;
use crate::gpu::{Pinned, Workspace};
use crate::graph::block_store::BlockStore;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::ids::{RawId, Vertex};
use crate::memory::Budget;
use crate::process::signals;
use rayon::prelude::*;
use std::ops::Range;

/// Approximate number of row entries that a thread copies to pinned memory at a time. A longer row is copied by one
/// thread.
const PIECE: usize = 1 << 20;

/// Smallest weight, largest weight, and sum of the weights of all row entries.
#[derive(Clone, Copy)]
pub(super) struct WeightSummary {
    /// The smallest weight, in its stored encoding.
    pub least: u32,
    /// The largest weight, in its stored encoding.
    pub most: u32,
    /// Sum of all weights, as a number.
    pub sum: f64,
}

/// Copies both halves of the adjacency rows to pinned memory, joined into whole rows that are sorted by ascending
/// weight. Each entry is a 64-bit word: the neighbour in the lower 32 bits, the weight in the upper 32 bits. Returns
/// the rows and statistics of the weights.
///
/// # Errors
/// [`crate::Error::Limit`]; [`crate::Error::Lost`]; [`crate::Error::Stopped`].
pub(super) fn pin(
    workspace: &Workspace,
    halves: [&BlockStore; 2],
    weights: &Weights<'_>,
    budget: &Budget,
) -> Result<(Pinned, WeightSummary)> {
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
    let none = || WeightSummary { least: u32::MAX, most: 0, sum: 0.0 };
    let fill = |(rows, mut to): (Range<u32>, &mut [u64])| -> Result<WeightSummary> {
        signals::check()?;
        let WeightSummary { mut least, mut most, mut sum } = none();
        for row in rows {
            let mut filled = 0;
            each_in_row(halves, row, drawn(weights, direction, row), |neighbour, weight| {
                (least, most) = (least.min(weight), most.max(weight));
                sum += scale.number(weight);
                to[filled] = u64::from(weight) << 32 | u64::from(neighbour);
                filled += 1;
            });
            let (own, later) = to.split_at_mut(filled);
            own.sort_unstable();
            to = later;
        }
        Ok(WeightSummary { least, most, sum })
    };
    let join = |a: WeightSummary, b: WeightSummary| {
        Ok(WeightSummary { least: a.least.min(b.least), most: a.most.max(b.most), sum: a.sum + b.sum })
    };
    let weights = parts.into_par_iter().map(fill).try_reduce(none, join)?;
    Ok((pinned, weights))
}

/// Returns the function that computes the weight of the edge from row `row` to a neighbour, or `None` if weights are
/// stored.
fn drawn(weights: &Weights<'_>, direction: Direction, row: u32) -> Option<impl Fn(u32) -> u32> {
    let Weights::Drawn(drawn, id) = *weights else { return None };
    let v = direction.vertex(row);
    let own = RawId(id(Vertex(v)));
    let inward = direction == Direction::Directed && row == direction.row(v, EdgeDirection::In);
    Some(move |u| {
        let other = RawId(id(Vertex(u)));
        let (tail, head) = if inward { (other, own) } else { (own, other) };
        drawn.of(direction, tail, head)
    })
}
