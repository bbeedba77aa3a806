//! Packs the rows of one half of a graph.

use super::{BlockPacker, Packer};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::block_store::BlockStore;
use crate::graph::csr::Block;
use crate::graph::host_block::HostBlock;
use crate::graph::placement::BlockSize;
use crate::memory::Reservation;
use parking_lot::Mutex;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// One half of a graph after an error has stopped its packing: some of its blocks are packed, the others are not.
pub struct HalfPacked {
    half: BlockStore,
    unpacked: Vec<Option<HostBlock>>,
    reserved: Option<Reservation>,
    packer: Packer,
}

/// Packs the rows of one local half of a graph, block by block, on all threads of the current thread pool. An unpacked
/// block in memory is freed as soon as it is packed. If memory is scarce, fewer threads pack.
///
/// # Errors
/// [`Error::Limit`], or the error of `next`, which is called before each block. The partly packed half is returned with
/// the error.
pub fn pack_half(
    mut half: BlockStore,
    packer: Packer,
    next: impl Fn() -> Result<()> + Sync,
) -> Result<BlockStore, (Error, Box<HalfPacked>)> {
    let (in_memory, reserved) = half.take_blocks();
    let in_memory: Vec<Mutex<Option<HostBlock>>> = in_memory.into_iter().map(|block| Mutex::new(Some(block))).collect();
    let reserved = Mutex::new(reserved);
    let pack = |b: usize| {
        next()?;
        let place = in_memory.get(b);
        let held = place.and_then(|block| block.lock().take());
        let block = held.as_ref().map_or_else(|| half.block(b), HostBlock::block);
        match pack_block(&packer, block) {
            Ok(rows) => {
                half.release(b);
                if held.is_some() {
                    drop(held);
                    free_reservation(&half, b, reserved.lock().as_mut());
                }
                packer.take(b, rows)
            }
            Err(e) => {
                place.into_iter().zip(held).for_each(|(place, block)| {
                    *place.lock() = Some(block);
                });
                Err(e)
            }
        }
    };
    // Threads claim blocks in order, so that few packed blocks have to wait for an earlier block.
    let next_block = AtomicUsize::new(0);
    let ends = rayon::broadcast(|_| {
        loop {
            let b = next_block.fetch_add(1, Relaxed);
            if b >= half.len() {
                return Ok(());
            }
            pack(b).inspect_err(|_| next_block.store(usize::MAX / 2, Relaxed))?;
        }
    });
    let outcome = ends.into_iter().collect::<Result<()>>();
    match outcome {
        Ok(()) => Ok(BlockStore::of_packed(half.layout.clone(), packer.into_parts().0)),
        Err(why) => {
            let unpacked = in_memory.into_iter().map(|block| block.into_inner());
            let reserved = reserved.into_inner();
            Err((why, Box::new(HalfPacked { half, unpacked: unpacked.collect(), reserved, packer })))
        }
    }
}

impl HalfPacked {
    /// Passes every block to `store`, as (index, row lengths, targets). Each block that was not packed is freed as soon
    /// as `store` has returned.
    ///
    /// # Errors
    /// Errors of `store`, and [`Error::Limit`].
    pub fn store(self, store: impl Fn(usize, &[u32], &[u32]) -> Result<()> + Sync) -> Result<()> {
        let HalfPacked { half, unpacked, reserved, packer } = self;
        let reserved = Mutex::new(reserved);
        // Store the unpacked blocks first. There are many of them, and storing them frees memory.
        let of_files = unpacked.is_empty();
        let is_packed: Vec<bool> = (0..half.len()).map(|b| packer.has(b)).collect();
        let blocks: Vec<(usize, Option<HostBlock>)> = match of_files {
            true => (0..half.len()).map(|b| (b, None)).collect(),
            false => unpacked.into_iter().enumerate().collect(),
        };
        blocks.into_par_iter().try_for_each(|(b, held)| {
            if is_packed[b] {
                return Ok(());
            }
            let block = held.as_ref().map_or_else(|| half.block(b), HostBlock::block);
            store(b, &block.lengths(), block.targets)?;
            drop(held);
            free_reservation(&half, b, reserved.lock().as_mut());
            Ok(())
        })?;
        let budget = packer.budget().clone();
        let (placed, mut waiting) = packer.into_parts();
        for b in (0..half.len()).filter(|&b| is_packed[b]) {
            let BlockSize { rows, entries } = half.size(b);
            let _unpacked = budget.reserve(HostBlock::bytes(rows, entries), "rows that are unpacked")?;
            let (mut lengths, mut targets) = (Vec::with_capacity(rows as usize), Vec::with_capacity(entries as usize));
            let waited = waiting.remove(&b);
            let block = waited.as_ref().map_or_else(|| placed.block(b), BlockPacker::rows);
            for local in 0..rows as usize {
                let before = targets.len();
                block.unpack(local, &mut targets);
                lengths.push((targets.len() - before) as u32);
            }
            store(b, &lengths, &targets)?;
        }
        Ok(())
    }
}

fn pack_block(packer: &Packer, block: Block<'_>) -> Result<BlockPacker> {
    // Failpoint with which a test simulates that memory runs out.
    if failpoint::hit("packed.lower").is_err() {
        packer.budget().reserve(u64::MAX / 2, "packed rows")?;
    }
    let lengths = |list: &mut Vec<u32>| {
        list.extend(block.offsets.windows(2).map(|ends| ends[1] - ends[0]));
        Ok(())
    };
    let mut rows = packer.begin(block.rows(), block.targets.len() as u64, lengths)?;
    rows.append(block.targets)?;
    Ok(rows)
}

/// Returns the memory that is reserved for block `b` to the budget. `reserved` is the reservation for all blocks.
fn free_reservation(half: &BlockStore, b: usize, reserved: Option<&mut Reservation>) {
    let bytes = HostBlock::bytes(half.size(b).rows, half.size(b).entries);
    reserved.into_iter().for_each(|all| all.shrink(bytes));
}
