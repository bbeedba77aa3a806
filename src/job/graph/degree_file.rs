//! The file with the degrees of all vertices. Some tasks and jobs on a kept graph read it.

use crate::error::{Error, Result};
use crate::graph::{Degrees, Half, Layout, StoredBlock, degrees};
use crate::job::context::Context;
use crate::prepare::prepared::RowFiles;
use crate::process::signals;

/// Rebuilds the file from the blocks if it is damaged or missing. Collective.
///
/// # Errors
/// Errors of the disk and of the blocks.
pub(super) fn ensure(context: &Context, rows: &RowFiles, layout: &Layout) -> Result<()> {
    let whole = context.agreed(|| match degrees::open(&rows.folder, rows.key) {
        Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
            tracing::warn!("{e}: counting degrees again");
            Ok(false)
        }
        other => other.map(|_| true),
    })?;
    if whole {
        return Ok(());
    }
    let degrees = Degrees::new(layout.rows(), &context.budget)?;
    add_stored(context, &degrees, rows, layout, &vec![false; layout.blocks()])?;
    sum_and_write(context, degrees, rows).map(drop)
}

/// Sums the degrees that ranks have counted, and stores them. Returns the bytes written by this rank. Collective.
///
/// # Errors
/// Errors of the disk.
pub(super) fn sum_and_write(context: &Context, degrees: Degrees, rows: &RowFiles) -> Result<u64> {
    let mut degrees = degrees.finish();
    context.comm.reduce_scatter(&mut degrees);
    write(context, &mut degrees, rows)
}

/// Stores the degrees, of which each rank has its share. Returns the bytes written by this rank. Collective.
///
/// # Errors
/// Errors of the disk.
pub(super) fn write(context: &Context, degrees: &mut [u32], rows: &RowFiles) -> Result<u64> {
    context.comm.all_gather_shares(degrees);
    if !context.comm.leads() {
        return Ok(0);
    }
    Ok(context.syncer.push(degrees::write(&rows.folder, rows.key, degrees)?).bytes)
}

/// Adds the degrees of blocks that an earlier run stored, which are those that are not `wanted`. Every rank adds some
/// of them.
///
/// # Errors
/// Errors of the blocks, and of a stop.
pub(super) fn add_stored(
    context: &Context,
    degrees: &Degrees,
    rows: &RowFiles,
    layout: &Layout,
    wanted: &[bool],
) -> Result<()> {
    let mut counter = degrees.counter(layout.direction());
    let stored = (0..layout.blocks()).filter(|&b| !wanted[b]);
    for b in stored.skip(context.comm.rank()).step_by(context.comm.ranks()) {
        signals::check()?;
        let block =
            context.retry_until_visible(|| StoredBlock::open(&rows.folder, rows.key, Half::Lower, layout, b))?;
        counter.block(block.block());
        block.release();
    }
    Ok(())
}
