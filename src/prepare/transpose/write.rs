//! Writes the blocks of the upper half, to files or packed in memory. If a window has several whole blocks, they are
//! written in parallel.

use super::placed::Placed;
use super::rows::Maker;
use super::{Destination, Transpose, Transposed, Work};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::half::Half;
use crate::graph::packed::{BlockPacker, Packer};
use crate::graph::stored::{self, BlockWriter};
use crate::graph::weights::stored::{self as stored_weights, WeightsWriter};
use crate::store::sync::Syncer;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A block that is being written.
struct OpenBlock<'a> {
    index: usize,
    rows: OpenRows<'a>,
}

/// The rows of a block that are written so far.
enum OpenRows<'a> {
    Stored(Box<BlockFiles<'a>>),
    Packed { rows: BlockPacker, packer: &'a Packer },
}

/// The file of a block, and the file of its weights if edges have some.
struct BlockFiles<'a> {
    rows: BlockWriter,
    weights: Option<WeightsWriter>,
    folder: &'a Path,
    syncer: &'a Syncer,
}

impl BlockFiles<'_> {
    /// Completes the files of block `index`. Returns the bytes written.
    fn finish(self, index: usize) -> Result<u64> {
        let mut bytes = self.syncer.push(self.rows.finish()?).bytes;
        if let Some(weights) = self.weights {
            let path = || stored_weights::path(self.folder, Half::Upper, index);
            failpoint::hit("weights.block").map_err(|e| Error::io("write", path(), e))?;
            bytes += self.syncer.push(weights.finish()?).bytes;
        }
        Ok(bytes)
    }
}

impl OpenRows<'_> {
    fn append(&mut self, targets: &[u32], of_targets: &[u32]) -> Result<()> {
        match self {
            OpenRows::Stored(files) => {
                files.rows.targets(targets)?;
                files.weights.as_mut().map_or(Ok(()), |weights| weights.append(of_targets))
            }
            OpenRows::Packed { rows, .. } => rows.append(targets),
        }
    }

    /// Completes block `index`. Returns the bytes written to files.
    fn finish(self, index: usize) -> Result<u64> {
        match self {
            OpenRows::Stored(files) => files.finish(index),
            OpenRows::Packed { rows, packer } => packer.take(index, rows).map(|()| 0),
        }
    }
}

/// Writer of blocks.
pub(super) struct Files<'t, 'a> {
    work: Work<'t, 'a>,
    /// The block that is begun but not complete.
    open: Option<OpenBlock<'a>>,
    written: Transposed,
}

impl<'t, 'a> Files<'t, 'a> {
    pub(super) fn new(work: Work<'t, 'a>) -> Self {
        Files { work, open: None, written: Transposed::default() }
    }

    /// Returns the totals of what was written so far.
    pub(super) fn written(&self) -> Transposed {
        self.written
    }

    /// Builds the rows of a window and writes them. Several blocks are written in parallel, each by one of `makers`.
    pub(super) fn window(&mut self, placed: &Placed<'_>, makers: &mut [Maker]) -> Result<()> {
        let (bins, work) = (placed.bins(), self.work);
        let block_of = &work.transpose.bins.block_of;
        let blocks = block_of[bins.start]..block_of[bins.end - 1] + 1;
        if let ([maker, ..], 1) = (&mut *makers, blocks.len()) {
            return self.bins(placed, bins, maker);
        }
        let next = AtomicUsize::new(blocks.start);
        let write = |maker: &mut Maker| {
            let mut files = Files::new(work);
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks.end {
                    return Ok(files.written);
                }
                let done = files.bins(placed, bins_of_block(work, block), maker);
                // Makes the other makers stop, too.
                done.inspect_err(|_| next.store(blocks.end, Ordering::Relaxed))?;
            }
        };
        let written = makers.par_iter_mut().with_max_len(1).map(write).collect::<Result<Vec<Transposed>>>()?;
        written.into_iter().for_each(|one| self.add(one));
        Ok(())
    }

    /// Adds the totals of blocks that another writer has written.
    pub(super) fn add(&mut self, written: Transposed) {
        self.written.add(written);
    }

    /// Builds and writes the rows of `bins`, which belong to one block.
    fn bins(&mut self, placed: &Placed<'_>, bins: Range<usize>, maker: &mut Maker) -> Result<()> {
        let mut before = self.written.entries;
        for bin in bins.clone() {
            maker.append(self.work, placed, bin, self)?;
            // The other half was counted when the entries were placed.
            self.work.advance((self.written.entries - before) / 2)?;
            before = self.written.entries;
        }
        self.end_of_bin(bins.end - 1)
    }

    /// Appends `targets`, and their `weights` if edges have some, to the block of `bin`. Begins the block if they are
    /// its first.
    pub(super) fn append(&mut self, bin: usize, targets: &[u32], weights: &[u32]) -> Result<()> {
        let block = self.work.transpose.bins.block_of[bin];
        let mut open = match self.open.take() {
            Some(open) if open.index == block => open,
            _ => begin(self.work, block)?,
        };
        open.rows.append(targets, weights)?;
        self.written.entries += targets.len() as u64;
        self.open = Some(open);
        Ok(())
    }

    /// Completes the block of `bin` if `bin` is its last bin.
    pub(super) fn end_of_bin(&mut self, bin: usize) -> Result<()> {
        let block = self.work.transpose.bins.block_of[bin];
        if bin + 1 < bins_of_block(self.work, block).end {
            return Ok(());
        }
        let Some(open) = self.open.take() else { return Ok(()) };
        let bytes = open.rows.finish(block)?;
        self.written.bytes += bytes;
        self.work.watch.wrote(bytes);
        Ok(())
    }
}

/// Returns the range of bins that belong to `block`.
pub(super) fn bins_of_block(work: Work<'_, '_>, block: usize) -> Range<usize> {
    let start = |block: usize| work.transpose.bins.block_of.partition_point(|&b| b < block);
    start(block)..start(block + 1)
}

/// Begins a block: writes the lengths of its rows.
fn begin<'a>(work: Work<'_, 'a>, block: usize) -> Result<OpenBlock<'a>> {
    let Transpose { to, layout, weights, .. } = *work.transpose;
    let rows = layout.block(block).rows;
    let rows = match to {
        Destination::Files { folder, key, syncer } => {
            let path = || stored::path(folder, Half::Upper, block);
            failpoint::hit("transpose.block").map_err(|e| Error::io("write", path(), e))?;
            let entries = work.entries[bins_of_block(work, block)].iter().sum();
            let mut writer = BlockWriter::create(folder, key, Half::Upper, layout, block, entries)?;
            work.lengths.chunks(rows, |lengths| writer.lengths(lengths))?;
            let create = |weights| WeightsWriter::create(folder, weights, Half::Upper, layout, block, entries);
            let weights = weights.map(create).transpose()?;
            OpenRows::Stored(Box::new(BlockFiles { rows: writer, weights, folder, syncer }))
        }
        Destination::Packed(packer) => {
            let entries = work.entries[bins_of_block(work, block)].iter().sum();
            let rows = packer.begin((rows.end - rows.start) as usize, entries, |list| {
                work.lengths.chunks(rows, |lengths| {
                    list.extend_from_slice(lengths);
                    Ok(())
                })
            })?;
            OpenRows::Packed { rows, packer }
        }
    };
    Ok(OpenBlock { index: block, rows })
}
