//! Windows. A window is a range of rows of the upper half that one pass over the lower half builds.

use crate::graph::{Bins, Layout};
use std::ops::Range;

/// A window: the rows that one pass over the lower half builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowWindow {
    /// The rows of a range of bins, which are whole blocks or a part of one block.
    Bins(Range<usize>),
    /// The only row of the bin with this index, which does not fit in memory.
    Row(usize),
}

/// Divides the wanted blocks into windows (ranges of rows for one pass) of at most `most` bytes; `bytes` returns the
/// size of a bin in bytes.
pub(super) fn windows(
    layout: &Layout,
    bins: &Bins,
    bytes: impl Fn(usize) -> u64,
    wanted: &[bool],
    most: u64,
) -> Vec<RowWindow> {
    let mut all: Vec<RowWindow> = Vec::new();
    // Size of the last window in bytes, and whether the window consists of whole blocks.
    let (mut sum, mut last_is_whole) = (0, false);
    let mut end = 0;
    for (block, &wanted) in wanted.iter().enumerate().take(layout.blocks()) {
        let of_block = end..bins.block_of.partition_point(|&b| b <= block);
        end = of_block.end;
        if !wanted {
            continue;
        }
        let is_whole = of_block.clone().map(&bytes).sum::<u64>() <= most;
        let step = if is_whole { of_block.len() } else { 1 };
        for start in of_block.clone().step_by(step.max(1)) {
            let piece = start..start + step;
            let of_piece = piece.clone().map(&bytes).sum::<u64>();
            // The bins of a divided block are not added to the window of the previous block.
            let may_join = if is_whole { last_is_whole } else { start > of_block.start };
            match all.last_mut() {
                Some(RowWindow::Bins(range)) if may_join && range.end == start && sum + of_piece <= most => {
                    range.end = piece.end;
                    sum += of_piece;
                }
                _ => {
                    let is_long = of_piece > most && bins.spans[start].len() == 1;
                    all.push(if is_long { RowWindow::Row(start) } else { RowWindow::Bins(piece) });
                    sum = of_piece;
                }
            }
        }
        last_is_whole = is_whole;
    }
    all
}
