//! Packs the rows of one half of a graph.

use super::{BlockPacker, Packer};
use crate::error::Result;
use crate::graph::catalogue::Catalogue;
use crate::graph::host_block::HostBlock;
use crate::memory::Budget;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Packs the rows of a half that is local, block by block by all threads of the current pool; a block in memory is freed as soon as it is packed.
///
/// # Errors
/// [`crate::Error::Limit`], and that of `next`, which is asked before each block.
pub fn pack_half(mut half: Catalogue, budget: &Budget, next: impl Fn() -> Result<()> + Sync) -> Result<Catalogue> {
    let packer = Packer::new(half.len(), budget)?;
    let bytes = |b: usize| HostBlock::bytes(half.size(b).rows, half.size(b).entries);
    let most = (0..half.len()).map(bytes).max().unwrap_or(0);
    let _packing = budget.reserve(most * 2 * rayon::current_num_threads() as u64, "blocks that are being packed")?;
    let (in_memory, reserved) = half.take_blocks();
    let in_memory: Vec<Mutex<Option<HostBlock>>> = in_memory.into_iter().map(|block| Mutex::new(Some(block))).collect();
    let reserved = Mutex::new(reserved);
    let bytes = |b: usize| HostBlock::bytes(half.size(b).rows, half.size(b).entries);
    let pack = |b: usize| {
        next()?;
        let held = in_memory.get(b).and_then(|block| block.lock().unwrap_or_else(PoisonError::into_inner).take());
        let block = held.as_ref().map_or_else(|| half.block(b), HostBlock::block);
        let mut rows = BlockPacker::new(block.lengths());
        rows.append(block.targets)?;
        half.release(b);
        if held.is_some() {
            drop(held);
            reserved.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(|all| all.shrink(bytes(b)));
        }
        packer.take(b, rows)
    };
    // Every thread takes the next block, so that hardly any waits for those before it.
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
    ends.into_iter().collect::<Result<()>>()?;
    Ok(Catalogue::of_packed(half.layout.clone(), packer.finish()?))
}
