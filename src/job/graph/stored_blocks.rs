//! Determines which blocks an earlier run stored, and which are missing.

use crate::error::{Error, Result};
use crate::graph::weights::stored as stored_weights;
use crate::graph::{GraphWeights, Half, Layout, StoredBlock, StoredWeights, stored};
use crate::job::context::Context;
use crate::process::signals;
use std::path::Path;

/// Returns the number of blocks that an earlier run stored, and logs it unless it is 0. `wanted` is true for each
/// block that must be built.
pub(super) fn log_stored(wanted: &[bool]) -> usize {
    let stored = wanted.iter().filter(|&&wanted| !wanted).count();
    if stored > 0 {
        tracing::info!(stored, blocks = wanted.len(), "blocks of an earlier run are kept");
    }
    stored
}

/// The stored blocks of one half of the rows, and the weights next to them, if any.
pub(crate) struct StoredHalf<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) key: u64,
    pub(crate) half: Half,
    pub(crate) layout: &'a Layout,
    pub(crate) weights: Option<GraphWeights>,
}

impl StoredHalf<'_> {
    /// Verifies a block and its weights. Returns the size of both files in bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub(crate) fn check(&self, b: usize) -> Result<u64> {
        let StoredHalf { folder, key, half, layout, weights } = *self;
        let block = StoredBlock::open(folder, key, half, layout, b)?;
        block.verify()?;
        block.file.release();
        let Some(weights) = weights else { return Ok(block.file.bytes()) };
        let entries = block.block().targets.len() as u64;
        let weights = StoredWeights::open(folder, weights, half, layout, b, entries)?;
        weights.verify()?;
        weights.file.release();
        Ok(block.file.bytes() + weights.file.bytes())
    }
}

/// Returns for each block whether it must be built, because it is missing, damaged, or lacks its weights. Collective.
pub(super) fn missing(context: &Context, of: &StoredHalf<'_>) -> Result<Vec<bool>> {
    let &StoredHalf { folder, half, layout, weights, .. } = of;
    let listed = context.on_leader(|| {
        let mut listed = stored::listed(folder, layout.blocks(), |b| stored::path(folder, half, b));
        if weights.is_some() {
            let with_weights = stored::listed(folder, layout.blocks(), |b| stored_weights::path(folder, half, b));
            listed.iter_mut().zip(with_weights).for_each(|(listed, with_weights)| *listed &= with_weights);
        }
        Ok(listed)
    })?;
    let whole = |b: usize| match context.retry_until_visible(|| of.check(b)) {
        Err(e @ Error::Corrupt { .. }) => {
            tracing::warn!("{e}");
            false
        }
        other => other.is_ok(),
    };
    // Checking blocks takes a while, so ranks share the work and check for signals in between.
    let mut missing = vec![0; layout.blocks()];
    for b in (context.comm.rank()..layout.blocks()).step_by(context.comm.ranks()) {
        signals::check()?;
        missing[b] = u64::from(!(listed[b] && whole(b)));
    }
    context.comm.all_sum(&mut missing);
    Ok(missing.iter().map(|&missing| missing > 0).collect())
}
