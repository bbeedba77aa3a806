//! Writes the blocks of the upper half to files, or packs them in memory.

use super::{Destination, Transpose, TransposeWork, Transposed};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::weights::stored as stored_weights;
use crate::graph::{BlockPacker, BlockWriter, Half, Packer, WeightsWriter, stored};
use crate::store::sync::Syncer;
use std::ops::Range;
use std::path::Path;

/// Writer of a block that is not complete yet.
enum OpenBlock<'a> {
    /// Writer of the block's file, and of its weights file if edges have weights.
    Stored {
        rows: Box<BlockWriter>,
        weights: Option<Box<WeightsWriter>>,
        folder: &'a Path,
        syncer: &'a Syncer,
    },
    Packed {
        rows: BlockPacker,
        packer: &'a Packer,
    },
}

impl OpenBlock<'_> {
    fn append(&mut self, targets: &[u32], of_targets: &[u32]) -> Result<()> {
        match self {
            OpenBlock::Stored { rows, weights, .. } => {
                rows.targets(targets)?;
                weights.as_mut().map_or(Ok(()), |weights| weights.append(of_targets))
            }
            OpenBlock::Packed { rows, .. } => rows.append(targets),
        }
    }

    /// Completes block `index`. Returns the number of bytes written to files.
    fn finish(self, index: usize) -> Result<u64> {
        match self {
            OpenBlock::Stored { rows, weights, folder, syncer } => {
                let mut bytes = syncer.push(rows.finish()?).bytes;
                if let Some(weights) = weights {
                    let path = || stored_weights::path(folder, Half::Upper, index);
                    failpoint::hit("weights.block").map_err(|e| Error::io("write", path(), e))?;
                    bytes += syncer.push(weights.finish()?).bytes;
                }
                Ok(bytes)
            }
            OpenBlock::Packed { rows, packer } => packer.take(index, rows).map(|()| 0),
        }
    }
}

/// Writer of the blocks of the upper half.
pub(super) struct Files<'t, 'a> {
    pub(super) work: TransposeWork<'t, 'a>,
    /// Index and writer of the block that is not complete yet, if there is one.
    open: Option<(usize, OpenBlock<'a>)>,
    /// Totals over all blocks that were written so far.
    pub(super) written: Transposed,
}

impl<'t, 'a> Files<'t, 'a> {
    pub(super) fn new(work: TransposeWork<'t, 'a>) -> Self {
        Files { work, open: None, written: Transposed::default() }
    }

    /// Appends `targets`, and their `weights` if edges have weights, to the block of bin `bin`. Begins the block if it
    /// is not the current one.
    pub(super) fn append(&mut self, bin: usize, targets: &[u32], weights: &[u32]) -> Result<()> {
        let block = self.work.transpose.bins.block_of[bin];
        let (_, mut open) = match self.open.take() {
            Some((index, open)) if index == block => (index, open),
            _ => (block, begin(self.work, block)?),
        };
        open.append(targets, weights)?;
        self.written.entries += targets.len() as u64;
        self.open = Some((block, open));
        Ok(())
    }

    /// Completes the block of bin `bin` if `bin` is the block's last bin.
    pub(super) fn end_of_bin(&mut self, bin: usize) -> Result<()> {
        let block = self.work.transpose.bins.block_of[bin];
        if bin + 1 < bins_of_block(self.work, block).end {
            return Ok(());
        }
        let Some((_, open)) = self.open.take() else { return Ok(()) };
        let bytes = open.finish(block)?;
        self.written.bytes += bytes;
        self.work.watch.wrote(bytes);
        Ok(())
    }
}

/// Returns the range of the bins of `block`.
pub(super) fn bins_of_block(work: TransposeWork<'_, '_>, block: usize) -> Range<usize> {
    let start = |block: usize| work.transpose.bins.block_of.partition_point(|&b| b < block);
    start(block)..start(block + 1)
}

/// Begins a block of the upper half, and writes the lengths of its rows.
fn begin<'a>(work: TransposeWork<'_, 'a>, block: usize) -> Result<OpenBlock<'a>> {
    let Transpose { to, layout, weights, .. } = *work.transpose;
    let rows = layout.block(block).rows;
    let entries = work.entries[bins_of_block(work, block)].iter().sum();
    match to {
        Destination::Files { folder, key, syncer } => {
            let path = || stored::path(folder, Half::Upper, block);
            failpoint::hit("transpose.block").map_err(|e| Error::io("write", path(), e))?;
            let mut writer = BlockWriter::create(folder, key, Half::Upper, layout, block, entries)?;
            work.lengths.chunks(rows, |lengths| writer.lengths(lengths))?;
            let create = |weights| WeightsWriter::create(folder, weights, Half::Upper, layout, block, entries);
            let weights = weights.map(create).transpose()?.map(Box::new);
            Ok(OpenBlock::Stored { rows: Box::new(writer), weights, folder, syncer })
        }
        Destination::Packed(packer) => {
            let rows = packer.begin((rows.end - rows.start) as usize, entries, |list| {
                work.lengths.chunks(rows, |lengths| {
                    list.extend_from_slice(lengths);
                    Ok(())
                })
            })?;
            Ok(OpenBlock::Packed { rows, packer })
        }
    }
}
