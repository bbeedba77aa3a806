//! Windows: ranges of upper rows whose entries are taken from the lower half in one pass.

use crate::graph::{Bins, Layout};
use std::ops::Range;

/// The rows that a pass builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowWindow {
    /// The rows of consecutive bins: of whole blocks, or of a part of one block.
    Bins(Range<usize>),
    /// The only row of a bin, which does not fit memory.
    Row(usize),
}

/// Divides the wanted blocks into windows of at most `most` bytes; `bytes` returns the bytes of a bin.
pub(super) fn windows(
    layout: &Layout,
    bins: &Bins,
    bytes: impl Fn(usize) -> u64,
    wanted: &[bool],
    most: u64,
) -> Vec<RowWindow> {
    let mut all: Vec<RowWindow> = Vec::new();
    let (mut sum, mut last_is_whole) = (0, false);
    let mut end = 0;
    for (block, &wanted) in wanted.iter().enumerate().take(layout.blocks()) {
        let start = end;
        end = bins.block_of.partition_point(|&b| b <= block);
        if !wanted {
            continue;
        }
        let of_block: u64 = (start..end).map(&bytes).sum();
        if of_block <= most {
            match all.last_mut() {
                Some(RowWindow::Bins(range)) if last_is_whole && range.end == start && sum + of_block <= most => {
                    range.end = end;
                    sum += of_block;
                }
                _ => {
                    all.push(RowWindow::Bins(start..end));
                    sum = of_block;
                }
            }
            last_is_whole = true;
            continue;
        }
        last_is_whole = false;
        // The first bin of this block must not join the window of the block before.
        sum = most;
        for bin in start..end {
            let of_bin = bytes(bin);
            match all.last_mut() {
                Some(RowWindow::Bins(range)) if range.end == bin && sum + of_bin <= most => {
                    range.end += 1;
                    sum += of_bin;
                }
                _ => {
                    let is_long = of_bin > most && bins.spans[bin].len() == 1;
                    all.push(if is_long { RowWindow::Row(bin) } else { RowWindow::Bins(bin..bin + 1) });
                    sum = of_bin;
                }
            }
        }
    }
    all
}
